//! The usual names of columns and fields.

/// The usual names of the column with the ids. The first of these that a file has is used.
pub(super) const USUAL_COLUMNS: [&str; 6] =
    ["granule_id", "granuleId", "granule_ur", "granuleUr", "Granule UR", "id"];

/// The columns with the time of ingest: that of this program, and that of Cumulus' granule
/// inventory.
pub(super) const INGESTED_COLUMNS: [&str; 2] = ["ingested", "createdAt"];

/// The column with the time of deletion. An empty cell means that the granule is still held.
pub(super) const DELETED_COLUMN: &str = "deleted";
