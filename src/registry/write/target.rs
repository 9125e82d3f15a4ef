//! The dataset that is changed, and the options of the change.

use super::applied::ChangeReport;
use super::record::{gives_up, insert, refuse_withdrawn, similar_dataset};
use super::stamp::{Results, check_entered_note, check_expected, time_after};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Content, ContentChange, Coverage, DatasetMetadata, DatasetName, Digest, EncodedFiles, Event,
    EventKind, Expected, Identifier, Instance, Limits, ListingEntry, Set, Timestamp,
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
#[derive(Debug, Clone, Default)]
pub struct ChangeOptions {
    pub(super) at: Option<Timestamp>,
    pub(super) note: Option<String>,
    pub(super) expected: Option<Identifier>,
    pub(super) expected_digest: Option<Digest>,
    pub(super) if_missing: IfMissing,
    pub(super) record: Option<DatasetMetadata>,
    pub(super) skip_existing: bool,
    pub(super) skip_missing: bool,
    pub(super) limits: Option<Limits>,
    pub(super) expect: Option<Expected>,
    pub(super) refused: Option<Error>,
    pub(super) dry_run: bool,
    pub(super) all_examples: bool,
}

impl ChangeOptions {
    /// Returns the default options.
    pub fn new() -> Self {
        ChangeOptions::default()
    }

    /// When the change takes effect. The changes of an import have times of their own. Default: now.
    #[must_use]
    pub fn at(mut self, at: impl Into<Option<Timestamp>>) -> Self {
        self.at = at.into();
        self
    }

    /// Stores a note with the change. The changes of an import have notes of their own. Default: none.
    #[must_use]
    pub fn note(mut self, note: impl Into<Option<String>>) -> Self {
        self.note = note.into();
        self
    }

    /// Rejects the change unless it results in this identifier, which is known to be right. It overrules no
    /// guard.
    #[must_use]
    pub(crate) fn expected(mut self, expected: impl Into<Option<Identifier>>) -> Self {
        self.expected = expected.into();
        self
    }

