//! Where a rewind can resume.

use super::{GranuleId, Identifier};

/// The chain of the granules that a dataset holds, up to and including one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The last id of the chain.
    pub granule_id: GranuleId,
    /// The chain after it.
    pub chain: Identifier,
    /// How many granules the chain has, so that a pass that resumes here can tell whether rows are
    /// missing. `None` where an older version set the checkpoint.
    pub granules: Option<u64>,
}
