//! Encoded events in memory.

use super::record::{Record, SortBy};

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
