//! Encoded events in memory.

use std::sync::Arc;

use super::record::{Record, SortBy, Staged};
use crate::model::EventKind;
use crate::registry::refusal::ChangeError;

/// What to do with an event that repeats another one, with the same granule, time and kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::registry) enum Repeats {
    /// Refuse it as soon as it is found.
    #[default]
    Refuse,
    /// Keep it, so that the reader can count it.
    Keep,
}

/// Encoded events, and the position at which each begins.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    pub bytes: Vec<u8>,
    pub starts: Vec<usize>,
    pub is_out_of_order: bool,
}

impl Buffer {
    /// The positions at which the events begin, in the order of the events.
    pub fn order(&self, by: SortBy) -> Vec<usize> {
        let mut order = self.starts.clone();
        if self.is_out_of_order {
            order.sort_by(|&a, &b| self.following(a).compare(self.following(b), by));
        }
        order
    }

    /// The event that begins at a position.
    pub fn record(&self, start: usize) -> Record<'_> {
        self.following(start).whole()
    }

    /// The event that begins at a position, and all that follows it.
    fn following(&self, start: usize) -> Record<'_> {
        Record(&self.bytes[start..])
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.starts.clear();
        self.is_out_of_order = false;
    }
}

/// What events are staged, and in which order they are read.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    pub by: SortBy,
    pub repeats: Repeats,
    /// The names of the sources, in the order of their numbers.
    pub sources: Vec<Arc<str>>,
}

impl Rules {
    /// Why two consecutive events cannot both be staged. `None` means that they can.
    pub fn refusal(&self, first: Record<'_>, second: Record<'_>) -> Option<ChangeError> {
        // Events that are read by time are those of stored rows.
        if self.by == SortBy::Time
            || first.granule_id() != second.granule_id()
            || first.at() != second.at()
            || first.kind() == second.kind() && self.repeats == Repeats::Keep
        {
            return None;
        }
        let decode = |record: Record<'_>| record.decode(&self.sources).ok();
        Some(refuse_pair(&decode(first)?, &decode(second)?))
    }
}

/// The error for two conflicting events of the same granule and time.
pub(in crate::registry) fn refuse_pair(first: &Staged, second: &Staged) -> ChangeError {
    let granule_id = second.granule_id.clone();
    if first.kind == second.kind {
        let producers = [&second.producer_granule, &first.producer_granule].map(Option::clone);
        return ChangeError::Twice {
            granule_id,
            location: second.location.clone(),
            first: first.location.clone(),
            producers: Box::new(producers),
        };
    }
    let (deleted, ingested) =
        if first.kind == EventKind::Deleted { (first, second) } else { (second, first) };
    ChangeError::Both {
        granule_id,
        location: deleted.location.clone(),
        first: ingested.location.clone(),
    }
}
