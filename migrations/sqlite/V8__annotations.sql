-- Stores what is said about a history after the fact: notes on its instances, and that a listing was
-- compared with a dataset and nothing had changed. Also more of the record, the limits of a `sync`,
-- and from where, and with what success, a mirror was pulled. Adds tables and columns only, so it is
-- safe for every file.

-- A note about an instance, which leaves the history as it is.
CREATE TABLE annotation (
    dataset_id   INTEGER NOT NULL,
    timestamp    INTEGER NOT NULL,                                      -- of the instance
    number       INTEGER NOT NULL CHECK (number > 0),                   -- 1, 2, … of this instance
    note         TEXT    NOT NULL CHECK (note <> ''),
    questionable INTEGER NOT NULL CHECK (questionable IN (0, 1)),       -- whether the set should not be relied on
    recorded     INTEGER NOT NULL,                                      -- when it was entered, microseconds
    recorded_by  TEXT,                                                  -- NULL: unknown
    PRIMARY KEY (dataset_id, timestamp, number),
    FOREIGN KEY (dataset_id, timestamp) REFERENCES instance (dataset_id, timestamp)
) STRICT;

-- The last time that a dataset was compared with a listing, and was the same.
CREATE TABLE confirmation (
    dataset_id  INTEGER NOT NULL PRIMARY KEY REFERENCES dataset (id),
    recorded    INTEGER NOT NULL,                                       -- when it was entered, microseconds
    recorded_by TEXT,                                                   -- NULL: unknown
    granules    INTEGER NOT NULL CHECK (granules >= 0)                  -- in the listing
) STRICT;

-- The address of a granule, with {granule} in the place of its id.
ALTER TABLE dataset ADD COLUMN granule_url TEXT;

-- A JSON array.
ALTER TABLE dataset ADD COLUMN keywords TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(keywords));

-- Whether everybody can read the data without paying. NULL means unknown.
ALTER TABLE dataset ADD COLUMN free_access INTEGER CHECK (free_access IN (0, 1));

-- The time that the data are about: an interval, start/end.
ALTER TABLE dataset ADD COLUMN temporal TEXT;

-- The most that a `sync` may delete and add: a number, or a percentage. NULL means the default.
ALTER TABLE dataset ADD COLUMN max_delete TEXT;

ALTER TABLE dataset ADD COLUMN max_add TEXT;

-- When the dataset was last pulled from this source. The latest is that from which it is pulled again.
-- NULL means that it was only compared.
ALTER TABLE mirror_source ADD COLUMN pulled INTEGER;

-- The options with which it was pulled, as a JSON object.
ALTER TABLE mirror_source ADD COLUMN options TEXT CHECK (json_valid(options));

-- When it was last tried without success, and what the error was. NULL: not since it was last read.
ALTER TABLE mirror_source ADD COLUMN failed INTEGER;

ALTER TABLE mirror_source ADD COLUMN failure TEXT CHECK (failure IS NULL OR failed IS NOT NULL);

-- The second copies (V5) of data that cannot be recomputed.

CREATE INDEX annotation_twice
ON annotation (recorded, dataset_id, timestamp, number, note, questionable, recorded_by);

CREATE INDEX confirmation_twice ON confirmation (recorded, recorded_by, granules);

CREATE INDEX dataset_more_twice
ON dataset (granule_url, keywords, free_access, temporal, max_delete, max_add);

CREATE INDEX mirror_source_pulled_twice ON mirror_source (pulled, options, failed, failure);
