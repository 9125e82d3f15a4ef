//! Finds the checkpoints between which the granule rows differ.

use super::checkpoint_pages::CheckpointPages;
use super::finding::{Code, Finding, Findings};
use super::history::Stated;
use crate::chain::{Chain, is_checkpoint};
use crate::model::{Checkpoint, GranuleId, Identifier, quoted};
use crate::registry::error::Result;
use crate::registry::handle::Work;
use crate::store::{Begin, DatasetKey, Snapshot};

/// The number of intervals and checkpoints that are listed one by one.
const MAX_LISTED: usize = 10;

/// Finds the checkpoints that are wrong, missing or misplaced, and those between which the granule
/// rows are not the ones from which the checkpoints were computed.
///
/// Costs a pass over the granules now held that follow the last checkpoint that agrees. A chain can
/// be resumed at every checkpoint, so each interval between two of them is compared independently:
/// if the chain that is resumed at one checkpoint gives the next one, the rows between them are
/// unchanged. `rows_agree` states that the rows give the identifier of the latest instance; then
/// the rows are correct, and every checkpoint that differs is itself wrong.
pub(super) fn search(
    read: &Snapshot,
    dataset: DatasetKey,
    latest: &Stated,
    last_agreeing: Option<&Checkpoint>,
    rows_agree: bool,
    progress: &mut Work,
) -> Result<(Findings, u64)> {
    let after = last_agreeing.map(|checkpoint| &checkpoint.granule_id);
    let mut search = Search {
        stored: CheckpointPages::after(read, dataset, after),
        rows_agree,
        base: Line::after(last_agreeing),
        suspect: None,
        granules: last_agreeing.and_then(|checkpoint| checkpoint.granules).unwrap_or(0),
        surplus: Some(0),
        steps: 0,
        findings: Findings::default(),
    };
    let begin = after.map_or(Begin::Start, Begin::After);
    let latest_micros = latest.timestamp.as_micros();
    let mut previous = Vec::new();
    read.each_period(dataset, begin, Some(latest.timestamp), |period| {
        progress.advance()?;
        if period.ingested > latest_micros || previous == period.granule_id {
            return Ok(());
        }
        previous.clear();
        previous.extend_from_slice(period.granule_id);
        match std::str::from_utf8(period.granule_id) {
            Ok(granule_id) if GranuleId::check(granule_id).is_ok() => search.hold(granule_id),
            _ => Ok(()),
        }
    })?;
    search.finish(latest.identifier)
}

/// A chain that was resumed at a checkpoint.
struct Line {
    /// The id of the checkpoint. `None` means the beginning of the chain.
    after: Option<GranuleId>,
    chain: Chain,
    /// The number of granules in the rows up to there.
    granules: u64,
}

impl Line {
    fn after(checkpoint: Option<&Checkpoint>) -> Self {
        Line {
            after: checkpoint.map(|checkpoint| checkpoint.granule_id.clone()),
            chain: Chain::resume(checkpoint.map_or(Identifier::EMPTY, |point| point.chain)),
            granules: checkpoint.and_then(|checkpoint| checkpoint.granules).unwrap_or(0),
        }
    }
}

/// A checkpoint that the line before it does not give: either it is wrong, or the rows before it
/// are. The next checkpoint decides which.
struct Suspect {
    checkpoint: Checkpoint,
    expected: Identifier,
    /// The line that resumes at it.
    line: Line,
}

struct Search<'read> {
    stored: CheckpointPages<'read>,
    rows_agree: bool,
    base: Line,
    suspect: Option<Suspect>,
    /// The number of granules held so far, according to the rows.
    granules: u64,
    /// How many more granules the checkpoints count, as far as it has been found. `None` means that
    /// it is not known.
    surplus: Option<i64>,
    steps: u64,
    findings: Findings,
}

