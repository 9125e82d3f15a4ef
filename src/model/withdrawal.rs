//! The withdrawal of a dataset.

use serde::Serialize;

use super::timestamp::Timestamp;

/// When a dataset was withdrawn, and why. Everything that was issued for it goes on resolving.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Withdrawal {
    /// When.
    pub timestamp: Timestamp,
    /// Why. `None`: the archive did not say.
    pub note: Option<String>,
}
