//! Imports a whole history: every change that a file records, in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use super::addition::{Addition, Conduct, Expected, check_expected, check_note};
use super::cited_subset::{CitedSubset, CitedSubsets};
use super::daily::Daily;
use super::engine::{self, Skipped};
use super::first_ids::FirstIds;
use super::lookup::{Found, Unknown, find_or_insert};
use super::notes::Notes;
use super::remember::Remembered;
use super::resume::Work;
use super::stamp::Stamp;
use crate::model::{Dataset, DatasetName, Event, Identifier, Instance, Timestamp};
use crate::registry::error::Result;
use crate::registry::handle::{End, Registry};
use crate::registry::refusal::ChangeError;
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
/// use accession::{Event, EventKind, Import, Registry, Stamp};
///
/// let mut import = Import::new();
/// for (at, kind, granule_id) in [
///     ("2001-01-03T00:00:00Z", EventKind::Deleted, "A"),
///     ("2001-01-02T00:00:00Z", EventKind::Ingested, "A"),
///     ("2001-01-02T00:00:00Z", EventKind::Ingested, "B"),
/// ] {
///     let (at, granule_id) = (at.parse()?, granule_id.parse()?);
///     import.add(Event { at, kind, granule_id, producer_granule: None, location: None })?;
/// }
/// import.create_dataset();
/// let registry = Registry::in_memory()?;
/// let stamp = Stamp::now("2026-01-01T00:00:00Z".parse()?);
/// let imported = registry.import(&"US".parse()?, &import, &stamp)?;
/// assert_eq!(imported.instances.len(), 2);
/// assert_eq!(imported.instances[1].granules, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Import {
    staging: Staging,
    times: BTreeSet<Timestamp>,
    /// The time of the last event: the next one mostly has the same.
    last: Option<Timestamp>,
    expected: BTreeMap<Timestamp, Expected>,
    notes: Notes,
    unknown: Unknown,
    record: Option<Dataset>,
    subsets: CitedSubsets,
    every: Every,
    now: Option<Timestamp>,
    is_dry_run: bool,
}

/// The events that are combined into one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Every {
    /// Events with the same time.
    #[default]
    Time,
    /// Events on the same UTC day, at its last microsecond. A day that is not complete is left out.
    Day,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// The new rows of the history, in order of time, without their notes ([`Import::note_at`]): all of
    /// them may not fit into memory. Empty if all of it was already stored.
    pub instances: Vec<Instance>,
    /// The instance in force afterwards. `None` means that the dataset has no history.
    pub in_force: Option<Instance>,
    /// The time of the last change before the import. `None` means that there was no history.
    pub last: Option<Timestamp>,
    /// The first granules that were ingested and deleted, as examples.
    pub first: FirstIds,
    /// The number of events that were left out, since their day is not complete.
    pub left_out: u64,
    /// The number of pairs that cancel out: a granule was ingested and deleted, or the reverse,
    /// within one day.
    pub cancelled: u64,
    /// The events that were skipped, since they were already stored.
    pub skipped: Skipped,
    /// How many subsets that were cited elsewhere are kept from now on.
    pub subsets: u64,
    /// Whether the dataset was added.
    pub created_dataset: bool,
    /// The work that it took.
    pub work: Work,
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
    /// [`Error::Change`](super::super::Error::Change): it is later than the time passed to
    /// [`Import::refuse_after`]. Conflicts between events are found when the import is applied.
    /// [`Error::Temporary`](super::super::Error::Temporary): the temporary file cannot be written.
    pub fn add(&mut self, event: Event) -> Result<()> {
        let at = event.at;
        if let Some(now) = self.now.filter(|now| at > *now && self.every == Every::Time) {
            return Err(ChangeError::Future { location: event.location, at, now }.into());
        }
        if self.last.replace(at) != Some(at) {
            self.times.insert(at);
        }
        self.staging.add(&event)
    }

    /// Refuses the import unless the change at this time has the expected result.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`](super::super::Error::TooLong): its note;
    /// [`Error::Temporary`](super::super::Error::Temporary).
    pub fn expect(&mut self, at: Timestamp, expected: Expected) -> Result<()> {
        check_note(&expected)?;
        self.notes.set(at, expected.note.as_deref())?;
        self.expected.insert(at, Expected { note: None, ..expected });
        Ok(())
    }

    /// The note that is stored with the change at this time. `None` means none.
    ///
    /// # Errors
    ///
    /// [`Error::Temporary`](super::super::Error::Temporary).
    pub fn note_at(&self, at: Timestamp) -> Result<Option<String>> {
        self.notes.at(at)
    }

    /// Keeps a subset that was cited elsewhere, once the history has the change that it was selected
    /// from.
    ///
    /// # Errors
    ///
    /// [`Error::Change`](super::super::Error::Change): a granule is named twice;
    /// [`Error::Temporary`](super::super::Error::Temporary).
    pub fn keep_subset(&mut self, subset: &CitedSubset) -> Result<()> {
        self.subsets.add(subset)
    }

    /// Keeps these subsets in place of those so far.
    #[cfg(feature = "http")]
    pub(crate) fn keep_subsets(&mut self, subsets: CitedSubsets) {
        self.subsets = subsets;
    }

    /// Sets the record of the dataset, for the case that the import adds it.
    pub fn describe(&mut self, record: Dataset) {
        self.record = Some(record);
    }

    /// Adds the dataset if it does not exist, with the record that was passed to
    /// [`Import::describe`] or else one that has only its name.
    pub fn create_dataset(&mut self) {
        self.unknown = Unknown::Create(None);
    }

    /// Whether the events of a day are combined into one change.
    pub fn is_daily(&self) -> bool {
        self.every == Every::Day
    }

    /// Sets which events are combined into one change.
    pub fn every(&mut self, every: Every) {
        self.every = every;
    }

    /// Refuses events after this time as soon as they are added, instead of when the import is
    /// applied, which may be minutes later. If the events of a day are combined, those of a day
    /// that is not complete are left out, not refused.
    pub fn refuse_after(&mut self, now: Timestamp) {
        self.now = Some(now);
    }

    /// Rolls the import back after everything was checked and computed.
    pub fn dry_run(&mut self) {
        self.is_dry_run = true;
    }

    /// The number of events, and the number of distinct times.
    pub fn counts(&self) -> (u64, u64) {
        (self.staging.count(), self.times.len() as u64)
    }
}

