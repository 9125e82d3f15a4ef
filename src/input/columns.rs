//! The names that columns and fields usually have.

/// The columns that usually have the ids. The first of these that a file has is used (cli.md).
pub(super) const USUAL_COLUMNS: [&str; 6] =
    ["granule_id", "granuleId", "granule_ur", "granuleUr", "Granule UR", "id"];

/// The columns that have the time of ingest: this program's, and that of Cumulus' granule inventory.
pub(super) const INGESTED_COLUMNS: [&str; 2] = ["ingested", "createdAt"];

/// The column that has the time of deletion. An empty cell means that the granule is still held.
pub(super) const DELETED_COLUMN: &str = "deleted";
