//! What a plot needs of a history of any length.

use super::calendar::Unit;
use accession::error::Result;
use accession::model::{DatasetName, Timestamp};
use accession::registry::{LargeChange, Snapshot, Span};

/// The greatest number of bins in a plot.
pub(super) const MAX_BINS: i64 = 60;

/// How many of the largest changes are named.
const LARGEST: usize = 3;

/// A history, reduced to spans of time of at most a day in UTC, and to its largest changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series {
    /// In order of time. The first is the first change alone.
    pub(super) spans: Vec<Span>,
    /// The largest changes after the first one, the largest first: one more than are named.
    pub(super) largest: Vec<LargeChange>,
}

impl Series {
    /// The history of a dataset.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](accession::ErrorKind::DatasetUnknown): no dataset has the name.
    pub fn read(snapshot: &Snapshot, dataset: &DatasetName) -> Result<Self> {
        let (spans, largest) = snapshot.outline(dataset, LARGEST as u32 + 1)?;
        Ok(Series { spans, largest })
    }

    /// What the changes after the first one added and deleted in each calendar unit in which they did.
    pub(super) fn bins_of(&self, unit: Unit) -> Vec<Span> {
        let later = self.spans.iter().skip(1);
        // What only describes or replaces is not drawn.
        let drawn = later.filter(|span| span.added + span.deleted > 0);
        let drawn: Vec<Span> = drawn.copied().collect();
        grouped(&drawn, |span| unit.index(span.first))
    }

    /// What all changes did in each month in which there were any.
    pub(in crate::pages) fn months(&self) -> Vec<Span> {
        grouped(&self.spans, |span| Unit::Month.index(span.first))
    }

    /// The largest changes after the first one, in order of time. Of several of one rank, all are named
    /// or none, since some of them would be chosen by chance.
    pub(super) fn largest(&self) -> Vec<&LargeChange> {
        let rank =
            |large: &LargeChange| (large.added.saturating_add(large.deleted), large.note.is_some());
        let unnamed = self.largest.get(LARGEST).map(rank);
        let mut largest: Vec<&LargeChange> =
            self.largest.iter().filter(|large| Some(rank(large)) > unnamed).collect();
        largest.sort_by_key(|large| large.at);
        largest
    }

    /// How many changes there were.
    pub fn changes(&self) -> u64 {
        self.spans.iter().map(|span| span.changes).sum()
    }

    /// The granules held after the first change, and how many all later ones added and deleted.
    pub(super) fn totals(&self) -> (u64, u64, u64) {
        let sum =
            |of: fn(&Span) -> u64| self.spans.iter().skip(1).map(of).fold(0, u64::saturating_add);
        let begin = self.spans.first().map_or(0, |first| first.held);
        (begin, sum(|span| span.added), sum(|span| span.deleted))
    }

    /// How many granules were ever held, each time one was ingested counted.
    pub fn ever_added(&self) -> u64 {
        let (begin, added, _) = self.totals();
        begin.saturating_add(added)
    }

    /// The time of the last change. `None` means that there was none.
    pub fn last(&self) -> Option<Timestamp> {
        self.spans.last().map(|span| span.last)
    }

    /// The time of the first change. `None` means that there was none.
    pub fn first(&self) -> Option<Timestamp> {
        self.spans.first().map(|span| span.first)
    }
}

