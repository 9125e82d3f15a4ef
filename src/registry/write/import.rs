//! Imports a whole history: every change that a file records, in one transaction.

use std::collections::BTreeSet;

use super::annotate::LoggedAnnotations;
use super::applied::ChangeReport;
use super::engine;
use super::imported_subsets::{CitedSubsets, Origin, SelectedSubset};
use super::mirror_sources::Remembered;
use super::stamp::{Expected, Results};
use super::target::{ChangeOptions, Conduct, Target};
use crate::error::{Error, Result};
use crate::model::{DatasetName, Digest, Event, Identifier, SourceLocation, Timestamp, Withdrawal};
use crate::registry::handle::{End, Registry};
use crate::registry::staging::Staging;
use crate::store::{DatasetKey, Transaction};

/// A history to be added to a dataset, as events in any order.
///
/// More than about 8 MiB of events are kept in a temporary file. The memory depends on the number
/// of distinct times.
///
/// # Examples
///
/// ```
/// use accession::{Clock, Event, EventKind, IfMissing, Import, Registry};
///
/// let mut import = Import::new();
/// for (at, kind, granule_id) in [
///     ("2001-01-03T00:00:00Z", EventKind::Deleted, "A"),
///     ("2001-01-02T00:00:00Z", EventKind::Ingested, "A"),
///     ("2001-01-02T00:00:00Z", EventKind::Ingested, "B"),
/// ] {
///     let (at, granule_id) = (at.parse()?, granule_id.parse()?);
///     import.add(Event { at, kind, granule_id, producer_granule: None, content: None, location: None })?;
/// }
/// import.options = import.options.if_missing(IfMissing::Create);
/// let registry = Registry::temporary(Clock::system())?;
/// let applied = registry.import(&"US".parse()?, &import)?;
/// assert_eq!(applied.instances.len(), 2);
/// assert_eq!(applied.instances[1].granules, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Import {
    /// The options. If the import creates the dataset, it gets the metadata from the log.
    pub options: ChangeOptions,
    /// Events after this time are rejected as soon as they are added. `None` means that they are rejected when
    /// the import is applied, which may be minutes later.
    pub not_after: Option<Timestamp>,
    /// When and why the dataset of a log was withdrawn, for the caller. The import does not withdraw its
    /// dataset. `None` means that it was not withdrawn, or that there is no log.
    pub withdrawn: Option<Withdrawal>,
    /// The number of events that were not added, because their day is not over.
    pub left_out: u64,
    /// Events at or after this time are left out and counted. A file that dates granules both with and without
    /// a time needs this. Otherwise, a later event of a day would forever prevent the import of an earlier one
    /// that is left out until the day is over.
    pub until: Option<Timestamp>,
    /// The time of the last change of the log with the events ([`Timestamp::MIN`]: the log has no change).
    /// `None` means that they are not from a log.
    pub(crate) end_of_log: Option<Timestamp>,
    staging: Staging,
    times: BTreeSet<Timestamp>,
    /// The time of the event added last. The next one mostly has the same.
    last: Option<Timestamp>,
    results: Results,
    subsets: CitedSubsets,
    annotations: LoggedAnnotations,
}

impl Import {
    /// Creates an empty import.
    pub fn new() -> Self {
        Import::default()
    }

    /// Adds an event.
    ///
    /// # Errors
    ///
    /// The error of a refused change: the event is after [`Import::not_after`]. Conflicts between events are
    /// found when the import is applied. [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary
    /// file cannot be written.
    pub fn add(&mut self, event: Event) -> Result<()> {
        let at = event.at;
        if let Some(now) = self.not_after.filter(|now| at > *now) {
            return Err(Error::future(at, now).at(event.location));
        }
        if self.last.replace(at) != Some(at) {
            self.times.insert(at);
        }
        self.staging.add(&event)
    }

