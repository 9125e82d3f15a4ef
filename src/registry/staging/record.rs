//! The encoding of events in memory.

use std::cmp::Ordering;
use std::io;
use std::sync::Arc;

use crate::disk::scratch;
use crate::error::{Error, Result};
use crate::model::{Event, EventKind, GranuleId, SourceLocation, Timestamp};

/// The order in which events are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::registry) enum SortBy {
    /// By granule, time and kind, deletions first: as the rows of granules are stored.
    #[default]
    Granule,
    /// By time, kind and granule, ingests first: as the changes of a log are written.
    Time,
}

/// Encodes that there is no source location.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Encodes a source location that is an argument of the command line.
pub(super) const ARGUMENT: u32 = u32::MAX - 1;

/// The bytes before the ids: kind, time, source, line, and the lengths of the two ids.
pub(super) const HEADER_BYTES: usize = 1 + 8 + 4 + 8 + 2 + 2;

/// What is encoded before the ids.
pub(super) struct Header {
    pub kind: u8,
    pub at: i64,
    /// The number of the source, [`NOWHERE`] or [`ARGUMENT`].
    pub source: u32,
    pub line: u64,
    /// The length of the id, in bytes.
    pub granule_id: usize,
    /// The length of the producer's id. 0 means that it is the same.
    pub producer: usize,
}

impl Header {
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = self.kind;
        bytes[1..9].copy_from_slice(&self.at.to_le_bytes());
        bytes[9..13].copy_from_slice(&self.source.to_le_bytes());
        bytes[13..21].copy_from_slice(&self.line.to_le_bytes());
        // An id has at most 1,024 bytes, so both lengths fit.
        bytes[21..23].copy_from_slice(&(self.granule_id as u16).to_le_bytes());
        bytes[23..25].copy_from_slice(&(self.producer as u16).to_le_bytes());
        bytes
    }
}

/// Appends an event of these ids; the producer's is empty if it is the same. The source location is
/// the number of the source and the line.
pub(super) fn encode(
    bytes: &mut Vec<u8>,
    (at, kind): (i64, EventKind),
    [granule_id, producer]: [&str; 2],
    (source, line): (u32, u64),
) {
    let header = Header {
        kind: u8::from(kind == EventKind::Ingested),
        at,
        source,
        line,
        granule_id: granule_id.len(),
        producer: producer.len(),
    };
    bytes.extend(header.encode());
    bytes.extend(granule_id.as_bytes());
    bytes.extend(producer.as_bytes());
}

/// An encoded event, which may be followed by further bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a>(pub &'a [u8]);

impl<'a> Record<'a> {
    fn array<const N: usize>(self, at: usize) -> [u8; N] {
        let bytes = self.0.get(at..at + N).and_then(|bytes| bytes.try_into().ok());
        bytes.unwrap_or([0; N])
    }

    pub fn kind_byte(self) -> u8 {
        self.array::<1>(0)[0]
    }

    pub fn kind(self) -> EventKind {
        if self.kind_byte() == 1 { EventKind::Ingested } else { EventKind::Deleted }
    }

    pub fn at(self) -> i64 {
        i64::from_le_bytes(self.array(1))
    }

    /// The number of the source, [`NOWHERE`] or [`ARGUMENT`].
    pub fn source(self) -> u32 {
        u32::from_le_bytes(self.array(9))
    }

    pub fn line(self) -> u64 {
        u64::from_le_bytes(self.array(13))
    }

    fn lengths(self) -> (usize, usize) {
        let length = |at| usize::from(u16::from_le_bytes(self.array(at)));
        (length(21), length(23))
    }

    pub fn granule_id(self) -> &'a [u8] {
        self.0.get(HEADER_BYTES..HEADER_BYTES + self.lengths().0).unwrap_or_default()
    }

    /// The producer's id. Empty if it is the same.
    pub fn producer(self) -> &'a [u8] {
        let (granule_id, producer) = self.lengths();
        let start = HEADER_BYTES + granule_id;
        self.0.get(start..start + producer).unwrap_or_default()
    }

    pub fn compare(self, other: Record<'_>, by: SortBy) -> Ordering {
        let times = || self.at().cmp(&other.at());
        let kinds = || self.kind().cmp(&other.kind());
        let ids = || self.granule_id().cmp(other.granule_id());
        match by {
            SortBy::Granule => ids().then_with(times).then_with(kinds),
            SortBy::Time => times().then_with(|| kinds().reverse()).then_with(ids),
        }
    }

    /// The event without the bytes that follow it.
    pub fn whole(self) -> Self {
        let (granule_id, producer) = self.lengths();
        Record(self.0.get(..HEADER_BYTES + granule_id + producer).unwrap_or(self.0))
    }

    pub fn decode(self, sources: &[Arc<str>]) -> Result<Event> {
        let id = |bytes: &[u8]| GranuleId::from_bytes(bytes).map_err(|_| unreadable());
        let producer = self.producer();
        let line = self.line();
        let location = match self.source() {
            NOWHERE => None,
            ARGUMENT => Some(SourceLocation::Argument { number: line }),
            source => {
                let source = sources.get(source as usize).ok_or_else(unreadable)?;
                Some(SourceLocation::Line { source: Arc::clone(source), line })
            }
        };
        Ok(Event {
            granule_id: id(self.granule_id())?,
            at: Timestamp::from_micros(self.at()).ok_or_else(unreadable)?,
            kind: self.kind(),
            producer_granule: (!producer.is_empty()).then(|| id(producer)).transpose()?,
            location,
        })
    }
}

/// The error for a temporary file that does not contain what was written to it.
fn unreadable() -> Error {
    scratch::unusable("read", io::ErrorKind::InvalidData.into())
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
