//! Exports the whole history of a dataset, from which it can be rebuilt in another registry.

use std::borrow::Borrow;
use std::collections::VecDeque;
use std::iter::Peekable;

use super::view::{Snapshot, dataset_of};
use crate::error::{Error, Result};
use crate::model::{
    ContentChange, DatasetName, EncodedFiles, Event, EventKind, Instance, Timestamp,
};
use crate::registry::handle::Registry;
use crate::registry::observer::{OpenWork, Work};
use crate::registry::parallel::Ahead;
use crate::registry::proof;
use crate::registry::staging::Staging;
use crate::registry::verify::prove_changes;
use crate::store::{DatasetKey, Period};

/// An element of an exported history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exported {
    /// An event of the change that follows it.
    Event(Event),
    /// A change, after its events: the resulting instance.
    Change(Instance),
}

impl Exported {
    /// When the change took effect. For an event, its change.
    pub(crate) fn timestamp(&self) -> Timestamp {
        match self {
            Exported::Event(event) => event.at,
            Exported::Change(instance) => instance.timestamp,
        }
    }
}

/// The number of instances in a page. Each may have a note and annotations of 64 KiB.
const PAGE_ROWS: u32 = 256;

/// The number of events that a thread hands over at once.
const BATCH_EVENTS: usize = 4_096;

/// An exported history: the changes in order of time, each after its events (ingests first, then by
/// id).
///
/// The changes are read from one snapshot, which is kept open.
struct Export<S> {
    snapshot: S,
    /// `None` means that there is no change to export, or no further one.
    rest: Option<Rest>,
}

struct Rest {
    dataset: DatasetKey,
    events: Peekable<Ahead<Result<Event>>>,
    changes: VecDeque<Instance>,
    /// The time of the change that was read last, and (`up_to`) that of the latest change.
    after: Option<Timestamp>,
    up_to: Timestamp,
    progress: OpenWork,
}

impl Registry {
    /// Exports the history of a dataset after a change (`None`: all of it): the changes in order of time, each
    /// after its events (ingests first, then by id). Everything is verified before the first element: the
    /// identifier and the counts of each of these changes must match the granule rows.
    ///
    /// Costs a pass over the rows that last beyond `after`, a sweep on another thread, and memory for each
    /// change. More than about 8 MiB of granules are sorted by time in a temporary file. If there is no change
    /// after `after`, nothing is read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the granule rows contradict the history;
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary).
    pub fn export(
        &self,
        dataset: &DatasetName,
        after: Option<Timestamp>,
    ) -> Result<impl Iterator<Item = Result<Exported>> + Send + use<>> {
        Export::of(self.snapshot()?, dataset, after)
    }
}

impl Snapshot {
    /// Like [`Registry::export`], for this state.
    pub(crate) fn export(
        &self,
        dataset: &DatasetName,
        after: Option<Timestamp>,
    ) -> Result<impl Iterator<Item = Result<Exported>>> {
        Export::of(self, dataset, after)
    }

    /// The events of the rows after a time, to be read in order of time. The changes are verified.
    fn events(
        &self,
        key: DatasetKey,
        dataset: &DatasetName,
        after: Option<Timestamp>,
    ) -> Result<Staging> {
        let mut events = Staging::by_time();
        let mut progress = self.registry.begin(Work::Sort, None);
        let is_after = |micros: i64| after.is_none_or(|after| micros > after.as_micros());
        prove_changes(&self.read, (dataset, key), after, |row, known| {
            let Period { granule_id, ingested, deleted, producer_granule } = row;
            progress.advance()?;
            let granule_id = proof::granule_id(granule_id, dataset)?;
            let producer = producer_granule.map_or(Ok(""), |it| proof::granule_id(it, dataset))?;
            let dates = [Some(ingested), deleted];
            if let Some(date) =
                dates.iter().flatten().find(|it| Timestamp::from_micros(**it).is_none())
            {
                let what = format!("{dataset} has a row with a date of {date} microseconds");
                return Err(Error::damaged(what));
            }
            let first = known.iter().next().filter(|(since, _)| *since == ingested);
            if is_after(ingested) {
                let ingest = (ingested, EventKind::Ingested);
                events.add_stored(ingest, granule_id, producer, first.map(|(_, files)| files))?;
            }
            let mut before = EncodedFiles::default();
            for (since, files) in known.iter() {
                let before = std::mem::replace(&mut before, files);
                if since != ingested && is_after(since) {
                    let kind = match ContentChange::of(before, files) {
                        ContentChange::Replaces => EventKind::Replaced,
                        ContentChange::Describes | ContentChange::Nothing => EventKind::Described,
                    };
                    events.add_stored((since, kind), granule_id, "", Some(files))?;
                }
            }
            match deleted.filter(|deleted| is_after(*deleted)) {
                Some(deleted) => {
                    events.add_stored((deleted, EventKind::Deleted), granule_id, "", None)
                }
                None => Ok(()),
            }
        })?;
        Ok(events)
    }
}

impl Rest {
    fn of(
        snapshot: &Snapshot,
        name: &DatasetName,
        after: Option<Timestamp>,
    ) -> Result<Option<Self>> {
        let (dataset, _) = dataset_of(&snapshot.read, name)?;
        let latest = snapshot.read.latest_instance(dataset)?;
        let up_to = latest.as_ref().map_or(Timestamp::MAX, |latest| latest.timestamp);
        if after.is_some_and(|after| up_to <= after) {
            return Ok(None);
        }
        let events = snapshot.events(dataset, name, after)?;
        let progress = snapshot.registry.begin(Work::Export, Some(events.count()));
        let events = Ahead::of(events.sorted()?, BATCH_EVENTS).peekable();
        let changes = VecDeque::new();
        Ok(Some(Rest { dataset, events, changes, after, up_to, progress }))
    }

    /// The next event or change, in order.
    fn next(&mut self, snapshot: &Snapshot) -> Result<Option<Exported>> {
        if self.changes.is_empty() {
            let (after, up_to) = (self.after, self.up_to);
            let page = snapshot.read.instances_after(self.dataset, after, up_to, PAGE_ROWS)?;
            self.after = page.last().map(|last| last.timestamp).or(after);
            self.changes = page.into();
        }
        let change = self.changes.front().map(|change| change.timestamp);
        let is_before = |event: &Result<Event>| {
            event.as_ref().map_or(true, |event| change.is_none_or(|change| event.at <= change))
        };
        match self.events.next_if(is_before).transpose()? {
            Some(event) => {
                self.progress.advance()?;
                Ok(Some(Exported::Event(event)))
            }
            None => Ok(self.changes.pop_front().map(Exported::Change)),
        }
    }
}

impl<S: Borrow<Snapshot>> Export<S> {
    fn of(snapshot: S, dataset: &DatasetName, after: Option<Timestamp>) -> Result<Self> {
        let of = snapshot.borrow();
        let rest = Rest::of(of, dataset, after).map_err(|error| of.registry.named(error))?;
        Ok(Export { snapshot, rest })
    }
}

impl<S: Borrow<Snapshot>> Iterator for Export<S> {
    type Item = Result<Exported>;

    fn next(&mut self) -> Option<Result<Exported>> {
        let snapshot = self.snapshot.borrow();
        let next = self.rest.as_mut()?.next(snapshot);
        if !matches!(next, Ok(Some(_))) {
            self.rest = None;
        }
        next.map_err(|error| snapshot.registry.named(error)).transpose()
    }
}
