//! Compares a set with a listing.

use super::compare::Difference;
use super::counts::Counts;
use super::paged_ids::PagedIds;
use super::select::Selection;
use super::view::Snapshot;
use super::walk::{Only, Walk};
use crate::model::{GranuleId, Set};
use crate::registry::error::Result;
use crate::registry::listing::{Identified, Listing};

impl Snapshot {
    /// Compares a set of granules, on the left, with a listing, on the right. The differences can
    /// still be read after this snapshot was dropped.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`]; [`Error::Temporary`](crate::Error::Temporary).
    pub fn compare_with<'listing>(
        &self,
        selection: &Selection,
        listing: &'listing Listing,
    ) -> Result<ListingDifferences<'listing>> {
        let set = self.select(selection)?.set;
        let listed: Listed<'listing> =
            Box::new(listing.distinct()?.map(|staged| Ok(staged?.granule_id)));
        let walk = Walk::of(&self.registry, self.ids(&set)?, (listed, None));
        Ok(ListingDifferences { set, listed: listing.count(), walk })
    }
}

type Listed<'listing> = Box<dyn Iterator<Item = Result<GranuleId>> + 'listing>;

/// The granules that only a set or only a listing has, in canonical order.
///
/// Costs one pass over both, with a page of each in memory, which also computes the identifiers of
/// both. If the granules of the set are not those of its identifier, the last item is an error of kind
/// `damaged`.
pub struct ListingDifferences<'listing> {
    set: Set,
    /// The number of ids that are listed, repeated ones included.
    listed: u64,
    walk: Walk<PagedIds, Listed<'listing>>,
}

impl ListingDifferences<'_> {
    /// The set on the left.
    pub fn left(&self) -> &Set {
        &self.set
    }

    /// The identifier of the listing, once the iterator has ended.
    pub fn right(&self) -> Identified {
        let counts = self.counts();
        let granules = counts.matched + counts.only_right;
        let repeated = self.listed.saturating_sub(granules);
        Identified { identifier: self.walk.right(), granules, repeated }
    }

    /// The counts of what was read so far; those of the whole comparison once the iterator has
    /// ended.
    pub fn counts(&self) -> Counts {
        self.walk.counts()
    }
}

impl Iterator for ListingDifferences<'_> {
    type Item = Result<Difference>;

    fn next(&mut self) -> Option<Result<Difference>> {
        let only = self.walk.next()?;
        Some(only.and_then(|only| {
            Ok(match only {
                Only::Left(id) => Difference::OnlyLeft(id.try_into()?),
                Only::Right(granule_id) => Difference::OnlyRight(granule_id),
            })
        }))
    }
}
