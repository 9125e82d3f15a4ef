-- The registry: datasets, their histories, their granules, and the checkpoints from which a change resumes.
--
-- Instants are microseconds since 1970-01-01T00:00:00Z; the views show them as text. Identifiers
-- and chain values are the 16 bytes of the MD5, digests the 32 bytes of the SHA-256. Text compares byte by byte (BINARY), which is the canonical
-- order of the identifier's rule. Rows of the history and of granules are never erased.
--
-- Each statement begins with CREATE and ends with a semicolon at the end of a line: the texts of a file's
-- schema are compared with those here.
--
-- The column `row_check` of a row is the CRC-32 of its other columns, which every reader compares. A row
-- that is lost is missing from the other tree of its table: the table or an index, which SQLite's check of
-- the file compares. What the granules give (identifiers, counts, checkpoints) is recomputed.

-- The same rows in the words of the seed document, for people with the sqlite3 shell or Datasette: instants as
-- RFC 3339 text, identifiers as hexadecimal characters. They come first, because SQLite's check of the file takes a view at the
-- beginning of its list of tables for the request to check single ones, and then finds no page that nothing uses.

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

CREATE TABLE dataset (
    id             INTEGER PRIMARY KEY,
    name           TEXT    NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
    doi            TEXT,
    withdrawn      INTEGER,                                             -- microseconds. NULL: not withdrawn
    withdrawn_note TEXT    CHECK (withdrawn_note IS NULL OR withdrawn IS NOT NULL),
    max_delete     TEXT,                                                -- the most that a sync may delete: a number, or a percentage. NULL: the default
    max_add        TEXT,                                                -- the most that it may add
    max_replace    TEXT,                                                -- the most of which a change may state other bytes
    record         TEXT    NOT NULL CHECK (json_valid(record)),         -- the metadata, a JSON object
    row_check      INTEGER NOT NULL
) STRICT;

-- The former names of datasets. A dataset is still found by them, and no other dataset can get them.
CREATE TABLE dataset_name (
    name       TEXT    NOT NULL PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200),
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),
    renamed    INTEGER NOT NULL,                                        -- when it was given up, microseconds
    row_check  INTEGER NOT NULL
) STRICT;

CREATE INDEX dataset_name_by_dataset ON dataset_name (dataset_id);

-- Every version of a dataset's record. Versions are never erased, since citations were written from them. A
-- rowid table, since a record may be longer than a page.
CREATE TABLE record_version (
    dataset_id  INTEGER NOT NULL REFERENCES dataset (id),
    version     INTEGER NOT NULL CHECK (version > 0),                   -- 1, 2, … within the dataset
    recorded    INTEGER NOT NULL,                                       -- when it was entered, microseconds
    recorded_by TEXT,                                                   -- NULL: unknown
    action      TEXT    NOT NULL CHECK (action <> ''),                  -- what was done: added, edited, renamed, …
    record      TEXT    NOT NULL CHECK (json_valid(record)),            -- the whole record after it, as JSON
    row_check   INTEGER NOT NULL,
    PRIMARY KEY (dataset_id, version)
) STRICT;

CREATE INDEX record_version_by_recorded ON record_version (recorded);

-- A dataset's history: one row a change, strictly increasing in time.
CREATE TABLE instance (
    dataset_id  INTEGER NOT NULL REFERENCES dataset (id),
    timestamp   INTEGER NOT NULL,                                       -- when the change took effect
    identifier  BLOB    NOT NULL CHECK (length(identifier) = 16),
    digest      BLOB    NOT NULL CHECK (length(digest) = 32),
    granules    INTEGER NOT NULL CHECK (granules >= 0),                 -- held from then on
    ingested    INTEGER NOT NULL CHECK (ingested >= 0),                 -- added by this change
    deleted     INTEGER NOT NULL CHECK (deleted >= 0),                  -- removed by this change
    described   INTEGER NOT NULL CHECK (described >= 0),                -- of which it states more than was known
    replaced    INTEGER NOT NULL CHECK (replaced >= 0),                 -- of which it states other bytes
    recorded    INTEGER NOT NULL,                                       -- when the change was entered
    recorded_by TEXT,                                                   -- NULL: unknown
    note        TEXT,
    row_check   INTEGER NOT NULL,
    PRIMARY KEY (dataset_id, timestamp),
    CHECK (ingested + deleted + described + replaced > 0)               -- a change changes something
) STRICT, WITHOUT ROWID;

