-- Stores what a mirror has read of the logs of its primaries, so that it reads only what is new and
-- notices a log that contradicts what it read before. Adds only new tables, so it is safe for every
-- file.

-- A log that was compared with a dataset, or pulled into it.
CREATE TABLE mirror_source (
    id         INTEGER PRIMARY KEY,
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),                -- the mirror
    source     TEXT    NOT NULL CHECK (source <> ''),                   -- a URL, or an absolute path
    read       INTEGER NOT NULL,                                        -- when it was last read, microseconds
    identical  INTEGER,                                                 -- when the mirror was last identical to it, microseconds
    etag       TEXT,                                                    -- what the server called the state that was read; NULL: nothing
    UNIQUE (dataset_id, source)
) STRICT;

-- The changes that were read of a log.
CREATE TABLE log_change (
    source_id  INTEGER NOT NULL REFERENCES mirror_source (id),
    number     INTEGER NOT NULL CHECK (number > 0),                     -- 1, 2, … within the log
    timestamp  INTEGER NOT NULL,                                        -- when it took effect, microseconds
    identifier BLOB    NOT NULL CHECK (length(identifier) = 16),
    line_check BLOB    NOT NULL CHECK (length(line_check) = 16),        -- the check of its last line
    bytes      INTEGER NOT NULL CHECK (bytes > 0),                      -- where the log ends after it
    granules   INTEGER NOT NULL CHECK (granules >= 0),                  -- held since then
    ingested   INTEGER NOT NULL CHECK (ingested >= 0),
    deleted    INTEGER NOT NULL CHECK (deleted >= 0),
    note       TEXT,
    PRIMARY KEY (source_id, number)
) STRICT, WITHOUT ROWID;

-- The second copies (V5) of data that cannot be recomputed.

CREATE INDEX mirror_source_twice ON mirror_source (read, identical, etag);

CREATE INDEX log_change_twice
ON log_change (source_id, number, timestamp, identifier, line_check, bytes, granules, ingested, deleted, note);
