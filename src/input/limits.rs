//! The greatest size of what a reader holds in memory.

/// The greatest length of a row of a table, a line of JSON, or an element of a document, in bytes.
pub const MAX_ROW_BYTES: u64 = 16 * 1_024 * 1_024;
