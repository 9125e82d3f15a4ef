-- Stores what a mirror has read of the logs of its primaries, as SQLite's V7 does. Adds only new tables,
-- so it is safe for every registry. Rows are a memory of what others published, not history: they
-- may be replaced.

-- A log that was compared with a dataset, or pulled into it.
CREATE TABLE accession.mirror_source (
    dataset_id bigint NOT NULL,                                         -- the mirror
    id         bigint NOT NULL CHECK (id > 0),                          -- 1, 2, … within the dataset
    source     text COLLATE "C" NOT NULL CHECK (source <> ''),          -- a URL, or an absolute path
    read       bigint NOT NULL,                                         -- when it was last read, microseconds
    identical  bigint,                                                  -- when the mirror was last identical to it, microseconds
    etag       text COLLATE "C",                                        -- what the server called the state that was read. NULL: nothing
    PRIMARY KEY (dataset_id, id),
    UNIQUE (dataset_id, source)
);

-- The changes that were read of a log.
CREATE TABLE accession.log_change (
    dataset_id bigint NOT NULL,
    source_id  bigint NOT NULL,
    number     bigint NOT NULL CHECK (number > 0),                      -- 1, 2, … within the log
    timestamp  bigint NOT NULL,                                         -- when it took effect, microseconds
    identifier bytea  NOT NULL CHECK (length(identifier) = 16),
    line_check bytea  NOT NULL CHECK (length(line_check) = 16),         -- the check of its last line
    bytes      bigint NOT NULL CHECK (bytes > 0),                       -- where the log ends after it
    granules   bigint NOT NULL CHECK (granules >= 0),                   -- held since then
    ingested   bigint NOT NULL CHECK (ingested >= 0),
    deleted    bigint NOT NULL CHECK (deleted >= 0),
    note       text COLLATE "C",
    PRIMARY KEY (dataset_id, source_id, number)
);
