-- The registry in a PostgreSQL database: the same tables as in a file, in the schema `accession`.
--
-- Instants are microseconds since 1970-01-01T00:00:00Z. Identifiers and chain values are the 16
-- bytes of the MD5, digests the 32 bytes of the SHA-256. Every column of text that is compared has COLLATE "C", since canonical order is
-- the order of bytes and the collation of a database may be any other. Rows of the history and of
-- granules are never erased: the triggers at the end refuse it, as do the privileges that the
-- administrator's guide grants.
--
-- Ready for Citus: the small tables dataset, dataset_name, payment_worker, payment_taken and
-- registry become reference tables; all others are distributed by dataset_id, which is part of each
-- of their keys. There are no foreign keys between distributed tables, and none from granule and
-- checkpoint, where the look-up for each row would double the cost of an import: verification finds
-- rows without a dataset.
--
-- The column `row_check` of a row is the CRC-32 of its other columns, which every reader compares. That of
-- a granule, `checksum`, is of the id of its producer, which nothing else in the registry can prove: the
-- server computes it when a row is written, and verification compares it.

-- It states the schema: whoever finds nothing else beside it finishes what was begun.
CREATE TABLE IF NOT EXISTS accession.registry (
    only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    registry_id  uuid    NOT NULL,                                      -- distinguishes it from another that takes its place
    version      integer NOT NULL CHECK (version > 0),                  -- the number of migrations that were applied
    schema_check bigint  NOT NULL                                       -- the CRC-32 of their statements
);

-- One row for each dataset, and row 0 for the registry itself. A change first increments the
-- revision, and so holds the lock on the row until it ends: the changes of one dataset queue, those
-- of different datasets do not. The tokens of the last changes answer whether one was committed
-- when the connection was lost during the commit.
CREATE TABLE accession.writer (
    dataset_id bigint PRIMARY KEY,
    revision   bigint NOT NULL DEFAULT 0,
    tokens     uuid[] NOT NULL DEFAULT '{}'                             -- latest first, at most 16
) WITH (fillfactor = 50);

CREATE TABLE accession.dataset (
    id             bigint PRIMARY KEY CHECK (id > 0),
    name           text COLLATE "C" NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
    doi            text COLLATE "C",
    withdrawn      bigint,                                              -- microseconds. NULL: not withdrawn
    withdrawn_note text COLLATE "C" CHECK (withdrawn_note IS NULL OR withdrawn IS NOT NULL),
    max_delete     text COLLATE "C",                                    -- the most that a sync may delete: a number, or a percentage. NULL: the default
    max_add        text COLLATE "C",                                    -- the most that it may add
    max_replace    text COLLATE "C",                                    -- the most of which a change may state other bytes
    record         text COLLATE "C" NOT NULL,                           -- the metadata, a JSON object
    row_check      bigint NOT NULL
);

-- The former names of datasets. A dataset is still found by them, and no other dataset can get
-- them.
CREATE TABLE accession.dataset_name (
    name       text COLLATE "C" PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200),
    dataset_id bigint NOT NULL REFERENCES accession.dataset (id),
    renamed    bigint NOT NULL,                                         -- when it was given up, microseconds
    row_check   bigint NOT NULL
);

CREATE INDEX dataset_name_by_dataset ON accession.dataset_name (dataset_id);

-- Every version of a dataset's record.
CREATE TABLE accession.record_version (
    dataset_id  bigint NOT NULL,
    version     bigint NOT NULL CHECK (version > 0),                    -- 1, 2, … within the dataset
    recorded    bigint NOT NULL,                                        -- when it was entered, microseconds
    recorded_by text COLLATE "C",                                       -- NULL: unknown
    action      text COLLATE "C" NOT NULL CHECK (action <> ''),         -- what was done: added, edited, renamed, …
    record      text COLLATE "C" NOT NULL,                              -- the whole record after it, as JSON
    row_check    bigint NOT NULL,
    PRIMARY KEY (dataset_id, version)
);

