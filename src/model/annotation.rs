//! What is said about a history after the fact, without changing it.

use serde::{Deserialize, Serialize};

use super::time::Timestamp;

/// A note about an instance, added after its change was recorded.
///
/// Its fields, in this order, are those of `annotations` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// The note.
    pub note: String,
    /// Whether the set should not be relied on.
    pub questionable: bool,
    /// When it was recorded.
    pub recorded: Timestamp,
    /// Who recorded it. `None` means that this is not known. It is stored in this registry only and is
    /// not exported.
    pub recorded_by: Option<String>,
}

impl Annotation {
    /// The greatest length of the notes of one instance together, in bytes of UTF-8, each with 64 more:
    /// they are read with the instance.
    pub const MAX_BYTES: usize = 64 * 1_024;

    /// The length of some annotations together, as [`Annotation::MAX_BYTES`] counts it.
    pub fn bytes_of<'a>(annotations: impl IntoIterator<Item = &'a Annotation>) -> usize {
        annotations.into_iter().map(|annotation| annotation.note.len() + 64).sum()
    }
}

/// That a dataset was compared with a listing, and was the same.
///
/// Its fields, in this order, are those of `confirmed` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// When it was recorded.
    #[serde(rename = "timestamp")]
    pub recorded: Timestamp,
    /// Who recorded it. `None` means that this is not known.
    pub recorded_by: Option<String>,
    /// How many granules the listing had.
    pub granules: u64,
}
