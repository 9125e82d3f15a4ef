//! A whole history at once: every change that a file tells of, in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use super::addition::{Addition, Conduct, Expected, check_expected};
use super::daily::Daily;
use super::engine::{self, Skipped};
use super::first_ids::FirstIds;
use super::lookup::{Found, Unknown, find_or_insert};
use super::resume::Work;
use super::stamp::Stamp;
use crate::model::{Dataset, DatasetName, Event, Identifier, Instance, Timestamp};
use crate::registry::error::Result;
use crate::registry::handle::{End, Registry};
use crate::registry::staging::{Staged, Staging};
use crate::store::Transaction;

/// A history to be added to a dataset: events in any order.
///
/// The events may be any number: beyond some 16 MiB they are kept in a temporary file. The memory
/// is that of the distinct times.
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
    expected: BTreeMap<Timestamp, Expected>,
    unknown: Unknown,
    record: Option<Dataset>,
    every: Every,
    is_dry_run: bool,
}

/// Which events of an import become one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Every {
    /// Those of the same time.
    #[default]
    Time,
    /// Those of the same UTC day, at its last microsecond. Days that are not over are left out.
    Day,
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// The new rows of the history, in order of time. Empty: all of it was stored already.
    pub instances: Vec<Instance>,
    /// The instance that is in force afterwards. `None`: the dataset has no history.
    pub in_force: Option<Instance>,
    /// The time of the last change before the import. `None`: the dataset had no history.
    pub last: Option<Timestamp>,
    /// The first granules that were ingested and deleted, as examples.
    pub first: FirstIds,
    /// Events of a day that is not over, which were left out.
    pub left_out: u64,
    /// How often a granule was ingested and deleted, or the reverse, within one day: these events
    /// cancel out.
    pub cancelled: u64,
    /// What was skipped: events that are stored already.
    pub skipped: Skipped,
    /// Whether the dataset was added.
    pub created_dataset: bool,
    /// What it cost.
    pub work: Work,
}

impl Import {
    /// An import of nothing yet.
    pub fn new() -> Self {
        Import::default()
    }

    /// Adds an event.
    ///
    /// # Errors
    ///
    /// [`Error::Change`](super::super::Error::Change): it repeats or contradicts one that was added
    /// shortly before; others are found when the import is made.
    /// [`Error::Temporary`](super::super::Error::Temporary): the temporary file cannot be written.
    pub fn add(&mut self, event: Event) -> Result<()> {
        let Event { at, kind, granule_id, producer_granule, location } = event;
        self.times.insert(at);
        self.staging.add(&Staged { granule_id, at, kind, producer_granule, location })
    }

    /// Makes the import only if the change at this time leads to what is expected.
    pub fn expect(&mut self, at: Timestamp, expected: Expected) {
        self.expected.insert(at, expected);
    }

    /// The record of the dataset, if the import adds it.
    pub fn describe(&mut self, record: Dataset) {
        self.record = Some(record);
    }

    /// Adds the dataset if there is none: with the record that [`Import::describe`] was given, or
    /// one that has only its name.
    pub fn create_dataset(&mut self) {
        self.unknown = Unknown::Create(None);
    }

    /// Whether the events of a day become one change.
    pub fn is_daily(&self) -> bool {
        self.every == Every::Day
    }

    /// Decides which events become one change.
    pub fn every(&mut self, every: Every) {
        self.every = every;
    }

    /// Does everything, and then undoes it.
    pub fn dry_run(&mut self) {
        self.is_dry_run = true;
    }

    /// How many events there are, and how many distinct times.
    pub fn counts(&self) -> (u64, u64) {
        (self.staging.count(), self.times.len() as u64)
    }
}

impl Registry {
    /// Makes one change of the events of each distinct time, all in one transaction.
    ///
    /// The dataset is empty, or the events come after its last change; events that are stored
    /// already are skipped, so the same file, grown, can be imported again. Costs a row for each
    /// holding period, and one pass over the granules from the checkpoint before the first of them
    /// on, for all changes together. Memory: that of the distinct times.
    ///
    /// # Errors
    ///
    /// [`Error::Change`](super::super::Error::Change) says which event is refused: a granule that is
    /// ingested while it is held, or deleted while it is not; a time not after the last change, or
    /// in the future. [`Error::NoDataset`](super::super::Error::NoDataset);
    /// [`Error::Store`](super::super::Error::Store).
    pub fn import(
        &self,
        dataset: &DatasetName,
        import: &Import,
        stamp: &Stamp<'_>,
    ) -> Result<Imported> {
        self.write(|transaction| {
            let imported = apply(self, transaction, dataset, import, stamp)?;
            let is_kept = !import.is_dry_run && !imported.instances.is_empty();
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
) -> Result<Imported> {
    let unknown = match &import.unknown {
        Unknown::Create(_) => Unknown::Create(import.record.clone().map(Box::new)),
        Unknown::Refuse => Unknown::Refuse,
    };
    let Found { key: dataset, name, created } = find_or_insert(transaction, name, &unknown, stamp)?;
    let now = stamp.read_clock();
    let mut daily = Daily::new(now.day());
    let mut times = import.times.clone();
    if import.every == Every::Day {
        times.clear();
        for event in daily.events(import.staging.sorted()?) {
            times.insert(event?.at);
        }
    }
    let (left_out, cancelled) = (daily.left_out(), daily.cancelled());
    let latest = transaction.latest_instance(dataset)?;
    let last = latest.as_ref().map(|latest| latest.timestamp);
    let is_new = |at: Timestamp| last.is_none_or(|last| at > last);
    for (&at, expected) in &import.expected {
        // A change that is skipped must have led to the same; one without events leads nowhere new.
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
    Ok(Imported {
        in_force: added.instances.last().cloned().or(addition.latest),
        created_dataset: created && !added.instances.is_empty(),
        instances: added.instances,
        last,
        first: added.first,
        left_out,
        cancelled,
        skipped: added.skipped,
        work: added.work,
    })
}
