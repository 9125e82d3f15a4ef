//! One row of a dataset's history.

use serde::Serialize;

use super::{DatasetName, Identifier, Moment, Timestamp};

/// A dataset as it stood from one change to the next: one row of its history.
///
/// Its fields, in this order, are those of `instance` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Instance {
    /// The dataset.
    pub dataset: DatasetName,
    /// When the change took effect: the first instant of the interval in force.
    pub timestamp: Timestamp,
    /// When the next change took over, the first instant no longer in force; none: still in force.
    pub until: Option<Timestamp>,
    /// The identifier of the granules held.
    pub identifier: Identifier,
    /// How many granules are held.
    pub granules: u64,
    /// How many the change brought.
    pub ingested: u64,
    /// How many the change took.
    pub deleted: u64,
    /// When the change was entered in the register.
    pub recorded: Timestamp,
    /// What the archivist noted with the change.
    pub note: Option<String>,
}

impl Instance {
    /// Whether it was in force at `timestamp`.
    pub fn is_in_force_at(&self, timestamp: Timestamp) -> bool {
        self.timestamp <= timestamp && self.until.is_none_or(|until| timestamp < until)
    }

    /// Whether it was in force at some time of a moment: of a day, at any time of it.
    pub fn is_in_force_during(&self, at: Moment) -> bool {
        self.timestamp <= at.last_instant()
            && self.until.is_none_or(|until| at.first_instant() < until)
    }
}
