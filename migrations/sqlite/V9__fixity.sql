-- Stores what is known of the files of granules, their sizes and checksums, and what checks of the
-- files found. Adds only new tables, so it is safe for every file.

-- File records that were entered together. Batches and records are numbered in the order in which they
-- were committed, so the records of a batch are those after the last one of the batch before.
CREATE TABLE record_batch (
    dataset_id  INTEGER NOT NULL REFERENCES dataset (id),
    batch       INTEGER NOT NULL CHECK (batch > 0),                     -- 1, 2, … within the dataset
    last_number INTEGER NOT NULL CHECK (last_number >= batch),          -- of its last record
    recorded    INTEGER NOT NULL,                                       -- when it was entered, microseconds
    recorded_by TEXT,                                                   -- NULL: unknown
    note        TEXT,
    replaces    INTEGER NOT NULL CHECK (replaces IN (0, 1)),            -- whether its records may contradict earlier ones
    PRIMARY KEY (dataset_id, batch)
) STRICT, WITHOUT ROWID;

-- What is known of a file of a granule, whether the granule is held or not. A record that contradicts an
-- earlier one of the same file (another size, or another checksum of the same algorithm) replaces all
-- earlier ones of the file; otherwise they hold together.
CREATE TABLE file_record (
    dataset_id     INTEGER NOT NULL REFERENCES dataset (id),
    granule_id     TEXT    NOT NULL CHECK (granule_id <> ''),
    path           TEXT    NOT NULL,                                    -- '': it equals the id
    number         INTEGER NOT NULL CHECK (number > 0),                 -- 1, 2, … within the dataset, without gaps
    algorithm      INTEGER NOT NULL CHECK (algorithm BETWEEN 0 AND 9),  -- 0 none, 1 md5, 2 sha-1, 3 sha-256, 4 sha-384, 5 sha-512, 6 crc32, 7 cksum, 8 adler32, 9 other
    algorithm_name TEXT    CHECK ((algorithm_name IS NULL) = (algorithm <> 9)),
    checksum       BLOB    NOT NULL CHECK ((length(checksum) = 0) = (algorithm = 0)), -- of another algorithm: its text
    size           INTEGER CHECK (size >= 0),                           -- bytes. NULL: unknown
    row_check      BLOB    NOT NULL CHECK (length(row_check) = 4),      -- the CRC-32 of the other columns, by which a damaged row is found
    CHECK (algorithm <> 0 OR size IS NOT NULL),                         -- a record says something
    PRIMARY KEY (dataset_id, granule_id, path, number)
) STRICT, WITHOUT ROWID;

-- A check of the files of a set in a root directory, in order of granule.
CREATE TABLE fixity_run (
    dataset_id   INTEGER NOT NULL REFERENCES dataset (id),
    run          INTEGER NOT NULL CHECK (run > 0),                      -- 1, 2, … within the dataset
    timestamp    INTEGER NOT NULL,                                      -- of the instance, microseconds
    identifier   BLOB    NOT NULL CHECK (length(identifier) = 16),      -- of the set: that of the instance, or of a subset
    mode         TEXT    NOT NULL CHECK (mode <> ''),                   -- what was compared: checksums, size
    root         TEXT    NOT NULL CHECK (root <> ''),                   -- the name of the root directory
    algorithms   TEXT    NOT NULL CHECK (json_valid(algorithms)),       -- those that were computed, a JSON array
    last_record  INTEGER NOT NULL CHECK (last_record >= 0),             -- records with a greater number were not checked
    from_id      TEXT    NOT NULL,                                      -- begins after this granule. '': at the first
    to_id        TEXT,                                                  -- everything up to and with this granule was checked. NULL: to the end of the set
    lease_to_id  TEXT,                                                  -- no other run checks anything up to this granule. NULL: to the end of the set
    lease_ends   INTEGER,                                               -- until then, microseconds. NULL: the run has ended
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
    granule_id TEXT    NOT NULL,                                        -- '': no granule has the file
    path       TEXT    NOT NULL,                                        -- '': it equals the id
    status     TEXT    NOT NULL CHECK (status <> ''),                   -- missing, size, checksum, unreadable, …
    expected   TEXT,                                                    -- NULL: nothing
    found      TEXT,                                                    -- also why it is unreadable. NULL: nothing
    checked    INTEGER NOT NULL,                                        -- when it was found, microseconds
    closed     INTEGER,                                                 -- when it ceased to hold, microseconds. NULL: it is open
    closed_by  TEXT CHECK ((closed_by IS NULL) = (closed IS NULL)),     -- good, deleted, replaced, forgotten
    PRIMARY KEY (dataset_id, run, granule_id, path),
    FOREIGN KEY (dataset_id, run) REFERENCES fixity_run (dataset_id, run)
) STRICT, WITHOUT ROWID;

-- The second copies (V5) of data that cannot be recomputed. A file record has a checksum of its own,
-- which takes a sixteenth of the space.

CREATE INDEX record_batch_twice
ON record_batch (recorded, dataset_id, batch, last_number, recorded_by, note, replaces);

CREATE INDEX fixity_run_twice
ON fixity_run (started, dataset_id, run, timestamp, identifier, mode, root, algorithms, last_record, from_id, to_id, lease_to_id, lease_ends, ended, recorded_by, files, bytes, findings, forgotten);

CREATE INDEX fixity_finding_twice
ON fixity_finding (checked, dataset_id, run, granule_id, path, status, expected, found, closed, closed_by);
