-- Second copies (V1) of what a mirror has read of the logs of its primaries, which nothing else in
-- the registry can prove, as SQLite's V7 has them: a bit that flips there would be reported as a
-- primary that has rewritten its history. Columns that the server computes, and settings of storage:
-- safe for every registry.

ALTER TABLE accession.mirror_source
ADD COLUMN checksum text COLLATE "C" GENERATED ALWAYS AS (md5(
    quote_nullable(dataset_id::text) || quote_nullable(id::text) || quote_nullable(source)
    || quote_nullable(read::text) || quote_nullable(identical::text) || quote_nullable(etag))) STORED;

ALTER TABLE accession.log_change
ADD COLUMN checksum text COLLATE "C" GENERATED ALWAYS AS (md5(
    quote_nullable(dataset_id::text) || quote_nullable(source_id::text)
    || quote_nullable(number::text) || quote_nullable(timestamp::text)
    || quote_nullable(encode(identifier, 'hex')) || quote_nullable(encode(line_check, 'hex'))
    || quote_nullable(bytes::text) || quote_nullable(granules::text)
    || quote_nullable(ingested::text) || quote_nullable(deleted::text) || quote_nullable(note))) STORED;

-- The checksum of a subset lacked the number by which its granules belong to it.
ALTER TABLE accession.saved_selection DROP COLUMN checksum;

ALTER TABLE accession.saved_selection
ADD COLUMN checksum text COLLATE "C" GENERATED ALWAYS AS (md5(
    quote_nullable(dataset_id::text) || quote_nullable(id::text)
    || quote_nullable(timestamp::text) || quote_nullable(granules::text)
    || quote_nullable(cited::text))) STORED;

-- A granule that is deleted finds room for its new version on its page. A table that only grows is
-- vacuumed after each hundredth of it, not after each fifth: else hundreds of millions of rows wait
-- to be frozen at once.
ALTER TABLE accession.granule
SET (fillfactor = 90, autovacuum_vacuum_insert_scale_factor = 0.01);