impl Search<'_> {
    fn hold(&mut self, granule_id: &str) -> Result<()> {
        while let Some(checkpoint) = self.stored.next_before(Some(granule_id))? {
            self.refuse_not_held(checkpoint);
        }
        self.granules += 1;
        self.steps += 1 + u64::from(self.suspect.is_some());
        self.base.chain.push(granule_id);
        if let Some(suspect) = &mut self.suspect {
            suspect.line.chain.push(granule_id);
        }
        let checkpoint = self.stored.next_at(granule_id)?;
        match (checkpoint, is_checkpoint(granule_id)) {
            (Some(checkpoint), true) => self.compare(checkpoint),
            (Some(_), false) => {
                self.add(
                    "misplaced",
                    granule_id,
                    "no checkpoint belongs after this granule".into(),
                );
            }
            (None, true) => {
                let text = "the checkpoint after this granule is missing".to_owned();
                self.add("missing", granule_id, text);
            }
            (None, false) => {}
        }
        Ok(())
    }

    /// Compares a checkpoint with the lines that end at it.
    fn compare(&mut self, checkpoint: Checkpoint) {
        let agrees_with_base = self.base.chain.identifier() == checkpoint.chain;
        if self.rows_agree && !agrees_with_base {
            self.refuse_chain(&checkpoint, self.base.chain.identifier());
            self.check_count(&checkpoint);
            return;
        }
        if let Some(suspect) = self.suspect.take() {
            if agrees_with_base {
                self.refuse_chain(&suspect.checkpoint, suspect.expected);
            } else {
                self.refuse_interval(suspect);
            }
        }
        if self.base.chain.identifier() == checkpoint.chain {
            self.check_count(&checkpoint);
            self.base.after = Some(checkpoint.granule_id);
            self.base.granules = self.granules;
        } else {
            let expected = self.base.chain.identifier();
            let mut line = Line::after(Some(&checkpoint));
            line.granules = self.granules;
            self.suspect = Some(Suspect { checkpoint, expected, line });
        }
    }

    /// Reports the rows before a suspect, and continues with the line that resumes at it.
    fn refuse_interval(&mut self, suspect: Suspect) {
        let Suspect { checkpoint, line, .. } = suspect;
        let between = match &self.base.after {
            Some(after) => {
                format!("after {}, up to and including this granule,", quoted(after.as_str()))
            }
            None => "up to and including this granule".to_owned(),
        };
        let rows = line.granules - self.base.granules;
        let counted = checkpoint.granules.map(|granules| granules as i64);
        let counted_between = counted
            .zip(self.surplus)
            .map(|(counted, surplus)| counted - surplus - self.base.granules as i64);
        let text = match counted_between {
            Some(counted) if counted == rows as i64 => format!(
                "{between} the registry has other granules than the checkpoint was computed from, in the same number: {rows}"
            ),
            Some(counted) => format!(
                "{between} the registry has {rows} granules where the checkpoint counts {counted}"
            ),
            None => format!(
                "{between} the registry has other granules than the checkpoint was computed from"
            ),
        };
        self.add("interval", checkpoint.granule_id.as_str(), text);
        self.surplus = counted.map(|counted| counted - line.granules as i64);
        self.base = line;
    }

    fn refuse_chain(&mut self, checkpoint: &Checkpoint, expected: Identifier) {
        let text = format!(
            "the checkpoint after this granule is {}, but the granule rows give {expected}",
            checkpoint.chain
        );
        self.add("chain", checkpoint.granule_id.as_str(), text);
    }

    /// Compares the count of a checkpoint whose chain agrees.
    fn check_count(&mut self, checkpoint: &Checkpoint) {
        let Some(counted) = checkpoint.granules else { return };
        let surplus = counted as i64 - self.granules as i64;
        match self.surplus {
            None => self.surplus = Some(surplus),
            Some(known) if known == surplus => {}
            Some(known) => {
                let text = format!(
                    "the checkpoint after this granule counts {counted} granules, but its chain has {}",
                    self.granules as i64 + known
                );
                self.add("count", checkpoint.granule_id.as_str(), text);
            }
        }
    }

    /// Reports a checkpoint after a granule that is not held. If its chain is that of the rows
    /// before it and of this granule, exactly the row of this granule was lost.
    fn refuse_not_held(&mut self, checkpoint: Checkpoint) {
        let granule_id = checkpoint.granule_id.as_str();
        if !is_checkpoint(granule_id) {
            self.add("misplaced", granule_id, "no checkpoint belongs after this granule".into());
            return;
        }
        let gives = |chain: &Chain| {
            let mut chain = chain.clone();
            chain.push(granule_id);
            chain.identifier() == checkpoint.chain
        };
        if self.rows_agree || !(gives(&self.base.chain) || self.suspect_gives(gives)) {
            let text = "a checkpoint is stored after this granule, which is not held".to_owned();
            self.add("not held", granule_id, text);
            return;
        }
        let text = "the registry does not hold this granule, but a checkpoint was computed with it";
        self.add("lost", granule_id, text.to_owned());
        match self.suspect.take() {
            Some(suspect) if gives(&self.base.chain) => {
                self.refuse_chain(&suspect.checkpoint, suspect.expected);
            }
            Some(suspect) => self.refuse_interval(suspect),
            None => {}
        }
        self.surplus = checkpoint.granules.map(|granules| granules as i64 - self.granules as i64);
        self.base = Line::after(Some(&checkpoint));
        self.base.granules = self.granules;
    }

    fn suspect_gives(&self, gives: impl Fn(&Chain) -> bool) -> bool {
        self.suspect.as_ref().is_some_and(|suspect| gives(&suspect.line.chain))
    }

    /// Compares the rows after the last checkpoint with the identifier of the latest instance.
    fn finish(mut self, latest: Identifier) -> Result<(Findings, u64)> {
        while let Some(checkpoint) = self.stored.next_before(None)? {
            self.refuse_not_held(checkpoint);
        }
        if let Some(suspect) = self.suspect.take() {
            if self.base.chain.identifier() == latest {
                self.refuse_chain(&suspect.checkpoint, suspect.expected);
            } else {
                self.refuse_interval(suspect);
            }
        }
        if let Some(after) = self.base.after.take()
            && !self.rows_agree
            && self.base.chain.identifier() != latest
        {
            let text = "after this granule, up to the last one, the registry has other granules than the identifier of the latest instance was computed from";
            self.add("interval", after.as_str(), text.to_owned());
        }
        Ok((self.findings, self.steps))
    }

    fn add(&mut self, cause: &str, granule_id: &str, text: String) {
        let name = quoted(granule_id).to_string();
        let granule = Some(granule_id.to_owned());
        self.findings.add_of_cause(cause.to_owned(), MAX_LISTED, ("checkpoints", &name), || {
            Finding { code: Code::Checkpoint, timestamp: None, granule, text }
        });
    }
}
