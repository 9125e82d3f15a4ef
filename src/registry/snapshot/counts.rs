//! How many granules two sets have in common.

use super::merge::Side;

/// The numbers of granules that both sides, or only one side, of a comparison have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// How many both sides have.
    pub matched: u64,
    /// How many only the left side has.
    pub only_left: u64,
    /// How many only the right side has.
    pub only_right: u64,
}

impl Counts {
    /// Whether both sides have the same granules.
    pub fn is_identical(&self) -> bool {
        self.only_left == 0 && self.only_right == 0
    }

    pub(crate) fn count<L, R>(&mut self, side: &Side<L, R>) {
        match side {
            Side::Left(_) => self.only_left += 1,
            Side::Right(_) => self.only_right += 1,
            Side::Both(..) => self.matched += 1,
        }
    }
}
