-- A second copy of what nothing else in the registry could prove: records, notes, when a change was
-- entered, how far a payment worker has come. A bit that flips in one of the two is found, since
-- SQLite's check of the file compares every index with its table; what the granules give
-- (identifiers, counts, checkpoints) is recomputed instead. Indexes only: safe for every file.
--
-- The producers' ids of granules stand twice since V3, by granule_by_producer.

CREATE INDEX dataset_twice
ON dataset (name, doi, title, creators, publisher, version, year, url, archive, licence);

CREATE INDEX instance_twice ON instance (recorded, note);

CREATE INDEX saved_selection_twice ON saved_selection (cited, timestamp, granules);

CREATE INDEX payment_worker_twice
ON payment_worker (worker, layout, epoch, last_second, next_counter);

CREATE INDEX payment_taken_twice ON payment_taken (id);
