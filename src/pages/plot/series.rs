//! A history of any length in spans of time.

use crate::model::{Instance, Timestamp};

/// The number of spans that a series keeps. A screen shows fewer columns.
const MAX_SPANS: usize = 1_024;

/// A history, reduced to at most 1,024 spans of time that keep its extremes.
///
/// Up to that many changes, each is a span of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series {
    spans: Vec<Span>,
    /// The greatest duration of a span, in microseconds. 0 means that each change is a span.
    width_micros: i64,
    changes: u64,
    latest: Option<Timestamp>,
}

/// Some consecutive changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// The time of the first of them.
    pub first: Timestamp,
    /// The time of the last of them.
    pub last: Timestamp,
    /// How many changes there are.
    pub changes: u64,
    /// The least number of granules held after any of them.
    pub least: u64,
    /// The greatest number of granules held after any of them.
    pub most: u64,
    /// The number of granules held after the last of them.
    pub held: u64,
    /// How many granules they ingested.
    pub ingested: u64,
    /// How many granules they deleted.
    pub deleted: u64,
}

impl Span {
    fn of(instance: &Instance) -> Self {
        Span {
            first: instance.timestamp,
            last: instance.timestamp,
            changes: 1,
            least: instance.granules,
            most: instance.granules,
            held: instance.granules,
            ingested: instance.ingested,
            deleted: instance.deleted,
        }
    }

    /// Both spans as one; `next` is the later one.
    pub fn and(self, next: Span) -> Self {
        Span {
            first: self.first,
            last: next.last,
            changes: self.changes + next.changes,
            least: self.least.min(next.least),
            most: self.most.max(next.most),
            held: next.held,
            ingested: self.ingested.saturating_add(next.ingested),
            deleted: self.deleted.saturating_add(next.deleted),
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
        self.changes += 1;
        self.latest = Some(instance.timestamp);
        self.spans.push(Span::of(instance));
        // Twice as many are collected before they are merged, so that each change is merged a
        // bounded number of times.
        if self.spans.len() >= 2 * MAX_SPANS {
            self.merge();
        }
    }

    /// How many changes were added.
    pub fn changes(&self) -> u64 {
        self.changes
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
        assert!(series.spans().iter().all(|span| span.changes == 1 && span.first == span.last));
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
        assert_eq!(spans.iter().map(|span| span.changes).sum::<u64>(), 100_000);
        assert_eq!(spans.iter().map(|span| span.ingested).sum::<u64>(), 200_000);
        assert_eq!(spans.iter().map(|span| span.deleted).sum::<u64>(), 100_000);
        assert_eq!(spans.iter().map(|span| span.most).max(), Some(5_000_000));
        assert_eq!(spans.iter().map(|span| span.least).min(), Some(1_000));
        assert!(spans.windows(2).all(|pair| pair[0].last < pair[1].first));
        assert_eq!(spans.last().unwrap().held, 1_000 + 99_999 % 7);
        assert_eq!((series.changes(), series.first().unwrap().as_micros()), (100_000, 0));
    }
}
