-- The registry in a PostgreSQL database: the same tables as in a file, in the schema `accession`.
--
-- Instants are microseconds since 1970-01-01T00:00:00Z. Identifiers and chain values are the 16
-- bytes of the MD5. Every column of text that is compared has COLLATE "C", since canonical order is
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
-- A column `checksum` is a second copy, in the sense of SQLite's V5: of data that nothing else in
-- the registry can prove. The server computes it when a row is written, verification compares it.
-- quote_nullable separates the values, so that no two rows have the same text.

CREATE TABLE accession.registry (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    registry_id uuid    NOT NULL,                                       -- distinguishes it from another that takes its place
    version     integer NOT NULL CHECK (version > 0),                   -- the number of migrations that were applied
    copied_from text                                                    -- an unfinished copy of this registry. NULL: complete
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
    title          text COLLATE "C",
    description    text COLLATE "C",
    creators       text COLLATE "C" NOT NULL,                           -- a JSON array, in citation order
    publisher      text COLLATE "C",
    version        text COLLATE "C",
    year           integer CHECK (year BETWEEN 1000 AND 9999),
    url            text COLLATE "C",
    licence        text COLLATE "C",
    archive        text COLLATE "C",
    withdrawn      bigint,                                              -- microseconds. NULL: not withdrawn
    withdrawn_note text COLLATE "C" CHECK (withdrawn_note IS NULL OR withdrawn IS NOT NULL),
    checksum       text COLLATE "C" GENERATED ALWAYS AS (md5(
        id::text || quote_nullable(name) || quote_nullable(doi) || quote_nullable(title)
        || quote_nullable(description) || quote_nullable(creators) || quote_nullable(publisher)
        || quote_nullable(version) || quote_nullable(year::text) || quote_nullable(url)
        || quote_nullable(licence) || quote_nullable(archive) || quote_nullable(withdrawn::text)
        || quote_nullable(withdrawn_note))) STORED
);

-- The former names of datasets. A dataset is still found by them, and no other dataset can get
-- them.
CREATE TABLE accession.dataset_name (
    name       text COLLATE "C" PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200),
    dataset_id bigint NOT NULL REFERENCES accession.dataset (id),
    renamed    bigint NOT NULL,                                         -- when it was given up, microseconds
    checksum   text COLLATE "C" GENERATED ALWAYS AS (md5(
        quote_nullable(name) || quote_nullable(dataset_id::text) || quote_nullable(renamed::text))) STORED
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
    checksum    text COLLATE "C" GENERATED ALWAYS AS (md5(
        quote_nullable(dataset_id::text) || quote_nullable(version::text)
        || quote_nullable(recorded::text) || quote_nullable(recorded_by) || quote_nullable(action)
        || quote_nullable(record))) STORED,
    PRIMARY KEY (dataset_id, version)
);

-- A dataset's history: one row a change, strictly increasing in time.
CREATE TABLE accession.instance (
    dataset_id  bigint NOT NULL,
    timestamp   bigint NOT NULL,                                        -- when the change took effect
    identifier  bytea  NOT NULL CHECK (length(identifier) = 16),
    granules    bigint NOT NULL CHECK (granules >= 0),                  -- held from then on
    ingested    bigint NOT NULL CHECK (ingested >= 0),                  -- brought by this change
    deleted     bigint NOT NULL CHECK (deleted >= 0),                   -- taken by this change
    recorded    bigint NOT NULL,                                        -- when the change was entered
    recorded_by text COLLATE "C",                                       -- NULL: unknown
    note        text COLLATE "C",
    checksum    text COLLATE "C" GENERATED ALWAYS AS (md5(
        quote_nullable(dataset_id::text) || quote_nullable(timestamp::text)
        || quote_nullable(recorded::text) || quote_nullable(recorded_by) || quote_nullable(note))) STORED,
    PRIMARY KEY (dataset_id, timestamp),
    CHECK (ingested + deleted > 0)                                      -- a change changes something
);

