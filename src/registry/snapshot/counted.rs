//! How much is known of the files of a set, counted from what was known of an earlier one.

use std::sync::Arc;

use super::files::FileTotals;
use super::view::Snapshot;
use crate::error::Result;
use crate::model::{IdPage, Set};
use crate::store::DatasetKey;

/// How many granules may have been touched since an earlier count. If there are more, all are counted.
const MOST_TOUCHED: u32 = 20_000;

/// How much is known of the files of a set, and the state of the dataset in which it was counted.
pub(crate) struct CountedFiles {
    /// How much is known.
    pub totals: Arc<FileTotals>,
    dataset: DatasetKey,
    set: Set,
    last_record: u64,
}

impl CountedFiles {
    /// Whether the files of this set were counted, with the records up to this one.
    pub fn is_of(&self, set: &Set, last_record: u64) -> bool {
        (self.set.identifier(), self.last_record) == (set.identifier(), last_record)
    }
}

impl Snapshot {
    /// Counts the files of a set. Costs a pass over its granules; with what was counted `before` for a
    /// set of the same dataset, a look-up of each granule that was touched since, and a pass in the
    /// store to find them.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::files`].
    pub(crate) fn count_files(
        &self,
        set: &Set,
        before: Option<&CountedFiles>,
    ) -> Result<CountedFiles> {
        let (dataset, _) = self.ask(|read| self.dataset_of(read, set.dataset()))?;
        let last_record = self.last_file_record(set.dataset())?;
        let is_earlier = |before: &&CountedFiles| {
            before.dataset == dataset
                && before.last_record <= last_record
                && before.set.instance().timestamp <= set.instance().timestamp
                && set.subset().is_none()
        };
        let recounted = before.filter(is_earlier).map(|before| self.recount(set, before));
        let totals = match recounted.transpose()?.flatten() {
            Some(totals) => totals,
            None => self.files(set)?.totals()?,
        };
        Ok(CountedFiles { totals: Arc::new(totals), dataset, set: set.clone(), last_record })
    }

    /// `None` means that too many granules were touched.
    fn recount(&self, set: &Set, before: &CountedFiles) -> Result<Option<FileTotals>> {
        let at = before.set.instance().timestamp;
        let touched = self
            .ask(|read| read.touched_after(before.dataset, at, before.last_record, MOST_TOUCHED))?;
        if touched.len() == MOST_TOUCHED as usize {
            return Ok(None);
        }
        let count = |set: &Set, last_record: u64| {
            let held: IdPage = self.held_among(set, &touched)?.iter().collect();
            let files = self.files_of(set, std::iter::once(Ok(held)))?;
            files.known_up_to(last_record).totals()
        };
        let then = count(&before.set, before.last_record)?;
        Ok(Some(before.totals.with_part(&then, &count(set, u64::MAX)?)))
    }
}

impl FileTotals {
    /// These, where a part that was `then` is `now`.
    fn with_part(&self, then: &FileTotals, now: &FileTotals) -> FileTotals {
        let sum = |of: fn(&FileTotals) -> u64| of(self).saturating_sub(of(then)) + of(now);
        let mut algorithms = self.algorithms.clone();
        for (algorithm, files) in &then.algorithms {
            algorithms.entry(algorithm.clone()).and_modify(|it| *it = it.saturating_sub(*files));
        }
        for (algorithm, files) in &now.algorithms {
            *algorithms.entry(algorithm.clone()).or_default() += files;
        }
        algorithms.retain(|_, files| *files > 0);
        FileTotals {
            granules: sum(|it| it.granules),
            with_checksums: sum(|it| it.with_checksums),
            files: sum(|it| it.files),
            // What cannot be added up is more than there can be.
            bytes: self.bytes.saturating_sub(then.bytes).saturating_add(now.bytes),
            without_size: sum(|it| it.without_size),
            list_bytes: sum(|it| it.list_bytes),
            algorithms,
        }
    }
}
