-- Who entered a change, and how many granules the chain of a checkpoint has. New columns that are
-- empty in older rows: safe for every file.

ALTER TABLE instance ADD COLUMN recorded_by TEXT;

ALTER TABLE checkpoint ADD COLUMN granules INTEGER;
