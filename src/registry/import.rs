//! A whole history at once: every change that a file tells of, in one transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::resume::{Resume, resume_before};
use super::{ChangeError, End, Monitor, Registry, Work, dataset_to_change};
use crate::chain::{Hashing, Sweep};
use crate::model::{
    Dataset, DatasetName, Event, EventKind, GranuleId, Identifier, Instance, SourceLocation,
    Timestamp,
};
use crate::store::{DatasetKey, Order, Staged, Stay, Stays, Write};
use crate::{Error, Result};

/// Events on their way into the registry, in any order.
///
/// # Examples
///
/// ```
/// use accession::{Event, EventKind, ImportOptions, Registry};
///
/// let mut registry = Registry::in_memory()?;
/// let mut import = registry.begin_import()?;
/// for (at, kind, granule_id) in [
///     ("2001-01-03T00:00:00Z", EventKind::Deleted, "A"),
///     ("2001-01-02T00:00:00Z", EventKind::Ingested, "A"),
///     ("2001-01-02T00:00:00Z", EventKind::Ingested, "B"),
/// ] {
///     let (at, granule_id) = (at.parse()?, granule_id.parse()?);
///     import.add(Event { at, kind, granule_id, producer_granule: None, place: None })?;
/// }
/// let options = ImportOptions { create: true, ..ImportOptions::default() };
/// let imported = import.apply(&"US".parse()?, options, "2026-01-01T00:00:00Z".parse()?)?;
/// assert_eq!(imported.instances.len(), 2);
/// assert_eq!(imported.instances[1].granules, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Import<'registry> {
    registry: &'registry mut Registry,
    staged: StagedEvents,
    /// Events that are not staged yet, and the last one that was.
    batch: Vec<(Event, Option<(u32, u64)>)>,
    last: Option<Event>,
}

/// Events that are staged at a time.
const BATCH_EVENTS: usize = 4_096;

/// What somebody else says of a change: it is made only if it is so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The identifier that it must lead to.
    pub identifier: Identifier,
    /// The note to be kept with it.
    pub note: Option<String>,
    /// Where it was read, for messages.
    pub location: Option<SourceLocation>,
}

/// What is known of the events that were staged.
#[derive(Default)]
struct StagedEvents {
    count: u64,
    sources: Vec<Arc<str>>,
    times: BTreeSet<Timestamp>,
    expected: BTreeMap<Timestamp, Expected>,
    record: Option<Dataset>,
    are_out_of_order: bool,
}

/// How an import is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportOptions {
    /// Adds the dataset if it is not there: with the record that [`Import::describe`] was given, or
    /// one that has only its name.
    pub create: bool,
    /// Does everything, and then undoes it.
    pub dry_run: bool,
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// The new rows of the history, in order of time; none if all of it stood there already.
    pub instances: Vec<Instance>,
    /// How many events were passed over since they stand in the history already.
    pub passed_over: u64,
    /// What it cost.
    pub work: Work,
}

impl Registry {
    /// Begins an import. Until [`Import::apply`] the registry is as it was, and not locked.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]: there is no place for temporary files.
    pub fn begin_import(&mut self) -> Result<Import<'_>> {
        self.store
            .begin_staging()
            .map_err(|error| Error::from(error).in_file(self.store.path()))?;
        let staged = StagedEvents::default();
        Ok(Import { registry: self, staged, batch: Vec::new(), last: None })
    }
}

