-- What citations need to last: the licence in a dataset's record, and the parts of datasets that
-- were cited, so that the identifier of a part resolves for ever. New tables and a new column that
-- is empty: safe for every file. A creator that
-- an older version took as any text is read as an organisation where it is no person.

ALTER TABLE dataset ADD COLUMN licence TEXT;

-- A part of a dataset that was cited: the granules that patterns select, or that were named, from
-- those held at `timestamp`. Never erased. The same selection of the same set is one row.
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

-- Not unique: several selections can come to one set.
CREATE INDEX saved_selection_by_identifier ON saved_selection (identifier);

-- The granules of a selection that names them.
CREATE TABLE named_granule (
    selection_id INTEGER NOT NULL REFERENCES saved_selection (id),
    granule_id   TEXT    NOT NULL CHECK (granule_id <> ''),
    PRIMARY KEY (selection_id, granule_id)
) STRICT, WITHOUT ROWID;
