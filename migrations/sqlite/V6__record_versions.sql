-- Stores who made a change, the earlier versions of a dataset's record, its former names, its
-- description, whether it was withdrawn, and how many granules a checkpoint covers. Adds only new
-- tables, and new columns that are empty (NULL), so it is safe for every file.

-- The number of granules held up to and including this id. NULL means that an older version set the
-- checkpoint. A pass that resumes here adds the number of rows that it reads after this id, and can
-- compare the total with the number that the history states. Without it, a row that was lost before
-- the checkpoint is found only by verification.
ALTER TABLE checkpoint ADD COLUMN granules INTEGER CHECK (granules > 0);

-- Who recorded the change. NULL means unknown.
ALTER TABLE instance ADD COLUMN recorded_by TEXT;

ALTER TABLE dataset ADD COLUMN description TEXT;

-- When the dataset was withdrawn, in microseconds. NULL means that it is not withdrawn.
ALTER TABLE dataset ADD COLUMN withdrawn INTEGER;

ALTER TABLE dataset ADD COLUMN withdrawn_note TEXT CHECK (withdrawn_note IS NULL OR withdrawn IS NOT NULL);

-- The former names of datasets. A dataset is still found by them, and no other dataset can get
-- them.
CREATE TABLE dataset_name (
    name       TEXT    NOT NULL PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200),
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),
    renamed    INTEGER NOT NULL                                         -- when it was given up, microseconds
) STRICT, WITHOUT ROWID;

-- Every version of a dataset's record. Versions are never erased, since citations were written from
-- them. A rowid table, since a record may be longer than a page.
CREATE TABLE record_version (
    dataset_id  INTEGER NOT NULL REFERENCES dataset (id),
    version     INTEGER NOT NULL CHECK (version > 0),                   -- 1, 2, … within the dataset
    recorded    INTEGER NOT NULL,                                       -- when it was entered, microseconds
    recorded_by TEXT,                                                   -- NULL: unknown
    action      TEXT    NOT NULL CHECK (action <> ''),                  -- what was done: added, edited, renamed, …
    record      TEXT    NOT NULL CHECK (json_valid(record)),            -- the whole record after it, as JSON
    PRIMARY KEY (dataset_id, version)
) STRICT;

-- The second copies (V5) of data that cannot be recomputed. The number of granules of a checkpoint
-- has no second copy, since it can be counted.

CREATE INDEX dataset_withdrawn_twice ON dataset (description, withdrawn, withdrawn_note);

CREATE INDEX instance_recorded_by_twice ON instance (recorded_by);

CREATE INDEX dataset_name_twice ON dataset_name (dataset_id, name, renamed);

CREATE INDEX record_version_twice
ON record_version (dataset_id, version, recorded, recorded_by, action, record);
