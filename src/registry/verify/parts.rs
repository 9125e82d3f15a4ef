//! Whether the parts that were cited are still what was cited.

use super::{Code, Findings};
use crate::chain::Chain;
use crate::model::{Criteria, Pattern, Subset};
use crate::registry::error::Result;
use crate::store::{DatasetKey, Period, Snapshot, SubsetKey};

/// Granules that are looked up at once.
const PAGE_ROWS: u32 = 1_024;

/// The check of a dataset's parts: those of patterns beside the check of the granule rows, those
/// that name their granules by look-ups of their own.
pub(super) struct Parts {
    by_pattern: Vec<(Subset, Vec<Pattern>, Tally)>,
    named: Vec<(SubsetKey, Subset)>,
}

#[derive(Default)]
struct Tally {
    chain: Chain,
    granules: u64,
}

impl Parts {
    pub fn of(parts: Vec<(SubsetKey, Subset)>) -> Self {
        let mut checks = Parts { by_pattern: Vec::new(), named: Vec::new() };
        for (key, part) in parts {
            match part.criteria.clone() {
                Criteria::Patterns(patterns) => {
                    checks.by_pattern.push((part, patterns, Tally::default()));
                }
                Criteria::Named => checks.named.push((key, part)),
            }
        }
        checks
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        (self.by_pattern.len() + self.named.len()) as u64
    }

    /// Takes the next granule row.
    pub fn held(&mut self, granule_id: &str, stay: Period<'_>) {
        for (part, patterns, tally) in &mut self.by_pattern {
            let at = part.timestamp.as_micros();
            let is_held = stay.ingested <= at && stay.deleted.is_none_or(|deleted| at < deleted);
            if is_held && patterns.iter().any(|pattern| pattern.matches(granule_id)) {
                tally.chain.push(granule_id);
                tally.granules += 1;
            }
        }
    }

    /// What does not agree.
    pub fn compare(self, read: &Snapshot, dataset: DatasetKey) -> Result<Findings> {
        let mut findings = Findings::default();
        for (part, _, tally) in &self.by_pattern {
            compare(part, tally, &mut findings);
        }
        for (key, part) in &self.named {
            let mut tally = Tally::default();
            let mut after = String::new();
            loop {
                let page = read.named_after(dataset, *key, part.timestamp, &after, PAGE_ROWS)?;
                let is_over = page.len() < PAGE_ROWS as usize;
                for (named, held) in &page {
                    if held.is_none() {
                        let what = "is named by a citation, and was not held then".to_owned();
                        let at = Some(part.timestamp);
                        findings.add(Code::Selection, at, Some(named.as_str()), what);
                    }
                    tally.chain.push(named.as_str());
                    tally.granules += 1;
                }
                match page.last() {
                    Some((last, _)) if !is_over => after = last.to_string(),
                    _ => break,
                }
            }
            compare(part, &tally, &mut findings);
        }
        for part in self
            .by_pattern
            .iter()
            .map(|(part, ..)| part)
            .chain(self.named.iter().map(|(_, part)| part))
        {
            let instance = read.instance_at(dataset, part.timestamp)?;
            if instance.is_none_or(|instance| instance.timestamp != part.timestamp) {
                let what = "a part was cited as of then, when the dataset had no change".to_owned();
                findings.add(Code::Selection, Some(part.timestamp), None, what);
            }
        }
        Ok(findings)
    }
}

fn compare(part: &Subset, tally: &Tally, findings: &mut Findings) {
    let at = Some(part.timestamp);
    let identifier = tally.chain.identifier();
    if identifier != part.identifier {
        let what = format!(
            "the identifier of a part cited {} is {}, its granules give {identifier}",
            part.cited, part.identifier
        );
        findings.add(Code::Selection, at, None, what);
    }
    if tally.granules != part.granules {
        let what = format!(
            "the count of granules of a part cited {} is {}, the rows are {}",
            part.cited, part.granules, tally.granules
        );
        findings.add(Code::Selection, at, None, what);
    }
}
