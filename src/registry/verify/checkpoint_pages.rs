//! The stored checkpoints of a dataset, in canonical order, a page at a time.

use std::collections::VecDeque;

use crate::model::{Checkpoint, GranuleId};
use crate::registry::error::Result;
use crate::store::{DatasetKey, Snapshot};

/// The number of checkpoints in a page.
const PAGE_CHECKPOINTS: u32 = 1_024;

/// The stored checkpoints of a dataset, in canonical order.
pub(super) struct CheckpointPages<'read> {
    read: &'read Snapshot,
    dataset: DatasetKey,
    page: VecDeque<Checkpoint>,
    /// The id after which the next page begins. `None` means that there are no further pages.
    after: Option<String>,
}

impl<'read> CheckpointPages<'read> {
    /// Begins after an id; `None` means at the first checkpoint.
    pub fn after(
        read: &'read Snapshot,
        dataset: DatasetKey,
        granule_id: Option<&GranuleId>,
    ) -> Self {
        // No id is empty, so every id is after the empty string.
        let after = granule_id.map_or("", GranuleId::as_str).to_owned();
        CheckpointPages { read, dataset, page: VecDeque::new(), after: Some(after) }
    }

    /// Returns the next checkpoint without taking it. `None` after the last one.
    pub fn peek(&mut self) -> Result<Option<&Checkpoint>> {
        if self.page.is_empty()
            && let Some(after) = self.after.take()
        {
            let page = self.read.checkpoints_after(self.dataset, &after, PAGE_CHECKPOINTS)?;
            self.page = page.into();
            self.after = self.page.back().map(|last| last.granule_id.to_string());
        }
        Ok(self.page.front())
    }

    /// Takes the next checkpoint if its id is before this one; `None` means whatever its id.
    pub fn next_before(&mut self, granule_id: Option<&str>) -> Result<Option<Checkpoint>> {
        let is_before = |next: &Checkpoint| {
            granule_id.is_none_or(|granule_id| next.granule_id.as_str() < granule_id)
        };
        Ok(if self.peek()?.is_some_and(is_before) { self.page.pop_front() } else { None })
    }

    /// Takes the next checkpoint if it has this id.
    pub fn next_at(&mut self, granule_id: &str) -> Result<Option<Checkpoint>> {
        let is_at = |next: &Checkpoint| next.granule_id.as_str() == granule_id;
        Ok(if self.peek()?.is_some_and(is_at) { self.page.pop_front() } else { None })
    }
}