    /// Rejects the change unless it results in this digest, which is known to be right. It overrules no guard.
    #[must_use]
    pub(crate) fn expected_digest(mut self, expected_digest: impl Into<Option<Digest>>) -> Self {
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
    /// rejected.
    #[must_use]
    pub fn skip_existing(mut self, skip_existing: bool) -> Self {
        self.skip_existing = skip_existing;
        self
    }

    /// Whether to skip and count granules to delete that are not held or listed twice. Default: they are
    /// rejected.
    #[must_use]
    pub fn skip_missing(mut self, skip_missing: bool) -> Self {
        self.skip_missing = skip_missing;
        self
    }

    /// Guards a change. It is refused if it deletes, adds or replaces more than the limits allow, or if no new
    /// id looks like those held. A limit that is not set here is that of the dataset, or the default. Ids that
    /// were typed do not count ([`SourceLocation::Argument`](crate::SourceLocation::Argument)). Default: only
    /// replaced contents are guarded. [`Registry::sync`] is always guarded.
    #[must_use]
    pub fn limits(mut self, limits: impl Into<Option<Limits>>) -> Self {
        self.limits = limits.into();
        self
    }

    /// Makes the change only if the dataset then holds exactly this set, and then overrules every guard. For an
    /// import, this is the set after its last change. Default: any set that no guard refuses.
    ///
    /// If a guard refuses a change, the error names the set to expect ([`Error::expect`]).
    #[must_use]
    pub fn expect(mut self, expect: impl Into<Option<Expected>>) -> Self {
        self.expect = expect.into();
        self
    }

    /// Why the reader of a listing refuses it, such as missing pages. This is one more guard: the change is
    /// computed, and refused unless its result is expected. Default: none.
    #[must_use]
    pub fn refused(mut self, refused: impl Into<Option<Error>>) -> Self {
        self.refused = refused.into();
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

/// How to treat an event that does not fit the stored rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conduct {
    /// For a change: granules that are already held, or not held, are rejected and counted, or skipped if the
    /// options say so. The coverage is that of the new file metadata.
    Change(Coverage),
    /// For a pull: the same, but the caller has decided which contents of the primary are accepted.
    Pull(Coverage),
    /// For computed file metadata: the same, but granules whose records contradict it by now stay unchanged,
    /// and are returned.
    Computed,
    /// For a revert: the events lead to an earlier set, whose ids are accepted as they were then.
    Revert,
    /// For an import: events that are already stored are skipped and counted. Other events that do not fit are
    /// rejected.
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
    /// The latest stored instance. `None` means that the dataset has no history yet.
    pub latest: Option<Instance>,
    /// Whether the dataset was added for the change.
    pub is_created: bool,
    /// The distinct times of the new instances, ascending, all after the last stored one.
    pub times: Vec<Timestamp>,
    /// The expected results and the notes of several new instances. `None` means that there is one instance,
    /// for which the options have both.
    pub results: Option<&'a Results>,
    /// The present time. No event may be later.
    pub now: Timestamp,
    /// Why no change is possible at these times. It is returned only if something changes.
    pub refusal: Option<Error>,
    /// Why a guard refuses any change, unless its result is expected.
    pub refused: Option<Error>,
    /// Why nothing can be recorded by this clock, unless the result is expected.
    pub clock_refusal: Option<Error>,
    /// The number of microseconds by which the clock is behind the last change, if that causes a warning.
    pub clock_behind_micros: Option<i64>,
}

impl<'a> Target<'a> {
    /// Finds the dataset for one change at the time of the options, or adds it if the options say so. The clock
    /// of the registry is checked here ([`Registry::with_guarded_clock`]).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::Withdrawn`](crate::ErrorKind::Withdrawn);
    /// [`ErrorKind::SimilarName`](crate::ErrorKind::SimilarName): the name of the dataset to create is nearly
    /// that of another one. This is rejected whatever set is expected, because no set shows that the name is
    /// right; [`ErrorKind::TooLong`](crate::ErrorKind::TooLong): the note is too long.
    pub fn lock(
        registry: &'a Registry,
        transaction: &'a Transaction,
        name: &DatasetName,
        options: &'a ChangeOptions,
    ) -> Result<Self> {
        check_entered_note(options.note.as_deref())?;
        let creates = options.creates_dataset();
        let mut clock_refusal = None;
        let mut check_clock = |latest: Option<&Instance>| -> Result<()> {
            let latest = latest.map(|latest| latest.recorded);
            clock_refusal = registry.clock_refusal(transaction, latest)?;
            Ok(())
        };
        let (dataset, name, limits, latest, is_created) =
            match transaction.dataset_to_change(name)? {
                Some((stored, latest)) if !(creates && gives_up(&stored, name)) => {
                    let StoredDataset { key, dataset, withdrawn, limits, .. } = stored;
                    refuse_withdrawn(withdrawn.as_ref(), &dataset.name)?;
                    check_clock(latest.as_ref())?;
                    (key, dataset.name, limits, latest, false)
                }
                Some(_) | None if creates => {
                    let name = name.clone();
                    check_clock(None)?;
                    if let Some(similar) = similar_dataset(transaction, &name)? {
                        let message = format!("there is no dataset {name}, but {similar}");
                        return Err(Error::new(ErrorKind::SimilarName, message).about(&name));
                    }
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
            // Any time after the last change will do, since the refusal is returned if anything changes.
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
            refused: options.refused.clone(),
            clock_refusal,
            clock_behind_micros,
        })
    }

    /// Whether the first change takes effect more than 48 hours before it is recorded, in a dataset with a
    /// prompt change: one recorded within an hour of its time.
    pub fn is_back_dated(&self) -> Result<bool> {
        // The delay of an everyday delivery is shorter.
        const EVERYDAY_MICROS: i64 = 48 * 3_600 * 1_000_000;
        let now = self.registry.now().as_micros();
        let is_late = |at: &Timestamp| now - at.as_micros() > EVERYDAY_MICROS;
        Ok(self.latest.is_some()
            && self.times.first().is_some_and(is_late)
            && self.transaction.has_prompt_change(self.dataset)?)
    }

    /// Accepts the result of a change if it is the expected set. If no set is expected, accepts it unless a
    /// guard refuses it. Guards are overruled only here. The report contains what the guard found.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotAsExpected`]: another set is expected. Otherwise `refusal`, or why a guard refuses any
    /// result, with the set to expect.
    pub fn accept(&self, report: ChangeReport, refusal: Option<Error>) -> Result<ChangeReport> {
        let (identifier, digest) = report.result();
        match (self.options.expect, self.refused.clone().or(refusal)) {
            (Some(expect), _) if !expect.is(identifier, digest) => {
                Err(Error::unexpected(&self.name, expect, (identifier, digest)))
            }
            (None, Some(refusal)) => Err(refusal.expecting(report.expect())),
            // A whole listing leads to the expected set from any other. It may replace more than existed when
            // the set was computed.
            (Some(_), Some(overruled)) => {
                Ok(ChangeReport { overruled: Some(overruled.reason()), ..report })
            }
            (_, None) => Ok(report),
        }
    }

    /// The time of the latest stored instance.
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

    /// Rejects an identifier or a digest of the new instance at a time if another one is expected.
    pub fn check_expected(&self, at: Timestamp, set: (Identifier, Digest)) -> Result<()> {
        let ChangeOptions { expected, expected_digest, .. } = *self.options;
        match self.results {
            Some(results) => results.check(at, set),
            None => check_expected((expected, expected_digest), None, at, set),
        }
    }

    /// The events that make the dataset hold the wanted granules, and those that change the contents of
    /// granules that it holds. `extent` is the coverage of the wanted contents. `claim` is the set that the
    /// wanted granules are claimed to be; `None` means that it is not known.
    ///
    /// Costs one pass over both sets, which are hashed on the way.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the granules that were read are not those that the
    /// dataset holds, or not the claimed ones.
    pub fn difference(
        &self,
        wanted: impl Iterator<Item = Result<ListingEntry>>,
        claim: Option<Claim>,
        extent: Coverage,
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
            events.add(&event(kind, entry))?;
        }
        Ok(events)
    }
}

/// Whether an entry changes the recorded contents of its granule.
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
