//! One granule of a file, and its times in the spellings of other systems.

use super::error::InputErrorKind;
use crate::model::{GranuleId, Moment, SourceLocation, Timestamp};

/// A granule as a file lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The id.
    pub granule_id: GranuleId,
    /// Where it was read.
    pub location: SourceLocation,
    /// The time of ingest. `None` unless dates were asked for; also for the line of a change log that
    /// states a deletion.
    pub ingested: Option<Moment>,
    /// The time of deletion. `None` unless dates were asked for and the granule was deleted.
    pub deleted: Option<Moment>,
    /// Whether the file marks the granule as deleted.
    pub is_deleted: bool,
}

impl Record {
    pub(super) fn new(granule_id: GranuleId, location: SourceLocation) -> Self {
        Record { granule_id, location, ingested: None, deleted: None, is_deleted: false }
    }
}

/// The counts that a search response states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hits {
    /// How many granules the search found.
    pub hits: u64,
    /// How many of them the response contains.
    pub items: u64,
}

/// Reads a day, or a time of RFC 3339 or of another spelling with an offset.
pub(super) fn parse_time(text: &str) -> Result<Moment, InputErrorKind> {
    text.parse::<Moment>()
        .or_else(|_| Timestamp::from_other_spelling(text).map(Moment::Instant))
        .map_err(|cause| InputErrorKind::Time { text: text.to_owned(), cause })
}
