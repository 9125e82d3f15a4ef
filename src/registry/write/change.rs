//! One change: granules are ingested and deleted, all at once or not at all.

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

/// What a change ingests and deletes, and how it is made.
///
/// The granules may be any number: beyond some 16 MiB they are kept in a temporary file.
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
    /// A change of nothing yet.
    pub fn new() -> Self {
        Change::default()
    }

    /// Adds a granule to ingest.
    ///
    /// # Errors
    ///
    /// [`Error::Change`](super::super::Error::Change): it repeats one that was added shortly before;
    /// repetitions further apart are found when the change is made.
    /// [`Error::Temporary`](super::super::Error::Temporary): the temporary file cannot be written.
    pub fn ingest(&mut self, entry: impl Into<Entry>) -> Result<()> {
        self.stage(entry.into(), EventKind::Ingested)
    }

    /// Adds a granule to delete: to mark as deleted, since nothing is ever erased.
    ///
    /// # Errors
    ///
    /// As [`Change::ingest`].
    pub fn delete(&mut self, entry: impl Into<Entry>) -> Result<()> {
        self.stage(entry.into(), EventKind::Deleted)
    }

    /// Keeps a note with the change.
    pub fn note(&mut self, note: Option<String>) {
        self.expected.note = note;
    }

    /// Skips granules to ingest that are held already or listed twice, and counts them. Before the
    /// granules are added.
    pub fn skip_existing(&mut self) {
        self.held = Misfit::Skip;
        self.be_lenient();
    }

    /// Skips granules to delete that are not held or listed twice, and counts them. Before the
    /// granules are added.
    pub fn skip_missing(&mut self) {
        self.missing = Misfit::Skip;
        self.be_lenient();
    }

    /// Adds the dataset, with a record that has only its name, if there is none.
    pub fn create_dataset(&mut self) {
        self.unknown = Unknown::Create(None);
    }

    /// Adds the dataset with this record, if there is none of the name of the change.
    pub fn create_dataset_with(&mut self, record: Dataset) {
        self.unknown = Unknown::Create(Some(Box::new(record)));
    }

    /// Makes the change only if it leads to this identifier.
    pub fn expect(&mut self, identifier: Identifier) {
        self.expected.identifier = Some(identifier);
    }

    /// Does everything, and then undoes it.
    pub fn dry_run(&mut self) {
        self.is_dry_run = true;
    }

    fn be_lenient(&mut self) {
        self.is_lenient = true;
        self.staging.set_repeats(Repeats::Keep);
    }

    fn stage(&mut self, entry: Entry, kind: EventKind) -> Result<()> {
        let Entry { granule_id, producer_granule, location } = entry;
        // The time is known when nobody else can write; until then all events have the same.
        let at = Timestamp::EPOCH;
        self.staging.add(&Staged { granule_id, at, kind, producer_granule, location })
    }
}

impl Registry {
    /// Applies a change to a dataset, all of it or nothing.
    ///
    /// Costs a look-up and a row for each granule of the change, and one chain step for each
    /// granule held after the last checkpoint before the first of them; at the end of the canonical
    /// order, exactly a step for each granule that is ingested. Memory does not grow with either.
    ///
    /// # Errors
    ///
    /// [`Error::Change`](super::super::Error::Change) says why it is refused;
    /// [`Error::NoDataset`](super::super::Error::NoDataset);
    /// [`Error::Inconsistent`](super::super::Error::Inconsistent): the rows that were read are not
    /// those that the history counts; [`Error::Store`](super::super::Error::Store).
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

/// The change itself, within a transaction.
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
