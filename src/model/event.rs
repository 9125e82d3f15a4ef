//! What happened to a granule.

use super::{GranuleId, SourceLocation, Timestamp};

/// That a granule came or went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// Which of the two.
    pub kind: EventKind,
    /// The granule.
    pub granule_id: GranuleId,
    /// The id its producer gave it, where that is another.
    pub producer_granule: Option<GranuleId>,
    /// Where it was read, for messages.
    pub location: Option<SourceLocation>,
}

/// Whether a granule came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// It went.
    Deleted,
    /// It came.
    Ingested,
}