-- Not unique: a set can come back, and be held by several datasets.
CREATE INDEX instance_by_identifier ON accession.instance (identifier);

-- Each period in which a dataset held a granule: from `ingested` until just before `deleted`.
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
);

CREATE INDEX granule_by_producer
ON accession.granule (dataset_id, producer_granule, granule_id, ingested)
WHERE producer_granule IS NOT NULL;

-- The chain of the granules now held, after one of them. Derived, so it may be replaced: after the
-- ids whose CRC-32 has its ten low bits zero.
CREATE TABLE accession.checkpoint (
    dataset_id bigint NOT NULL,
    granule_id text COLLATE "C" NOT NULL,
    chain      bytea NOT NULL CHECK (length(chain) = 16),
    granules   bigint CHECK (granules > 0),                             -- held up to and including this id. NULL: unknown
    PRIMARY KEY (dataset_id, granule_id)
);

-- A subset of a dataset that was cited: the granules that patterns select, or that were named, from
-- those held at `timestamp`. The same selection of the same set is one row.
CREATE TABLE accession.saved_selection (
    dataset_id bigint NOT NULL,
    id         bigint NOT NULL CHECK (id > 0),                          -- 1, 2, … within the dataset
    timestamp  bigint NOT NULL,                                         -- of an instance, microseconds
    patterns   text COLLATE "C" NOT NULL,                               -- a JSON array in normal form; [] where granules were named
    identifier bytea  NOT NULL CHECK (length(identifier) = 16),
    granules   bigint NOT NULL CHECK (granules > 0),
    cited      bigint NOT NULL,                                         -- first, microseconds
    checksum   text COLLATE "C" GENERATED ALWAYS AS (md5(
        quote_nullable(dataset_id::text) || quote_nullable(timestamp::text)
        || quote_nullable(granules::text) || quote_nullable(cited::text))) STORED,
    PRIMARY KEY (dataset_id, id)
);

-- Not unique: several selections can have the same granules. (The store finds the same selection
-- under the lock of the dataset; patterns can be longer than an index entry may be.)
CREATE INDEX saved_selection_by_identifier ON accession.saved_selection (identifier);

-- The granules of a selection that names them.
CREATE TABLE accession.named_granule (
    dataset_id   bigint NOT NULL,
    selection_id bigint NOT NULL,
    granule_id   text COLLATE "C" NOT NULL CHECK (granule_id <> ''),
    PRIMARY KEY (dataset_id, selection_id, granule_id)
);

-- Which payment id each worker issued last. All rows have one layout and one epoch.
CREATE TABLE accession.payment_worker (
    worker       integer PRIMARY KEY CHECK (worker BETWEEN 0 AND 44),
    layout       text COLLATE "C" NOT NULL CHECK (layout IN ('standard', 'wide')),
    epoch        bigint  NOT NULL,                                      -- microseconds
    last_second  bigint  NOT NULL CHECK (last_second >= 0),             -- since the epoch
    next_counter integer NOT NULL CHECK (next_counter >= 0),            -- within that second
    checksum     text COLLATE "C" GENERATED ALWAYS AS (md5(
        quote_nullable(worker::text) || quote_nullable(layout) || quote_nullable(epoch::text)
        || quote_nullable(last_second::text) || quote_nullable(next_counter::text))) STORED
);

-- The ids of the old scheme, which must not be issued again.
CREATE TABLE accession.payment_taken (
    id       text COLLATE "C" PRIMARY KEY CHECK (length(id) = 9),       -- upper case
    checksum text COLLATE "C" GENERATED ALWAYS AS (md5(id)) STORED
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
-- triggers on distributed tables only with an unsafe setting: `accession distribute` removes these,
-- and only the privileges remain.)

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
CREATE TRIGGER never_rewritten BEFORE UPDATE OR DELETE ON accession.record_version
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.record_version
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_rewritten BEFORE UPDATE OR DELETE ON accession.saved_selection
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.saved_selection
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
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
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
