//! Saves the running identifier and the running list after some granules, where a later change resumes.

use super::target::Target;
use crate::chain::{Hashed, Reached, is_checkpoint};
use crate::error::Result;
use crate::model::{Checkpoint, GranuleId};
use crate::registry::proof;

/// The number of checkpoints that are stored at once.
const BATCH_CHECKPOINTS: usize = 256;

/// Collects checkpoints, and stores them in batches.
pub(super) struct Checkpoints<'a> {
    target: &'a Target<'a>,
    /// The number of granules held before the resume point.
    pub before: u64,
    batch: Vec<Checkpoint>,
    stored: u64,
}

impl<'a> Checkpoints<'a> {
    /// Those of a pass that resumes after so many granules.
    pub fn after(before: u64, target: &'a Target<'a>) -> Self {
        Checkpoints { target, before, batch: Vec::new(), stored: 0 }
    }

    /// Adds those that hashing has reached.
    pub fn add(&mut self, reached: Vec<Reached>) -> Result<()> {
        for Reached { granule_id, identifier, list, held } in reached {
            let granule_id =
                GranuleId::new(granule_id).map_err(|_| proof::not_an_id(&self.target.name))?;
            let (list, granules) = (list.unwrap_or_default(), self.before + held);
            self.batch.push(Checkpoint { granule_id, chain: identifier, list, granules });
        }
        if self.batch.len() >= BATCH_CHECKPOINTS { self.store().map(|_| ()) } else { Ok(()) }
    }

    /// Sets the checkpoint after the last granule, so that an append need not read the ones before it.
    pub fn add_end(&mut self, last_held: &str, hashed: &Hashed, granules: u64) -> Result<()> {
        let Some(list) = hashed.last_list() else { return Ok(()) };
        if last_held.is_empty() || is_checkpoint(last_held) {
            return Ok(());
        }
        let granule_id =
            GranuleId::new(last_held).map_err(|_| proof::not_an_id(&self.target.name))?;
        self.batch.push(Checkpoint { granule_id, chain: hashed.sweep.latest(), list, granules });
        self.store().map(|_| ())
    }

    /// Stores one again that was there before.
    pub fn put_back(&mut self, end: &Checkpoint) -> Result<()> {
        self.batch.push(end.clone());
        self.store().map(|_| ())
    }

    /// Stores the rest, and returns how many were stored in all.
    pub fn store(&mut self) -> Result<u64> {
        let Target { transaction, dataset, .. } = *self.target;
        transaction.insert(dataset, &self.batch)?;
        self.stored += self.batch.len() as u64;
        self.batch.clear();
        Ok(self.stored)
    }
}
