//! Compares the instances of a history with the granule rows: their dates, counts and identifiers.

use std::ops::Range;

use super::finding::{Code, Finding, Findings};
use crate::chain::Timeline;
use crate::error::Result;
use crate::model::{GranuleId, Identifier, Instance, Timestamp, quoted};
use crate::store::{DatasetKey, Period, Snapshot};

/// The stored values of an instance, without its note.
pub(super) struct Stated {
    pub timestamp: Timestamp,
    pub identifier: Identifier,
    pub counts: Counted,
    recorded: Timestamp,
}

impl Stated {
    /// The instances after a time (`None`: all of them), in order of time.
    pub fn after(
        read: &Snapshot,
        dataset: DatasetKey,
        after: Option<Timestamp>,
    ) -> Result<Vec<Stated>> {
        let history = read.history(dataset, after, Timestamp::MAX);
        history.map(|instance| instance.map(Stated::from)).collect()
    }
}

/// How many granules an instance holds, and how many its change ingested and deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub granules: u64,
    pub ingested: u64,
    pub deleted: u64,
}

impl Counted {
    /// How many more granules the rows give than the history states. A negative number means fewer.
    fn minus(self, stated: Counted) -> Surplus {
        let minus = |counted: u64, stated: u64| counted as i64 - stated as i64;
        Surplus {
            granules: minus(self.granules, stated.granules),
            ingested: minus(self.ingested, stated.ingested),
            deleted: minus(self.deleted, stated.deleted),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Surplus {
    granules: i64,
    ingested: i64,
    deleted: i64,
}

impl From<Instance> for Stated {
    fn from(instance: Instance) -> Self {
        Stated {
            timestamp: instance.timestamp,
            identifier: instance.identifier,
            counts: Counted {
                granules: instance.granules,
                ingested: instance.ingested,
                deleted: instance.deleted,
            },
            recorded: instance.recorded,
        }
    }
}

/// The check of a dataset's granule rows, one by one in order of id and time.
pub(super) struct Rows<'history> {
    /// The number of rows that were read.
    pub count: u64,
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

/// The values that the granule rows give for each instance.
pub(super) struct Recomputed {
    pub identifiers: Vec<Identifier>,
    pub counts: Vec<Counted>,
}

/// Compares the history with the granule rows. Consecutive instances with the same deviation are
/// one finding. `agrees_to` is the last checkpoint if every checkpoint agrees with the rows.
pub(super) fn compare(
    history: &[Stated],
    recomputed: &Recomputed,
    agrees_to: Option<&GranuleId>,
) -> Findings {
    let mut findings = Findings::default();
    compare_identifiers(history, recomputed, agrees_to, &mut findings);
    compare_counts(history, recomputed, &mut findings);
    findings
}

fn compare_identifiers(
    history: &[Stated],
    recomputed: &Recomputed,
    agrees_to: Option<&GranuleId>,
    findings: &mut Findings,
) {
    let differs = |number: usize| {
        (history[number].identifier != recomputed.identifiers[number]).then_some(())
    };
    for (run, ()) in runs(history.len(), differs) {
        let first = &history[run.start];
        let mut text = format!(
            "the identifier is {}, but the granule rows give {}",
            first.identifier, recomputed.identifiers[run.start]
        );
        if run.len() > 1 {
            let last = history[run.end - 1].timestamp;
            text += &format!(
                "; {} consecutive instances disagree, the last is that of {last}",
                run.len()
            );
        }
        // The checkpoints belong to the latest instance.
        if let Some(last) = agrees_to
            && run.end == history.len()
        {
            let last = quoted(last.as_str());
            text += &format!("; up to {last} the granule rows agree with every checkpoint");
        }
        findings.add(Code::Identifier, Some(first.timestamp), None, text);
    }
}

/// One row too few or too many changes the number held in each instance of its holding period, and
/// the numbers ingested and deleted at its two ends. All of these are one finding.
fn compare_counts(history: &[Stated], recomputed: &Recomputed, findings: &mut Findings) {
    let surplus = |number: usize| recomputed.counts[number].minus(history[number].counts);
    let held = |number: usize| Some(surplus(number).granules).filter(|granules| *granules != 0);
    for (run, granules) in runs(history.len(), held) {
        let (stated, counted) = (&history[run.start], recomputed.counts[run.start]);
        let mut text = format!(
            "the history counts {} granules, but the granule rows give {}",
            stated.counts.granules, counted.granules
        );
        if run.len() > 1 {
            let last = history[run.end - 1].timestamp;
            let (number, off) =
                (granules.unsigned_abs(), if granules < 0 { "few" } else { "many" });
            text += &format!(
                "; so {} consecutive instances have {number} too {off}, the last is that of {last}",
                run.len()
            );
        }
        findings.add(Code::Count, Some(stated.timestamp), None, text);
    }
    let of_change = |number: usize| {
        let before = number.checked_sub(1).map(surplus).unwrap_or_default();
        let Surplus { granules, ingested, deleted } = surplus(number);
        let more = granules - before.granules;
        let follows_from_held = more != 0 && more == ingested - deleted;
        let agrees = (ingested, deleted) == (0, 0);
        (!agrees && !follows_from_held).then_some((ingested, deleted))
    };
    for (run, _) in runs(history.len(), of_change) {
        let (stated, counted) = (&history[run.start], recomputed.counts[run.start]);
        let mut text = format!(
            "the history counts {} granules ingested and {} deleted, but the granule rows give {} and {}",
            stated.counts.ingested, stated.counts.deleted, counted.ingested, counted.deleted
        );
        if run.len() > 1 {
            let last = history[run.end - 1].timestamp;
            text += &format!(
                "; {} consecutive instances have the same deviation, the last is that of {last}",
                run.len()
            );
        }
        findings.add(Code::Count, Some(stated.timestamp), None, text);
    }
}

/// Checks that no change of a whole history was recorded before it took effect.
pub(super) fn check_recorded(history: &[Stated]) -> Findings {
    let mut findings = Findings::default();
    let too_early = |number: usize| {
        let stated = &history[number];
        // If the clock was behind the last change, a change is stamped one microsecond after that.
        let before = number.checked_sub(1).map(|before| history[before].timestamp);
        let was_stamped_next = before.and_then(Timestamp::next) == Some(stated.timestamp);
        (stated.recorded < stated.timestamp && !was_stamped_next).then_some(())
    };
    for (run, ()) in runs(history.len(), too_early) {
        let first = &history[run.start];
        let mut text = format!("recorded {}, before it took effect", first.recorded);
        if run.len() > 1 {
            let last = history[run.end - 1].timestamp;
            text += &format!(
                "; so are {} consecutive instances, the last is that of {last}",
                run.len()
            );
        }
        findings.add(Code::Recorded, Some(first.timestamp), None, text);
    }
    findings
}

/// The runs of consecutive numbers with the same key.
fn runs<K: PartialEq>(length: usize, key: impl Fn(usize) -> Option<K>) -> Vec<(Range<usize>, K)> {
    let mut runs: Vec<(Range<usize>, K)> = Vec::new();
    for number in 0..length {
        let Some(key) = key(number) else { continue };
        match runs.last_mut() {
            Some((run, known)) if run.end == number && *known == key => run.end += 1,
            _ => runs.push((number..number + 1, key)),
        }
    }
    runs
}
