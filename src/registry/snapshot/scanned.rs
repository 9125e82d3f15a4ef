//! A dataset, compared with a listing that took time to make, while granules came and went.

use std::iter::Peekable;

use super::differences::{Difference, DifferenceCounts, Differences};
use super::export::Exported;
use super::history::HistoryOptions;
use super::select::Selection;
use crate::error::{Error, ErrorDetail, ErrorKind, Result};
use crate::model::{
    ContentMatch, DatasetName, EventKind, GranuleId, ListingEntry, Moment, ScanPeriod, Set,
    Timestamp,
};
use crate::registry::handle::Registry;
use crate::registry::listing::{Listing, ListingBuilder};

/// The granules that changed during a scan, in canonical order, each once.
type Changed = Box<dyn Iterator<Item = Result<ListingEntry>>>;

/// How a dataset differs from a listing that took time to make: an iterator over the granules that were held
/// during all of that time and are not listed, and those that are listed and were held at no moment of it, in
/// canonical order. Of a granule that changed meanwhile, nothing can be said.
pub struct ScannedDifferences {
    differences: Differences,
    changed: Peekable<Changed>,
    counts: ScannedCounts,
}

crate::model::debug_fields!(ScannedDifferences: counts);

/// The counts of a comparison with a listing that took time to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ScannedCounts {
    /// The numbers of granules. The left side is the dataset. A granule that changed meanwhile counts as on both
    /// sides if it is listed, and not at all otherwise.
    pub differences: DifferenceCounts,
    /// The number of granules that came, went or were replaced during the scan.
    pub changed: u64,
    /// Of the granules that the dataset held when the scan began and that are not listed, and of those that are
    /// listed and that it did not hold then: how many changed.
    left: u64,
    right: u64,
    other: u64,
}

impl Registry {
    /// Compares a dataset, on the left, with a listing, on the right, that took time to make.
    ///
    /// Costs the passes of [`Registry::compare_with`] and of [`Registry::export`].
    ///
    /// # Errors
    ///
    /// Those of these methods; [`ErrorKind::Future`]: the scan has not ended yet; [`ErrorKind::NoHistory`]: the
    /// dataset was created after the scan.
    pub fn compare_scanned(
        &self,
        dataset: &DatasetName,
        scan: ScanPeriod,
        listing: &Listing,
    ) -> Result<ScannedDifferences> {
        if scan.end() > self.now() {
            let message = format!("the scan ends in the future, at {}", scan.end());
            return Err(Error::new(ErrorDetail::SetInFuture, message));
        }
        let select = |at: Timestamp| {
            let at = Some(Moment::Instant(at));
            Selection::Dataset { name: dataset.clone(), at }
        };
        let snapshot = self.snapshot()?;
        let held = match snapshot.select(&select(scan.start())) {
            // All that it held during the scan came then.
            Err(error) if error.kind() == ErrorKind::NoHistory => {
                let last = snapshot.select(&select(scan.end()))?.set;
                let first = self.history(last.dataset(), &HistoryOptions::new()).next();
                first.transpose()?.map_or(last, Set::Instance)
            }
            selected => selected?.set,
        };
        drop(snapshot);
        let mut changed = ListingBuilder::new();
        for exported in self.export(dataset, Some(scan.start()))? {
            match exported? {
                Exported::Event(event) if event.at > scan.end() => break,
                Exported::Event(event) if event.kind != EventKind::Described => {
                    changed.add(event.granule_id)?;
                }
                _ => {}
            }
        }
        let changed: Changed = Box::new(changed.finish().distinct()?);
        Ok(ScannedDifferences {
            differences: self.compare_with(&held, listing)?,
            changed: changed.peekable(),
            counts: ScannedCounts::default(),
        })
    }
}

impl ScannedDifferences {
    /// Reads the remaining differences, which proves what the dataset held when the scan began, and returns the
    /// counts.
    ///
    /// # Errors
    ///
    /// Those of [`Differences::finish`].
    pub fn finish(mut self) -> Result<ScannedCounts> {
        self.try_for_each(|difference| difference.map(drop))?;
        for changed in self.changed {
            changed?;
            self.counts.changed += 1;
        }
        let ScannedCounts { left, right, other, .. } = self.counts;
        let mut differences = self.differences.finish()?;
        differences.granules.only_left -= left;
        differences.granules.only_right -= right;
        differences.granules.matched += right;
        differences.contents.other -= other;
        Ok(ScannedCounts { differences, ..self.counts })
    }

    /// Whether a granule changed during the scan. Granules are given in canonical order.
    fn has_changed(&mut self, granule_id: &GranuleId) -> Result<bool> {
        let is_up_to = |next: &Result<ListingEntry>| {
            next.as_ref().map_or(true, |next| next.granule_id <= *granule_id)
        };
        while let Some(changed) = self.changed.next_if(is_up_to) {
            self.counts.changed += 1;
            if changed?.granule_id == *granule_id {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a difference remains, although granules changed during the scan.
    fn remains(&mut self, difference: &Difference) -> Result<bool> {
        let granule_id = match difference {
            Difference::OnlyLeft(granule_id) => granule_id,
            Difference::OnlyRight(entry) => &entry.granule_id,
            Difference::OtherContent(other) => &other.granule_id,
        };
        if !self.has_changed(granule_id)? {
            return Ok(true);
        }
        match difference {
            Difference::OnlyLeft(_) => self.counts.left += 1,
            Difference::OnlyRight(_) => self.counts.right += 1,
            Difference::OtherContent(other) => {
                self.counts.other += u64::from(matches!(other.compared, ContentMatch::Other(_)))
            }
        }
        Ok(false)
    }
}

impl Iterator for ScannedDifferences {
    type Item = Result<Difference>;

    fn next(&mut self) -> Option<Result<Difference>> {
        loop {
            let difference = match self.differences.next()? {
                Ok(difference) => difference,
                Err(error) => return Some(Err(error)),
            };
            match self.remains(&difference) {
                Ok(true) => return Some(Ok(difference)),
                Ok(false) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
