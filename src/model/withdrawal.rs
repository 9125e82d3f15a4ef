//! The withdrawal of a dataset.

use serde::Serialize;

use super::timestamp::Timestamp;

/// When a dataset was withdrawn, and why. Its identifiers still resolve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Withdrawal {
    /// When it was withdrawn.
    pub timestamp: Timestamp,
    /// Why it was withdrawn. `None` means that no reason was given.
    pub note: Option<String>,
}
