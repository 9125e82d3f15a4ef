//! A change of a dataset: granules are ingested and deleted, all of them or none.

use super::addition::{Conduct, Expected, Misfit};
use super::lookup::Unknown;
use super::single::{Applied, Target};
use super::stamp::Stamp;
use crate::model::{Dataset, DatasetName, Entry, EventKind, Identifier, Timestamp};
use crate::registry::error::Result;
use crate::registry::handle::{End, Registry};
use crate::registry::refusal::ChangeError;
use crate::registry::staging::{Repeats, Staged, Staging};
use crate::store::Transaction;

/// The granules that a change ingests and deletes, and its options.
///
/// More than about 8 MiB of granules are kept in a temporary file.
#[derive(Debug, Default)]
pub struct Change {
    staging: Staging,
    is_lenient: bool,
    expected: Expected,
    held: Misfit,
    missing: Misfit,
    unknown: Unknown,
    is_dry_run: bool,
}

impl Change {
    /// Creates an empty change.
    pub fn new() -> Self {
        Change::default()
    }

    /// Adds a granule to ingest.
    ///
    /// # Errors
    ///
    /// [`Error::Change`](super::super::Error::Change): it repeats a granule that was added shortly
    /// before; other repetitions are found when the change is applied.
    /// [`Error::Temporary`](super::super::Error::Temporary): the temporary file cannot be written.
    pub fn ingest(&mut self, entry: impl Into<Entry>) -> Result<()> {
        self.stage(entry.into(), EventKind::Ingested)
    }

    /// Adds a granule to delete. It is marked as deleted; nothing is ever erased.
    ///
    /// # Errors
    ///
    /// Those of [`Change::ingest`].
    pub fn delete(&mut self, entry: impl Into<Entry>) -> Result<()> {
        self.stage(entry.into(), EventKind::Deleted)
    }

    /// Sets the note that is stored with the change.
    pub fn note(&mut self, note: Option<String>) {
        self.expected.note = note;
    }

    /// Skips granules to ingest that are already held or listed twice, and counts them. Must be
    /// called before granules are added.
    pub fn skip_existing(&mut self) {
        self.held = Misfit::Skip;
        self.be_lenient();
    }

    /// Skips granules to delete that are not held or listed twice, and counts them. Must be called
    /// before granules are added.
    pub fn skip_missing(&mut self) {
        self.missing = Misfit::Skip;
        self.be_lenient();
    }

    /// Adds the dataset if it does not exist, with a record that has only its name.
    pub fn create_dataset(&mut self) {
        self.unknown = Unknown::Create(None);
    }

    /// Adds the dataset with this record, if no dataset has the name of the change.
    pub fn create_dataset_with(&mut self, record: Dataset) {
        self.unknown = Unknown::Create(Some(Box::new(record)));
    }

    /// Refuses the change unless it results in this identifier.
    pub fn expect(&mut self, identifier: Identifier) {
        self.expected.identifier = Some(identifier);
    }

    /// Rolls the change back after everything was checked and computed.
    pub fn dry_run(&mut self) {
        self.is_dry_run = true;
    }

    fn be_lenient(&mut self) {
        self.is_lenient = true;
        self.staging.set_repeats(Repeats::Keep);
    }

    fn stage(&mut self, entry: Entry, kind: EventKind) -> Result<()> {
        let Entry { granule_id, producer_granule, location } = entry;
        // The time is known only under the write lock; until then all events have the same one.
        let at = Timestamp::EPOCH;
        self.staging.add(&Staged { granule_id, at, kind, producer_granule, location })
    }
}

impl Registry {
    /// Applies a change to a dataset, all of it or nothing.
    ///
    /// Costs a look-up and a row for each granule of the change, and one chain step for each
    /// granule held after the last checkpoint before the first of them. Granules at the end of the
    /// canonical order cost exactly one step each. The memory does not depend on the number of
    /// granules.
    ///
    /// # Errors
    ///
    /// [`Error::Change`](super::super::Error::Change): the change is refused;
    /// [`Error::NoDataset`](super::super::Error::NoDataset);
    /// [`Error::Inconsistent`](super::super::Error::Inconsistent): the number of rows that were
    /// read is not the number that the history counts;
    /// [`Error::Store`](super::super::Error::Store).
    pub fn change(
        &self,
        dataset: &DatasetName,
        change: &Change,
        stamp: &Stamp<'_>,
    ) -> Result<Applied> {
        if change.staging.is_empty() && !change.is_lenient {
            return Err(ChangeError::Empty.into());
        }
        self.write(|transaction| {
            let applied = apply(self, transaction, dataset, change, stamp)?;
            let is_kept = applied.instance.is_some() && !change.is_dry_run;
            Ok((applied, if is_kept { End::Commit } else { End::RollBack }))
        })
    }
}

/// Applies the change within a transaction.
fn apply(
    registry: &Registry,
    transaction: &Transaction,
    name: &DatasetName,
    change: &Change,
    stamp: &Stamp<'_>,
) -> Result<Applied> {
    let target = Target::find(registry, transaction, name, &change.unknown, stamp)?;
    let conduct = Conduct::Change { held: change.held, missing: change.missing };
    target.apply(&change.staging, conduct, &change.expected, stamp)
}
