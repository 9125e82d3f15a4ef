//! The ingest or the deletion of one granule.

use super::granule_id::GranuleId;
use super::source_location::SourceLocation;
use super::timestamp::Timestamp;

/// The ingest or the deletion of one granule at an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When it took effect.
    pub at: Timestamp,
    /// Whether the granule was ingested or deleted.
    pub kind: EventKind,
    /// The granule.
    pub granule_id: GranuleId,
    /// The producer's id. `None` if it is the same as `granule_id`.
    pub producer_granule: Option<GranuleId>,
    /// Where the event was read, for messages. `None` if it was not read from a file or an argument.
    pub location: Option<SourceLocation>,
}

/// Whether a granule was ingested or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// The granule was deleted.
    Deleted,
    /// The granule was ingested.
    Ingested,
}