impl Import<'_> {
    /// Adds an event. Memory: that of a few thousand; they are kept in a temporary file.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]: the temporary file cannot be written.
    pub fn add(&mut self, event: Event) -> Result<()> {
        let location = match &event.location {
            Some(SourceLocation::Line { source, line }) => Some((self.number_of(source), *line)),
            Some(SourceLocation::Argument { .. }) | None => None,
        };
        self.staged.count += 1;
        self.staged.times.insert(event.at);
        self.batch.push((event, location));
        if self.batch.len() == BATCH_EVENTS { self.stage() } else { Ok(()) }
    }

    /// The change at this time is made only if it leads to this; else nothing is.
    pub fn expect(&mut self, at: Timestamp, expected: Expected) {
        self.staged.expected.insert(at, expected);
    }

    /// The record of the dataset, if this import makes it.
    pub fn describe(&mut self, record: Dataset) {
        self.staged.record = Some(record);
    }

    fn stage(&mut self) -> Result<()> {
        let staged = &mut self.staged;
        let orders = self.last.iter().chain(self.batch.iter().map(|(event, _)| event));
        let in_order =
            |a: &&Event, b: &&Event| (&a.granule_id, a.at, a.kind) <= (&b.granule_id, b.at, b.kind);
        staged.are_out_of_order |= !orders.is_sorted_by(in_order);
        let store = &mut self.registry.store;
        store.stage(&self.batch).map_err(|error| Error::from(error).in_file(store.path()))?;
        self.last = self.batch.pop().map(|(event, _)| event);
        self.batch.clear();
        Ok(())
    }

    /// The number of a source; events of one source mostly come one after the other.
    fn number_of(&mut self, source: &Arc<str>) -> u32 {
        let known = self.staged.sources.iter().rposition(|known| known == source);
        let index = known.unwrap_or_else(|| {
            self.staged.sources.push(source.clone());
            self.staged.sources.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    /// Makes one change of the events of each distinct time, in one transaction.
    ///
    /// The dataset is empty, or the events come after its last change; events that stand in its
    /// history already are passed over, so the same file, grown, can be imported again. Costs a row
    /// a stay, and one pass over the granules from the checkpoint before the first of them on, for
    /// all changes together ([`Sweep`]). Memory: that of the distinct times.
    ///
    /// # Errors
    ///
    /// [`Error::Change`] says which event is refused: a granule that comes while it is held, or
    /// goes while it is not; a time not after the last change, or in the future.
    /// [`Error::NoDataset`]; [`Error::Store`].
    pub fn apply(
        self,
        dataset: &DatasetName,
        options: ImportOptions,
        now: Timestamp,
    ) -> Result<Imported> {
        let mut import = self;
        import.stage()?;
        let Import { registry, staged, .. } = import;
        let path = registry.store.path().to_owned();
        registry.store.end_staging().map_err(|error| Error::from(error).in_file(&path))?;
        registry.writing(|write, monitor| {
            let history = History::of(write, dataset, options.create, staged, now)?;
            let imported = history.import(monitor)?;
            let is_kept = !options.dry_run && !imported.instances.is_empty();
            Ok((imported, if is_kept { End::Commit } else { End::RollBack }))
        })
    }
}

/// Events after which the monitor is told.
const MONITORED_EVENTS: u64 = 4_096;

/// The history that an import builds, behind the one that stands.
struct History<'write> {
    write: &'write Write<'write>,
    name: DatasetName,
    dataset: DatasetKey,
    latest: Option<Instance>,
    /// The distinct times, and what happens at each.
    times: Vec<Timestamp>,
    tallies: Vec<Tally>,
    staged: StagedEvents,
    passed_over: u64,
    /// From where to hash; none as long as there is nothing new.
    resume: Option<Resume>,
    now: Timestamp,
}

/// What is passed over must have led to the same as well.
fn check_standing(
    write: &Write<'_>,
    dataset: DatasetKey,
    at: Timestamp,
    expected: &Expected,
) -> Result<()> {
    let standing = write.instance_at(dataset, at)?;
    let identifier = standing.map_or(Identifier::EMPTY, |standing| standing.identifier);
    if identifier == expected.identifier {
        return Ok(());
    }
    let (location, expected) = (expected.location.clone(), expected.identifier);
    Err(ChangeError::NotAsExpected { location, at, expected, identifier })?
}

/// How many granules come and go at one time.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    ingested: u64,
    deleted: u64,
}

impl<'write> History<'write> {
    fn of(
        write: &'write Write<'write>,
        name: &DatasetName,
        create: bool,
        staged: StagedEvents,
        now: Timestamp,
    ) -> Result<Self> {
        let dataset = match (&staged.record, write.dataset(name)?) {
            (Some(record), None) if create => {
                write.insert_dataset(&Dataset { name: name.clone(), ..record.clone() })?
            }
            _ => dataset_to_change(write, name, create)?,
        };
        let latest = write.latest_instance(dataset)?;
        let last = latest.as_ref().map(|latest| latest.timestamp);
        for (&at, expected) in &staged.expected {
            if last.is_some_and(|last| at <= last) {
                check_standing(write, dataset, at, expected)?;
            }
        }
        let times: Vec<Timestamp> =
            staged.times.iter().copied().filter(|&at| last.is_none_or(|last| at > last)).collect();
        Ok(History {
            write,
            name: name.clone(),
            dataset,
            latest,
            tallies: vec![Tally::default(); times.len()],
            times,
            staged,
            passed_over: 0,
            resume: None,
            now,
        })
    }

