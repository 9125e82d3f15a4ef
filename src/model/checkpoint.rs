//! Where a rewind can resume.

use super::{GranuleId, Identifier};

/// The chain of a dataset's granules as it stood after one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The id just pushed.
    pub granule_id: GranuleId,
    /// The chain after it.
    pub chain: Identifier,
}
