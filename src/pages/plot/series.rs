//! A history of any length in bounded memory: what a plot of it needs.

use super::calendar::Unit;
use crate::model::{Instance, Timestamp};

/// The number of spans that a series keeps. A screen shows fewer columns.
const MAX_SPANS: usize = 1_024;

/// The greatest number of bins in a plot.
pub(super) const MAX_BINS: i64 = 60;

/// How many of the largest changes are named.
const LARGEST: usize = 3;

/// The greatest number of characters of their notes.
const NOTE_CHARACTERS: usize = 300;

/// A history, reduced to at most 1,024 spans of time that keep its extremes, to the exact sums of
/// calendar units, and to its largest changes.
///
/// Up to that many changes, each is a span of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series {
    spans: Vec<Span>,
    /// The greatest duration of a span, in microseconds. 0 means that each change is a span.
    width_micros: i64,
    /// The unit of `bins`, from which those of every plot can be computed.
    unit: Unit,
    /// The units with changes after the first one, in order of time.
    bins: Vec<Bin>,
    /// The largest changes after the first one, the largest first: one more than are named.
    largest: Vec<Large>,
    changes: u64,
    /// The granules held after the first change, and what all later ones added and deleted.
    begin: u64,
    added: u64,
    deleted: u64,
    latest: Option<Timestamp>,
}

/// What the changes in a calendar unit added and deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bin {
    pub index: i64,
    pub added: u64,
    pub deleted: u64,
    /// The granules held at its end.
    pub held: u64,
}

/// A large change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Large {
    pub at: Timestamp,
    pub added: u64,
    pub deleted: u64,
    pub note: Option<String>,
}

impl Large {
    /// The larger one is named; of equally large ones, that with a note.
    fn rank(&self) -> (u64, bool) {
        (self.added.saturating_add(self.deleted), self.note.is_some())
    }
}

/// Some consecutive changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// The time of the first of them.
    pub first: Timestamp,
    /// The time of the last of them.
    pub last: Timestamp,
    /// The least number of granules held after any of them.
    pub least: u64,
    /// The greatest number of granules held after any of them.
    pub most: u64,
    /// The number of granules held after the last of them.
    pub held: u64,
}

impl Span {
    fn of(instance: &Instance) -> Self {
        Span {
            first: instance.timestamp,
            last: instance.timestamp,
            least: instance.granules,
            most: instance.granules,
            held: instance.granules,
        }
    }

    /// Both spans as one; `next` is the later one.
    pub fn and(self, next: Span) -> Self {
        Span {
            first: self.first,
            last: next.last,
            least: self.least.min(next.least),
            most: self.most.max(next.most),
            held: next.held,
        }
    }
}

impl Series {
    /// An empty series.
    pub fn new() -> Self {
        Series::default()
    }

    /// Adds the next instance of the history, which must be later than all before.
    pub fn add(&mut self, instance: &Instance) {
        match self.first() {
            None => self.begin = instance.granules,
            Some(first) => {
                self.count(first, instance);
                self.rank(instance);
            }
        }
        self.changes += 1;
        self.latest = Some(instance.timestamp);
        self.spans.push(Span::of(instance));
        // Twice as many are collected before they are merged, so that each change is merged a
        // bounded number of times.
        if self.spans.len() >= 2 * MAX_SPANS {
            self.merge();
        }
    }

    /// Adds a change to its calendar unit. As the history grows, its units become coarser.
    fn count(&mut self, first: Timestamp, instance: &Instance) {
        let Instance { timestamp, granules: held, ingested, deleted, .. } = *instance;
        let unit = Unit::finest(MAX_BINS, first, timestamp).base();
        if unit > self.unit {
            self.bins = self.bins_of(unit);
            self.unit = unit;
        }
        let bin = Bin { index: self.unit.index(timestamp), added: ingested, deleted, held };
        add_to(&mut self.bins, bin);
        self.added = self.added.saturating_add(ingested);
        self.deleted = self.deleted.saturating_add(deleted);
    }

    /// Keeps a change if it is among the largest.
    fn rank(&mut self, instance: &Instance) {
        let Instance { timestamp: at, ingested: added, deleted, .. } = *instance;
        let note = instance.note.as_ref().map(|note| note.chars().take(NOTE_CHARACTERS).collect());
        let own = Large { at, added, deleted, note };
        let rank = self.largest.partition_point(|large| large.rank() >= own.rank());
        if rank <= LARGEST {
            self.largest.insert(rank, own);
            self.largest.truncate(LARGEST + 1);
        }
    }

    /// The sums of each unit with changes after the first one. The unit must not be finer than
    /// that of the longest history that has this many.
    pub(super) fn bins_of(&self, unit: Unit) -> Vec<Bin> {
        let mut bins = Vec::new();
        for bin in &self.bins {
            add_to(&mut bins, Bin { index: unit.index(self.unit.start(bin.index)), ..*bin });
        }
        bins
    }

    /// The largest changes after the first one, in order of time. Of several of one rank, all are named
    /// or none, since some of them would be chosen by chance.
    pub(super) fn largest(&self) -> Vec<&Large> {
        let unnamed = self.largest.get(LARGEST).map(Large::rank);
        let mut largest: Vec<&Large> =
            self.largest.iter().filter(|large| Some(large.rank()) > unnamed).collect();
        largest.sort_by_key(|large| large.at);
        largest
    }

    /// How many changes were added.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The granules held after the first change, and how many all later ones added and deleted.
    pub(super) fn totals(&self) -> (u64, u64, u64) {
        (self.begin, self.added, self.deleted)
    }

