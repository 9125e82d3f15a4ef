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
, licence TEXT, description TEXT, withdrawn INTEGER, withdrawn_note TEXT CHECK (withdrawn_note IS NULL OR withdrawn IS NOT NULL), granule_url TEXT, keywords TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(keywords)), free_access INTEGER CHECK (free_access IN (0, 1)), temporal TEXT, max_delete TEXT, max_add TEXT) STRICT;

CREATE TABLE instance (
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),
    timestamp  INTEGER NOT NULL,                                        -- when the change took effect
    identifier BLOB    NOT NULL CHECK (length(identifier) = 16),
    granules   INTEGER NOT NULL CHECK (granules >= 0),                  -- held from then on
    ingested   INTEGER NOT NULL CHECK (ingested >= 0),                  -- brought by this change
    deleted    INTEGER NOT NULL CHECK (deleted >= 0),                   -- taken by this change
    recorded   INTEGER NOT NULL,                                        -- when the change was entered
    note       TEXT, recorded_by TEXT,
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
    chain      BLOB    NOT NULL CHECK (length(chain) = 16), granules INTEGER CHECK (granules > 0),
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

CREATE TABLE payment_worker (
    worker       INTEGER PRIMARY KEY CHECK (worker BETWEEN 0 AND 44),
    layout       TEXT    NOT NULL CHECK (layout IN ('standard', 'wide')),
    epoch        INTEGER NOT NULL,                                      -- microseconds, as all instants
    last_second  INTEGER NOT NULL CHECK (last_second >= 0),             -- since the epoch
    next_counter INTEGER NOT NULL CHECK (next_counter >= 0)             -- within that second
) STRICT;

CREATE TABLE payment_taken (
    id TEXT NOT NULL PRIMARY KEY CHECK (length(id) = 9)                 -- upper case
) STRICT, WITHOUT ROWID;

CREATE INDEX granule_by_producer ON granule (dataset_id, producer_granule)
WHERE producer_granule IS NOT NULL;

CREATE TABLE saved_selection (
    id         INTEGER PRIMARY KEY,
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),
    timestamp  INTEGER NOT NULL,                                        -- of an instance, microseconds
    patterns   TEXT    NOT NULL CHECK (json_valid(patterns)),           -- a JSON array in normal form; [] where granules were named
    identifier BLOB    NOT NULL CHECK (length(identifier) = 16),
    granules   INTEGER NOT NULL CHECK (granules > 0),
    cited      INTEGER NOT NULL,                                        -- first, microseconds
    UNIQUE (dataset_id, identifier, patterns)
) STRICT;

CREATE INDEX saved_selection_by_identifier ON saved_selection (identifier);

CREATE TABLE named_granule (
    selection_id INTEGER NOT NULL REFERENCES saved_selection (id),
    granule_id   TEXT    NOT NULL CHECK (granule_id <> ''),
    PRIMARY KEY (selection_id, granule_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX dataset_twice
ON dataset (name, doi, title, creators, publisher, version, year, url, archive, licence);

CREATE INDEX instance_twice ON instance (recorded, note);

CREATE INDEX saved_selection_twice ON saved_selection (cited, timestamp, granules);

CREATE INDEX payment_worker_twice
ON payment_worker (worker, layout, epoch, last_second, next_counter);

CREATE INDEX payment_taken_twice ON payment_taken (id);

CREATE TABLE dataset_name (
    name       TEXT    NOT NULL PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200),
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),
    renamed    INTEGER NOT NULL                                         -- when it was given up, microseconds
) STRICT, WITHOUT ROWID;

CREATE TABLE record_version (
    dataset_id  INTEGER NOT NULL REFERENCES dataset (id),
    version     INTEGER NOT NULL CHECK (version > 0),                   -- 1, 2, … within the dataset
    recorded    INTEGER NOT NULL,                                       -- when it was entered, microseconds
    recorded_by TEXT,                                                   -- NULL: unknown
    action      TEXT    NOT NULL CHECK (action <> ''),                  -- what was done: added, edited, renamed, …
    record      TEXT    NOT NULL CHECK (json_valid(record)),            -- the whole record after it, as JSON
    PRIMARY KEY (dataset_id, version)
) STRICT;

CREATE INDEX dataset_withdrawn_twice ON dataset (description, withdrawn, withdrawn_note);

CREATE INDEX instance_recorded_by_twice ON instance (recorded_by);

CREATE INDEX dataset_name_twice ON dataset_name (dataset_id, name, renamed);

CREATE INDEX record_version_twice
ON record_version (dataset_id, version, recorded, recorded_by, action, record);

