//! Compares the stored checkpoints with the granules now held.

use super::finding::{Code, Findings, readable};
use crate::chain::{Reached, is_checkpoint};
use crate::error::Result;
use crate::model::{Checkpoint, GranuleId, quoted};
use crate::store::{DatasetKey, View, paged};

/// The comparison of a dataset's checkpoints with its granule rows, during the pass over the rows.
///
/// It ends at the first difference, since every later chain value differs as well.
pub(super) struct Checkpoints<'read> {
    stored: Box<dyn Iterator<Item = Result<Checkpoint>> + 'read>,
    /// The id that the last checkpoint that agrees follows.
    last: Option<GranuleId>,
    findings: Findings,
}

impl<'read> Checkpoints<'read> {
    pub fn of(read: &'read View, dataset: DatasetKey) -> Self {
        let stored = paged(
            // No id is empty, so every id is after the empty string.
            String::new(),
            move |after, limit| read.checkpoints_after(dataset, after, limit),
            |last| last.granule_id.to_string(),
        );
        Checkpoints { stored: Box::new(stored), last: None, findings: Findings::default() }
    }

    /// Compares the next stored checkpoint with the one that the rows give: the granule that it
    /// follows, and the chain and the number of granules up to that. `None` means that the rows give no
    /// further one.
    fn compare_next(&mut self, reached: Option<Reached>) -> Result<()> {
        let stored = match readable(self.stored.next().transpose())? {
            Ok(stored) => stored,
            Err(error) => {
                self.findings.add_unreadable("the checkpoints cannot be read", &error);
                return Ok(());
            }
        };
        let Some(reached) = reached else {
            stored.iter().for_each(|stored| self.refuse(stored));
            return Ok(());
        };
        match stored {
            Some(stored) if stored.granule_id.as_str() < reached.granule_id.as_str() => {
                self.refuse(&stored);
            }
            Some(stored) if stored.granule_id.as_str() == reached.granule_id => {
                self.compare_values(stored, &reached);
            }
            _ => {
                let text = "the checkpoint after this granule is missing";
                self.differ(&reached.granule_id, text);
            }
        }
        Ok(())
    }

    /// Compares the checkpoints that were reached, in order.
    pub fn compare(&mut self, reached: Vec<Reached>) -> Result<()> {
        for reached in reached {
            if self.findings.is_empty() {
                self.compare_next(Some(reached))?;
            }
        }
        Ok(())
    }

    /// Returns the id of the last checkpoint, if all of them agree and there is one, and the finding, if one
    /// differs. `end` is the one after the last granule, if there is a granule.
    pub fn finish(mut self, end: Option<Reached>) -> Result<(Option<GranuleId>, Findings)> {
        self.compare(end.into_iter().filter(|end| !is_checkpoint(&end.granule_id)).collect())?;
        if self.findings.is_empty() {
            self.compare_next(None)?;
        }
        Ok((self.last.filter(|_| self.findings.is_empty()), self.findings))
    }

    /// Compares a stored checkpoint with the one that the rows give after the same granule.
    fn compare_values(&mut self, stored: Checkpoint, reached: &Reached) {
        let Reached { granule_id, identifier, list, held } = reached;
        if stored.chain != *identifier {
            let text = format!(
                "the checkpoint after this granule is {}, but the granule rows give {identifier}",
                stored.chain
            );
            self.differ(granule_id, &text);
        } else if stored.granules != *held {
            let text = format!(
                "the checkpoint after this granule counts {} granules, but its chain has {held}",
                stored.granules
            );
            self.differ(granule_id, &text);
        } else if list.as_ref().is_some_and(|list| stored.list != *list) {
            let text = "the list of the checkpoint after this granule is not that of the rows";
            self.differ(granule_id, text);
        } else {
            self.last = Some(stored.granule_id);
        }
    }

    /// Refuses a stored checkpoint where the rows give none.
    fn refuse(&mut self, stored: &Checkpoint) {
        let granule_id = stored.granule_id.as_str();
        let text = match is_checkpoint(granule_id) {
            false => "no checkpoint belongs after this granule",
            true => "a checkpoint is stored after this granule, which is not held",
        };
        self.differ(granule_id, text);
    }

    fn differ(&mut self, granule_id: &str, text: &str) {
        self.findings.add(Code::Checkpoint, None, Some(granule_id), || match &self.last {
            Some(last) => {
                let last = quoted(last.as_str());
                format!("{text}; the last checkpoint that agrees is after {last}")
            }
            None => format!("{text}; no checkpoint before it agrees"),
        });
    }
}