    /// Rejects the import unless this identifier, and this digest if there is one, is in force at this time.
    /// `location` is their source, for messages.
    pub fn expect(
        &mut self,
        at: Timestamp,
        identifier: Identifier,
        digest: Option<Digest>,
        location: Option<SourceLocation>,
    ) {
        let set: Expected = (Some(identifier), digest);
        self.results.expect(at, set, location);
    }

    /// Sets the note of the change at this time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLong`](crate::ErrorKind::TooLong);
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary).
    pub fn note(&mut self, at: Timestamp, note: Option<&str>) -> Result<()> {
        self.results.note(at, note)
    }

    /// The note that is stored with the change at this time. `None` means none.
    pub fn note_at(&self, at: Timestamp) -> Result<Option<String>> {
        self.results.note_at(at)
    }

    /// Sets the subsets and annotations that were written elsewhere, instead of any before. They are stored
    /// once the history has their changes.
    pub(crate) fn keep_beside(&mut self, subsets: CitedSubsets, annotations: LoggedAnnotations) {
        (self.subsets, self.annotations) = (subsets, annotations);
    }

    /// The number of events that were added.
    pub fn count(&self) -> u64 {
        self.staging.count()
    }

    /// Whether the events are from a log that ends before the last change of the dataset. Then the log is an
    /// older state, or the primary removed a change.
    pub fn is_stale(&self, applied: &ChangeReport) -> bool {
        let in_force = applied.in_force.as_ref().map(|in_force| in_force.timestamp);
        self.end_of_log.is_some_and(|end| in_force > Some(end))
    }

    /// The time of the last change of the log up to which the dataset has the same history, if the dataset has
    /// had other changes since. `None` means that it has had none, that they have no change in common, or that
    /// the events are not from a log.
    ///
    /// # Errors
    ///
    /// The error of a registry; [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
    pub fn last_in_common(
        &self,
        registry: &Registry,
        dataset: &DatasetName,
    ) -> Result<Option<Timestamp>> {
        registry.snapshot()?.ask_of(dataset, |read, key| {
            let Some(latest) = read.latest_instance(key)? else { return Ok(None) };
            let mut last = None;
            for at in self.results.expected().take_while(|at| *at <= latest.timestamp) {
                let in_force = read.instance_at(key, at)?;
                let set = in_force.map(|in_force| (in_force.identifier, in_force.digest));
                if set.is_none_or(|set| self.results.check(at, set).is_err()) {
                    break;
                }
                last = Some(at);
            }
            Ok(last.filter(|last| *last < latest.timestamp))
        })
    }

    /// The number of distinct times of the events. Each becomes a change.
    pub fn count_times(&self) -> u64 {
        self.times.len() as u64
    }
}

impl Registry {
    /// Adds one change for the events of each distinct time, all in one transaction.
    ///
    /// The events must be after the last change of the dataset, if there is one. Events that are already stored
    /// are skipped, so a file can be imported again after it has grown. Costs a row for each holding period.
    /// Costs one pass over the granules after the last checkpoint before the first event, for all changes
    /// together. The memory depends on the number of distinct times.
    ///
    /// # Errors
    ///
    /// The error of a refused change: an event is rejected. Examples are the ingest of a granule that is held,
    /// the deletion of one that is not, and a time in the future or not after the last change.
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown); the error of a registry.
    pub fn import(&self, dataset: &DatasetName, import: &Import) -> Result<ChangeReport> {
        self.import_and_remember(dataset, import, None)
    }

    /// Imports a history, and remembers in the same transaction the log that it was read from.
    pub(crate) fn import_and_remember<'a>(
        &self,
        dataset: &DatasetName,
        import: &Import,
        remembered: Option<&dyn Fn(&ChangeReport) -> Remembered<'a>>,
    ) -> Result<ChangeReport> {
        let selected = import.select_subsets(self, dataset)?;
        let registry = &self.with_guarded_clock();
        registry.write(|transaction| {
            let (key, applied) = import.apply(registry, transaction, dataset, &selected)?;
            let has_changed =
                !applied.instances.is_empty() || applied.subsets > 0 || applied.annotations > 0;
            // If a dataset has no history, it is not added only to remember what was read for it.
            let remembered = remembered.filter(|_| applied.in_force.is_some());
            let is_kept = !import.options.dry_run && (has_changed || remembered.is_some());
            if let Some(remembered) = remembered.filter(|_| is_kept) {
                let latest = applied.in_force.as_ref().map(|in_force| in_force.recorded);
                // If nothing changed, no guard has checked the clock.
                let recorder = &self.confirming(import.options.expect.is_some());
                remembered(&applied).save(recorder, transaction, key, latest)?;
            }
            Ok((applied, End::commit_if(is_kept)))
        })
    }
}