-- Not unique: a set can come back, and be held by several datasets.
CREATE INDEX instance_by_identifier ON instance (identifier);

CREATE INDEX instance_by_digest ON instance (digest);

CREATE INDEX instance_by_recorded ON instance (recorded);

-- Each period in which a dataset held a granule: from `ingested` until just before `deleted`. WITHOUT ROWID:
-- in canonical order on disk, half the space of a table with an index beside it.
CREATE TABLE granule (
    dataset_id       INTEGER NOT NULL REFERENCES dataset (id),
    granule_id       TEXT    NOT NULL CHECK (granule_id <> ''),
    ingested         INTEGER NOT NULL,
    deleted          INTEGER CHECK (deleted > ingested),                -- NULL: still held
    producer_granule TEXT,
    PRIMARY KEY (dataset_id, granule_id, ingested)
) STRICT, WITHOUT ROWID;

-- What is known of the files of a granule, from an instant on: until its next row, or the end of the period in
-- which the granule is held. Rows are only added. Before the first row of a period nothing is known. In order
-- of id on disk, beside the granules, which stay as small as they are.
CREATE TABLE content (
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),
    granule_id TEXT    NOT NULL CHECK (granule_id <> ''),
    since      INTEGER NOT NULL,                                        -- of the change that states it
    files      BLOB    NOT NULL,                                        -- all that is known, encoded (src/model/content.rs). Empty: nothing any more
    row_check  INTEGER NOT NULL,
    PRIMARY KEY (dataset_id, granule_id, since)
) STRICT, WITHOUT ROWID;

CREATE INDEX granule_by_producer ON granule (dataset_id, producer_granule)
WHERE producer_granule IS NOT NULL;

-- The chain and the canonical list of the granules now held, after one of them. Derived, so it may be replaced:
-- after the ids whose CRC-32 has its ten low bits zero. A pass that resumes here adds the number of rows that it reads after this
-- id, and compares the total with the number that the history states; the number has no second copy, since
-- it can be counted.
CREATE TABLE checkpoint (
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),
    granule_id TEXT    NOT NULL,
    chain      BLOB    NOT NULL CHECK (length(chain) = 16),
    list       BLOB    NOT NULL,                                        -- the state of the digest (src/chain/list.rs)
    granules   INTEGER NOT NULL CHECK (granules > 0),                   -- held up to and including this id
    PRIMARY KEY (dataset_id, granule_id)
) STRICT, WITHOUT ROWID;

-- A note about an instance, which leaves the history as it is.
CREATE TABLE annotation (
    dataset_id   INTEGER NOT NULL,
    timestamp    INTEGER NOT NULL,                                      -- of the instance
    number       INTEGER NOT NULL CHECK (number > 0),                   -- 1, 2, … of this instance
    note         TEXT    NOT NULL CHECK (note <> ''),
    questionable INTEGER NOT NULL CHECK (questionable IN (0, 1)),       -- whether the set should not be relied on
    recorded     INTEGER NOT NULL,                                      -- when it was entered, microseconds
    recorded_by  TEXT,                                                  -- NULL: unknown
    row_check    INTEGER NOT NULL,
    PRIMARY KEY (dataset_id, timestamp, number),
    FOREIGN KEY (dataset_id, timestamp) REFERENCES instance (dataset_id, timestamp)
) STRICT;

CREATE INDEX annotation_by_recorded ON annotation (recorded);

-- The last time that a dataset was compared with a listing, and was the same.
CREATE TABLE confirmation (
    dataset_id  INTEGER NOT NULL PRIMARY KEY REFERENCES dataset (id),
    recorded    INTEGER NOT NULL,                                       -- when it was entered, microseconds
    recorded_by TEXT,                                                   -- NULL: unknown
    granules    INTEGER NOT NULL CHECK (granules >= 0),                 -- in the listing
    row_check   INTEGER NOT NULL
) STRICT;

CREATE INDEX confirmation_by_recorded ON confirmation (recorded);

-- The last listing of a dataset that was refused, until one is accepted.
CREATE TABLE refusal (
    dataset_id INT  NOT NULL PRIMARY KEY REFERENCES dataset (id),       -- INT: its index is a second tree
    recorded   INTEGER NOT NULL,                                        -- when it was refused, microseconds
    reason     TEXT NOT NULL,
    row_check  INTEGER NOT NULL
) STRICT;

