//! Compares the stored checkpoints with the granules now held.

use super::finding::{Code, Findings, readable};
use crate::chain::{Reached, is_checkpoint};
use crate::error::{Error, Result};
use crate::model::{Checkpoint, GranuleId, Identifier, quoted};
use crate::store::{DatasetKey, Snapshot, paged};

/// The comparison of a dataset's checkpoints with its granule rows, during the pass over the rows.
///
/// It ends at the first difference, since every later chain value differs as well.
pub(super) struct Checkpoints<'read> {
    stored: Box<dyn Iterator<Item = Result<Checkpoint>> + 'read>,
    last: Option<Agreeing>,
    state: State,
}

/// A checkpoint that agrees with the rows.
struct Agreeing {
    granule_id: GranuleId,
    /// The number of granules up to it.
    granules: u64,
}

enum State {
    Agree,
    Differ(Difference),
    Unreadable(Error),
}

/// How a checkpoint differs.
enum Difference {
    /// None is stored after this granule.
    Missing(String),
    /// It is stored after an id that is not held, or that no checkpoint follows.
    Surplus(GranuleId),
    /// Its chain or its count is not that of the rows.
    Value { stored: Checkpoint, chain: Identifier, granules: u64 },
}

/// Which checkpoints agree with the granule rows.
pub(super) struct Agreement {
    last: Option<Agreeing>,
    state: State,
}

impl<'read> Checkpoints<'read> {
    pub fn of(read: &'read Snapshot, dataset: DatasetKey) -> Self {
        let stored = paged(
            // No id is empty, so every id is after the empty string.
            String::new(),
            move |after, limit| read.checkpoints_after(dataset, after, limit),
            |last| last.granule_id.to_string(),
        );
        Checkpoints { stored: Box::new(stored), last: None, state: State::Agree }
    }

    /// Compares the next stored checkpoint with the one that the rows give: the granule that it
    /// follows, and the chain and the number of granules up to that. `None` means that the rows give no
    /// further one.
    fn compare_next(&mut self, reached: Option<Reached>) -> Result<()> {
        let stored = match readable(self.stored.next().transpose())? {
            Ok(stored) => stored,
            Err(error) => {
                self.state = State::Unreadable(error);
                return Ok(());
            }
        };
        let difference = match (stored, reached) {
            (None, None) => return Ok(()),
            (None, Some(reached)) => Difference::Missing(reached.granule_id),
            (Some(stored), None) => Difference::Surplus(stored.granule_id),
            (Some(stored), Some(Reached { granule_id, identifier: chain, held: granules })) => {
                match stored.granule_id.as_str().cmp(granule_id.as_str()) {
                    std::cmp::Ordering::Less => Difference::Surplus(stored.granule_id),
                    std::cmp::Ordering::Greater => Difference::Missing(granule_id),
                    std::cmp::Ordering::Equal if agrees(&stored, chain, granules) => {
                        self.last = Some(Agreeing { granule_id: stored.granule_id, granules });
                        return Ok(());
                    }
                    std::cmp::Ordering::Equal => Difference::Value { stored, chain, granules },
                }
            }
        };
        self.state = State::Differ(difference);
        Ok(())
    }

    /// Compares the checkpoints that were reached, in order.
    pub fn compare(&mut self, reached: Vec<Reached>) -> Result<()> {
        for reached in reached {
            if matches!(self.state, State::Agree) {
                self.compare_next(Some(reached))?;
            }
        }
        Ok(())
    }

    /// Returns which checkpoints agree, after the last granule.
    pub fn finish(mut self) -> Result<Agreement> {
        if matches!(self.state, State::Agree) {
            self.compare_next(None)?;
        }
        Ok(Agreement { last: self.last, state: self.state })
    }
}

fn agrees(stored: &Checkpoint, chain: Identifier, granules: u64) -> bool {
    stored.chain == chain && stored.granules.is_none_or(|counted| counted == granules)
}

impl Agreement {
    /// The id of the last checkpoint, if all of them agree. `None` also means that there are none.
    pub fn agrees_to(&self) -> Option<&GranuleId> {
        let last = self.last.as_ref().filter(|_| matches!(self.state, State::Agree));
        last.map(|last| &last.granule_id)
    }

    /// The finding, if a checkpoint differs. `rows_agree` states that the rows give the identifier of
    /// the latest instance; then the rows are correct, and the checkpoint is wrong. `None` means that
    /// there is no instance.
    pub fn findings(self, rows_agree: Option<bool>) -> Findings {
        let mut findings = Findings::default();
        let difference = match self.state {
            State::Agree => return findings,
            State::Unreadable(error) => {
                findings.add_unreadable("the checkpoints cannot be read", &error);
                return findings;
            }
            State::Differ(difference) => difference,
        };
        let Some(rows_agree) = rows_agree else {
            let text = "there are checkpoints, but no history".to_owned();
            findings.add(Code::Checkpoint, None, None, text);
            return findings;
        };
        let (granule_id, text) = match difference {
            Difference::Missing(granule_id) => {
                (granule_id, "the checkpoint after this granule is missing".to_owned())
            }
            Difference::Surplus(granule_id) => {
                let text = match is_checkpoint(granule_id.as_str()) {
                    false => "no checkpoint belongs after this granule",
                    true => "a checkpoint is stored after this granule, which is not held",
                };
                (granule_id.to_string(), text.to_owned())
            }
            Difference::Value { stored, chain, granules } => {
                let text = if stored.chain == chain {
                    let counted = stored.granules.unwrap_or(granules);
                    format!(
                        "the checkpoint after this granule counts {counted} granules, but its chain has {granules}"
                    )
                } else if rows_agree {
                    let stored = stored.chain;
                    format!(
                        "the checkpoint after this granule is {stored}, but the granule rows give {chain}"
                    )
                } else {
                    other_granules(self.last.as_ref(), stored.granules, granules)
                };
                (stored.granule_id.to_string(), text)
            }
        };
        findings.add(Code::Checkpoint, None, Some(&granule_id), text);
        findings
    }
}

/// Describes the rows after the last checkpoint that agrees, up to the first one that does not.
fn other_granules(last: Option<&Agreeing>, counted: Option<u64>, granules: u64) -> String {
    let between = match last {
        Some(last) => {
            let last = quoted(last.granule_id.as_str());
            format!("after {last}, up to and including this granule,")
        }
        None => "up to and including this granule".to_owned(),
    };
    let before = last.map_or(0, |last| last.granules);
    let rows = granules - before;
    match counted.map(|counted| counted as i64 - before as i64) {
        Some(counted) if counted == rows as i64 => format!(
            "{between} the registry has other granules than the checkpoint was computed from, in the same number: {rows}"
        ),
        Some(counted) => format!(
            "{between} the registry has {rows} granules where the checkpoint counts {counted}"
        ),
        None => format!(
            "{between} the registry has other granules than the checkpoint was computed from"
        ),
    }
}
