-- Stores what is known of the files of granules, their sizes and checksums, and what checks of the
-- files found; as SQLite's V9 does. Adds only new tables: safe for every registry.

-- File records that were entered together. Batches and records are numbered in the order in which they
-- were committed, so the records of a batch are those after the last one of the batch before.
CREATE TABLE accession.record_batch (
    dataset_id  bigint NOT NULL,
    batch       bigint NOT NULL CHECK (batch > 0),                      -- 1, 2, … within the dataset
    last_number bigint NOT NULL CHECK (last_number >= batch),           -- of its last record
    recorded    bigint NOT NULL,                                        -- when it was entered, microseconds
    recorded_by text COLLATE "C",                                       -- NULL: unknown
    note        text COLLATE "C",
    replaces    bigint NOT NULL CHECK (replaces IN (0, 1)),             -- whether its records may contradict earlier ones
    checksum    text COLLATE "C" GENERATED ALWAYS AS (md5(
        quote_nullable(dataset_id::text) || quote_nullable(batch::text)
        || quote_nullable(last_number::text) || quote_nullable(recorded::text)
        || quote_nullable(recorded_by) || quote_nullable(note) || quote_nullable(replaces::text))) STORED,
    PRIMARY KEY (dataset_id, batch)
);

-- What is known of a file of a granule, whether the granule is held or not. A record that contradicts an
-- earlier one of the same file (another size, or another checksum of the same algorithm) replaces all
-- earlier ones of the file; otherwise they hold together.
CREATE TABLE accession.file_record (
    dataset_id     bigint NOT NULL,
    number         bigint NOT NULL CHECK (number > 0),                  -- 1, 2, … within the dataset, without gaps
    algorithm      bigint NOT NULL CHECK (algorithm BETWEEN 0 AND 9),   -- 0 none, 1 md5, 2 sha-1, 3 sha-256, 4 sha-384, 5 sha-512, 6 crc32, 7 cksum, 8 adler32, 9 other
    size           bigint CHECK (size >= 0),                            -- bytes. NULL: unknown
    granule_id     text COLLATE "C" NOT NULL CHECK (granule_id <> ''),
    path           text COLLATE "C" NOT NULL,                           -- '': it equals the id
    algorithm_name text COLLATE "C" CHECK ((algorithm_name IS NULL) = (algorithm <> 9)),
    checksum       bytea  NOT NULL CHECK ((length(checksum) = 0) = (algorithm = 0)), -- of another algorithm: its text
    row_check      bytea  NOT NULL CHECK (length(row_check) = 4),       -- the CRC-32 of the other columns, by which a damaged row is found
    CHECK (algorithm <> 0 OR size IS NOT NULL),                         -- a record says something
    PRIMARY KEY (dataset_id, granule_id, path, number)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.01);

-- A check of the files of a set in a root directory, in order of granule.
CREATE TABLE accession.fixity_run (
    dataset_id   bigint NOT NULL,
    run          bigint NOT NULL CHECK (run > 0),                       -- 1, 2, … within the dataset
    timestamp    bigint NOT NULL,                                       -- of the instance, microseconds
    identifier   bytea  NOT NULL CHECK (length(identifier) = 16),       -- of the set: that of the instance, or of a subset
    mode         text COLLATE "C" NOT NULL CHECK (mode <> ''),          -- what was compared: checksums, size
    root         text COLLATE "C" NOT NULL CHECK (root <> ''),          -- the name of the root directory
    algorithms   text COLLATE "C" NOT NULL,                             -- those that were computed, a JSON array
    last_record  bigint NOT NULL CHECK (last_record >= 0),              -- records with a greater number were not checked
    from_id      text COLLATE "C" NOT NULL,                             -- begins after this granule. '': at the first
    to_id        text COLLATE "C",                                      -- everything up to and with this granule was checked. NULL: to the end of the set
    lease_to_id  text COLLATE "C",                                      -- no other run checks anything up to this granule. NULL: to the end of the set
    lease_ends   bigint,                                                -- until then, microseconds. NULL: the run has ended
    started      bigint NOT NULL,                                       -- microseconds
    ended        bigint NOT NULL,                                       -- when it was last saved, microseconds
    recorded_by  text COLLATE "C",                                      -- NULL: unknown
    files        bigint NOT NULL CHECK (files >= 0),                    -- that were checked
    bytes        bigint NOT NULL CHECK (bytes >= 0),                    -- that were read
    findings     bigint NOT NULL CHECK (findings >= 0),
    forgotten    bigint,                                                -- when the root was forgotten, microseconds. NULL: it was not
    checksum     text COLLATE "C" GENERATED ALWAYS AS (md5(
        quote_nullable(dataset_id::text) || quote_nullable(run::text)
        || quote_nullable(timestamp::text) || quote_nullable(encode(identifier, 'hex'))
        || quote_nullable(mode) || quote_nullable(root) || quote_nullable(algorithms)
        || quote_nullable(last_record::text) || quote_nullable(from_id) || quote_nullable(to_id)
        || quote_nullable(lease_to_id) || quote_nullable(lease_ends::text)
        || quote_nullable(started::text) || quote_nullable(ended::text)
        || quote_nullable(recorded_by) || quote_nullable(files::text)
        || quote_nullable(bytes::text) || quote_nullable(findings::text)
        || quote_nullable(forgotten::text))) STORED,
    PRIMARY KEY (dataset_id, run)
);

-- What a check found wrong with a file.
CREATE TABLE accession.fixity_finding (
    dataset_id bigint NOT NULL,
    run        bigint NOT NULL,
    granule_id text COLLATE "C" NOT NULL,                               -- '': no granule has the file
    path       text COLLATE "C" NOT NULL,                               -- '': it equals the id
    status     text COLLATE "C" NOT NULL CHECK (status <> ''),          -- missing, size, checksum, unreadable, …
    expected   text COLLATE "C",                                        -- NULL: nothing
    found      text COLLATE "C",                                        -- also why it is unreadable. NULL: nothing
    checked    bigint NOT NULL,                                         -- when it was found, microseconds
    closed     bigint,                                                  -- when it ceased to hold, microseconds. NULL: it is open
    closed_by  text COLLATE "C" CHECK ((closed_by IS NULL) = (closed IS NULL)), -- good, deleted, replaced, forgotten
    checksum   text COLLATE "C" GENERATED ALWAYS AS (md5(
        quote_nullable(dataset_id::text) || quote_nullable(run::text)
        || quote_nullable(granule_id) || quote_nullable(path) || quote_nullable(status)
        || quote_nullable(expected) || quote_nullable(found) || quote_nullable(checked::text)
        || quote_nullable(closed::text) || quote_nullable(closed_by))) STORED,
    PRIMARY KEY (dataset_id, run, granule_id, path)
);

CREATE TRIGGER never_rewritten BEFORE UPDATE OR DELETE ON accession.record_batch
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.record_batch
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_rewritten BEFORE UPDATE OR DELETE ON accession.file_record
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.file_record
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_erased BEFORE DELETE ON accession.fixity_run
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.fixity_run
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_erased BEFORE DELETE ON accession.fixity_finding
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.fixity_finding
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
