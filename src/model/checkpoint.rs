//! A point of the chain from which hashing can resume.

use super::granule_id::GranuleId;
use super::identifier::Identifier;

/// The value of a dataset's chain after one of its granules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The last id in the chain.
    pub granule_id: GranuleId,
    /// The value of the chain after that id.
    pub chain: Identifier,
    /// The number of granules in the chain, so that a pass that resumes here can detect missing
    /// rows. `None` means that an older version set the checkpoint.
    pub granules: Option<u64>,
}