CREATE TABLE mirror_source (
    id         INTEGER PRIMARY KEY,
    dataset_id INTEGER NOT NULL REFERENCES dataset (id),                -- the mirror
    source     TEXT    NOT NULL CHECK (source <> ''),                   -- a URL, or an absolute path
    read       INTEGER NOT NULL,                                        -- when it was last read, microseconds
    identical  INTEGER,                                                 -- when the mirror was last identical to it, microseconds
    etag       TEXT, pulled INTEGER, options TEXT CHECK (json_valid(options)), failed INTEGER, failure TEXT CHECK (failure IS NULL OR failed IS NOT NULL), files TEXT CHECK (json_valid(files)),                                                    -- what the server called the state that was read; NULL: nothing
    UNIQUE (dataset_id, source)
) STRICT;

CREATE TABLE log_change (
    source_id  INTEGER NOT NULL REFERENCES mirror_source (id),
    number     INTEGER NOT NULL CHECK (number > 0),                     -- 1, 2, … within the log
    timestamp  INTEGER NOT NULL,                                        -- when it took effect, microseconds
    identifier BLOB    NOT NULL CHECK (length(identifier) = 16),
    line_check BLOB    NOT NULL CHECK (length(line_check) = 16),        -- the check of its last line
    bytes      INTEGER NOT NULL CHECK (bytes > 0),                      -- where the log ends after it
    granules   INTEGER NOT NULL CHECK (granules >= 0),                  -- held since then
    ingested   INTEGER NOT NULL CHECK (ingested >= 0),
    deleted    INTEGER NOT NULL CHECK (deleted >= 0),
    note       TEXT,
    PRIMARY KEY (source_id, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX mirror_source_twice ON mirror_source (read, identical, etag);

CREATE INDEX log_change_twice
ON log_change (source_id, number, timestamp, identifier, line_check, bytes, granules, ingested, deleted, note);

CREATE TABLE annotation (
    dataset_id   INTEGER NOT NULL,
    timestamp    INTEGER NOT NULL,                                      -- of the instance
    number       INTEGER NOT NULL CHECK (number > 0),                   -- 1, 2, … of this instance
    note         TEXT    NOT NULL CHECK (note <> ''),
    questionable INTEGER NOT NULL CHECK (questionable IN (0, 1)),       -- whether the set should not be relied on
    recorded     INTEGER NOT NULL,                                      -- when it was entered, microseconds
    recorded_by  TEXT,                                                  -- NULL: unknown
    PRIMARY KEY (dataset_id, timestamp, number),
    FOREIGN KEY (dataset_id, timestamp) REFERENCES instance (dataset_id, timestamp)
) STRICT;

CREATE TABLE confirmation (
    dataset_id  INTEGER NOT NULL PRIMARY KEY REFERENCES dataset (id),
    recorded    INTEGER NOT NULL,                                       -- when it was entered, microseconds
    recorded_by TEXT,                                                   -- NULL: unknown
    granules    INTEGER NOT NULL CHECK (granules >= 0)                  -- in the listing
) STRICT;

CREATE INDEX annotation_twice
ON annotation (recorded, dataset_id, timestamp, number, note, questionable, recorded_by);

CREATE INDEX confirmation_twice ON confirmation (recorded, recorded_by, granules);

CREATE INDEX dataset_more_twice
ON dataset (granule_url, keywords, free_access, temporal, max_delete, max_add);

CREATE INDEX mirror_source_pulled_twice ON mirror_source (pulled, options, failed, failure);

CREATE TABLE record_batch (
    dataset_id  INTEGER NOT NULL REFERENCES dataset (id),
    batch       INTEGER NOT NULL CHECK (batch > 0),                     -- 1, 2, … within the dataset
    last_number INTEGER NOT NULL CHECK (last_number >= batch),          -- of its last record
    recorded    INTEGER NOT NULL,                                       -- when it was entered, microseconds
    recorded_by TEXT,                                                   -- NULL: unknown
    note        TEXT,
    replaces    INTEGER NOT NULL CHECK (replaces IN (0, 1)),            -- whether its records may contradict earlier ones
    PRIMARY KEY (dataset_id, batch)
) STRICT, WITHOUT ROWID;

CREATE TABLE file_record (
    dataset_id     INTEGER NOT NULL REFERENCES dataset (id),
    granule_id     TEXT    NOT NULL CHECK (granule_id <> ''),
    path           TEXT    NOT NULL,                                    -- '': it equals the id
    number         INTEGER NOT NULL CHECK (number > 0),                 -- 1, 2, … within the dataset, without gaps
    algorithm      INTEGER NOT NULL CHECK (algorithm BETWEEN 0 AND 9),  -- 0 none, 1 md5, 2 sha-1, 3 sha-256, 4 sha-384, 5 sha-512, 6 crc32, 7 cksum, 8 adler32, 9 other
    algorithm_name TEXT    CHECK ((algorithm_name IS NULL) = (algorithm <> 9)),
    checksum       BLOB    NOT NULL CHECK ((length(checksum) = 0) = (algorithm = 0)), -- of another algorithm: its text
    size           INTEGER CHECK (size >= 0),                           -- bytes. NULL: unknown
    row_check      BLOB    NOT NULL CHECK (length(row_check) = 4),      -- the CRC-32 of the other columns, by which a damaged row is found
    CHECK (algorithm <> 0 OR size IS NOT NULL),                         -- a record says something
    PRIMARY KEY (dataset_id, granule_id, path, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX record_batch_twice
ON record_batch (recorded, dataset_id, batch, last_number, recorded_by, note, replaces);

CREATE TABLE fixity_run (
    dataset_id   INTEGER NOT NULL REFERENCES dataset (id),
    run          INTEGER NOT NULL CHECK (run > 0),                      -- 1, 2, … within the dataset
    timestamp    INTEGER NOT NULL,                                      -- of the instance, microseconds
    identifier   BLOB    NOT NULL CHECK (length(identifier) = 16),      -- of the set: that of the instance, or of a subset
    is_subset    INTEGER NOT NULL CHECK (is_subset IN (0, 1)),          -- whether the set is only a part of the instance
    cycle        INTEGER CHECK (cycle > 0),                             -- of rolling checks of that root, 1, 2, …: a cycle checks each granule once. NULL: the check is not one
    mode         TEXT    NOT NULL CHECK (mode <> ''),                   -- what was compared: checksums, size
    root         TEXT    NOT NULL CHECK (root <> ''),                   -- the name of the root directory
    algorithms   TEXT    NOT NULL CHECK (json_valid(algorithms)),       -- those that were computed, a JSON array
    last_record  INTEGER NOT NULL CHECK (last_record >= 0),             -- records with a greater number were not checked
    from_id      TEXT    NOT NULL,                                      -- begins after this granule. '': before the first
    to_id        TEXT,                                                  -- everything up to and with this granule was checked. Equal to from_id: nothing yet. NULL: to the end of the set
    lease_to_id  TEXT,                                                  -- no other run checks anything up to this granule. NULL: to the end of the set
    lease_ends   INTEGER,                                               -- until then, microseconds. NULL: there is none, or the run has ended
    started      INTEGER NOT NULL,                                      -- microseconds
    ended        INTEGER NOT NULL,                                      -- when it was last saved, microseconds
    recorded_by  TEXT,                                                  -- NULL: unknown
    files        INTEGER NOT NULL CHECK (files >= 0),                   -- that were checked
    bytes        INTEGER NOT NULL CHECK (bytes >= 0),                   -- that were read
    findings     INTEGER NOT NULL CHECK (findings >= 0),
    forgotten    INTEGER,                                               -- when the root was forgotten, microseconds. NULL: it was not
    PRIMARY KEY (dataset_id, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE fixity_finding (
    dataset_id INTEGER NOT NULL,
    run        INTEGER NOT NULL,
    number     INTEGER NOT NULL CHECK (number > 0),                     -- 1, 2, … within the run
    granule_id TEXT    NOT NULL,                                        -- '': no granule has the file
    path       TEXT    NOT NULL,                                        -- '': it equals the id
    status     TEXT    NOT NULL CHECK (status <> ''),                   -- missing, size, checksum, unreadable, …
    expected   TEXT,                                                    -- NULL: nothing
    found      TEXT,                                                    -- also why it is unreadable. NULL: nothing
    checked    INTEGER NOT NULL,                                        -- when it was found, microseconds
    closed     INTEGER,                                                 -- when it ceased to hold, microseconds. NULL: it is open
    closed_by  TEXT CHECK ((closed_by IS NULL) = (closed IS NULL)),     -- good, deleted, replaced, forgotten, repeated (a later check found something else)
    PRIMARY KEY (dataset_id, run, number),
    FOREIGN KEY (dataset_id, run) REFERENCES fixity_run (dataset_id, run)
) STRICT, WITHOUT ROWID;

CREATE INDEX fixity_finding_open
ON fixity_finding (dataset_id, granule_id, run, number)
WHERE closed IS NULL;

CREATE INDEX fixity_run_twice
ON fixity_run (started, dataset_id, run, timestamp, identifier, is_subset, cycle, mode, root, algorithms, last_record, from_id, to_id, lease_to_id, lease_ends, ended, recorded_by, files, bytes, findings, forgotten);

CREATE INDEX fixity_finding_twice
ON fixity_finding (checked, dataset_id, run, number, granule_id, path, status, expected, found, closed, closed_by);

CREATE INDEX mirror_source_files_twice ON mirror_source (files);