-- A subset of a dataset that was cited: the granules that patterns select, or that were named, from those
-- held at `timestamp`. Never erased. The same selection of the same set is one row.
CREATE TABLE subset (
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),
    id         INTEGER NOT NULL CHECK (id > 0),                         -- 1, 2, … within the dataset
    timestamp  INTEGER NOT NULL,                                        -- of an instance, microseconds
    patterns   TEXT    NOT NULL CHECK (json_valid(patterns)),           -- a JSON array in normal form; [] where granules were named
    identifier BLOB    NOT NULL CHECK (length(identifier) = 16),
    digest     BLOB    NOT NULL CHECK (length(digest) = 32),
    granules   INTEGER NOT NULL CHECK (granules > 0),
    cited      INTEGER NOT NULL,                                        -- first, microseconds
    row_check  INTEGER NOT NULL,
    PRIMARY KEY (dataset_id, id),
    UNIQUE (dataset_id, identifier, digest, patterns)
) STRICT;

-- Not unique: several selections can have the same granules.
CREATE INDEX subset_by_identifier ON subset (identifier);

CREATE INDEX subset_by_digest ON subset (digest);

-- Finds those that were cited last.
CREATE INDEX subset_by_cited ON subset (dataset_id, cited, timestamp, granules, id);

-- The granules of a selection that names them.
CREATE TABLE named_granule (
    dataset_id   INTEGER NOT NULL,
    subset_id INTEGER NOT NULL,
    granule_id   TEXT    NOT NULL CHECK (granule_id <> ''),
    row_check    INTEGER NOT NULL,
    PRIMARY KEY (dataset_id, subset_id, granule_id),
    FOREIGN KEY (dataset_id, subset_id) REFERENCES subset (dataset_id, id)
) STRICT, WITHOUT ROWID;

-- A log that was compared with a dataset, or pulled into it.
CREATE TABLE mirror_source (
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),                -- the mirror
    id         INTEGER NOT NULL CHECK (id > 0),                         -- 1, 2, … within the dataset
    source     TEXT    NOT NULL CHECK (source <> ''),                   -- a URL, or an absolute path
    read       INTEGER NOT NULL,                                        -- when its log was last accepted, microseconds
    identical  INTEGER,                                                 -- when the mirror was last identical to it
    pulled     INTEGER,                                                 -- when it was last pulled; the latest is pulled again
    options    TEXT CHECK (json_valid(options)),                        -- with which it was pulled, a JSON object
    failed     INTEGER,                                                 -- when it failed last. NULL: not since it was read
    failure    TEXT CHECK (failure IS NULL OR failed IS NOT NULL),
    contradicts INTEGER NOT NULL CHECK (contradicts IN (0, 1)),         -- whether the last pull left files that contradict it
    imported   INTEGER,                                                 -- when its log was last imported
    row_check  INTEGER NOT NULL,
    PRIMARY KEY (dataset_id, id),
    UNIQUE (dataset_id, source)
) STRICT;

CREATE INDEX mirror_source_by_read ON mirror_source (read);

-- The changes that were read of a log.
CREATE TABLE log_change (
    dataset_id INTEGER NOT NULL,
    source_id  INTEGER NOT NULL,
    number     INTEGER NOT NULL CHECK (number > 0),                     -- 1, 2, … within the log
    timestamp  INTEGER NOT NULL,                                        -- when it took effect, microseconds
    identifier BLOB    NOT NULL CHECK (length(identifier) = 16),
    digest     BLOB    NOT NULL CHECK (length(digest) = 32),
    line_check BLOB    NOT NULL CHECK (length(line_check) = 32),        -- the check of its last line
    bytes      INTEGER NOT NULL CHECK (bytes > 0),                      -- where the log ends after it
    granules   INTEGER NOT NULL CHECK (granules >= 0),                  -- held since then
    ingested   INTEGER NOT NULL CHECK (ingested >= 0),
    deleted    INTEGER NOT NULL CHECK (deleted >= 0),
    described  INTEGER NOT NULL CHECK (described >= 0),
    replaced   INTEGER NOT NULL CHECK (replaced >= 0),
    note       TEXT,
    row_check  INTEGER NOT NULL,
    PRIMARY KEY (dataset_id, source_id, number),
    FOREIGN KEY (dataset_id, source_id) REFERENCES mirror_source (dataset_id, id)
) STRICT;

