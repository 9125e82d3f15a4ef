//! The dataset that is changed, and the options of the change.

use super::guard::Guard;
use super::record::{gives_up, insert, refuse_withdrawn};
use super::stamp::{Results, check_accepted, check_entered_note, check_expected, time_after};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Content, ContentChange, Coverage, DatasetMetadata, DatasetName, Digest, EncodedFiles, Event,
    EventKind, Identifier, Instance, Limit, Limits, ListingEntry, Set, Timestamp,
};
use crate::registry::contents::ContentsAt;
use crate::registry::handle::Registry;
use crate::registry::proof::Claim;
use crate::registry::snapshot::{Only, Position, SetCursor, SetEntries, Walk};
use crate::registry::staging::Staging;
use crate::store::{DatasetKey, StoredDataset, Transaction, View};

/// The options of a change, a sync, a revert or an import.
///
/// ```
/// use accession::ChangeOptions;
///
/// let options = ChangeOptions { dry_run: true, ..ChangeOptions::default() };
/// assert!(!options.create_dataset);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeOptions {
    /// When the change takes effect. `None` means now. The changes of an import have times of their own.
    pub at: Option<Timestamp>,
    /// Whether that time was not stated by a person, but is the date in the name of a file, for example. Only a
    /// time that was stated confirms the clock ([`Clock::confirmed`](crate::registry::Clock::confirmed)).
    pub is_time_inferred: bool,
    /// The note that is stored with the change. The changes of an import have notes of their own.
    pub note: Option<String>,
    /// The identifier that must result, or else the change is refused. `None` means any. Those of
    /// an import are set for each of its changes.
    pub expected: Option<Identifier>,
    /// The digest that must result. `None` means any.
    pub expected_digest: Option<Digest>,
    /// Whether the dataset is created if it does not exist.
    pub create_dataset: bool,
    /// The record of a dataset that is created, under the name of the change. `None` means one that
    /// has only the name.
    pub record: Option<DatasetMetadata>,
    /// Whether granules to ingest that are already held or listed twice are skipped and counted.
    pub skip_existing: bool,
    /// Whether granules to delete that are not held or listed twice are skipped and counted.
    pub skip_missing: bool,
    /// Of how many granules that are held other bytes may be stated than are known. `None` means the
    /// dataset's own limit, or none. A change that has one needs a note, which says why.
    pub max_replace: Option<Limit>,
    /// Whether the change is rolled back after everything was checked and computed.
    pub dry_run: bool,
    /// Whether all granules of every side are returned as examples, and not only the
    /// first [`MAX_EXAMPLES`](crate::registry::MAX_EXAMPLES) of each. They are kept in memory.
    pub all_examples: bool,
}

impl ChangeOptions {
    /// The same options for a change that takes effect at a time. Who states it confirms the clock
    /// ([`Clock::confirmed`](crate::registry::Clock::confirmed)).
    #[must_use]
    pub fn at(self, at: Timestamp) -> Self {
        ChangeOptions { at: Some(at), is_time_inferred: false, ..self }
    }
}

impl Registry {
    /// The same registry for a change with these options: a time that was stated confirms its clock.
    pub(super) fn for_change(&self, options: &ChangeOptions) -> Self {
        self.confirming(options.at.is_some() && !options.is_time_inferred)
    }
}

/// What to do with an event that does not fit the stored rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conduct {
    /// For a change: granules that are already held, or not held, are refused and counted, or
    /// skipped if the options say so. What is stated of the files of granules says so much of them.
    Change(Coverage),
    /// For a pull: the same, but that the caller has decided what is taken of the primary's content.
    Pull(Coverage),
    /// For what was computed of files: the same, but that granules of which something else is known by now
    /// stay as they are, and are returned.
    Computed,
    /// For a revert: the events are those that lead to an earlier set, whose ids are accepted as
    /// they were then.
    Revert,
    /// For an import: events that are already stored are skipped and counted; others are refused.
    History,
}

