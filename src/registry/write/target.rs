//! The dataset that is changed, and the options of the change.

use super::guard::Guard;
use super::record::{gives_up, insert, refuse_withdrawn};
use super::stamp::{Results, check_accepted, check_entered_note, check_expected, time_after};
use crate::error::{Error, Result};
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
/// use accession::{ChangeOptions, IfMissing};
///
/// let options = ChangeOptions::new().if_missing(IfMissing::Create).dry_run(true);
/// assert!(options.is_dry_run());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeOptions {
    pub(super) at: Option<Timestamp>,
    is_time_inferred: bool,
    pub(super) note: Option<String>,
    pub(super) expected: Option<Identifier>,
    pub(super) expected_digest: Option<Digest>,
    pub(super) if_missing: IfMissing,
    pub(super) record: Option<DatasetMetadata>,
    pub(super) skip_existing: bool,
    pub(super) skip_missing: bool,
    pub(super) max_replace: Option<Limit>,
    pub(super) dry_run: bool,
    pub(super) all_examples: bool,
}

impl ChangeOptions {
    /// Returns the default options.
    pub fn new() -> Self {
        ChangeOptions::default()
    }

    /// When the change takes effect. A time that is stated confirms the clock
    /// ([`Clock::confirmed`](crate::registry::Clock::confirmed)). The changes of an import have times of their own.
    /// Default: now.
    #[must_use]
    pub fn at(mut self, at: impl Into<Option<Timestamp>>) -> Self {
        (self.at, self.is_time_inferred) = (at.into(), false);
        self
    }

    /// When the change takes effect, if nobody stated it: it is the date in the name of a file, for example. It
    /// does not confirm the clock.
    #[must_use]
    pub fn at_inferred(mut self, at: Timestamp) -> Self {
        (self.at, self.is_time_inferred) = (Some(at), true);
        self
    }

    /// Stores a note with the change. The changes of an import have notes of their own. Default: none.
    #[must_use]
    pub fn note(mut self, note: impl Into<Option<String>>) -> Self {
        self.note = note.into();
        self
    }

    /// Refuses the change unless this identifier results. The changes of an import have identifiers of their own.
    /// Default: any.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<Option<Identifier>>) -> Self {
        self.expected = expected.into();
        self
    }

    /// Refuses the change unless this digest results. Default: any.
    #[must_use]
    pub fn expected_digest(mut self, expected_digest: impl Into<Option<Digest>>) -> Self {
        self.expected_digest = expected_digest.into();
        self
    }

    /// What to do if the dataset does not exist. Default: [`IfMissing::Fail`].
    #[must_use]
    pub fn if_missing(mut self, if_missing: IfMissing) -> Self {
        self.if_missing = if_missing;
        self
    }

    /// The metadata of a dataset that is created, under the name of the change. Default: the name alone.
    #[must_use]
    pub fn record(mut self, record: impl Into<Option<DatasetMetadata>>) -> Self {
        self.record = record.into();
        self
    }

    /// Whether to skip and count granules to ingest that are already held or listed twice. Default: they are
    /// refused.
    #[must_use]
    pub fn skip_existing(mut self, skip_existing: bool) -> Self {
        self.skip_existing = skip_existing;
        self
    }

    /// Whether to skip and count granules to delete that are not held or listed twice. Default: they are refused.
    #[must_use]
    pub fn skip_missing(mut self, skip_missing: bool) -> Self {
        self.skip_missing = skip_missing;
        self
    }

    /// How many of the granules held may get a different size or checksum. A change with this limit needs a
    /// note that says why. Default: the limit of the dataset, or none.
    #[must_use]
    pub fn max_replace(mut self, max_replace: impl Into<Option<Limit>>) -> Self {
        self.max_replace = max_replace.into();
        self
    }

    /// Whether to roll the change back after everything was checked and computed. Default: it is committed.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Whether to return all granules of the change as examples, which are kept in memory. Default: the first
    /// [`ChangeExamples::MAX`](crate::history::ChangeExamples::MAX) of each kind.
    #[must_use]
    pub fn all_examples(mut self, all_examples: bool) -> Self {
        self.all_examples = all_examples;
        self
    }

    /// Whether the change is rolled back.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Whether a missing dataset is created.
    pub fn creates_dataset(&self) -> bool {
        self.if_missing == IfMissing::Create
    }

    /// Whether all granules of the change are returned as examples.
    pub fn wants_all_examples(&self) -> bool {
        self.all_examples
    }
}

/// What a change, an import or a pull does if the dataset does not exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IfMissing {
    /// It fails: [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
    #[default]
    Fail,
    /// It creates the dataset.
    Create,
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
        let creates = options.creates_dataset();
        let (dataset, name, limits, latest, is_created) =
            match transaction.dataset_to_change(name)? {
                Some((stored, latest)) if !(creates && gives_up(&stored, name)) => {
                    let StoredDataset { key, dataset, withdrawn, limits, .. } = stored;
                    refuse_withdrawn(withdrawn.as_ref(), &dataset.name)?;
                    (key, dataset.name, limits, latest, false)
                }
                Some(_) | None if creates => {
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

    /// Whether the first change takes effect more than 48 hours before it is recorded, in a dataset that has a
    /// change that was recorded within an hour of its time.
    pub fn is_back_dated(&self) -> Result<bool> {
        // The delay of an everyday delivery is shorter.
        const EVERYDAY_MICROS: i64 = 48 * 3_600 * 1_000_000;
        let now = self.registry.now().as_micros();
        let is_late = |at: &Timestamp| now - at.as_micros() > EVERYDAY_MICROS;
        Ok(self.latest.is_some()
            && self.times.first().is_some_and(is_late)
            && self.transaction.has_prompt_change(self.dataset)?)
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
    let is_new = || Content::from(known).after(&entry.granule_id, stated, extent).change;
    is_said && known != stated.encoded() && is_new() != ContentChange::Nothing
}

/// The event of a granule at a time that is set later.
pub(super) fn event(kind: EventKind, entry: ListingEntry) -> Event {
    let ListingEntry { granule_id, producer_granule, content, location } = entry;
    Event { at: Timestamp::EPOCH, kind, granule_id, producer_granule, content, location }
}