    fn last(&self) -> Option<Timestamp> {
        self.latest.as_ref().map(|latest| latest.timestamp)
    }

    fn import(mut self, monitor: &mut dyn Monitor) -> Result<Imported> {
        monitor.begin("entering", "granules", self.staged.count);
        let entered = self.enter(monitor);
        monitor.end();
        entered?;
        let Some(resume) = self.resume.take() else {
            return Ok(Imported { passed_over: self.passed_over, ..Imported::default() });
        };

        monitor.begin("hashing", "granules", 0);
        let (chain, begin) = resume.point();
        let (mut rows, mut checkpoints) = (0, 0);
        let swept = std::thread::scope(|scope| {
            let leave_checkpoint = |granule_id: &str, chain: Identifier| -> Result<()> {
                self.write.insert_checkpoint(self.dataset, granule_id, chain)?;
                checkpoints += 1;
                Ok(())
            };
            let sweep = Sweep::resume(self.times.len(), chain);
            let mut hashing = Hashing::new(scope, sweep, leave_checkpoint);
            self.write.each_stay_beyond(self.dataset, begin, self.last(), |stay| {
                rows += 1;
                if rows % MONITORED_EVENTS == 0 {
                    monitor.advance(MONITORED_EVENTS);
                }
                let (granule_id, from, to) = self.span(stay)?;
                hashing.hold(granule_id, from..to)
            })?;
            hashing.finish()
        });
        monitor.end();
        let sweep = swept?;
        let work = Work { steps: sweep.steps(), rows, checkpoints };
        let instances = self.record(sweep.identifiers())?;
        Ok(Imported { instances, passed_over: self.passed_over, work })
    }

    /// Enters the stays of every granule, in canonical order.
    fn enter(&mut self, monitor: &mut dyn Monitor) -> Result<()> {
        let mut of_one: Vec<Staged> = Vec::new();
        let mut events = 0;
        let write = self.write;
        let mut stays = write.stays()?;
        let order = if self.staged.are_out_of_order { Order::Unknown } else { Order::AsStaged };
        write.each_staged(order, |event| {
            events += 1;
            if events % MONITORED_EVENTS == 0 {
                monitor.advance(MONITORED_EVENTS);
            }
            if of_one.last().is_some_and(|last| last.granule_id != event.granule_id) {
                self.enter_granule(&of_one, &mut stays)?;
                of_one.clear();
            }
            of_one.push(event);
            Ok::<_, Error>(())
        })?;
        self.enter_granule(&of_one, &mut stays)
    }

    /// Enters what happened to one granule: it comes and goes in turn.
    fn enter_granule(&mut self, events: &[Staged], new: &mut Stays<'_>) -> Result<()> {
        let Some(first) = events.first() else { return Ok(()) };
        let stays = match self.latest {
            None => Vec::new(),
            Some(_) => self.write.stays_of(self.dataset, first.granule_id.as_str())?,
        };
        let mut held = stays.last().and_then(|&(since, deleted)| match deleted {
            None => Some((since, None)),
            Some(_) => None,
        });
        if let Some(pair) = events.windows(2).find(|pair| pair[0].at == pair[1].at) {
            return Err(self.refuse_twice(&pair[0], &pair[1]))?;
        }
        for event in events {
            if self.last().is_some_and(|last| event.at <= last) {
                self.pass_over(event, &stays)?;
                continue;
            }
            if event.at > self.now {
                let location = self.location(event);
                Err(ChangeError::Future { location, at: event.at, now: self.now })?;
            }
            if self.resume.is_none() {
                // The first in canonical order, and before any row is changed.
                let (write, latest) = (self.write, self.latest.as_ref());
                let resume = resume_before(write, self.dataset, &event.granule_id, latest)?;
                self.resume = Some(resume);
            }
            let index = self.times.binary_search(&event.at).unwrap_or_else(|next| next);
            let (granule_id, location, at) =
                (event.granule_id.clone(), self.location(event), event.at);
            match (event.kind, held) {
                (EventKind::Ingested, None) => {
                    self.tallies[index].ingested += 1;
                    held = Some((event.at, Some(event)));
                }
                (EventKind::Deleted, Some((_, came))) => {
                    self.tallies[index].deleted += 1;
                    match came {
                        Some(came) => self.insert(new, came, Some(event.at))?,
                        None => {
                            self.write.mark_deleted(self.dataset, &event.granule_id, event.at)?;
                        }
                    }
                    held = None;
                }
                (EventKind::Ingested, Some((since, _))) => {
                    Err(ChangeError::HeldThen { granule_id, location, at, since })?;
                }
                (EventKind::Deleted, None) => {
                    Err(ChangeError::NotHeldThen { granule_id, location, at })?;
                }
            }
        }
        match held {
            Some((_, Some(came))) => self.insert(new, came, None),
            _ => Ok(()),
        }
    }

