//! The export of the whole history of a dataset, from which it can be rebuilt in another registry.

use std::collections::VecDeque;

use super::view::{Snapshot, dataset_of};
use crate::model::{DatasetName, Event, EventKind, GranuleId, Instance, Timestamp};
use crate::registry::error::{Error, Result};
use crate::registry::row;
use crate::registry::staging::{Staging, each_batch};
use crate::registry::verify::prove_changes;
use crate::store::{DatasetKey, Period, ProducedPeriod};

/// An element of an exported history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exported {
    /// A granule that the change after it ingested or deleted.
    Event {
        /// When it was ingested or deleted.
        at: Timestamp,
        /// Whether it was ingested or deleted.
        kind: EventKind,
        /// The granule.
        granule_id: GranuleId,
        /// The producer's id. `None` means that it is the same as `granule_id`.
        producer_granule: Option<GranuleId>,
    },
    /// A change, after its events: the instance that it resulted in.
    Change(Instance),
}

/// The number of instances in a page.
const PAGE_ROWS: u32 = 1_024;

impl Snapshot {
    /// Exports the history of a dataset after a change (`None`: all of it): `show` is called for each
    /// change in order of time, with its events (ingests first, then by id) and after them with the
    /// change itself. `show` is called only once everything is proved: the identifier and the counts of
    /// each of these changes are those that the granule rows give.
    ///
    /// Costs a pass over the rows that last beyond `after`, a sweep on another thread, and memory for
    /// each change; more than about 8 MiB of granules are sorted by time in a temporary file. If there
    /// is no change after `after`, nothing is read.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`]; the errors of `show`; [`Error::Store`] of kind `damaged`, before the first
    /// call of `show`: the granule rows contradict the history; [`Error::Temporary`].
    pub fn export<E: From<Error>>(
        &self,
        dataset: &DatasetName,
        after: Option<Timestamp>,
        mut show: impl FnMut(Exported) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let named = |error: Error| E::from(self.registry.named(error));
        let read = &self.read;
        let (key, _) = dataset_of(read, dataset).map_err(named)?;
        let stored = |error: crate::error::Error| named(error.into());
        let latest = read.latest_instance(key).map_err(stored)?;
        let up_to = latest.as_ref().map_or(Timestamp::MAX, |latest| latest.timestamp);
        if after.is_some_and(|after| up_to <= after) {
            return Ok(());
        }
        let events = self.events(key, dataset, after).map_err(named)?;
        let mut progress = self.registry.begin("exporting", "granules", Some(events.count()));
        let mut changes = Changes { page: VecDeque::new(), last: after, is_over: false };
        let mut next = || -> Result<Option<Instance>> {
            if changes.page.is_empty() && !changes.is_over {
                let page = read.instances_after(key, changes.last, up_to, PAGE_ROWS)?;
                changes.is_over = page.len() < PAGE_ROWS as usize;
                changes.last = page.last().map(|last| last.timestamp).or(changes.last);
                changes.page = page.into();
            }
            Ok(changes.page.pop_front())
        };
        let mut change = next().map_err(named)?;
        let mut export = |event: Event| -> std::result::Result<(), Stop<E>> {
            while let Some(done) = change.take_if(|change| change.timestamp < event.at) {
                show(Exported::Change(done)).map_err(Stop::Named)?;
                change = next()?;
            }
            let Event { at, kind, granule_id, producer_granule, .. } = event;
            show(Exported::Event { at, kind, granule_id, producer_granule }).map_err(Stop::Named)
        };
        let exported = events.sorted().map_err(Stop::from).and_then(|sorted| {
            std::thread::scope(|scope| {
                each_batch(scope, events.count(), sorted, |batch| {
                    progress.advance_by(batch.len() as u64)?;
                    batch.drain(..).try_for_each(&mut export)
                })
            })
        });
        exported.map_err(|stop| match stop {
            Stop::Named(error) => error,
            Stop::Registry(error) => named(error),
        })?;
        while let Some(done) = change {
            show(Exported::Change(done))?;
            change = next().map_err(named)?;
        }
        Ok(())
    }

    /// The events of the rows after a time, to be read in order of time, once the changes are proved.
    fn events(
        &self,
        key: DatasetKey,
        dataset: &DatasetName,
        after: Option<Timestamp>,
    ) -> Result<Staging> {
        let mut events = Staging::by_time();
        let mut progress = self.registry.begin("sorting", "granules", None);
        let is_after = |micros: i64| after.is_none_or(|after| micros > after.as_micros());
        prove_changes(&self.read, (dataset, key), after, |row| {
            let ProducedPeriod { period, producer_granule } = row;
            progress.advance()?;
            let Period { granule_id, ingested, deleted } = period;
            let granule_id = row::granule_id(granule_id, dataset)?;
            let producer = producer_granule.map_or(Ok(""), |it| row::granule_id(it, dataset))?;
            let dates = [Some(ingested), deleted];
            if let Some(date) =
                dates.iter().flatten().find(|it| Timestamp::from_micros(**it).is_none())
            {
                let what = format!("{dataset} has a row with a date of {date} microseconds");
                return Err(Error::damaged(what));
            }
            if is_after(ingested) {
                events.add_stored((ingested, EventKind::Ingested), granule_id, producer)?;
            }
            match deleted.filter(|deleted| is_after(*deleted)) {
                Some(deleted) => events.add_stored((deleted, EventKind::Deleted), granule_id, ""),
                None => Ok(()),
            }
        })?;
        Ok(events)
    }
}

/// Why an export ends early.
enum Stop<E> {
    /// A callback returned an error.
    Named(E),
    /// The registry returned an error, which does not have its path yet.
    Registry(Error),
}

impl<E> From<Error> for Stop<E> {
    fn from(error: Error) -> Self {
        Stop::Registry(error)
    }
}

/// The changes that have not been exported yet.
struct Changes {
    page: VecDeque<Instance>,
    last: Option<Timestamp>,
    is_over: bool,
}
