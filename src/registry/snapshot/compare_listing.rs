//! Compares a set with a listing.

use super::compare::{Counts, Difference};
use super::granules::Granules;
use super::merge::{Merge, Side};
use super::select::Selection;
use super::view::Snapshot;
use crate::chain::Chain;
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
        Ok(ListingDifferences {
            sides: Merge::of(self.granules(&set)?, listed),
            set,
            listed: listing.count(),
            chain: Chain::start(),
            counts: Counts::default(),
            is_over: false,
        })
    }
}

type Listed<'listing> = Box<dyn Iterator<Item = Result<GranuleId>> + 'listing>;

/// The granules that only a set or only a listing has, in canonical order.
///
/// Costs one pass over both, with a page of each in memory, which also computes the identifier of
/// the listing. If the result contradicts the two identifiers, the last item is
/// [`Error::Inconsistent`](crate::Error::Inconsistent).
pub struct ListingDifferences<'listing> {
    set: Set,
    sides: Merge<Granules, Listed<'listing>>,
    /// The number of ids that are listed, repeated ones included.
    listed: u64,
    /// The chain of the ids of the listing that were read so far.
    chain: Chain,
    counts: Counts,
    is_over: bool,
}

impl ListingDifferences<'_> {
    /// The set on the left.
    pub fn left(&self) -> &Set {
        &self.set
    }

    /// The identifier of the part of the listing that was read so far; that of the whole listing
    /// once the iterator has ended.
    pub fn right(&self) -> Identified {
        let granules = self.counts.matched + self.counts.only_right;
        let repeated = self.listed.saturating_sub(granules);
        Identified { identifier: self.chain.identifier(), granules, repeated }
    }

    /// The counts of what was read so far; those of the whole comparison once the iterator has
    /// ended.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

impl Iterator for ListingDifferences<'_> {
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
                    let checked = self.counts.check(self.set.identifier(), self.chain.identifier());
                    return checked.err().map(Err);
                }
            };
            self.counts.count(&side);
            match side {
                Side::Left(granule) => return Some(Ok(Difference::OnlyLeft(granule.granule_id))),
                Side::Right(granule_id) => {
                    self.chain.push(granule_id.as_str());
                    return Some(Ok(Difference::OnlyRight(granule_id)));
                }
                Side::Both(_, granule_id) => self.chain.push(granule_id.as_str()),
            }
        }
        None
    }
}