-- A dataset's history: one row a change, strictly increasing in time.
CREATE TABLE accession.instance (
    dataset_id  bigint NOT NULL,
    timestamp   bigint NOT NULL,                                        -- when the change took effect
    identifier  bytea  NOT NULL CHECK (length(identifier) = 16),
    digest      bytea  NOT NULL CHECK (length(digest) = 32),
    granules    bigint NOT NULL CHECK (granules >= 0),                  -- held from then on
    ingested    bigint NOT NULL CHECK (ingested >= 0),                  -- brought by this change
    deleted     bigint NOT NULL CHECK (deleted >= 0),                   -- taken by this change
    described   bigint NOT NULL CHECK (described >= 0),                 -- of which it states more than was known
    replaced    bigint NOT NULL CHECK (replaced >= 0),                  -- of which it states other bytes
    recorded    bigint NOT NULL,                                        -- when the change was entered
    recorded_by text COLLATE "C",                                       -- NULL: unknown
    note        text COLLATE "C",
    row_check   bigint NOT NULL,
    PRIMARY KEY (dataset_id, timestamp),
    CHECK (ingested + deleted + described + replaced > 0)               -- a change changes something
);

-- Not unique: a set can come back, and be held by several datasets.
CREATE INDEX instance_by_identifier ON accession.instance (identifier);
CREATE INDEX instance_by_digest ON accession.instance (digest);

-- Each period in which a dataset held a granule: from `ingested` until just before `deleted`. A granule that
-- is deleted finds room for its new version on its page. A table that only grows is vacuumed after each
-- hundredth of it, not after each fifth: else hundreds of millions of rows wait to be frozen at once.
CREATE TABLE accession.granule (
    dataset_id       bigint NOT NULL,
    granule_id       text COLLATE "C" NOT NULL CHECK (granule_id <> ''),
    ingested         bigint NOT NULL,
    deleted          bigint CHECK (deleted > ingested),                 -- NULL: still held
    producer_granule text COLLATE "C",
    checksum         text COLLATE "C" GENERATED ALWAYS AS (
        CASE WHEN producer_granule IS NOT NULL
        THEN left(md5(quote_nullable(granule_id) || quote_nullable(producer_granule)), 8) END) STORED,
    PRIMARY KEY (dataset_id, granule_id, ingested)
) WITH (fillfactor = 90, autovacuum_vacuum_insert_scale_factor = 0.01);

CREATE INDEX granule_by_producer
ON accession.granule (dataset_id, producer_granule, granule_id, ingested)
WHERE producer_granule IS NOT NULL;

-- What is known of the files of a granule, from an instant on: until its next row, or the end of the
-- period in which the granule is held. Rows are only added.
CREATE TABLE accession.content (
    dataset_id bigint NOT NULL,
    granule_id text COLLATE "C" NOT NULL CHECK (granule_id <> ''),
    since      bigint NOT NULL,                                         -- of the change that states it
    files      bytea  NOT NULL,                                         -- all that is known, encoded. Empty: nothing any more
    row_check  bigint NOT NULL,
    PRIMARY KEY (dataset_id, granule_id, since)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.01);

-- The chain and the canonical list of the granules now held, after one of them. Derived, so it may be
-- replaced: after the ids whose CRC-32 has its ten low bits zero.
CREATE TABLE accession.checkpoint (
    dataset_id bigint NOT NULL,
    granule_id text COLLATE "C" NOT NULL,
    chain      bytea NOT NULL CHECK (length(chain) = 16),
    list       bytea NOT NULL,                                          -- the state of the digest
    granules   bigint NOT NULL CHECK (granules > 0),                    -- held up to and including this id
    PRIMARY KEY (dataset_id, granule_id)
);

-- A note about an instance, which leaves the history as it is.
CREATE TABLE accession.annotation (
    dataset_id   bigint  NOT NULL,
    timestamp    bigint  NOT NULL,                                      -- of the instance
    number       bigint  NOT NULL CHECK (number > 0),                   -- 1, 2, … of this instance
    note         text COLLATE "C" NOT NULL CHECK (note <> ''),
    questionable bigint  NOT NULL CHECK (questionable IN (0, 1)),       -- whether the set should not be relied on
    recorded     bigint  NOT NULL,                                      -- when it was entered, microseconds
    recorded_by  text COLLATE "C",                                      -- NULL: unknown
    row_check     bigint NOT NULL,
    PRIMARY KEY (dataset_id, timestamp, number)
);

