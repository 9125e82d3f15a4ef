//! Compares the instances of a history with the granule rows.

use std::ops::Range;

use super::finding::{Code, Findings};
use crate::model::{GranuleId, Identifier, Instance, Timestamp, quoted};
use crate::registry::error::Result;
use crate::store::{DatasetKey, Snapshot};

/// The number of instances in a page.
const PAGE_INSTANCES: u32 = 4_096;

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
        let mut history: Vec<Stated> = Vec::new();
        loop {
            let after = history.last().map(|stated| stated.timestamp).or(after);
            let page = read.instances_after(dataset, after, Timestamp::MAX, PAGE_INSTANCES)?;
            if page.is_empty() {
                return Ok(history);
            }
            history.extend(page.into_iter().map(Stated::from));
        }
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
