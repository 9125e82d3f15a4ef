//! Whether the granule rows are those of the history.

use std::ops::Range;

use super::{Code, Findings};
use crate::model::{GranuleId, Identifier, Instance, Timestamp};
use crate::store::Period;

/// The check of a dataset's granule rows, one by one in the order of id and time.
pub(super) struct Rows<'history> {
    /// How many were read.
    pub count: u64,
    /// What was found in them.
    pub findings: Findings,
    instances: &'history [Instance],
    timestamps: Vec<i64>,
    tallies: Vec<Tally>,
    /// The granule of the last row, and the instance at which that ends.
    previous: Option<(Vec<u8>, usize)>,
}

/// What the granule rows say of one instance.
#[derive(Clone, Default)]
struct Tally {
    ingested: u64,
    deleted: u64,
}

impl<'history> Rows<'history> {
    pub fn of(instances: &'history [Instance]) -> Self {
        Rows {
            count: 0,
            findings: Findings::default(),
            instances,
            timestamps: instances.iter().map(|instance| instance.timestamp.as_micros()).collect(),
            tallies: vec![Tally::default(); instances.len()],
            previous: None,
        }
    }

    /// The granule of the next row, and the instances that hold it; none if it cannot be one.
    pub fn held<'row>(&mut self, stay: Period<'row>) -> Option<(&'row str, Range<usize>)> {
        match std::str::from_utf8(stay.granule_id) {
            Ok(text) if GranuleId::check(text).is_ok() => {
                let span = self.span(text, stay);
                Some((text, self.without_overlap(text, span)))
            }
            _ => {
                let text = String::from_utf8_lossy(stay.granule_id);
                let problem = "no granule can have this id".to_owned();
                self.findings.add(Code::GranuleId, None, Some(&text), problem);
                None
            }
        }
    }

    /// The instances during which a row says that its granule was held; finds fault with dates at
    /// which there was no change.
    fn span(&mut self, granule_id: &str, stay: Period<'_>) -> Range<usize> {
        let begins = self.timestamps.binary_search(&stay.ingested);
        let ends = stay.deleted.map(|deleted| self.timestamps.binary_search(&deleted));
        match begins {
            Ok(index) => self.tallies[index].ingested += 1,
            Err(_) => self.date(granule_id, "ingested", stay.ingested),
        }
        match ends {
            None => {}
            Some(Ok(index)) => self.tallies[index].deleted += 1,
            Some(Err(_)) => self.date(granule_id, "deleted", stay.deleted.unwrap_or_default()),
        }
        if stay.deleted.is_some_and(|deleted| deleted <= stay.ingested) {
            let problem = "deleted before it was ingested".to_owned();
            self.findings.add(Code::Date, None, Some(granule_id), problem);
        }
        let start = begins.unwrap_or_else(|next| next);
        let end = ends.map_or(self.instances.len(), |end| end.unwrap_or_else(|next| next));
        start..end.max(start)
    }

    fn date(&mut self, granule_id: &str, what: &str, micros: i64) {
        let written = Timestamp::from_micros(micros)
            .map_or_else(|| format!("{micros} microseconds"), |timestamp| timestamp.to_string());
        let problem = format!("{what} {written}, when the dataset had no change");
        self.findings.add(Code::Date, Timestamp::from_micros(micros), Some(granule_id), problem);
    }

    /// The span without what the granule's row before it covers already.
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
            let at = self.instances.get(span.start).map(|instance| instance.timestamp);
            let problem = "held twice at once".to_owned();
            self.findings.add(Code::Overlap, at, Some(granule_id), problem);
        }
        start..span.end.max(start)
    }

    /// Compares the instances with the identifiers and the counts that the rows give.
    pub fn compare_with(&self, identifiers: &[Identifier]) -> Findings {
        let mut findings = Findings::default();
        let mut granules: u64 = 0;
        let mut before: Option<Timestamp> = None;
        let rows = self.instances.iter().zip(identifiers).zip(&self.tallies);
        for ((instance, identifier), tally) in rows {
            let at = Some(instance.timestamp);
            if instance.identifier != *identifier {
                let problem = format!(
                    "the identifier is {}, its granules give {identifier}",
                    instance.identifier
                );
                findings.add(Code::Identifier, at, None, problem);
            }
            granules = (granules + tally.ingested).saturating_sub(tally.deleted);
            for (what, says, counted) in [
                ("held", instance.granules, granules),
                ("ingested", instance.ingested, tally.ingested),
                ("deleted", instance.deleted, tally.deleted),
            ] {
                if says != counted {
                    let problem =
                        format!("the count of granules {what} is {says}, the rows are {counted}");
                    findings.add(Code::Count, at, None, problem);
                }
            }
            // A clock that stood behind the last change stamps a microsecond after that.
            let was_stamped_next = before.and_then(Timestamp::next) == at;
            if instance.recorded < instance.timestamp && !was_stamped_next {
                let problem = format!("recorded {}, before it took effect", instance.recorded);
                findings.add(Code::Recorded, at, None, problem);
            }
            before = at;
        }
        findings
    }
}