impl Registry {
    /// Adds one change for the events of each distinct time, all in one transaction.
    ///
    /// The events must be after the last change of the dataset, if there is one. Events that are
    /// already stored are skipped, so a file can be imported again after it has grown. Costs a row
    /// for each holding period, and one pass over the granules after the last checkpoint before the
    /// first event, for all changes together. The memory depends on the number of distinct times.
    ///
    /// # Errors
    ///
    /// [`Error::Change`](super::super::Error::Change): an event is refused, such as the ingest of a
    /// granule that is held, the deletion of one that is not, or a time in the future or not after
    /// the last change; [`Error::NoDataset`](super::super::Error::NoDataset);
    /// [`Error::Store`](super::super::Error::Store).
    pub fn import(
        &self,
        dataset: &DatasetName,
        import: &Import,
        stamp: &Stamp<'_>,
    ) -> Result<Imported> {
        self.import_and_remember(dataset, import, stamp, None)
    }

    /// Imports a history, and remembers in the same transaction the log that it was read from.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::import`].
    pub(crate) fn import_and_remember<'a>(
        &self,
        dataset: &DatasetName,
        import: &Import,
        stamp: &Stamp<'_>,
        remembered: Option<&dyn Fn(&Imported) -> Remembered<'a>>,
    ) -> Result<Imported> {
        self.write(|transaction| {
            let (key, imported) = apply(self, transaction, dataset, import, stamp)?;
            let has_changed = !imported.instances.is_empty() || imported.subsets > 0;
            // A dataset without a history is not added only to remember what was read for it.
            let remembered = remembered.filter(|_| imported.in_force.is_some());
            let is_kept = !import.is_dry_run && (has_changed || remembered.is_some());
            if let Some(remembered) = remembered.filter(|_| is_kept) {
                remembered(&imported).save(transaction, key, stamp)?;
            }
            Ok((imported, if is_kept { End::Commit } else { End::RollBack }))
        })
    }
}

fn apply(
    registry: &Registry,
    transaction: &Transaction,
    name: &DatasetName,
    import: &Import,
    stamp: &Stamp<'_>,
) -> Result<(DatasetKey, Imported)> {
    let unknown = match &import.unknown {
        Unknown::Create(_) => Unknown::Create(import.record.clone().map(Box::new)),
        Unknown::Refuse => Unknown::Refuse,
    };
    let Found { key: dataset, name, latest, created } =
        find_or_insert(transaction, name, &unknown, stamp)?;
    let now = stamp.read_clock();
    let mut daily = Daily::new(now.day());
    let mut times = import.times.clone();
    if import.every == Every::Day {
        times.clear();
        let mut progress = registry.begin("sorting", "granules", Some(import.staging.count()));
        for event in daily.events(import.staging.sorted()?) {
            progress.advance()?;
            times.insert(event?.at);
        }
    }
    let (left_out, cancelled) = (daily.left_out(), daily.cancelled());
    let last = latest.as_ref().map(|latest| latest.timestamp);
    let is_new = |at: Timestamp| last.is_none_or(|last| at > last);
    for (&at, expected) in &import.expected {
        // A change that is skipped must have had the same result. At a time without events, the
        // instance in force must be the expected one.
        if !is_new(at) || !times.contains(&at) {
            let in_force = transaction.instance_at(dataset, at)?;
            let identifier = in_force.map_or(Identifier::EMPTY, |in_force| in_force.identifier);
            check_expected(expected, at, identifier)?;
        }
    }
    let addition = Addition {
        registry,
        transaction,
        name: &name,
        dataset,
        times: times.iter().copied().filter(|&at| is_new(at)).collect(),
        latest,
        expected: &import.expected,
        notes: Some(&import.notes),
        conduct: Conduct::History,
        refusal: None,
        now,
        stamp,
        events: import.staging.count(),
    };
    let events = import.staging.sorted()?;
    let added = match import.every {
        Every::Time => engine::add(&addition, events)?,
        Every::Day => engine::add(&addition, daily.events(events))?,
    };
    let mut subsets = 0;
    for subset in import.subsets.iter() {
        subsets += u64::from(subset?.keep(transaction, dataset, &name)?);
    }
    let imported = Imported {
        subsets,
        in_force: match added.instances.last() {
            Some(last) => Some(Instance { note: import.note_at(last.timestamp)?, ..last.clone() }),
            None => addition.latest,
        },
        created_dataset: created && !added.instances.is_empty(),
        instances: added.instances,
        last,
        first: added.first,
        left_out,
        cancelled,
        skipped: added.skipped,
        work: added.work,
    };
    Ok((dataset, imported))
}