/// The dataset that is changed, and the times of its new instances.
pub(super) struct Target<'a> {
    pub registry: &'a Registry,
    pub transaction: &'a Transaction,
    pub options: &'a ChangeOptions,
    pub dataset: DatasetKey,
    /// Its present name, even if the change refers to it by a former one.
    pub name: DatasetName,
    /// Its own limits.
    pub limits: Limits,
    /// The last instance that is stored. `None` means that the dataset has no history yet.
    pub latest: Option<Instance>,
    /// Whether the dataset was added for the change.
    pub is_created: bool,
    /// The distinct times of the new instances, ascending, all after the last stored one.
    pub times: Vec<Timestamp>,
    /// What each of several new instances must result in, and their notes. `None` means that there
    /// is one, for which the options have both.
    pub results: Option<&'a Results>,
    /// The present time. No event may be later.
    pub now: Timestamp,
    /// Why no change is possible at these times. It is returned only if there is a change.
    pub refusal: Option<Error>,
    /// By how many microseconds the clock is behind the last change, if that causes a warning.
    pub clock_behind_micros: Option<i64>,
}

impl<'a> Target<'a> {
    /// Finds the dataset, or adds it if the options say so, for one change at the time of the options.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::Withdrawn`](crate::ErrorKind::Withdrawn);
    /// [`ErrorKind::TooLong`](crate::ErrorKind::TooLong): the note.
    pub fn lock(
        registry: &'a Registry,
        transaction: &'a Transaction,
        name: &DatasetName,
        options: &'a ChangeOptions,
    ) -> Result<Self> {
        check_accepted(options.max_replace, options.note.as_deref())?;
        check_entered_note(options.note.as_deref())?;
        let (dataset, name, limits, latest, is_created) =
            match transaction.dataset_to_change(name)? {
                Some((stored, latest)) if !(options.create_dataset && gives_up(&stored, name)) => {
                    let StoredDataset { key, dataset, withdrawn, limits } = stored;
                    refuse_withdrawn(withdrawn.as_ref(), &dataset.name)?;
                    (key, dataset.name, limits, latest, false)
                }
                Some(_) | None if options.create_dataset => {
                    let name = name.clone();
                    let record = match &options.record {
                        Some(record) => DatasetMetadata { name, ..record.clone() },
                        None => DatasetMetadata::named(name),
                    };
                    let limits = Limits::default();
                    let key = insert(registry, transaction, &record, limits)?;
                    (key, record.name, limits, None, true)
                }
                _ => return Err(Error::dataset_unknown(name)),
            };
        let last = latest.as_ref().map(|latest| latest.timestamp);
        let (at, clock_behind_micros, refusal) = match time_after(last, options.at, registry.now())
        {
            Ok((at, behind)) => (at, behind, None),
            // Any time after the last one will do, since the refusal is returned if anything
            // changes.
            Err(refusal) => {
                (last.and_then(Timestamp::next).unwrap_or(Timestamp::MAX), None, Some(refusal))
            }
        };
        Ok(Target {
            registry,
            transaction,
            options,
            dataset,
            name,
            limits,
            latest,
            is_created,
            times: vec![at],
            results: None,
            now: at,
            refusal,
            clock_behind_micros,
        })
    }

    /// Refuses a change without a time in a dataset every change of which was recorded long after it took
    /// effect: the time was probably forgotten, and after a change of now no earlier one can be added.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Backfill`].
    pub fn refuse_backfill(&self) -> Result<()> {
        let Some(latest) = &self.latest else { return Ok(()) };
        if self.options.at.is_some()
            || self.registry.clock().is_confirmed()
            || !latest.is_back_dated()
            || self.transaction.has_timely_change(self.dataset)?
        {
            return Ok(());
        }
        let message = format!(
            "this change of {} has no time, and every earlier one was recorded more than 48 hours after it took effect: if this one takes effect now, none before now can follow",
            self.name
        );
        Err(Error::new(ErrorKind::Backfill, message))
    }

