//! A change of a dataset: granules are ingested and deleted, all of them or none.

use super::applied::ChangeReport;
use super::engine;
use super::mirror_sources::Taken;
use super::target::{ChangeOptions, Conduct, Target, event};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Coverage, DatasetName, Event, EventKind, ListingEntry};
use crate::registry::directories::refuse_directories;
use crate::registry::handle::{End, Registry};
use crate::registry::staging::Staging;

/// The granules that a change ingests and deletes, and its options.
///
/// More than about 8 MiB of granules are kept in a temporary file.
#[derive(Debug, Default)]
pub struct Change {
    /// The options.
    pub options: ChangeOptions,
    extent: Coverage,
    staging: Staging,
}

impl Change {
    /// Creates an empty change. Entries with file metadata have all files of their granule.
    pub fn new() -> Self {
        Change::default()
    }

    /// Creates an empty change. Entries have the metadata of some files of their granule, and the other files
    /// do not change.
    pub fn of_some_files() -> Self {
        Change::stating(Coverage::Named)
    }

    /// Creates an empty change whose file metadata has this coverage.
    pub(crate) fn stating(extent: Coverage) -> Self {
        Change { extent, ..Change::default() }
    }

    /// Adds a granule to ingest. Repeated granules are found when the change is made.
    pub fn ingest(&mut self, entry: impl Into<ListingEntry>) -> Result<()> {
        self.stage(entry.into(), EventKind::Ingested)
    }

    /// Adds a granule to delete. It is marked as deleted; nothing is ever erased.
    pub fn delete(&mut self, entry: impl Into<ListingEntry>) -> Result<()> {
        self.stage(entry.into(), EventKind::Deleted)
    }

    /// Adds metadata of the files of a granule that is held and stays held. Several entries of one granule are
    /// merged.
    pub fn describe(&mut self, entry: impl Into<ListingEntry>) -> Result<()> {
        self.stage(entry.into(), EventKind::Described)
    }

    /// The number of added granules, including repeated ones.
    pub fn count(&self) -> u64 {
        self.staging.count()
    }

    /// Rejects a change in which one id is a directory in the path of another. Costs a pass over the change.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotAList`](crate::ErrorKind::NotAList): an id is a directory of another;
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be read.
    pub fn refuse_directories(&self) -> Result<()> {
        refuse_directories(self.staging.sorted()?)
    }

    fn stage(&mut self, entry: ListingEntry, kind: EventKind) -> Result<()> {
        let content = entry.content.filter(|_| kind != EventKind::Deleted);
        // The time is known only under the write lock. Until then, all events have the same time.
        self.staging.add(&event(kind, ListingEntry { content, ..entry }))
    }
}

impl Registry {
    /// Applies a change to a dataset, all of it or nothing.
    ///
    /// A guarded change ([`ChangeOptions::limits`]) is the change of a listing. If it is refused, this is
    /// recorded as a [`RefusedListing`](crate::dataset::RefusedListing) until a listing is accepted.
    ///
    /// Costs a look-up and a row for each granule of the change. Costs one or two chain steps for each granule
    /// held after the last checkpoint before its first granule
    /// ([`WorkCounts::steps`](crate::verify::WorkCounts::steps)). Granules at the end of the canonical order
    /// cost exactly one step each. The memory does not depend on the number of granules.
    ///
    /// # Errors
    ///
    /// The error of a refused change; [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown); the
    /// error of a registry, of kind `damaged` if the granules that were read are not those of the identifier in
    /// force.
    pub fn change(&self, dataset: &DatasetName, change: &Change) -> Result<ChangeReport> {
        let conduct = Conduct::Change(change.extent);
        self.guarded(dataset, &change.options, || self.make(dataset, (change, conduct), None))
    }

    /// Applies a change of computed file metadata. It takes effect now, whatever the times of earlier changes.
    /// Granules whose records contradict it by now are skipped (`ChangeReport::contradicted`).
    pub(crate) fn change_computed(
        &self,
        dataset: &DatasetName,
        change: &Change,
    ) -> Result<ChangeReport> {
        self.make(dataset, (change, Conduct::Computed), None)
    }

    /// Applies the change of a pull, if its limits allow it. Saves in the same transaction what was read beside
    /// the log.
    pub(crate) fn change_and_take(
        &self,
        dataset: &DatasetName,
        change: &Change,
        taken: &Taken<'_>,
    ) -> Result<ChangeReport> {
        let conduct = Conduct::Pull(change.extent);
        self.make(dataset, (change, conduct), Some(taken))
    }

    /// Applies the change of a pull, and saves nothing that was read beside the log.
    pub(crate) fn change_of_pull(
        &self,
        dataset: &DatasetName,
        change: &Change,
    ) -> Result<ChangeReport> {
        self.make(dataset, (change, Conduct::Pull(change.extent)), None)
    }