    fn insert(&self, new: &mut Stays<'_>, came: &Staged, deleted: Option<Timestamp>) -> Result<()> {
        let producer_granule = came.producer_granule.as_ref();
        Ok(new.add(self.dataset, &came.granule_id, came.at, deleted, producer_granule)?)
    }

    /// Passes over an event that stands in the history; any other there would rewrite it.
    fn pass_over(
        &mut self,
        event: &Staged,
        stays: &[(Timestamp, Option<Timestamp>)],
    ) -> Result<()> {
        let stands = stays.iter().any(|&(ingested, deleted)| match event.kind {
            EventKind::Ingested => ingested == event.at,
            EventKind::Deleted => deleted == Some(event.at),
        });
        if stands {
            self.passed_over += 1;
            return Ok(());
        }
        let (location, at) = (self.location(event), event.at);
        let last = self.last().unwrap_or(at);
        Err(ChangeError::NotAfterLast { location, at, last })?
    }

    fn refuse_twice(&self, before: &Staged, event: &Staged) -> ChangeError {
        let granule_id = event.granule_id.clone();
        let (first, location) = (self.location(before), self.location(event));
        if before.kind == event.kind {
            ChangeError::Twice { granule_id, location, first, producers: Box::default() }
        } else {
            // Deletions are sorted first.
            ChangeError::Both { granule_id, location: first, first: location }
        }
    }

    fn location(&self, event: &Staged) -> Option<SourceLocation> {
        let (source, line) = event.location?;
        let source = self.staged.sources.get(source as usize)?.clone();
        Some(SourceLocation::Line { source, line })
    }

    /// The new instances that hold a granule, by their numbers.
    fn span<'row>(&self, stay: Stay<'row>) -> Result<(&'row str, usize, usize)> {
        let granule_id = std::str::from_utf8(stay.granule_id)
            .ok()
            .filter(|text| GranuleId::check(text).is_ok())
            .ok_or_else(|| Error::Inconsistent {
                what: format!("{} has a row whose granule id is none", self.name),
            })?;
        let number = |micros: i64| self.times.partition_point(|time| time.as_micros() < micros);
        let to = stay.deleted.map_or(self.times.len(), number);
        Ok((granule_id, number(stay.ingested).min(to), to))
    }

    /// Adds the rows of the history.
    fn record(&self, identifiers: impl Iterator<Item = Identifier>) -> Result<Vec<Instance>> {
        let mut granules = self.latest.as_ref().map_or(0, |latest| latest.granules);
        let mut instances: Vec<Instance> = Vec::with_capacity(self.times.len());
        for ((&timestamp, tally), identifier) in
            self.times.iter().zip(&self.tallies).zip(identifiers)
        {
            granules = (granules + tally.ingested).checked_sub(tally.deleted).ok_or_else(|| {
                let name = &self.name;
                let what = format!("{name} has rows of more granules than its history counts");
                Error::Inconsistent { what }
            })?;
            let expected = self.staged.expected.get(&timestamp);
            if let Some(expected) = expected.filter(|it| it.identifier != identifier) {
                Err(ChangeError::NotAsExpected {
                    location: expected.location.clone(),
                    at: timestamp,
                    expected: expected.identifier,
                    identifier,
                })?;
            }
            let instance = Instance {
                dataset: self.name.clone(),
                timestamp,
                until: None,
                identifier,
                granules,
                ingested: tally.ingested,
                deleted: tally.deleted,
                recorded: self.now,
                note: expected.and_then(|expected| expected.note.clone()),
            };
            self.write.insert_instance(self.dataset, &instance)?;
            if let Some(before) = instances.last_mut() {
                before.until = Some(timestamp);
            }
            instances.push(instance);
        }
        Ok(instances)
    }
}