    /// How many granules were ever held, each time one was ingested counted.
    pub fn ever_added(&self) -> u64 {
        self.begin.saturating_add(self.added)
    }

    /// The time of the last change that was added. `None` means that there was none.
    pub fn latest(&self) -> Option<Timestamp> {
        self.latest
    }

    /// The time of the first change. `None` means that there was none.
    pub fn first(&self) -> Option<Timestamp> {
        self.spans.first().map(|span| span.first)
    }

    /// The spans, in order of time.
    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Merges neighbours until at most half as many spans as the limit remain.
    fn merge(&mut self) {
        let (Some(first), Some(last)) = (self.first(), self.latest) else { return };
        let micros = last.as_micros() - first.as_micros();
        let least_width = micros / (MAX_SPANS as i64 / 2) + 1;
        self.width_micros = self.width_micros.max(least_width);
        let spans = std::mem::take(&mut self.spans);
        self.spans =
            grouped(spans, |span| (span.first.as_micros() - first.as_micros()) / self.width_micros);
    }
}

/// Adds a bin to those before it.
fn add_to(bins: &mut Vec<Bin>, bin: Bin) {
    match bins.last_mut() {
        Some(last) if last.index == bin.index => {
            last.added = last.added.saturating_add(bin.added);
            last.deleted = last.deleted.saturating_add(bin.deleted);
            last.held = bin.held;
        }
        _ => bins.push(bin),
    }
}

/// The spans with those merged that are in the same group. Groups do not decrease.
pub(super) fn grouped(
    spans: impl IntoIterator<Item = Span>,
    group: impl Fn(&Span) -> i64,
) -> Vec<Span> {
    let mut merged: Vec<(i64, Span)> = Vec::new();
    for span in spans {
        let group = group(&span);
        match merged.last_mut() {
            Some((last, before)) if *last == group => *before = before.and(span),
            _ => merged.push((group, span)),
        }
    }
    merged.into_iter().map(|(_, span)| span).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Identifier;

    fn instance(second: i64, granules: u64, ingested: u64, deleted: u64) -> Instance {
        let timestamp = Timestamp::from_micros(second * 1_000_000).unwrap();
        Instance {
            dataset: "D".parse().unwrap(),
            timestamp,
            until: None,
            identifier: Identifier::EMPTY,
            granules,
            ingested,
            deleted,
            recorded: timestamp,
            recorded_by: None,
            note: None,
            annotations: Vec::new(),
        }
    }

    #[test]
    fn few_changes_are_kept_as_they_are() {
        let mut series = Series::new();
        for second in 0..1_000 {
            series.add(&instance(second, 10, 1, 1));
        }
        assert_eq!(series.spans().len(), 1_000);
        assert!(series.spans().iter().all(|span| span.first == span.last));
        assert_eq!(series.totals(), (10, 999, 999));
    }

    #[test]
    fn a_long_history_is_reduced_and_keeps_its_extremes_and_sums() {
        let mut series = Series::new();
        // Irregular times: a burst, then long gaps.
        let second = |n: i64| if n < 50_000 { n } else { 50_000 + (n - 50_000) * 3_600 };
        for n in 0..100_000 {
            let granules = if n == 77_777 { 5_000_000 } else { 1_000 + n as u64 % 7 };
            series.add(&instance(second(n), granules, 2, 1));
            assert!(series.spans().len() < 2 * MAX_SPANS);
        }
        let spans = series.spans();
        assert_eq!(series.totals(), (1_000, 199_998, 99_999));
        assert_eq!(spans.iter().map(|span| span.most).max(), Some(5_000_000));
        assert_eq!(spans.iter().map(|span| span.least).min(), Some(1_000));
        assert!(spans.windows(2).all(|pair| pair[0].last < pair[1].first));
        assert_eq!(spans.last().unwrap().held, 1_000 + 99_999 % 7);
        assert_eq!((series.changes(), series.first().unwrap().as_micros()), (100_000, 0));
    }

    #[test]
    fn units_of_a_history_have_exact_sums_however_long_it_is() {
        const DAY: i64 = 86_400;
        let mut series = Series::new();
        let mut instances = Vec::new();
        for n in 0..4_000 {
            // Every day at first, then every third week.
            let day = if n < 2_000 { n } else { 2_000 + (n - 2_000) * 21 };
            instances.push(instance(day * DAY + 3_600, 100, n as u64 % 5, n as u64 % 3));
            series.add(&instances[n as usize]);
            let (first, last) = (series.first().unwrap(), series.latest().unwrap());
            if ![1, 59, 60, 61, 420, 421, 1_800, 1_999, 3_999].contains(&n) {
                continue;
            }
            for unit in
                Unit::ALL.into_iter().filter(|it| *it >= Unit::finest(MAX_BINS, first, last))
            {
                let mut expected: Vec<Bin> = Vec::new();
                for instance in &instances[1..] {
                    let (added, deleted) = (instance.ingested, instance.deleted);
                    let index = unit.index(instance.timestamp);
                    add_to(&mut expected, Bin { index, added, deleted, held: 100 });
                }
                assert_eq!(series.bins_of(unit), expected, "{n} {unit:?}");
            }
            assert!(series.bins.len() <= 7 * MAX_BINS as usize, "{n}");
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
            let mut series = Series::new();
            for (second, added) in (0..).zip(added) {
                let note = (second == 2).then(|| "noted".to_owned());
                series.add(&Instance { note, ..instance(second, 10, *added, 0) });
            }
            let largest = series.largest();
            let largest = largest.iter().map(|it| (it.at.as_micros() / 1_000_000, it.added));
            assert_eq!(largest.collect::<Vec<(i64, u64)>>(), named, "{added:?}");
        }
    }
}
