//! Compares the instances of a history with the granule rows: their dates, counts and identifiers.

use std::fmt;
use std::ops::Range;

use super::finding::{FindingKind, Findings};
use crate::chain::Timeline;
use crate::error::Result;
use crate::model::{
    ChangeCounts, ContentChange, Digest, EncodedFiles, EventKind, GranuleId, Identifier, Instance,
    Timestamp, quoted,
};
use crate::registry::contents::FilesDuring;
use crate::store::{DatasetKey, Period, StoredInstance, View};

/// The stored values of an instance, without its note.
pub(super) struct StatedInstance {
    pub timestamp: Timestamp,
    pub identifier: Identifier,
    pub digest: Digest,
    pub counts: Counted,
    recorded: Timestamp,
}

impl StatedInstance {
    /// The instances after a time (`None`: all of them), in order of time.
    pub fn after(
        read: &View,
        dataset: DatasetKey,
        after: Option<Timestamp>,
    ) -> Result<Vec<StatedInstance>> {
        let history = read.history(dataset, after, Timestamp::MAX);
        history.map(|instance| instance.map(StatedInstance::from)).collect()
    }

    /// All instances, in order of time, and a finding for each whose row differs from its checksum.
    pub fn all(read: &View, dataset: DatasetKey) -> Result<(Vec<StatedInstance>, Findings)> {
        let mut findings = Findings::default();
        let mut history = Vec::new();
        for stored in read.stored_history(dataset) {
            let StoredInstance { instance, is_sound } = stored?;
            if !is_sound {
                findings.add(FindingKind::Unreadable, Some(instance.timestamp), None, || {
                    "the row of the history differs from its checksum".to_owned()
                });
            }
            history.push(StatedInstance::from(instance));
        }
        Ok((history, findings))
    }
}

/// The number of granules that an instance holds, and the numbers that its change ingested, deleted, described
/// and replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counted {
    pub granules: u64,
    pub changes: ChangeCounts,
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counted { granules, changes } = self;
        let ChangeCounts { ingested, deleted, described, replaced } = changes;
        write!(f, "{granules} granules, {ingested} ingested and {deleted} deleted")?;
        match described + replaced {
            0 => Ok(()),
            _ => write!(f, ", {described} described and {replaced} replaced"),
        }
    }
}