-- The last time that a dataset was compared with a listing, and was the same.
CREATE TABLE accession.confirmation (
    dataset_id  bigint PRIMARY KEY,
    recorded    bigint NOT NULL,                                        -- when it was entered, microseconds
    recorded_by text COLLATE "C",                                       -- NULL: unknown
    granules    bigint NOT NULL CHECK (granules >= 0),                  -- in the listing
    row_check    bigint NOT NULL
);

-- The last listing of a dataset that was refused, until one is accepted.
CREATE TABLE accession.refusal (
    dataset_id bigint PRIMARY KEY,
    recorded   bigint NOT NULL,                                         -- when it was refused, microseconds
    reason     text COLLATE "C" NOT NULL,
    row_check  bigint NOT NULL
);

-- A subset of a dataset that was cited: the granules that patterns select, or that were named, from
-- those held at `timestamp`. The same selection of the same set is one row.
CREATE TABLE accession.subset (
    dataset_id bigint NOT NULL,
    id         bigint NOT NULL CHECK (id > 0),                          -- 1, 2, … within the dataset
    timestamp  bigint NOT NULL,                                         -- of an instance, microseconds
    patterns   text COLLATE "C" NOT NULL,                               -- a JSON array in normal form; [] where granules were named
    identifier bytea  NOT NULL CHECK (length(identifier) = 16),
    digest     bytea  NOT NULL CHECK (length(digest) = 32),
    granules   bigint NOT NULL CHECK (granules > 0),
    cited      bigint NOT NULL,                                         -- first, microseconds
    row_check   bigint NOT NULL,
    PRIMARY KEY (dataset_id, id)
);

-- Not unique: several selections can have the same granules. (The store finds the same selection
-- under the lock of the dataset; patterns can be longer than an index entry may be.)
CREATE INDEX subset_by_identifier ON accession.subset (identifier);
CREATE INDEX subset_by_digest ON accession.subset (digest);

-- Finds those that were cited last.
CREATE INDEX subset_by_cited
ON accession.subset (dataset_id, cited, timestamp, granules, id);

-- The granules of a selection that names them.
CREATE TABLE accession.named_granule (
    dataset_id   bigint NOT NULL,
    subset_id bigint NOT NULL,
    granule_id   text COLLATE "C" NOT NULL CHECK (granule_id <> ''),
    row_check    bigint NOT NULL,
    PRIMARY KEY (dataset_id, subset_id, granule_id)
);

-- A log that was compared with a dataset, or pulled into it. The rows of this table and the next are a memory
-- of what others published, not history: they may be replaced.
CREATE TABLE accession.mirror_source (
    dataset_id bigint NOT NULL,                                         -- the mirror
    id         bigint NOT NULL CHECK (id > 0),                          -- 1, 2, … within the dataset
    source     text COLLATE "C" NOT NULL CHECK (source <> ''),          -- a URL, or an absolute path
    read       bigint NOT NULL,                                         -- when its log was last accepted, microseconds
    identical  bigint,                                                  -- when the mirror was last identical to it, microseconds
    pulled     bigint,                                                  -- when the dataset was last pulled from it. NULL: it never was
    options    text COLLATE "C",                                        -- with which it was pulled, a JSON object
    failed     bigint,                                                  -- when it was last tried without success. NULL: not since it was last read
    failure    text COLLATE "C" CHECK (failure IS NULL OR failed IS NOT NULL),
    contradicts bigint NOT NULL CHECK (contradicts IN (0, 1)),          -- whether the last pull from it left files that contradict it
    imported   bigint,                                                  -- when its log was last imported
    row_check   bigint NOT NULL,
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
    digest     bytea  NOT NULL CHECK (length(digest) = 32),
    line_check bytea  NOT NULL CHECK (length(line_check) = 32),         -- the check of its last line
    bytes      bigint NOT NULL CHECK (bytes > 0),                       -- where the log ends after it
    granules   bigint NOT NULL CHECK (granules >= 0),                   -- held since then
    ingested   bigint NOT NULL CHECK (ingested >= 0),
    deleted    bigint NOT NULL CHECK (deleted >= 0),
    described  bigint NOT NULL CHECK (described >= 0),
    replaced   bigint NOT NULL CHECK (replaced >= 0),
    note       text COLLATE "C",
    row_check   bigint NOT NULL,
    PRIMARY KEY (dataset_id, source_id, number)
);