/// The spans with those merged that are in the same group. Groups do not decrease.
pub(super) fn grouped(spans: &[Span], group: impl Fn(&Span) -> i64) -> Vec<Span> {
    let of_one = spans.chunk_by(|one, next| group(one) == group(next));
    let merged = of_one.filter_map(|spans| {
        let merged = |one: Span, next: &Span| Span {
            first: one.first,
            least: one.least.min(next.least),
            most: one.most.max(next.most),
            added: one.added.saturating_add(next.added),
            deleted: one.deleted.saturating_add(next.deleted),
            changes: one.changes + next.changes,
            ..*next
        };
        spans.iter().skip(1).fold(spans.first().copied(), |one, next| Some(merged(one?, next)))
    });
    merged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use accession::model::{Dataset, Event, EventKind, GranuleId, Instance};
    use accession::registry::{Change, Import, Registry, Stamp};

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros).unwrap()
    }

    /// A history with changes at these times, each of which adds so many granules and deletes one of the
    /// change before.
    fn history(changes: &[(i64, usize)]) -> (Series, Vec<Instance>) {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::create(&directory.path().join("registry.db")).unwrap();
        let mut import = Import::new();
        for (n, (micros, added)) in changes.iter().enumerate() {
            let mut add = |kind, n: usize, number: usize| {
                let granule_id = format!("{n}.{number}").parse().unwrap();
                let at = at(*micros);
                let event = Event {
                    at,
                    kind,
                    granule_id,
                    producer_granule: None,
                    content: None,
                    location: None,
                };
                import.add(event).unwrap();
            };
            (0..*added).for_each(|number| add(EventKind::Ingested, n, number));
            if let Some(before) = n.checked_sub(1) {
                add(EventKind::Deleted, before, 0);
            }
        }
        let name: DatasetName = "A".parse().unwrap();
        let stamp = Stamp::now("2026-01-01T00:00:00Z".parse().unwrap());
        registry.add_dataset(&Dataset::named(name.clone()), &stamp).unwrap();
        registry.import(&name, &import, &stamp).unwrap();
        let snapshot = registry.snapshot().unwrap();
        let instances = snapshot.history(&name).unwrap().collect::<Result<_>>().unwrap();
        (Series::read(&snapshot, &name).unwrap(), instances)
    }

    #[test]
    fn a_history_of_any_length_and_time_keeps_its_extremes_and_exact_sums() {
        const DAY: i64 = 86_400_000_000;
        for (first, step, most_spans) in [
            (-3, 2, 400),
            (-DAY - 1, 40_000_000, 400),
            (-170 * DAY - 1, DAY + 1, 400),
            (-9_000 * DAY, DAY / 2, 202),
        ] {
            let changes: Vec<(i64, usize)> =
                (0..400).map(|n| (first + n * step, 1 + n as usize * 7 % 5)).collect();
            let (series, instances) = history(&changes);
            assert_eq!(series.changes(), 400, "{step}");
            let spans = &series.spans;
            assert!(spans.len() <= most_spans && spans.len() >= 200, "{step}: {}", spans.len());
            assert_eq!((spans[0].first, spans[0].changes), (at(first), 1), "{step}");
            let mut left = instances.as_slice();
            for span in spans {
                let (own, later) = left.split_at(span.changes as usize);
                left = later;
                let held = || own.iter().map(|change| change.granules);
                assert_eq!(span.first, own[0].timestamp, "{step}");
                assert_eq!(span.last, own[own.len() - 1].timestamp, "{step}");
                assert_eq!(Some(span.held), held().next_back(), "{step}");
                assert_eq!(Some((span.least, span.most)), held().min().zip(held().max()), "{step}");
            }
            for unit in Unit::ALL {
                let of_unit = |change: &Instance| unit.index(change.timestamp);
                let expected = instances[1..].chunk_by(|one, next| of_unit(one) == of_unit(next));
                let bins = series.bins_of(unit);
                assert_eq!(bins.len(), expected.clone().count(), "{step} {unit:?}");
                for (bin, changes) in bins.iter().zip(expected) {
                    let added: u64 = changes.iter().map(|change| change.ingested).sum();
                    let deleted: u64 = changes.iter().map(|change| change.deleted).sum();
                    let last = &changes[changes.len() - 1];
                    assert_eq!((bin.added, bin.deleted, bin.held), (added, deleted, last.granules));
                    assert_eq!((unit.index(bin.first), bin.last), (of_unit(last), last.timestamp));
                }
            }
        }
    }

    #[test]
    fn the_largest_changes_after_the_first_are_named() {
        for (added, named) in [
            (&[1_000][..], &[][..]),
            (&[1_000, 5, 30, 7, 30, 9], &[(2, 30), (4, 30), (5, 9)]),
            (&[1_000, 1, 1], &[(1, 1), (2, 1)]),
            (&[1_000, 1, 1, 1, 1], &[(2, 1)]),
            (&[1_000, 4, 5, 4, 9, 4], &[(2, 5), (4, 9)]),
            // The second one has a note.
            (&[1_000, 1, 11, 1, 1, 1], &[(2, 11)]),
            (&[1_000, 1, 1, 1, 1, 11], &[(2, 1), (5, 11)]),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let registry = Registry::create(&directory.path().join("registry.db")).unwrap();
            let name: DatasetName = "A".parse().unwrap();
            for (second, added) in (0..).zip(added) {
                let mut change = Change::new();
                change.options.create_dataset = true;
                for number in 0..*added {
                    let id: GranuleId = format!("{second}.{number}").parse().unwrap();
                    change.ingest(id).unwrap();
                }
                change.options.note = (second == 2).then(|| "noted".to_owned());
                let stamp = Stamp::at(at(second * 1_000_000), at(second * 1_000_000));
                registry.change(&name, &change, &stamp).unwrap();
            }
            let series = Series::read(&registry.snapshot().unwrap(), &name).unwrap();
            let largest = series.largest().into_iter();
            let largest = largest.map(|it| (it.at.as_micros() / 1_000_000, it.added));
            assert_eq!(largest.collect::<Vec<(i64, u64)>>(), named, "{added:?}");
        }
    }
}
