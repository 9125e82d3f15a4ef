-- Checks of files are recorded from here on. Names that are not UTF-8 are stored alike, and a path can be
-- longer than a key, so findings are numbered. No earlier version writes the two tables, so they are
-- replaced; they are empty in every registry.

DROP TABLE accession.fixity_finding;

DROP TABLE accession.fixity_run;

-- A check of the files of a set in a root directory, in order of granule.
CREATE TABLE accession.fixity_run (
    dataset_id   bigint NOT NULL,
    run          bigint NOT NULL CHECK (run > 0),                       -- 1, 2, … within the dataset
    timestamp    bigint NOT NULL,                                       -- of the instance, microseconds
    identifier   bytea  NOT NULL CHECK (length(identifier) = 16),       -- of the set: that of the instance, or of a subset
    is_subset    bigint NOT NULL CHECK (is_subset IN (0, 1)),           -- whether the set is only a part of the instance
    cycle        bigint CHECK (cycle > 0),                              -- of rolling checks of that root, 1, 2, …: a cycle checks each granule once. NULL: the check is not one
    mode         text COLLATE "C" NOT NULL CHECK (mode <> ''),          -- what was compared: checksums, size
    root         text COLLATE "C" NOT NULL CHECK (root <> ''),          -- the name of the root directory
    algorithms   text COLLATE "C" NOT NULL,                             -- those that were computed, a JSON array
    last_record  bigint NOT NULL CHECK (last_record >= 0),              -- records with a greater number were not checked
    from_id      text COLLATE "C" NOT NULL,                             -- begins after this granule. '': before the first
    to_id        text COLLATE "C",                                      -- everything up to and with this granule was checked. Equal to from_id: nothing yet. NULL: to the end of the set
    lease_to_id  text COLLATE "C",                                      -- no other run checks anything up to this granule. NULL: to the end of the set
    lease_ends   bigint,                                                -- until then, microseconds. NULL: there is none, or the run has ended
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
        || quote_nullable(is_subset::text) || quote_nullable(cycle::text)
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
    number     bigint NOT NULL CHECK (number > 0),                      -- 1, 2, … within the run
    granule_id text COLLATE "C" NOT NULL,                               -- '': no granule has the file
    path       text COLLATE "C" NOT NULL,                               -- '': it equals the id
    status     text COLLATE "C" NOT NULL CHECK (status <> ''),          -- missing, size, checksum, unreadable, …
    expected   text COLLATE "C",                                        -- NULL: nothing
    found      text COLLATE "C",                                        -- also why it is unreadable. NULL: nothing
    checked    bigint NOT NULL,                                         -- when it was found, microseconds
    closed     bigint,                                                  -- when it ceased to hold, microseconds. NULL: it is open
    closed_by  text COLLATE "C" CHECK ((closed_by IS NULL) = (closed IS NULL)), -- good, deleted, replaced, forgotten, repeated (a later check found something else)
    checksum   text COLLATE "C" GENERATED ALWAYS AS (md5(
        quote_nullable(dataset_id::text) || quote_nullable(run::text)
        || quote_nullable(number::text) || quote_nullable(granule_id) || quote_nullable(path) || quote_nullable(status)
        || quote_nullable(expected) || quote_nullable(found) || quote_nullable(checked::text)
        || quote_nullable(closed::text) || quote_nullable(closed_by))) STORED,
    PRIMARY KEY (dataset_id, run, number)
);

-- Where the open findings of granules are.
CREATE INDEX fixity_finding_open
ON accession.fixity_finding (dataset_id, granule_id, run, number)
WHERE closed IS NULL;

CREATE TRIGGER never_erased BEFORE DELETE ON accession.fixity_run
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.fixity_run
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_erased BEFORE DELETE ON accession.fixity_finding
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.fixity_finding
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();

-- What a mirror has read of the file records of its primary: up to which record, what it was compared
-- with, and which files are known otherwise there; a JSON object. NULL: nothing.
ALTER TABLE accession.mirror_source ADD COLUMN files text COLLATE "C";

ALTER TABLE accession.mirror_source DROP COLUMN checksum;

ALTER TABLE accession.mirror_source
ADD COLUMN checksum text COLLATE "C" GENERATED ALWAYS AS (md5(
    quote_nullable(dataset_id::text) || quote_nullable(id::text) || quote_nullable(source)
    || quote_nullable(read::text) || quote_nullable(identical::text) || quote_nullable(etag)
    || quote_nullable(pulled::text) || quote_nullable(options) || quote_nullable(failed::text)
    || quote_nullable(failure) || quote_nullable(files))) STORED;
