//! The history of a dataset by instances, and of a granule by periods.

use super::view::{Snapshot, all_known, latest_known};
use crate::error::Result;
use crate::model::{
    Annotation, DatasetName, FoundPeriod, FoundPosition, GranuleQuery, Identifier, Instance,
    Timestamp,
};
use crate::registry::handle::Registry;
use crate::store::Span;
use crate::store::{self, StoredAnnotation, paged};

impl Snapshot {
    /// At most `limit` instances of a dataset before a time (`None` means from the latest), newest first.
    pub fn instances_before(
        &self,
        dataset: &DatasetName,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<Instance>> {
        self.ask_of(dataset, |read, key| {
            let latest = latest_known(read, key)?;
            let Some(latest) = latest.filter(|_| limit > 0) else { return Ok(Vec::new()) };
            match before.filter(|before| *before <= latest.timestamp) {
                Some(before) => Ok(read.instances_before(key, before, None, limit)?),
                None => {
                    let mut instances =
                        read.instances_before(key, latest.timestamp, None, limit - 1)?;
                    instances.insert(0, latest);
                    Ok(instances)
                }
            }
        })
    }

    /// At most `limit` instances of all datasets: those recorded last, at or after a time, in order of
    /// recording. Costs a row for each.
    pub fn recorded_last(&self, since: Timestamp, limit: u32) -> Result<Vec<Instance>> {
        self.ask(|read| {
            let mut last = all_known(read, read.recorded_last(since, limit)?)?;
            last.reverse();
            Ok(last)
        })
    }

    /// The instances of a dataset with this identifier, in order of time.
    pub fn history_with(
        &self,
        dataset: &DatasetName,
        identifier: Identifier,
    ) -> Result<Vec<Instance>> {
        self.ask_of(dataset, |read, key| all_known(read, read.instances_of_with(key, identifier)?))
    }

    /// Calls `take` for each annotation of a dataset, with the timestamp of its instance, until it fails.
    /// Annotations are in order of timestamp, and then in the order in which they were added.
    pub(crate) fn each_annotation(
        &self,
        dataset: &DatasetName,
        mut take: impl FnMut(Timestamp, &Annotation) -> Result<()>,
    ) -> Result<()> {
        self.ask_of(dataset, |read, key| {
            read.all(key, Vec::new()).try_for_each(|stored| {
                let StoredAnnotation { timestamp, annotation, .. } = stored?;
                take(timestamp, &annotation)
            })
        })
    }

    /// The first annotations of a dataset, at most `limit`, with the timestamps of their instances. They are in
    /// order of timestamp, and then in the order in which they were added.
    pub fn annotated(
        &self,
        dataset: &DatasetName,
        limit: u32,
    ) -> Result<Vec<(Timestamp, Annotation)>> {
        self.ask_of(dataset, |read, key| {
            let stored = read.first(key, limit)?.into_iter();
            Ok(stored.map(|it: StoredAnnotation| (it.timestamp, it.annotation)).collect())
        })
    }

    /// The number of granules that a dataset held at a time and still holds. Costs one statement, which passes
    /// over the dataset.
    pub fn still_held(&self, dataset: &DatasetName, at: Timestamp) -> Result<u64> {
        self.ask_of(dataset, |read, key| read.still_held(key, at))
    }

    /// The first change of a dataset, and then its later changes in order of time, combined into spans. The
    /// length of a span is the shortest with which the history has at most some thousand spans, and at most a
    /// day in UTC. Costs one pass over the history.
    pub fn outline(&self, dataset: &DatasetName) -> Result<Vec<Span>> {
        const HOUR: i64 = 3_600_000_000;
        /// The lengths of spans shorter than a day, in microseconds. Each divides a day.
        const SPANS: [i64; 5] = [1, 1_000, 1_000_000, 60_000_000, HOUR];
        /// The greatest number of such spans in a history.
        const MAX_SPANS: i64 = 4_096;
        self.ask_of(dataset, |read, key| {
            let last = latest_known(read, key)?;
            let Some((first, last)) = read.first_instance(key)?.zip(last) else {
                return Ok(Vec::new());
            };
            let last = last.timestamp;
            let micros = last.as_micros() - first.timestamp.as_micros();
            let fits = |width: &i64| micros / width < MAX_SPANS;
            let width = SPANS.into_iter().find(fits).unwrap_or(24 * HOUR);
            let mut spans = vec![Span {
                first: first.timestamp,
                last: first.timestamp,
                least: first.granules,
                most: first.granules,
                held: first.granules,
                added: first.ingested,
                deleted: first.deleted,
                changes: 1,
            }];
            spans.extend(read.spans(key, &first, last, width)?);
            Ok(spans)
        })
    }

    /// The number of annotations of all instances of a dataset.
    pub fn count_annotations(&self, dataset: &DatasetName) -> Result<u64> {
        self.ask_of(dataset, store::View::count_of::<StoredAnnotation>)
    }

    /// The number of instances in the history of a dataset up to a time (`None` means all).
    pub fn count_history(&self, dataset: &DatasetName, up_to: Option<Timestamp>) -> Result<u64> {
        self.ask_of(dataset, |read, key| {
            let Some(latest) = latest_known(read, key)? else { return Ok(0) };
            let latest = latest.timestamp;
            read.count_instances(key, up_to.map_or(latest, |up_to| up_to.min(latest)))
        })
    }
}

/// The range and the order of the instances that are read.
#[derive(Debug, Clone, Default)]
pub struct HistoryOptions {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    known: Option<Timestamp>,
    is_newest_first: bool,
}

impl HistoryOptions {
    /// All instances, in order of time.
    pub fn new() -> Self {
        HistoryOptions::default()
    }

