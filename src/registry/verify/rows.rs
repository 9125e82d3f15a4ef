//! Checks the granule rows against the dates of the history, and counts them.

use std::ops::Range;

use super::finding::{Code, Finding, Findings};
use super::history::{Counted, Stated};
use crate::model::{GranuleId, Timestamp, quoted};
use crate::registry::timeline::Timeline;
use crate::store::Period;

/// The check of a dataset's granule rows, one by one in order of id and time.
pub(super) struct Rows<'history> {
    /// The number of rows that were read.
    pub count: u64,
    /// How many of the granules read so far the latest instance holds.
    pub held_latest: u64,
    /// The findings.
    pub findings: Findings,
    /// The time before the first change of the history. `None` means the beginning of time.
    after: Option<Timestamp>,
    history: &'history [Stated],
    timeline: Timeline,
    ingested: Vec<u64>,
    deleted: Vec<u64>,
    /// How many more granules each instance holds than the one before it. It has one element more
    /// than there are instances.
    held_more: Vec<i64>,
    /// The granule of the last row, and the instance at which its holding period ends.
    previous: Option<(Vec<u8>, usize)>,
}

impl<'history> Rows<'history> {
    /// Begins the check for the changes after a time (`None`: for all of them).
    pub fn after(after: Option<Timestamp>, history: &'history [Stated]) -> Self {
        Rows {
            count: 0,
            held_latest: 0,
            findings: Findings::default(),
            after,
            history,
            timeline: Timeline::of(history.iter().map(|stated| stated.timestamp)),
            ingested: vec![0; history.len()],
            deleted: vec![0; history.len()],
            held_more: vec![0; history.len() + 1],
            previous: None,
        }
    }

    /// The granule of the next row, and the numbers of the instances that hold it. `None` means
    /// that its id is not valid.
    pub fn held<'row>(&mut self, period: Period<'row>) -> Option<(&'row str, Range<usize>)> {
        self.count += 1;
        let granule_id = match std::str::from_utf8(period.granule_id) {
            Ok(granule_id) if GranuleId::check(granule_id).is_ok() => granule_id,
            _ => {
                self.refuse_id(period.granule_id);
                return None;
            }
        };
        let span = self.span(granule_id, period);
        let span = self.without_overlap(granule_id, span);
        if !span.is_empty() {
            self.held_more[span.start] += 1;
            self.held_more[span.end] -= 1;
            self.held_latest += u64::from(span.end == self.history.len());
        }
        Some((granule_id, span))
    }

    /// The id of the last row. `None` before the first.
    pub fn last_id(&self) -> Option<String> {
        self.previous.as_ref().map(|(bytes, _)| String::from_utf8_lossy(bytes).into_owned())
    }

    /// The counts for each instance, according to the rows.
    pub fn counted(&self) -> Vec<Counted> {
        let mut held = 0;
        let rows = self.held_more.iter().zip(&self.ingested).zip(&self.deleted);
        let count = |((more, ingested), deleted): ((&i64, &u64), &u64)| {
            held += more;
            Counted { granules: held.unsigned_abs(), ingested: *ingested, deleted: *deleted }
        };
        rows.map(count).collect()
    }

    /// The instances during which a granule was held according to its row. Reports dates at which
    /// there was no change.
    fn span(&mut self, granule_id: &str, period: Period<'_>) -> Range<usize> {
        let begins = self.timeline.number(period.ingested);
        match begins {
            Ok(number) => self.ingested[number] += 1,
            Err(_) if self.after.is_some_and(|after| period.ingested <= after.as_micros()) => {}
            Err(_) => self.refuse_date(granule_id, "ingested", period.ingested),
        }
        let start = begins.unwrap_or_else(|next| next);
        let Some(deleted) = period.deleted else { return start..self.history.len().max(start) };
        let ends = self.timeline.number(deleted);
        match ends {
            Ok(number) => self.deleted[number] += 1,
            Err(_) => self.refuse_date(granule_id, "deleted", deleted),
        }
        if deleted <= period.ingested {
            self.add(Code::Date, None, granule_id, "deleted before it was ingested".to_owned());
        }
        start..ends.unwrap_or_else(|next| next).max(start)
    }

    /// The span without the instances that the previous row of the same granule covers.
    fn without_overlap(&mut self, granule_id: &str, span: Range<usize>) -> Range<usize> {
        let mut start = span.start;
        match &mut self.previous {
            Some((previous, end)) if previous.as_slice() == granule_id.as_bytes() => {
                start = start.max(*end);
                *end = span.end.max(*end);
            }
            Some((previous, end)) => {
                previous.clear();
                previous.extend_from_slice(granule_id.as_bytes());
                *end = span.end;
            }
            none => *none = Some((granule_id.into(), span.end)),
        }
        if start > span.start {
            let at = self.history.get(span.start).map(|stated| stated.timestamp);
            self.add(Code::Overlap, at, granule_id, "held twice at the same time".to_owned());
        }
        start..span.end.max(start)
    }

    fn refuse_id(&mut self, bytes: &[u8]) {
        let granule_id = String::from_utf8_lossy(bytes);
        self.add(Code::GranuleId, None, &granule_id, "this is not a valid granule id".to_owned());
    }

    fn refuse_date(&mut self, granule_id: &str, what: &str, micros: i64) {
        let timestamp = Timestamp::from_micros(micros);
        let written = timestamp
            .map_or_else(|| format!("{micros} microseconds"), |timestamp| timestamp.to_string());
        let text = format!("{what} {written}, when the dataset had no change");
        self.add(Code::Date, timestamp, granule_id, text);
    }

    /// Adds a finding; rows with the same problem at the same time are one finding.
    fn add(&mut self, code: Code, timestamp: Option<Timestamp>, granule_id: &str, text: String) {
        let cause = format!("{text} {timestamp:?}");
        let granule = Some(granule_id.to_owned());
        self.findings.add_of_cause(cause, 1, ("granules", &quoted(granule_id).to_string()), || {
            Finding { code, timestamp, granule, text }
        });
    }
}