    fn make(
        &self,
        dataset: &DatasetName,
        (change, conduct): (&Change, Conduct),
        taken: Option<&Taken<'_>>,
    ) -> Result<ChangeReport> {
        let options = &change.options;
        let registry = &self.with_guarded_clock();
        if change.staging.is_empty() && !options.skip_existing && !options.skip_missing {
            let message = "the change is empty: no granule to ingest and none to delete";
            return Err(Error::new(ErrorKind::Empty, message));
        }
        registry.write(|transaction| {
            let target = Target::lock(registry, transaction, dataset, options)?;
            let (mut applied, mut end) =
                target.apply(&change.staging, conduct)?.ended(options.dry_run);
            let is_of_listing = options.limits.is_some() && matches!(conduct, Conduct::Change(_));
            if is_of_listing && !options.dry_run && transaction.refusal(target.dataset)?.is_some() {
                transaction.delete_refusal(target.dataset)?;
                end = End::Commit;
            }
            if let Some(taken) = taken {
                // If nothing changed, no guard has checked the clock.
                let recorder = &self.confirming(options.expect.is_some());
                let kept =
                    taken.save(recorder, transaction, target.dataset, &mut applied.in_force)?;
                applied.set_annotations(kept);
                // Even if the primary has nothing new, it is remembered that it was read.
                let is_there = !applied.instances.is_empty() || !target.is_created;
                end = End::commit_if(!options.dry_run && is_there);
                if let (Some(instance), Some(in_force)) =
                    (applied.instances.last_mut(), &applied.in_force)
                {
                    instance.clone_from(in_force);
                }
            }
            Ok((applied, end))
        })
    }
}

impl Target<'_> {
    /// Adds the events to the history at one instant, whatever their times when they were staged.
    pub fn apply(&self, events: &Staging, conduct: Conduct) -> Result<ChangeReport> {
        let at = self.now;
        let at_once = events.sorted()?.map(|event| Ok(Event { at, ..event? }));
        engine::add(self, conduct, at_once, events.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Digest, GranuleId, Identifier, LineCheck, LogChange, Timestamp};
    use crate::registry::{
        Clock, IfMissing, LogChanges, PrimaryAnnotations, Remembered, Withdrawn,
    };

    fn changes(notes: &[Option<String>]) -> LogChanges {
        let mut changes = LogChanges::default();
        for (number, note) in (1..).zip(notes) {
            let change = LogChange {
                number,
                timestamp: Timestamp::from_micros(number as i64).unwrap(),
                identifier: Identifier::EMPTY,
                digest: Digest::EMPTY,
                check: LineCheck::from_bytes([0; 32]),
                bytes: 200 * number,
                granules: number,
                ingested: 1,
                deleted: 0,
                described: 0,
                replaced: 0,
                note: note.clone(),
            };
            changes.add(&change).unwrap();
        }
        changes
    }

    #[test]
    fn what_cannot_be_remembered_is_an_error_before_the_commit() {
        let now = Timestamp::from_micros(1_000_000_000_000_000).unwrap();
        let registry = Registry::temporary(Clock::fixed(now)).unwrap();
        let dataset: DatasetName = "mirror".parse().unwrap();
        let mut change = Change::new();
        change.ingest("A".parse::<GranuleId>().unwrap()).unwrap();
        change.options = change.options.if_missing(IfMissing::Create);
        let pull = |notes: &[Option<String>]| {
            let changes = changes(notes);
            let remembered = Remembered {
                source: "us.jsonl",
                is_identical: true,
                pulled_with: None,
                is_imported: false,
                refusal: None,
                continues: true,
                contradicts: false,
                forget_from: None,
                changes: Some(&changes),
            };
            let annotations = &PrimaryAnnotations::default();
            let taken = Taken { remembered: Some(remembered), annotations, primary: &dataset };
            registry.change_and_take(&dataset, &change, &taken)
        };
        // Longer than a row may be. Formerly, the change was committed without the log that it was made of.
        let error = pull(&[None, Some("n".repeat(3 << 20))]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLong, "{error}");
        assert_eq!(registry.snapshot().unwrap().all_datasets(Withdrawn::Listed).unwrap().len(), 0);
        // Batches of changes follow each other without a gap.
        let notes: Vec<Option<String>> =
            (0..2_500).map(|n| (n % 100 == 0).then(|| "n".repeat(60_000))).collect();
        pull(&notes).unwrap();
        let sources = registry.snapshot().unwrap().mirror_sources(&dataset).unwrap();
        assert_eq!(sources[0].last.as_ref().map(|last| last.number), Some(2_500));
        let mut read = 0;
        let show = |change: LogChange| {
            assert_eq!(change.note, notes[read]);
            read += 1;
            true
        };
        registry.snapshot().unwrap().each_change_read(&dataset, "us.jsonl", 0, show).unwrap();
        assert_eq!(read, 2_500);
    }
}