impl Import {
    /// Selects the subsets from the history that the dataset will have. The patterns are the primary's, so they
    /// are not evaluated while other writers wait.
    fn select_subsets(
        &self,
        registry: &Registry,
        dataset: &DatasetName,
    ) -> Result<Vec<SelectedSubset>> {
        if self.subsets.is_empty() {
            return Ok(Vec::new());
        }
        let read = registry.read()?;
        let key = read.key_and_name(dataset)?.map(|(key, _)| key);
        let from = Origin { registry, read: &read, key, dataset };
        self.subsets.select(from, || self.staging.sorted())
    }

    /// Applies the import within a transaction.
    fn apply(
        &self,
        registry: &Registry,
        transaction: &Transaction,
        name: &DatasetName,
        selected: &[SelectedSubset],
    ) -> Result<(DatasetKey, ChangeReport)> {
        let target = Target::lock(registry, transaction, name, &self.options)?;
        let (key, last) = (target.dataset, target.last());
        let now = registry.now();
        let is_new = |at: Timestamp| last.is_none_or(|last| at > last);
        let is_over = |at: Timestamp| self.until.is_none_or(|until| at < until);
        for at in self.results.expected() {
            // A change that is skipped must have had the same result. At a time without events, the
            // instance in force must be the expected one.
            if !is_new(at) || !self.times.contains(&at) {
                let in_force = transaction.instance_at(key, at)?;
                let set = in_force.map_or((Identifier::EMPTY, Digest::EMPTY), |in_force| {
                    (in_force.identifier, in_force.digest)
                });
                self.results.check(at, set)?;
            }
        }
        let times = self.times.iter().copied().filter(|&at| is_new(at) && is_over(at)).collect();
        let results = Some(&self.results);
        let target =
            Target { times, results, now, refusal: None, clock_behind_micros: None, ..target };
        let (events, count) = (self.staging.sorted()?, self.staging.count());
        let mut left_out = self.left_out;
        let events = events.filter(|event| {
            let is_over = event.as_ref().map_or(true, |event| is_over(event.at));
            left_out += u64::from(!is_over);
            is_over
        });
        let mut applied = engine::add(&target, Conduct::History, events, count)?;
        applied.left_out = left_out;
        let dataset = (key, &target.name);
        applied.subsets = self.subsets.keep(registry, transaction, dataset, selected)?;
        let kept = self.annotations.keep(transaction, dataset, now, |at| {
            let in_force = transaction.instance_at(key, at)?;
            Ok(in_force.filter(|instance| instance.timestamp == at).map(|instance| vec![instance]))
        })?;
        applied.set_annotations(kept);
        if (applied.subsets > 0 || applied.annotations > 0)
            && target.options.expect.is_none()
            && let Some(refusal) = &target.clock_refusal
        {
            return Err(refusal.clone());
        }
        if applied.annotations > 0 {
            // The instance in force may have been annotated.
            applied.in_force = transaction.instance_at(key, Timestamp::MAX)?;
        } else if let (Some(in_force), Some(_)) = (&mut applied.in_force, applied.instances.last())
        {
            in_force.note = self.note_at(in_force.timestamp)?;
        }
        Ok((key, applied))
    }
}
