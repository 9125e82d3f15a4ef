-- What must last of the two id helpers: which payment id each worker issued last, the ids of the
-- old scheme that must not be issued again, and the way from a producer's granule id to ours.
-- New tables and an index over a column that was empty: safe for every file.

-- A row a worker. All rows have one layout and one epoch: ids of two could be the same.
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