    /// Only changes that took effect at or after `since`.
    #[must_use]
    pub fn since(self, since: Timestamp) -> Self {
        HistoryOptions { since: Some(since), ..self }
    }

    /// Only changes that took effect at or before `until`.
    #[must_use]
    pub fn until(self, until: Timestamp) -> Self {
        HistoryOptions { until: Some(until), ..self }
    }

    /// Only changes that were recorded by this time, as [`Snapshot::known_at`].
    #[must_use]
    pub fn known_at(self, recorded: Timestamp) -> Self {
        HistoryOptions { known: Some(recorded), ..self }
    }

    /// The newest instance first.
    #[must_use]
    pub fn newest_first(self) -> Self {
        HistoryOptions { is_newest_first: true, ..self }
    }
}

/// Instances of a dataset, with one page in memory at a time. Each page is read in a short transaction of its
/// own.
struct History {
    registry: Registry,
    dataset: DatasetName,
    options: HistoryOptions,
    /// `None` before the first instance is read.
    instances: Option<Instances>,
}

type Instances = Box<dyn Iterator<Item = Result<Instance>> + Send>;

impl Registry {
    /// The instances of a dataset, up to the one that is the latest when the first is read. They never change.
    /// Each page is read in a short transaction of its own.
    ///
    /// # Errors
    ///
    /// The first item is the error if the dataset cannot be looked up:
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
    pub fn history(
        &self,
        dataset: &DatasetName,
        options: &HistoryOptions,
    ) -> impl Iterator<Item = Result<Instance>> + Send + use<> {
        let (registry, dataset, options) = (self.clone(), dataset.clone(), options.clone());
        History { registry, dataset, options, instances: None }
    }
}

impl History {
    fn read(&self) -> Result<Instances> {
        let HistoryOptions { since, until, is_newest_first, .. } = self.options;
        let known = self.options.known.unwrap_or(Timestamp::MAX);
        let registry = self.registry.clone();
        let snapshot = registry.snapshot()?.known_at(known);
        let (dataset, latest) = snapshot.ask_of(&self.dataset, |read, key| {
            Ok((key, latest_known(read, key)?.map(|latest| latest.timestamp)))
        })?;
        drop(snapshot);
        let until = latest.map(|latest| until.map_or(latest, |until| until.min(latest)));
        let page = move |position: &Option<Timestamp>, limit: u32| {
            let Some(until) = until else { return Ok(Vec::new()) };
            registry.snapshot()?.known_at(known).ask(|read| {
                if is_newest_first {
                    let before = position.or(until.next()).unwrap_or(Timestamp::MAX);
                    read.instances_before(dataset, before, since, limit)
                } else {
                    let before = |since: Timestamp| Timestamp::from_micros(since.as_micros() - 1);
                    let after = position.or(since.and_then(before));
                    read.instances_after(dataset, after, until, limit)
                }
            })
        };
        let instances = paged(None, page, |last: &Instance| Some(last.timestamp));
        Ok(Box::new(instances.map(move |instance| {
            // In the requested state, no later change had ended the latest instance yet.
            instance.map(|instance| match Some(instance.timestamp) == latest {
                true => Instance { until: None, ..instance },
                false => instance,
            })
        })))
    }
}

impl Iterator for History {
    type Item = Result<Instance>;

    fn next(&mut self) -> Option<Result<Instance>> {
        if self.instances.is_none() {
            let read = self.read();
            let failed = |error| -> Instances { Box::new(std::iter::once(Err(error))) };
            self.instances = Some(read.unwrap_or_else(failed));
        }
        self.instances.as_mut()?.next()
    }
}

impl Snapshot {
    /// At most `limit` periods in which granules were held, after one of them (`None` means from the first), by
    /// dataset, id and time. Costs a look-up for each dataset that is passed.
    ///
    /// # Errors
    ///
    /// An error of the store: the registry cannot be read. A granule that was never
    /// held is not an error.
    pub fn find(
        &self,
        query: &GranuleQuery,
        after: Option<FoundPosition<'_>>,
        limit: u32,
    ) -> Result<Vec<FoundPeriod>> {
        self.ask(|read| read.periods_everywhere(query, after, limit))
    }
}
