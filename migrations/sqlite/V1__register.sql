-- The register: datasets, their histories, their granules, and where a rewind may resume.
--
-- Instants are microseconds since 1970-01-01T00:00:00Z (V2 shows them as text). Identifiers and
-- chain values are the 16 bytes of the MD5. Text compares byte by byte (BINARY), which is the
-- canonical order of the identifier's rule. Rows of instance and granule are never erased.

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

-- A dataset's history: one row a change, strictly increasing in time.
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

-- Not unique: a set can come back, and stand in several datasets.
CREATE INDEX instance_by_identifier ON instance (identifier);

-- Each stay of a granule in a dataset: held from `ingested` until just before `deleted`.
-- WITHOUT ROWID: in canonical order on disk, half the space of a table with an index beside it.
CREATE TABLE granule (
    dataset_id       INTEGER NOT NULL REFERENCES dataset (id),
    granule_id       TEXT    NOT NULL CHECK (granule_id <> ''),
    ingested         INTEGER NOT NULL,
    deleted          INTEGER CHECK (deleted > ingested),                -- NULL: held still
    producer_granule TEXT,
    PRIMARY KEY (dataset_id, granule_id, ingested)
) STRICT, WITHOUT ROWID;

-- The chain of the granules now held, as it stood after one of them. Derived, and so replaced at
-- will: after the ids whose CRC-32 has its ten low bits zero.
CREATE TABLE checkpoint (
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),
    granule_id TEXT    NOT NULL,
    chain      BLOB    NOT NULL CHECK (length(chain) = 16),
    PRIMARY KEY (dataset_id, granule_id)
) STRICT, WITHOUT ROWID;