-- How far the checks of the files at a root directory have come. A cycle checks each granule once.
CREATE TABLE accession.fixity_root (
    dataset_id    bigint NOT NULL,
    root          text COLLATE "C" NOT NULL CHECK (root <> ''),         -- the name of the directory
    cursor        text COLLATE "C" CHECK (cursor <> ''),                -- the last granule that the present cycle has checked. NULL: none
    cycle_started bigint,                                               -- when the present cycle began, microseconds. NULL: none is under way
    full_since    bigint,                                               -- when the last cycle that came to the end began, microseconds. NULL: none did
    locked_by     text COLLATE "C",                                     -- the run that is checking files, a random number. NULL: none is
    locked_until  bigint CHECK ((locked_until IS NULL) = (locked_by IS NULL)), -- microseconds; at most ten minutes from the last save
    files         bigint NOT NULL CHECK (files >= 0),                   -- that the present cycle has checked, or else the last one
    bytes         bigint NOT NULL CHECK (bytes >= 0),                   -- that were read of them
    row_check      bigint NOT NULL,
    PRIMARY KEY (dataset_id, root)
);

-- A file that is not as it is recorded: what the last check of it has found. A row is deleted when the file
-- is found to be good, when its granule is deleted, or when other content of it is recorded.
CREATE TABLE accession.fixity_finding (
    dataset_id bigint NOT NULL,
    granule_id text COLLATE "C" NOT NULL,                               -- '': no granule has the file
    path       text COLLATE "C" NOT NULL CHECK (path <> ''),
    root       text COLLATE "C" NOT NULL,
    status     text COLLATE "C" NOT NULL CHECK (status <> ''),          -- missing, size, checksum, unreadable, …
    expected   text COLLATE "C",                                        -- NULL: nothing
    found      text COLLATE "C",                                        -- also why it is unreadable. NULL: nothing
    first_seen bigint NOT NULL,                                         -- when it was first found like this, microseconds
    row_check   bigint NOT NULL,
    PRIMARY KEY (dataset_id, granule_id, path, root)
);

-- Which payment id each worker issued last. All rows have one layout and one epoch.
CREATE TABLE accession.payment_worker (
    worker       bigint  PRIMARY KEY CHECK (worker BETWEEN 0 AND 44),
    layout       text COLLATE "C" NOT NULL CHECK (layout IN ('standard', 'wide')),
    epoch        bigint  NOT NULL,                                      -- microseconds
    last_second  bigint  NOT NULL CHECK (last_second >= 0),             -- since the epoch
    next_counter bigint  NOT NULL CHECK (next_counter >= 0),            -- within that second
    row_check     bigint NOT NULL
);

-- The ids of the old scheme, which must not be issued again.
CREATE TABLE accession.payment_taken (
    id       text COLLATE "C" PRIMARY KEY CHECK (length(id) = 9),       -- upper case
    row_check bigint NOT NULL
);

-- What the archive has stated of its sets, in order: the leaves of a tree, of which the size and the root are
-- signed.
CREATE TABLE accession.statement (
    number    bigint PRIMARY KEY CHECK (number >= 0),                   -- 0, 1, … without a gap
    dataset   bigint NOT NULL,
    subset    bigint CHECK (subset > 0),                                -- NULL: a whole instance
    since     bigint NOT NULL,                                          -- when the change of the instance took effect, microseconds
    text      text COLLATE "C" NOT NULL,                                -- the statement, whose bytes are the leaf
    row_check bigint NOT NULL
);

