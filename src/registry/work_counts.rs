//! Counts of the work that was done.

use std::ops::AddAssign;

/// The work that a change or a verification took, counted so that tests can check its documented cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkCounts {
    /// The number of hashed chain steps. In a change, a granule that is held before and after it takes one step
    /// up to the first granule that differs, and two steps from there.
    pub steps: u64,
    /// The number of granule rows that were read. In a change, new granules after all others are hashed as they
    /// are stored, and not read. Granules between the last checkpoint and the new ones are read.
    pub rows: u64,
    /// The number of checkpoints that a change set.
    pub checkpoints: u64,
    /// The number of times that a verification checked the whole file.
    pub file_checks: u64,
}

impl AddAssign for WorkCounts {
    fn add_assign(&mut self, more: Self) {
        self.steps += more.steps;
        self.rows += more.rows;
        self.checkpoints += more.checkpoints;
        self.file_checks += more.file_checks;
    }
}
