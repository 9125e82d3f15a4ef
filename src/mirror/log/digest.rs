//! What a head announces of lines beside its log.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The lines of a file beside a log, as the head announces them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LinesDigest {
    /// How many subsets or annotations they have.
    pub count: u64,
    /// The length of the lines.
    pub bytes: u64,
    /// Their SHA-256.
    #[serde(with = "hex")]
    pub sha256: [u8; 32],
}

impl LinesDigest {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl Default for LinesDigest {
    /// That of no lines.
    fn default() -> Self {
        LinesDigest { count: 0, bytes: 0, sha256: Sha256::digest([]).into() }
    }
}