CREATE INDEX statement_by_set ON accession.statement (dataset, subset, since, number);

-- The checkpoints of that tree that were signed: the last one is in force. Of one size there is one, to which
-- cosignatures are added.
CREATE TABLE accession.tree_head (
    size      bigint PRIMARY KEY CHECK (size > 0),
    note      text COLLATE "C" NOT NULL,                                -- the checkpoint with its signatures
    policy    text COLLATE "C" NOT NULL,                                -- by which witnesses were asked
    signed    bigint NOT NULL,                                          -- when it was signed, microseconds
    row_check bigint NOT NULL
);

-- The same rows in the words of the seed document, for people with psql: instants as RFC 3339 text,
-- identifiers as hexadecimal characters. The year of PostgreSQL has no 0: 1 BC is the year 0000.

CREATE VIEW accession."DatasetInstances" AS
SELECT
    dataset.name AS "Dataset",
    lpad((CASE WHEN extract(year FROM at.whole) < 0 THEN extract(year FROM at.whole) + 1 ELSE extract(year FROM at.whole) END)::integer::text, 4, '0')
        || to_char(at.whole, '-MM-DD"T"HH24:MI:SS')
        || CASE WHEN at.micros = 0 THEN '' ELSE '.' || lpad(at.micros::text, 6, '0') END
        || 'Z' AS "Timestamp",
    encode(instance.identifier, 'hex') AS "DatasetInstanceIdentifier",
    instance.granules AS "Granules",
    instance.note AS "Note"
FROM accession.instance
JOIN accession.dataset ON dataset.id = instance.dataset_id
CROSS JOIN LATERAL (
    SELECT
        (instance.timestamp % 1000000 + 1000000) % 1000000 AS micros,
        to_timestamp((instance.timestamp - (instance.timestamp % 1000000 + 1000000) % 1000000) / 1000000) AT TIME ZONE 'UTC' AS whole
) AS at;

CREATE VIEW accession."Granules" AS
SELECT
    dataset.name AS "Dataset",
    granule.granule_id AS "LocalgranuleID",
    lpad((CASE WHEN extract(year FROM at.whole) < 0 THEN extract(year FROM at.whole) + 1 ELSE extract(year FROM at.whole) END)::integer::text, 4, '0')
        || to_char(at.whole, '-MM-DD"T"HH24:MI:SS')
        || CASE WHEN at.micros = 0 THEN '' ELSE '.' || lpad(at.micros::text, 6, '0') END
        || 'Z' AS "Ingested",
    lpad((CASE WHEN extract(year FROM gone.whole) < 0 THEN extract(year FROM gone.whole) + 1 ELSE extract(year FROM gone.whole) END)::integer::text, 4, '0')
        || to_char(gone.whole, '-MM-DD"T"HH24:MI:SS')
        || CASE WHEN gone.micros = 0 THEN '' ELSE '.' || lpad(gone.micros::text, 6, '0') END
        || 'Z' AS "Deleted",
    granule.producer_granule AS "ProducerGranuleID"
FROM accession.granule
JOIN accession.dataset ON dataset.id = granule.dataset_id
CROSS JOIN LATERAL (
    SELECT
        (granule.ingested % 1000000 + 1000000) % 1000000 AS micros,
        to_timestamp((granule.ingested - (granule.ingested % 1000000 + 1000000) % 1000000) / 1000000) AT TIME ZONE 'UTC' AS whole
) AS at
CROSS JOIN LATERAL (
    SELECT
        (granule.deleted % 1000000 + 1000000) % 1000000 AS micros,
        to_timestamp((granule.deleted - (granule.deleted % 1000000 + 1000000) % 1000000) / 1000000) AT TIME ZONE 'UTC' AS whole
) AS gone;

