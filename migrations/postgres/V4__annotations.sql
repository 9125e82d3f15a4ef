-- Stores what is said about a history after the fact: notes on its instances, and that a listing was
-- compared with a dataset and nothing had changed. Also more of the record, the limits of a `sync`,
-- and from where, and with what success, a mirror was pulled; as SQLite's V8 does. Adds tables and
-- columns, and replaces checksums: safe for every registry.

-- A note about an instance, which leaves the history as it is.
CREATE TABLE accession.annotation (
    dataset_id   bigint  NOT NULL,
    timestamp    bigint  NOT NULL,                                      -- of the instance
    number       bigint  NOT NULL CHECK (number > 0),                   -- 1, 2, … of this instance
    note         text COLLATE "C" NOT NULL CHECK (note <> ''),
    questionable bigint  NOT NULL CHECK (questionable IN (0, 1)),       -- whether the set should not be relied on
    recorded     bigint  NOT NULL,                                      -- when it was entered, microseconds
    recorded_by  text COLLATE "C",                                      -- NULL: unknown
    checksum     text COLLATE "C" GENERATED ALWAYS AS (md5(
        quote_nullable(dataset_id::text) || quote_nullable(timestamp::text)
        || quote_nullable(number::text) || quote_nullable(note)
        || quote_nullable(questionable::text) || quote_nullable(recorded::text)
        || quote_nullable(recorded_by))) STORED,
    PRIMARY KEY (dataset_id, timestamp, number)
);

-- The last time that a dataset was compared with a listing, and was the same.
CREATE TABLE accession.confirmation (
    dataset_id  bigint PRIMARY KEY,
    recorded    bigint NOT NULL,                                        -- when it was entered, microseconds
    recorded_by text COLLATE "C",                                       -- NULL: unknown
    granules    bigint NOT NULL CHECK (granules >= 0),                  -- in the listing
    checksum    text COLLATE "C" GENERATED ALWAYS AS (md5(
        quote_nullable(dataset_id::text) || quote_nullable(recorded::text)
        || quote_nullable(recorded_by) || quote_nullable(granules::text))) STORED
);

CREATE TRIGGER never_rewritten BEFORE UPDATE OR DELETE ON accession.annotation
FOR EACH ROW EXECUTE FUNCTION accession.refuse();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON accession.annotation
FOR EACH STATEMENT EXECUTE FUNCTION accession.refuse();

ALTER TABLE accession.dataset
ADD COLUMN granule_url text COLLATE "C",                                -- with {granule} in the place of the id
ADD COLUMN keywords    text COLLATE "C" NOT NULL DEFAULT '[]',          -- a JSON array
ADD COLUMN free_access bigint CHECK (free_access IN (0, 1)),            -- whether everybody can read the data without paying. NULL: unknown
ADD COLUMN temporal    text COLLATE "C",                                -- the time that the data are about: start/end
ADD COLUMN max_delete  text COLLATE "C",                                -- the most that a sync may delete: a number, or a percentage. NULL: the default
ADD COLUMN max_add     text COLLATE "C";                                -- the most that it may add

ALTER TABLE accession.dataset DROP COLUMN checksum;

ALTER TABLE accession.dataset
ADD COLUMN checksum text COLLATE "C" GENERATED ALWAYS AS (md5(
    id::text || quote_nullable(name) || quote_nullable(doi) || quote_nullable(title)
    || quote_nullable(description) || quote_nullable(creators) || quote_nullable(publisher)
    || quote_nullable(version) || quote_nullable(year::text) || quote_nullable(url)
    || quote_nullable(licence) || quote_nullable(archive) || quote_nullable(withdrawn::text)
    || quote_nullable(withdrawn_note) || quote_nullable(granule_url) || quote_nullable(keywords)
    || quote_nullable(free_access::text) || quote_nullable(temporal)
    || quote_nullable(max_delete) || quote_nullable(max_add))) STORED;

ALTER TABLE accession.mirror_source
ADD COLUMN pulled  bigint,                                              -- when the dataset was last pulled from it. NULL: it was only compared
ADD COLUMN options text COLLATE "C",                                    -- with which it was pulled, a JSON object
ADD COLUMN failed  bigint,                                              -- when it was last tried without success. NULL: not since it was last read
ADD COLUMN failure text COLLATE "C" CHECK (failure IS NULL OR failed IS NOT NULL);

ALTER TABLE accession.mirror_source DROP COLUMN checksum;

ALTER TABLE accession.mirror_source
ADD COLUMN checksum text COLLATE "C" GENERATED ALWAYS AS (md5(
    quote_nullable(dataset_id::text) || quote_nullable(id::text) || quote_nullable(source)
    || quote_nullable(read::text) || quote_nullable(identical::text) || quote_nullable(etag)
    || quote_nullable(pulled::text) || quote_nullable(options) || quote_nullable(failed::text)
    || quote_nullable(failure))) STORED;