    /// Refuses a change that the guard has counted, unless its time can be accepted and the limits allow
    /// it.
    ///
    /// # Errors
    ///
    /// That of a refused time; those of [`Guard::check`].
    pub fn check(&self, guard: &Guard) -> Result<()> {
        match &self.refusal {
            _ if guard.is_empty() => Ok(()),
            Some(refusal) => Err(refusal.clone()),
            None => guard.check(&self.name, self.limits, self.held()),
        }
    }

    /// The time of the last stored instance.
    pub fn last(&self) -> Option<Timestamp> {
        self.latest.as_ref().map(|latest| latest.timestamp)
    }

    /// The number of granules that the dataset holds.
    pub fn held(&self) -> u64 {
        self.latest.as_ref().map_or(0, |latest| latest.granules)
    }

    /// The note of the new instance at a time.
    pub fn note_at(&self, at: Timestamp) -> Result<Option<String>> {
        match self.results {
            Some(results) => results.note_at(at),
            None => Ok(self.options.note.clone()),
        }
    }

    /// Refuses an identifier or a digest of the new instance at a time that is not the expected one.
    pub fn check_expected(&self, at: Timestamp, set: (Identifier, Digest)) -> Result<()> {
        let ChangeOptions { expected, expected_digest, .. } = *self.options;
        match self.results {
            Some(results) => results.check(at, set),
            None => check_expected((expected, expected_digest), None, at, set),
        }
    }

    /// The events that make the dataset hold the wanted granules, which are counted by the guard, and those
    /// that state more or something else of granules that it holds: so much of them as `extent` says.
    /// `claim` is what the wanted granules are said to be; `None` means that it is not known.
    ///
    /// Costs one pass over both sets, which are hashed on the way.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the granules that were read are not those
    /// that the dataset holds, or not those that are claimed.
    pub fn difference(
        &self,
        wanted: impl Iterator<Item = Result<ListingEntry>>,
        claim: Option<Claim>,
        extent: Coverage,
        guard: &mut Guard,
    ) -> Result<Staging> {
        let (transaction, last): (&View, _) = (self.transaction, self.last());
        let last = last.unwrap_or(Timestamp::MIN);
        let held = SetEntries::of(SetCursor::of(transaction, Position::held(self.dataset, last)));
        let of_held = self.latest.clone().map(|it| Claim::of(self.registry, &Set::Instance(it)));
        let mut known = ContentsAt::new(transaction, self.dataset, last)?;
        let mut events = Staging::default();
        for only in Walk::of(self.registry, held, Box::new(wanted.peekable()), [of_held, claim]) {
            let (kind, entry) = match only? {
                Only::Left(granule_id) => (EventKind::Deleted, ListingEntry::from(granule_id)),
                Only::Right(entry) => (EventKind::Ingested, entry),
                Only::Both(_, entry, _) => {
                    let before = known.of(entry.granule_id.as_str())?;
                    if says(before, &entry, extent) {
                        events.add(&event(EventKind::Described, entry))?;
                    }
                    continue;
                }
            };
            guard.count(kind, &entry.granule_id);
            events.add(&event(kind, entry))?;
        }
        Ok(events)
    }
}

/// Whether something else is known of a granule after what is stated of it.
fn says(known: EncodedFiles<'_>, entry: &ListingEntry, extent: Coverage) -> bool {
    let Some(stated) = &entry.content else { return false };
    let is_said = extent == Coverage::All || !stated.is_empty();
    let is_new = || Content::from(known).after(&entry.granule_id, stated, extent).1;
    is_said && known != stated.encoded() && is_new() != ContentChange::Nothing
}

/// The event of a granule at a time that is set later.
pub(super) fn event(kind: EventKind, entry: ListingEntry) -> Event {
    let ListingEntry { granule_id, producer_granule, content, location } = entry;
    Event { at: Timestamp::EPOCH, kind, granule_id, producer_granule, content, location }
}