-- Nothing is erased or rewritten, not even by the owner of the tables by mistake. (Citus allows
-- triggers on distributed tables only with a setting that it calls unsafe, with which
-- `accession registry distribute` begins.)

CREATE FUNCTION accession.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of accession.% are never erased or rewritten', TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE FUNCTION accession.refuse_but_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.deleted IS NULL AND NEW.deleted IS NOT NULL
        AND (OLD.dataset_id, OLD.granule_id, OLD.ingested) = (NEW.dataset_id, NEW.granule_id, NEW.ingested)
        AND OLD.producer_granule IS NOT DISTINCT FROM NEW.producer_granule
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'rows of accession.granule are never rewritten: only deleted is set, once'
    USING ERRCODE = 'insufficient_privilege';
END
$$;

-- A dataset can be removed with the versions of its record before its first change, unless it has corrected the
-- history of another one. The argument is the column with its key.
--
-- On a Citus cluster, a trigger runs on the shards of each machine, where Citus refuses a query of a distributed table
-- without this setting (citus/src/backend/distributed/shared_library_init.c): such a query uses a connection of its
-- own, which does not see what its transaction has changed. This one asks for rows that the transaction has not added,
-- of a dataset that it has locked. Elsewhere the setting has no effect; there, only a superuser may create a function
-- that has it, so it is made here.
CREATE FUNCTION accession.refuse_but_unused() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    removed bigint := to_jsonb(OLD) ->> TG_ARGV[0];
BEGIN
    PERFORM set_config('citus.allow_nested_distributed_execution', 'on', true);
    IF NOT EXISTS (SELECT 1 FROM accession.instance WHERE dataset_id = removed)
        AND NOT EXISTS (SELECT 1 FROM accession.record_version WHERE dataset_id = removed AND action = 'corrected')
    THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'rows of accession.% are never erased after the first change', TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END
$$;

-- Of a checkpoint, every line stays: what was signed, and each signature. The path keeps functions that a role
-- has created itself out of the comparison.
CREATE FUNCTION accession.refuse_but_signatures() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF OLD.size = NEW.size
        AND string_to_array(OLD.note, E'\n') <@ string_to_array(NEW.note, E'\n')
        AND starts_with(NEW.note, substring(OLD.note FROM E'^.*\n\n'))
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'rows of accession.tree_head are never rewritten: only signatures are added'
    USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER never_rewritten BEFORE UPDATE ON accession.granule
FOR EACH ROW EXECUTE FUNCTION accession.refuse_but_deletion();
CREATE TRIGGER never_erased BEFORE DELETE ON accession.granule
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.granule
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_rewritten BEFORE UPDATE OR DELETE ON accession.instance
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.instance
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_rewritten BEFORE UPDATE ON accession.record_version
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_erased BEFORE DELETE ON accession.record_version
FOR EACH ROW EXECUTE FUNCTION accession.refuse_but_unused('dataset_id');
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.record_version
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_rewritten BEFORE UPDATE OR DELETE ON accession.subset
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.subset
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_rewritten BEFORE UPDATE OR DELETE ON accession.named_granule
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.named_granule
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_rewritten BEFORE UPDATE OR DELETE ON accession.payment_taken
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.payment_taken
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_erased BEFORE DELETE ON accession.dataset
FOR EACH ROW EXECUTE FUNCTION accession.refuse_but_unused('id');
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.dataset
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_erased BEFORE DELETE ON accession.dataset_name
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.dataset_name
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_erased BEFORE DELETE ON accession.payment_worker
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.payment_worker
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_erased BEFORE DELETE ON accession.writer
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.writer
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_rewritten BEFORE UPDATE OR DELETE ON accession.annotation
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.annotation
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_rewritten BEFORE UPDATE OR DELETE ON accession.content
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.content
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_rewritten BEFORE UPDATE OR DELETE ON accession.statement
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.statement
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_rewritten BEFORE UPDATE ON accession.tree_head
FOR EACH ROW EXECUTE FUNCTION accession.refuse_but_signatures();
CREATE TRIGGER never_erased BEFORE DELETE ON accession.tree_head
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.tree_head
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
