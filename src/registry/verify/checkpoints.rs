//! Compares the checkpoints with the granules now held.

use super::checkpoint_pages::CheckpointPages;
use super::finding::readable;
use crate::model::{Checkpoint, Identifier};
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

    /// Compares the next checkpoint with the granule that it should follow: the chain up to that
    /// granule, and the number of granules in the chain.
    pub fn compare(&mut self, granule_id: &str, chain: Identifier, granules: u64) -> Result<()> {
        if !matches!(self.state, State::Agree) {
            return Ok(());
        }
        match readable(self.stored.next_at(granule_id))? {
            Ok(Some(checkpoint)) if agrees(&checkpoint, chain, granules) => {
                self.last_agreeing = Some(Checkpoint { granules: Some(granules), ..checkpoint });
            }
            Ok(_) => self.state = State::Differ,
            Err(error) => self.state = State::Unreadable(error),
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

fn agrees(checkpoint: &Checkpoint, chain: Identifier, granules: u64) -> bool {
    checkpoint.chain == chain && checkpoint.granules.is_none_or(|counted| counted == granules)
}
