CREATE TABLE dataset (
    id        INTEGER PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
    doi       TEXT,
    title     TEXT,
    creators  TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(creators)),  -- a JSON array, in citation order
    publisher TEXT,
    version   TEXT,
    year      INTEGER CHECK (year BETWEEN 1000 AND 9999),
    url       TEXT,
    archive   TEXT
) STRICT;

CREATE TABLE instance (
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),
    timestamp  INTEGER NOT NULL,                                        -- when the change took effect
    identifier BLOB    NOT NULL CHECK (length(identifier) = 16),
    granules   INTEGER NOT NULL CHECK (granules >= 0),                  -- held from then on
    ingested   INTEGER NOT NULL CHECK (ingested >= 0),                  -- brought by this change
    deleted    INTEGER NOT NULL CHECK (deleted >= 0),                   -- taken by this change
    recorded   INTEGER NOT NULL,                                        -- when the change was entered
    note       TEXT,
    PRIMARY KEY (dataset_id, timestamp),
    CHECK (ingested + deleted > 0)                                      -- a change changes something
) STRICT, WITHOUT ROWID;

CREATE INDEX instance_by_identifier ON instance (identifier);

CREATE TABLE granule (
    dataset_id       INTEGER NOT NULL REFERENCES dataset (id),
    granule_id       TEXT    NOT NULL CHECK (granule_id <> ''),
    ingested         INTEGER NOT NULL,
    deleted          INTEGER CHECK (deleted > ingested),                -- NULL: held still
    producer_granule TEXT,
    PRIMARY KEY (dataset_id, granule_id, ingested)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoint (
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),
    granule_id TEXT    NOT NULL,
    chain      BLOB    NOT NULL CHECK (length(chain) = 16),
    PRIMARY KEY (dataset_id, granule_id)
) STRICT, WITHOUT ROWID;

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
