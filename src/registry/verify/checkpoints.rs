//! Compares the checkpoints with the granules now held.

use super::checkpoint_pages::CheckpointPages;
use super::finding::readable;
use crate::chain::Reached;
use crate::model::Checkpoint;
use crate::registry::error::Result;
use crate::store::{DatasetKey, Snapshot};

/// The comparison of a dataset's checkpoints with its granule rows, during the pass over the rows.
///
/// It ends at the first difference, since every later chain value differs as well.
pub(super) struct Checkpoints<'read> {
    stored: CheckpointPages<'read>,
    last_agreeing: Option<Checkpoint>,
    state: State,
}

enum State {
    Agree,
    Differ,
    Unreadable(crate::error::Error),
}

/// Which checkpoints agree.
pub(super) enum Agreement {
    /// All of them. The value is the last one; `None` means that there are no checkpoints.
    Full(Option<Checkpoint>),
    /// Those up to this one, but not the next. `None` means that the first one does not agree.
    UpTo(Option<Checkpoint>),
    /// The checkpoints cannot be read.
    Unreadable(crate::error::Error),
}

impl<'read> Checkpoints<'read> {
    pub fn of(read: &'read Snapshot, dataset: DatasetKey) -> Self {
        let stored = CheckpointPages::after(read, dataset, None);
        Checkpoints { stored, last_agreeing: None, state: State::Agree }
    }

    /// Compares the next checkpoints with those that the rows give.
    pub fn compare(&mut self, reached: &[Reached]) -> Result<()> {
        for reached in reached {
            if !matches!(self.state, State::Agree) {
                break;
            }
            match readable(self.stored.next_at(&reached.granule_id))? {
                Ok(Some(checkpoint)) if agrees(&checkpoint, reached) => {
                    let granules = Some(reached.held);
                    self.last_agreeing = Some(Checkpoint { granules, ..checkpoint });
                }
                Ok(_) => self.state = State::Differ,
                Err(error) => self.state = State::Unreadable(error),
            }
        }
        Ok(())
    }

    /// Returns which checkpoints agree, after the last granule.
    pub fn finish(mut self) -> Result<Agreement> {
        if matches!(self.state, State::Agree) {
            match readable(self.stored.next_before(None))? {
                Ok(None) => {}
                Ok(Some(_)) => self.state = State::Differ,
                Err(error) => self.state = State::Unreadable(error),
            }
        }
        Ok(match self.state {
            State::Agree => Agreement::Full(self.last_agreeing),
            State::Differ => Agreement::UpTo(self.last_agreeing),
            State::Unreadable(error) => Agreement::Unreadable(error),
        })
    }
}

fn agrees(checkpoint: &Checkpoint, reached: &Reached) -> bool {
    checkpoint.chain == reached.identifier
        && checkpoint.granules.is_none_or(|counted| counted == reached.held)
}
