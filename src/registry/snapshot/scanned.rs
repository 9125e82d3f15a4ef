//! Compares a dataset with a listing that took time to make, while granules came and went.

use super::differences::Differences;
use super::export::Exported;
use super::history::HistoryOptions;
use super::select::Selection;
use crate::error::{Error, ErrorDetail, ErrorKind, Result};
use crate::model::{DatasetName, EventKind, Moment, ScanPeriod, Set, Timestamp};
use crate::registry::handle::Registry;
use crate::registry::listing::{Listing, ListingBuilder};

impl Registry {
    /// Compares a dataset, on the left, with a listing, on the right, that took time to make. A granule differs
    /// if it was held during all of that time and is not listed. It also differs if it is listed and was never
    /// held during that time. Granules that came, went or were replaced meanwhile are left out, and counted
    /// ([`DifferenceCounts::changed`](crate::DifferenceCounts::changed)).
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
    ) -> Result<Differences> {
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
            // Every granule that it held during the scan came during the scan.
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
        let changed = Box::new(changed.finish().distinct()?);
        Ok(self.compare_with(&held, listing)?.without(changed))
    }
}