impl From<Instance> for StatedInstance {
    fn from(instance: Instance) -> Self {
        StatedInstance {
            timestamp: instance.timestamp,
            identifier: instance.identifier,
            digest: instance.digest,
            counts: Counted { granules: instance.granules, changes: instance.counts() },
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
    history: &'history [StatedInstance],
    timeline: Timeline,
    /// The change counts of each instance, without the number of granules that it holds.
    changed: Vec<Counted>,
    /// For each instance, the number of granules that it holds minus that of the previous one. It has one
    /// element more than there are instances.
    held_more: Vec<i64>,
    /// The granule of the last row, and the instance at which its holding period ends.
    previous: Option<(Vec<u8>, usize)>,
}

impl<'history> Rows<'history> {
    /// Begins the check for the changes after a time (`None`: for all of them).
    pub fn after(after: Option<Timestamp>, history: &'history [StatedInstance]) -> Self {
        Rows {
            count: 0,
            findings: Findings::default(),
            after,
            history,
            timeline: Timeline::of(history.iter().map(|stated| stated.timestamp)),
            changed: vec![Counted::default(); history.len()],
            held_more: vec![0; history.len() + 1],
            previous: None,
        }
    }

    /// The granule of the next row, and the numbers of the instances that hold it. `None` means that its id is
    /// not valid.
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

    /// The counts of each instance, computed from the rows.
    pub fn counted(&self) -> Vec<Counted> {
        let mut held = 0;
        let count = |(more, changed): (&i64, &Counted)| {
            held += more;
            Counted { granules: held.unsigned_abs(), ..*changed }
        };
        self.held_more.iter().zip(&self.changed).map(count).collect()
    }

    /// The number of the first instance at a time or after it.
    pub fn number(&mut self, micros: i64) -> usize {
        self.timeline.number(micros).unwrap_or_else(|next| next)
    }

    /// Counts the changes of the file records of a granule during a holding period. Reports times at which
    /// there was no change.
    pub fn state(&mut self, granule_id: &str, ingested: i64, known: FilesDuring<'_>) {
        let mut before = EncodedFiles::default();
        for (since, files) in known.iter() {
            let before = std::mem::replace(&mut before, files);
            if self.after.is_some_and(|after| since <= after.as_micros()) {
                continue;
            }
            match (self.timeline.number(since), ContentChange::of(before, files)) {
                (Err(_), _) => self.refuse_date(granule_id, "described", since),
                _ if since == ingested => {}
                (Ok(number), ContentChange::Describes) => self.add(number, EventKind::Described),
                (Ok(number), ContentChange::Replaces) => self.add(number, EventKind::Replaced),
                (Ok(_), ContentChange::Nothing) => {
                    let at = Timestamp::from_micros(since);
                    self.findings.add(FindingKind::Files, at, Some(granule_id), || {
                        "its files were recorded again without a difference".to_owned()
                    });
                }
            }
        }
    }

    fn add(&mut self, number: usize, kind: EventKind) {
        self.changed[number].changes.add_one(kind);
    }

    /// The instances that hold a granule according to its row. Reports dates at which there was no change.
    fn span(&mut self, granule_id: &str, period: Period<'_>) -> Range<usize> {
        let begins = self.timeline.number(period.ingested);
        match begins {
            Ok(number) => self.add(number, EventKind::Ingested),
            Err(_) if self.after.is_some_and(|after| period.ingested <= after.as_micros()) => {}
            Err(_) => self.refuse_date(granule_id, "ingested", period.ingested),
        }
        let start = begins.unwrap_or_else(|next| next);
        let Some(deleted) = period.deleted else { return start..self.history.len().max(start) };
        let ends = self.timeline.number(deleted);
        match ends {
            Ok(number) => self.add(number, EventKind::Deleted),
            Err(_) => self.refuse_date(granule_id, "deleted", deleted),
        }
        if deleted <= period.ingested {
            self.findings.add(FindingKind::Date, None, Some(granule_id), || {
                "deleted before it was ingested".to_owned()
            });
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
            self.findings.add(FindingKind::Overlap, at, Some(granule_id), || {
                "held twice at the same time".to_owned()
            });
        }
        start..span.end.max(start)
    }

    fn refuse_id(&mut self, bytes: &[u8]) {
        let granule_id = String::from_utf8_lossy(bytes);
        self.findings.add(FindingKind::GranuleId, None, Some(&granule_id), || {
            "this is not a valid granule id".to_owned()
        });
    }

    fn refuse_date(&mut self, granule_id: &str, what: &str, micros: i64) {
        let timestamp = Timestamp::from_micros(micros);
        self.findings.add(FindingKind::Date, timestamp, Some(granule_id), || {
            let written = timestamp.map_or_else(
                || format!("{micros} microseconds"),
                |timestamp| timestamp.to_string(),
            );
            format!("{what} {written}, when the dataset had no change")
        });
    }
}

/// Compares the history with the sets and the counts of each instance that follow from the granule rows.
/// `agrees_to` is the last checkpoint, if every checkpoint agrees with the rows.
pub(super) fn compare(
    history: &[StatedInstance],
    sets: impl Iterator<Item = (Identifier, Digest)>,
    counts: &[Counted],
    agrees_to: Option<&GranuleId>,
) -> Findings {
    let mut findings = Findings::default();
    let sets: Vec<(&StatedInstance, (Identifier, Digest))> = history.iter().zip(sets).collect();
    let differs = |(stated, (given, _)): &&(&StatedInstance, (Identifier, Digest))| {
        stated.identifier != *given
    };
    // The checkpoints belong to the latest instance.
    let agrees_to = agrees_to.filter(|_| sets.last().is_some_and(|last| differs(&last)));
    for (stated, (given, _)) in sets.iter().filter(differs) {
        findings.add(FindingKind::Identifier, Some(stated.timestamp), None, || {
            let text = format!(
                "the identifier is {}, but the granule rows give {given}",
                stated.identifier
            );
            match agrees_to {
                Some(last) => format!(
                    "{text}; up to {} the granule rows agree with every checkpoint",
                    quoted(last.as_str())
                ),
                None => text,
            }
        });
    }
    // If the identifier differs, so does the digest.
    for (stated, (identifier, digest)) in &sets {
        if stated.identifier == *identifier && stated.digest != *digest {
            findings.add(FindingKind::Digest, Some(stated.timestamp), None, || {
                let StatedInstance { digest: stated, .. } = stated;
                format!("the digest is {stated}, but the recorded files give {digest}")
            });
        }
    }
    for (stated, counted) in history.iter().zip(counts) {
        if stated.counts != *counted {
            findings.add(FindingKind::Count, Some(stated.timestamp), None, || {
                format!("the history counts {}, but the granule rows give {counted}", stated.counts)
            });
        }
    }
    findings
}

/// Checks that no change of a whole history was recorded before it took effect.
pub(super) fn check_recorded(history: &[StatedInstance]) -> Findings {
    let mut findings = Findings::default();
    let mut before: Option<Timestamp> = None;
    for stated in history {
        // If the clock was behind the previous change, a change is stamped one microsecond after that one.
        let was_stamped_next = before.and_then(Timestamp::next) == Some(stated.timestamp);
        if stated.recorded < stated.timestamp && !was_stamped_next {
            findings.add(FindingKind::Recorded, Some(stated.timestamp), None, || {
                format!("recorded {}, before it took effect", stated.recorded)
            });
        }
        before = Some(stated.timestamp);
    }
    findings
}