-- How far the checks of the files at a root directory have come. A cycle checks each granule once.
CREATE TABLE fixity_root (
    dataset_id    INTEGER NOT NULL REFERENCES dataset (id),
    root          TEXT    NOT NULL CHECK (root <> ''),                  -- the name of the directory
    cursor        TEXT    CHECK (cursor <> ''),                         -- the last granule that the present cycle has checked. NULL: none
    cycle_started INTEGER,                                              -- when the present cycle began, microseconds. NULL: none is under way
    full_since    INTEGER,                                              -- when the last cycle that came to the end began, microseconds. NULL: none did
    locked_by     TEXT,                                                 -- the run that is checking files, a random number. NULL: none is
    locked_until  INTEGER CHECK ((locked_until IS NULL) = (locked_by IS NULL)), -- microseconds; at most ten minutes from the last save
    files         INTEGER NOT NULL CHECK (files >= 0),                  -- that the present cycle has checked, or else the last one
    bytes         INTEGER NOT NULL CHECK (bytes >= 0),                  -- that were read of them
    row_check     INTEGER NOT NULL,
    PRIMARY KEY (dataset_id, root)
) STRICT;

-- A file that is not as it is recorded: what the last check of it has found. A row is deleted when the file
-- is found to be good, when its granule is deleted, or when other content of it is recorded.
CREATE TABLE fixity_finding (
    dataset_id INTEGER NOT NULL,
    granule_id TEXT    NOT NULL,                                        -- '': no granule has the file
    path       TEXT    NOT NULL CHECK (path <> ''),
    root       TEXT    NOT NULL,
    status     TEXT    NOT NULL CHECK (status <> ''),                   -- missing, size, checksum, unreadable, …
    expected   TEXT,                                                    -- NULL: nothing
    found      TEXT,                                                    -- also why it is unreadable. NULL: nothing
    first_seen INTEGER NOT NULL,                                        -- when it was first found like this, microseconds
    row_check  INTEGER NOT NULL,
    PRIMARY KEY (dataset_id, granule_id, path, root),
    FOREIGN KEY (dataset_id, root) REFERENCES fixity_root (dataset_id, root)
) STRICT;

-- The last payment id of each worker. All rows have one layout and one epoch: ids of two could be the same.
CREATE TABLE payment_worker (
    worker       INT     NOT NULL PRIMARY KEY CHECK (worker BETWEEN 0 AND 44), -- INT: its index is a second tree
    layout       TEXT    NOT NULL CHECK (layout IN ('standard', 'wide')),
    epoch        INTEGER NOT NULL,                                      -- microseconds, as all instants
    last_second  INTEGER NOT NULL CHECK (last_second >= 0),             -- since the epoch
    next_counter INTEGER NOT NULL CHECK (next_counter >= 0),            -- within that second
    row_check    INTEGER NOT NULL
) STRICT;

-- The ids of the old scheme, which must not be issued again.
CREATE TABLE payment_taken (
    id        TEXT    NOT NULL PRIMARY KEY CHECK (length(id) = 9),      -- upper case
    row_check INTEGER NOT NULL
) STRICT;

-- What the archive has stated of its sets, in order: the leaves of a tree, of which the size and the root are
-- signed. Never erased or rewritten.
CREATE TABLE statement (
    number    INTEGER NOT NULL PRIMARY KEY CHECK (number >= 0),         -- 0, 1, … without a gap
    dataset   INTEGER NOT NULL REFERENCES dataset (id),
    subset    INTEGER CHECK (subset > 0),                               -- NULL: a whole instance
    since     INTEGER NOT NULL,                                         -- when the change of the instance took effect, microseconds
    text      TEXT    NOT NULL CHECK (json_valid(text)),                -- the statement, whose bytes are the leaf
    row_check INTEGER NOT NULL
) STRICT;

CREATE INDEX statement_by_set ON statement (dataset, subset, since, number);

-- The checkpoints of that tree that were signed: the last one is in force. Of one size there is one, to which
-- cosignatures are added.
CREATE TABLE tree_head (
    size      INT     NOT NULL PRIMARY KEY CHECK (size > 0),            -- INT: its index is a second tree
    note      TEXT    NOT NULL,                                         -- the checkpoint with its signatures
    policy    TEXT    NOT NULL,                                         -- by which witnesses were asked
    signed    INTEGER NOT NULL,                                         -- when it was signed, microseconds
    row_check INTEGER NOT NULL
) STRICT;
