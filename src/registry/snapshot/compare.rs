//! The comparison of two sets.

use super::granules::Granules;
use super::merge::{Merge, Side};
use super::select::Selection;
use super::view::Snapshot;
use crate::model::{GranuleId, Identifier, Set};
use crate::registry::error::{Error, Result};

/// A granule that only one side has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Only the left side has it.
    OnlyLeft(GranuleId),
    /// Only the right side has it.
    OnlyRight(GranuleId),
}

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

    /// Checks that the counts agree with the identifiers: the identifiers are equal if and only if
    /// the sets are.
    ///
    /// # Errors
    ///
    /// [`Error::Inconsistent`]: the counts contradict the identifiers.
    pub(crate) fn check(&self, left: Identifier, right: Identifier) -> Result<()> {
        if self.is_identical() == (left == right) {
            return Ok(());
        }
        let what = if left == right {
            format!(
                "{left} is the identifier of both sides, but {} granules are on one side only",
                self.only_left + self.only_right
            )
        } else {
            format!("both sides have the same granules, but the identifiers {left} and {right}")
        };
        Err(Error::Inconsistent { what })
    }

    pub(crate) fn count<L, R>(&mut self, side: &Side<L, R>) {
        match side {
            Side::Left(_) => self.only_left += 1,
            Side::Right(_) => self.only_right += 1,
            Side::Both(..) => self.matched += 1,
        }
    }
}

impl Snapshot {
    /// Compares two sets of granules. The differences can still be read after this snapshot was
    /// dropped.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`].
    pub fn compare(&self, left: &Selection, right: &Selection) -> Result<Differences> {
        let (left, right) = (self.select(left)?.set, self.select(right)?.set);
        let sides = Merge::of(self.granules(&left)?, self.granules(&right)?);
        Ok(Differences { left, right, sides, counts: Counts::default(), is_over: false })
    }
}

/// The granules that only one of two sets has, in canonical order.
///
/// The rows themselves are compared, in one pass over both sets with a page of each in memory. If
/// the result contradicts the two identifiers, the last item is [`Error::Inconsistent`].
pub struct Differences {
    left: Set,
    right: Set,
    sides: Merge<Granules, Granules>,
    counts: Counts,
    is_over: bool,
}

impl Differences {
    /// The set on the left.
    pub fn left(&self) -> &Set {
        &self.left
    }

    /// The set on the right.
    pub fn right(&self) -> &Set {
        &self.right
    }

    /// Reads the remaining differences, and returns the counts.
    ///
    /// # Errors
    ///
    /// Those of the iterator.
    pub fn finish(mut self) -> Result<Counts> {
        self.by_ref().try_for_each(|difference| difference.map(drop))?;
        Ok(self.counts)
    }

    /// The counts of what was read so far; those of the whole comparison once the iterator has
    /// ended.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

impl Iterator for Differences {
    type Item = Result<Difference>;

    fn next(&mut self) -> Option<Result<Difference>> {
        while !self.is_over {
            let side = match self.sides.next() {
                Some(Ok(side)) => side,
                Some(Err(error)) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
                None => {
                    self.is_over = true;
                    let checked =
                        self.counts.check(self.left.identifier(), self.right.identifier());
                    return checked.err().map(Err);
                }
            };
            self.counts.count(&side);
            match side {
                Side::Left(granule) => return Some(Ok(Difference::OnlyLeft(granule.granule_id))),
                Side::Right(granule) => return Some(Ok(Difference::OnlyRight(granule.granule_id))),
                Side::Both(..) => {}
            }
        }
        None
    }
}
