//! The comparison of two sets.

use super::counts::Counts;
use super::paged_ids::PagedIds;
use super::select::Selection;
use super::view::Snapshot;
use super::walk::{Only, Walk};
use crate::model::{GranuleId, Set};
use crate::registry::error::Result;
use crate::registry::proof::Claim;

/// A granule that only one side has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Only the left side has it.
    OnlyLeft(GranuleId),
    /// Only the right side has it.
    OnlyRight(GranuleId),
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
        let walk = Walk::of(&self.registry, self.ids(&left)?, self.ids(&right)?);
        Ok(Differences { left, right, walk })
    }

    /// As [`Snapshot::compare`], but only the differences after an id. They are not checked against
    /// the two identifiers, since the sets are not read in full.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`].
    pub fn compare_after(
        &self,
        left: &Selection,
        right: &Selection,
        after: &GranuleId,
    ) -> Result<Differences> {
        let (left, right) = (self.select(left)?.set, self.select(right)?.set);
        let ids_after = |set| -> Result<PagedIds> {
            Ok(PagedIds::of(self.granules(set)?.after(after).into_id_pages()))
        };
        let walk = Walk::of(&self.registry, (ids_after(&left)?, None), (ids_after(&right)?, None));
        Ok(Differences { left, right, walk: walk.of_a_part() })
    }

    /// The ids of a set, in canonical order, for a walk, which proves the set.
    pub(super) fn ids(&self, set: &Set) -> Result<(PagedIds, Option<Claim>)> {
        let ids = PagedIds::of(self.granules(set)?.unproved().into_id_pages());
        Ok((ids, Some(Claim::of(&self.registry, set))))
    }
}

/// The granules that only one of two sets has, in canonical order.
///
/// The rows themselves are compared, in one pass over both sets with a page of each in memory, and
/// hashed on the way. If they are not those of the two identifiers, the last item is an error of kind
/// `damaged`.
pub struct Differences {
    left: Set,
    right: Set,
    walk: Walk<PagedIds, PagedIds>,
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
        Ok(self.counts())
    }

    /// The counts of what was read so far; those of the whole comparison once the iterator has
    /// ended.
    pub fn counts(&self) -> Counts {
        self.walk.counts()
    }
}

impl Iterator for Differences {
    type Item = Result<Difference>;

    fn next(&mut self) -> Option<Result<Difference>> {
        let only = self.walk.next()?;
        Some(only.and_then(|only| {
            Ok(match only {
                Only::Left(id) => Difference::OnlyLeft(id.try_into()?),
                Only::Right(id) => Difference::OnlyRight(id.try_into()?),
            })
        }))
    }
}
