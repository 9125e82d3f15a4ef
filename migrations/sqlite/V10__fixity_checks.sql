-- Checks of files are recorded from here on. Names that are not UTF-8 are stored alike, and a path can be
-- longer than a key, so findings are numbered. No earlier version writes the two tables, so they are
-- replaced; they are empty in every file.

DROP TABLE fixity_finding;

DROP TABLE fixity_run;

-- A check of the files of a set in a root directory, in order of granule.
CREATE TABLE fixity_run (
    dataset_id   INTEGER NOT NULL REFERENCES dataset (id),
    run          INTEGER NOT NULL CHECK (run > 0),                      -- 1, 2, … within the dataset
    timestamp    INTEGER NOT NULL,                                      -- of the instance, microseconds
    identifier   BLOB    NOT NULL CHECK (length(identifier) = 16),      -- of the set: that of the instance, or of a subset
    is_subset    INTEGER NOT NULL CHECK (is_subset IN (0, 1)),          -- whether the set is only a part of the instance
    cycle        INTEGER CHECK (cycle > 0),                             -- of rolling checks of that root, 1, 2, …: a cycle checks each granule once. NULL: the check is not one
    mode         TEXT    NOT NULL CHECK (mode <> ''),                   -- what was compared: checksums, size
    root         TEXT    NOT NULL CHECK (root <> ''),                   -- the name of the root directory
    algorithms   TEXT    NOT NULL CHECK (json_valid(algorithms)),       -- those that were computed, a JSON array
    last_record  INTEGER NOT NULL CHECK (last_record >= 0),             -- records with a greater number were not checked
    from_id      TEXT    NOT NULL,                                      -- begins after this granule. '': before the first
    to_id        TEXT,                                                  -- everything up to and with this granule was checked. Equal to from_id: nothing yet. NULL: to the end of the set
    lease_to_id  TEXT,                                                  -- no other run checks anything up to this granule. NULL: to the end of the set
    lease_ends   INTEGER,                                               -- until then, microseconds. NULL: there is none, or the run has ended
    started      INTEGER NOT NULL,                                      -- microseconds
    ended        INTEGER NOT NULL,                                      -- when it was last saved, microseconds
    recorded_by  TEXT,                                                  -- NULL: unknown
    files        INTEGER NOT NULL CHECK (files >= 0),                   -- that were checked
    bytes        INTEGER NOT NULL CHECK (bytes >= 0),                   -- that were read
    findings     INTEGER NOT NULL CHECK (findings >= 0),
    forgotten    INTEGER,                                               -- when the root was forgotten, microseconds. NULL: it was not
    PRIMARY KEY (dataset_id, run)
) STRICT, WITHOUT ROWID;

-- What a check found wrong with a file.
CREATE TABLE fixity_finding (
    dataset_id INTEGER NOT NULL,
    run        INTEGER NOT NULL,
    number     INTEGER NOT NULL CHECK (number > 0),                     -- 1, 2, … within the run
    granule_id TEXT    NOT NULL,                                        -- '': no granule has the file
    path       TEXT    NOT NULL,                                        -- '': it equals the id
    status     TEXT    NOT NULL CHECK (status <> ''),                   -- missing, size, checksum, unreadable, …
    expected   TEXT,                                                    -- NULL: nothing
    found      TEXT,                                                    -- also why it is unreadable. NULL: nothing
    checked    INTEGER NOT NULL,                                        -- when it was found, microseconds
    closed     INTEGER,                                                 -- when it ceased to hold, microseconds. NULL: it is open
    closed_by  TEXT CHECK ((closed_by IS NULL) = (closed IS NULL)),     -- good, deleted, replaced, forgotten, repeated (a later check found something else)
    PRIMARY KEY (dataset_id, run, number),
    FOREIGN KEY (dataset_id, run) REFERENCES fixity_run (dataset_id, run)
) STRICT, WITHOUT ROWID;

-- Where the open findings of granules are.
CREATE INDEX fixity_finding_open
ON fixity_finding (dataset_id, granule_id, run, number)
WHERE closed IS NULL;

-- The second copies (V5).

CREATE INDEX fixity_run_twice
ON fixity_run (started, dataset_id, run, timestamp, identifier, is_subset, cycle, mode, root, algorithms, last_record, from_id, to_id, lease_to_id, lease_ends, ended, recorded_by, files, bytes, findings, forgotten);

CREATE INDEX fixity_finding_twice
ON fixity_finding (checked, dataset_id, run, number, granule_id, path, status, expected, found, closed, closed_by);

-- What a mirror has read of the file records of its primary: up to which record, what it was compared
-- with, and which files are known otherwise there; a JSON object. NULL: nothing.
ALTER TABLE mirror_source ADD COLUMN files TEXT CHECK (json_valid(files));

CREATE INDEX mirror_source_files_twice ON mirror_source (files);
