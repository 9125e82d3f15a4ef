-- The same rows in the words of the seed document, for people with the sqlite3 shell or Datasette:
-- instants as RFC 3339 text, identifiers as hexadecimal characters. Views only: they hold nothing,
-- so adding them is safe for every file.

CREATE VIEW "DatasetInstances" AS
SELECT
    dataset.name AS "Dataset",
    strftime('%Y-%m-%dT%H:%M:%S', (instance.timestamp - (instance.timestamp % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
        || CASE WHEN instance.timestamp % 1000000 = 0 THEN '' ELSE printf('.%06d', (instance.timestamp % 1000000 + 1000000) % 1000000) END
        || 'Z' AS "Timestamp",
    lower(hex(instance.identifier)) AS "DatasetInstanceIdentifier",
    instance.granules AS "Granules",
    instance.note AS "Note"
FROM instance
JOIN dataset ON dataset.id = instance.dataset_id;

CREATE VIEW "Granules" AS
SELECT
    dataset.name AS "Dataset",
    granule.granule_id AS "LocalgranuleID",
    strftime('%Y-%m-%dT%H:%M:%S', (granule.ingested - (granule.ingested % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
        || CASE WHEN granule.ingested % 1000000 = 0 THEN '' ELSE printf('.%06d', (granule.ingested % 1000000 + 1000000) % 1000000) END
        || 'Z' AS "Ingested",
    strftime('%Y-%m-%dT%H:%M:%S', (granule.deleted - (granule.deleted % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
        || CASE WHEN granule.deleted % 1000000 = 0 THEN '' ELSE printf('.%06d', (granule.deleted % 1000000 + 1000000) % 1000000) END
        || 'Z' AS "Deleted",
    granule.producer_granule AS "ProducerGranuleID"
FROM granule
JOIN dataset ON dataset.id = granule.dataset_id;
