//! The segments of a log: its files.

use serde::{Deserialize, Serialize};

use crate::model::{LineCheck, Timestamp};

/// A segment is complete with the line that takes it past this length.
const SEGMENT_BYTES: u64 = 4 * 1_024 * 1_024;

/// One file of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Segment {
    /// Its length.
    pub bytes: u64,
    /// The time of its first change. `None` means that it has none yet.
    pub timestamp: Option<Timestamp>,
    /// The check of its last line.
    pub check: LineCheck,
}

impl Segment {
    /// Whether it is complete: no line is ever added to it again.
    pub fn is_sealed(&self) -> bool {
        self.bytes > SEGMENT_BYTES
    }

    /// The name of the file of the segment with this zero-based number.
    pub fn file_name(index: usize) -> String {
        format!("{index:06}.jsonl")
    }
}

/// The segments of a log: a function of the lengths of its lines, so that everyone divides a log at
/// the same places.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Segments(pub Vec<Segment>);

impl Segments {
    /// Adds a line.
    pub fn add(&mut self, bytes: u64, timestamp: Option<Timestamp>, check: LineCheck) {
        match self.0.last_mut().filter(|last| !last.is_sealed()) {
            Some(last) => {
                last.bytes += bytes;
                last.timestamp = last.timestamp.or(timestamp);
                last.check = check;
            }
            None => self.0.push(Segment { bytes, timestamp, check }),
        }
    }

    /// The length of all of them.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|segment| segment.bytes).sum()
    }

    /// Whether they can be those of a log whose last line has this check: all but the last one are
    /// complete.
    pub fn end_with(&self, check: LineCheck) -> bool {
        let are_sealed = self.0.iter().rev().skip(1).all(Segment::is_sealed);
        let total = self.0.iter().try_fold(0_u64, |sum, it| sum.checked_add(it.bytes));
        are_sealed && total.is_some() && self.0.last().is_some_and(|last| last.check == check)
    }
}
