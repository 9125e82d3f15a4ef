//! How much work was done.

use std::ops::AddAssign;

/// The work that a change or a verification took, counted so that tests can check its documented cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkCounts {
    /// The number of chain steps that were hashed. In a change, a granule that is held before and after it takes
    /// one up to the first granule that differs, and two from there.
    pub steps: u64,
    /// The number of granule rows that were read. In a change, new granules after all others are hashed as they
    /// are stored, and not read; those between the last checkpoint and the new ones are.
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
