//! A granule that is named in a change or a list.

use super::granule_id::GranuleId;
use super::source_location::SourceLocation;

/// A granule that is named in a change or a list, and where it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The granule's id.
    pub granule_id: GranuleId,
    /// The producer's id. `None` means that it is the same as `granule_id`.
    pub producer_granule: Option<GranuleId>,
    /// Where it was read, for messages. `None` means that this is not known.
    pub location: Option<SourceLocation>,
}

impl From<GranuleId> for Entry {
    fn from(granule_id: GranuleId) -> Self {
        Entry { granule_id, producer_granule: None, location: None }
    }
}
