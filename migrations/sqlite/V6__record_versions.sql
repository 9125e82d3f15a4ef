-- What the everyday work needs to last: who made a change, the earlier versions of a dataset's
-- record, its former names, its description, whether it was withdrawn; and how many granules a
-- checkpoint covers. New tables, and new columns that are empty (NULL): safe for every file.

-- How many granules are held up to and including this id. NULL: an older version set the checkpoint.
-- A pass that resumes here adds what it reads after this id, and so can compare the total with the
-- number that the history states: without it, a row that was lost before the checkpoint is found by
-- verification only.
ALTER TABLE checkpoint ADD COLUMN granules INTEGER CHECK (granules > 0);

-- Who entered the change. NULL: unknown.
ALTER TABLE instance ADD COLUMN recorded_by TEXT;

ALTER TABLE dataset ADD COLUMN description TEXT;

-- When the dataset was withdrawn, in microseconds. NULL: it is not withdrawn.
ALTER TABLE dataset ADD COLUMN withdrawn INTEGER;

ALTER TABLE dataset ADD COLUMN withdrawn_note TEXT CHECK (withdrawn_note IS NULL OR withdrawn IS NOT NULL);

-- The former names of datasets: they go on leading to the dataset, and are never given to another.
CREATE TABLE dataset_name (
    name       TEXT    NOT NULL PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200),
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),
    renamed    INTEGER NOT NULL                                         -- when it was given up, microseconds
) STRICT, WITHOUT ROWID;

-- Every version of a dataset's record. Never erased, since citations name what was in the record then.
-- A rowid table: a record may be longer than a page.
CREATE TABLE record_version (
    dataset_id  INTEGER NOT NULL REFERENCES dataset (id),
    version     INTEGER NOT NULL CHECK (version > 0),                   -- 1, 2, … within the dataset
    recorded    INTEGER NOT NULL,                                       -- when it was entered, microseconds
    recorded_by TEXT,                                                   -- NULL: unknown
    action      TEXT    NOT NULL CHECK (action <> ''),                  -- what was done: added, edited, renamed, …
    record      TEXT    NOT NULL CHECK (json_valid(record)),            -- the whole record after it, as JSON
    PRIMARY KEY (dataset_id, version)
) STRICT;

-- The second copies (V5) of what nothing else can prove. The number of granules of a checkpoint has
-- none, since it can be counted.

CREATE INDEX dataset_withdrawn_twice ON dataset (description, withdrawn, withdrawn_note);

CREATE INDEX instance_recorded_by_twice ON instance (recorded_by);

CREATE INDEX dataset_name_twice ON dataset_name (dataset_id, name, renamed);

CREATE INDEX record_version_twice
ON record_version (dataset_id, version, recorded, recorded_by, action, record);
