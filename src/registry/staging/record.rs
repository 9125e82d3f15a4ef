//! The encoding of an event.

use std::io;
use std::sync::Arc;

use crate::disk::scratch;
use crate::model::{EventKind, GranuleId, SourceLocation, Timestamp};
use crate::registry::error::{Error, Result};

/// The ingest or the deletion of a granule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::registry) struct Staged {
    pub granule_id: GranuleId,
    pub at: Timestamp,
    pub kind: EventKind,
    pub producer_granule: Option<GranuleId>,
    pub location: Option<SourceLocation>,
}

/// Encodes that there is no source location.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Encodes a source location that is an argument of the command line.
pub(super) const ARGUMENT: u32 = u32::MAX - 1;

/// The bytes before the ids: kind, time, source, line, and the lengths of the two ids.
pub(super) const HEADER_BYTES: usize = 1 + 8 + 4 + 8 + 2 + 2;

/// The ids of an event.
pub(super) struct Ids<'a> {
    pub granule_id: &'a [u8],
    /// Empty if it is the same.
    pub producer: &'a [u8],
}

impl Ids<'_> {
    /// Appends an event: its kind, its time, and the number of its source with the line.
    pub fn encode(&self, bytes: &mut Vec<u8>, kind: u8, at: i64, (source, line): (u32, u64)) {
        let Ids { granule_id, producer } = self;
        bytes.push(kind);
        bytes.extend(at.to_le_bytes());
        bytes.extend(source.to_le_bytes());
        bytes.extend(line.to_le_bytes());
        // An id has at most 1,024 bytes, so both lengths fit.
        bytes.extend((granule_id.len() as u16).to_le_bytes());
        bytes.extend((producer.len() as u16).to_le_bytes());
        bytes.extend(*granule_id);
        bytes.extend(*producer);
    }
}

/// Appends an event, whose source location is the number of its source and its line.
pub(super) fn encode(bytes: &mut Vec<u8>, event: &Staged, location: (u32, u64)) {
    let granule_id = event.granule_id.as_str().as_bytes();
    let producer = event.producer_granule.as_ref().map_or("", GranuleId::as_str).as_bytes();
    let kind = u8::from(event.kind == EventKind::Ingested);
    Ids { granule_id, producer }.encode(bytes, kind, event.at.as_micros(), location);
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

    /// The key by which events are sorted.
    pub fn key(self) -> (&'a [u8], i64, EventKind) {
        (self.granule_id(), self.at(), self.kind())
    }

    /// The event without the bytes that follow it.
    pub fn whole(self) -> Self {
        let (granule_id, producer) = self.lengths();
        Record(self.0.get(..HEADER_BYTES + granule_id + producer).unwrap_or(self.0))
    }

    pub fn decode(self, sources: &[Arc<str>]) -> Result<Staged> {
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
        Ok(Staged {
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
    scratch::unusable("read", io::ErrorKind::InvalidData.into()).into()
}
