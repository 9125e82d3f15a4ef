//! The records of a staging, and the sorted runs of them that are kept in a temporary file.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::READ_AHEAD_BYTES;
use crate::disk::scratch;
use crate::error::Result;
use crate::model::{
    Content, EncodedFiles, Event, EventKind, GranuleId, SourceLocation, Timestamp,
};

/// The order in which events are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::registry) enum SortBy {
    /// By granule, time and kind, deletions first: as the rows of granules are stored.
    #[default]
    Granule,
    /// By time, side and granule: as the changes of a log are written.
    Time,
}

/// The place of a kind in a line of a log.
fn side(kind: EventKind) -> u8 {
    match kind {
        EventKind::Ingested => 0,
        EventKind::Deleted => 1,
        EventKind::Described => 2,
        EventKind::Replaced => 3,
    }
}

/// Encodes that there is no source location.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Encodes a source location that is an argument of the command line.
pub(super) const ARGUMENT: u32 = u32::MAX - 1;

/// The bytes before the ids: kind, time, source, line, and the lengths of the two ids and of the content.
pub(super) const HEADER_BYTES: usize = 1 + 8 + 4 + 8 + 2 + 2 + 4;

/// Encodes that nothing is stated of the files of a granule. What is stated has one more byte than this
/// number says, so that a statement may be empty.
const NO_CONTENT: u32 = 0;

/// Where the length of the content is.
const CONTENT_AT: usize = HEADER_BYTES - 4;

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
    /// The length of the content, and one more. 0 means that nothing is stated.
    pub content: u32,
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
        bytes[25..29].copy_from_slice(&self.content.to_le_bytes());
        bytes
    }
}

/// Appends an event of these ids; the producer's is empty if it is the same. The source location is
/// the number of the source and the line. What is stated has at most [`Content::MAX_BYTES`] bytes.
pub(super) fn encode(
    bytes: &mut Vec<u8>,
    (at, kind): (i64, EventKind),
    [granule_id, producer]: [&str; 2],
    (source, line): (u32, u64),
    files: Option<EncodedFiles<'_>>,
) {
    let header = Header {
        kind: kind as u8,
        at,
        source,
        line,
        granule_id: granule_id.len(),
        producer: producer.len(),
        content: files.map_or(NO_CONTENT, |files| files.as_bytes().len() as u32 + 1),
    };
    bytes.extend(header.encode());
    bytes.extend(granule_id.as_bytes());
    bytes.extend(producer.as_bytes());
    bytes.extend(files.unwrap_or_default().as_bytes());
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
        match self.kind_byte() {
            1 => EventKind::Ingested,
            2 => EventKind::Described,
            3 => EventKind::Replaced,
            _ => EventKind::Deleted,
        }
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

    /// What is stated of the files, encoded. `None` means that nothing is.
    pub fn content(self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(self.array(CONTENT_AT)).checked_sub(1)? as usize;
        let (granule_id, producer) = self.lengths();
        let start = HEADER_BYTES + granule_id + producer;
        self.0.get(start..start + length)
    }

    pub fn compare(self, other: Record<'_>, by: SortBy) -> Ordering {
        let times = || self.at().cmp(&other.at());
        let kinds = || self.kind().cmp(&other.kind());
        let sides = || side(self.kind()).cmp(&side(other.kind()));
        let ids = || self.granule_id().cmp(other.granule_id());
        match by {
            SortBy::Granule => ids().then_with(times).then_with(kinds),
            SortBy::Time => times().then_with(sides).then_with(ids),
        }
    }

    /// The event without the bytes that follow it.
    pub fn whole(self) -> Self {
        let (granule_id, producer) = self.lengths();
        let content = self.content().map_or(0, <[u8]>::len);
        let end = HEADER_BYTES + granule_id + producer + content;
        Record(self.0.get(..end).unwrap_or(self.0))
    }

    pub fn decode(self, sources: &[Arc<str>]) -> Result<Event> {
        let id = |bytes: &[u8]| GranuleId::from_bytes(bytes).map_err(|_| scratch::unreadable());
        let content = |bytes| Content::decode(bytes).ok_or_else(scratch::unreadable);
        let producer = self.producer();
        let line = self.line();
        let location = match self.source() {
            NOWHERE => None,
            ARGUMENT => Some(SourceLocation::Argument { number: line }),
            source => {
                let source = sources.get(source as usize).ok_or_else(scratch::unreadable)?;
                Some(SourceLocation::Line { source: Arc::clone(source), line })
            }
        };
        Ok(Event {
            granule_id: id(self.granule_id())?,
            at: Timestamp::from_micros(self.at()).ok_or_else(scratch::unreadable)?,
            kind: self.kind(),
            producer_granule: (!producer.is_empty()).then(|| id(producer)).transpose()?,
            content: self.content().map(content).transpose()?,
            location,
        })
    }
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

/// The bits of the kind.
const KIND: u8 = 3;
/// The time differs from that of the event before.
const HAS_TIME: u8 = 4;
/// The source differs.
const HAS_SOURCE: u8 = 8;
/// The line is not the one after that of the event before.
const HAS_LINE: u8 = 16;
const HAS_PRODUCER: u8 = 32;
const HAS_CONTENT: u8 = 64;

/// Writes an event after another one, which is empty for the first event of a run. Returns the
/// number of bytes.
pub(super) fn write_after(
    previous: &[u8],
    next: Record<'_>,
    bytes: &mut Vec<u8>,
    file: &mut impl Write,
) -> io::Result<u64> {
    bytes.clear();
    let (before, previous) = (previous, Record(previous));
    let is_first = before.is_empty();
    let flag = |flag, is_set| if is_set { flag } else { 0 };
    let follows = next.line() == previous.line().wrapping_add(1);
    let flags = next.kind_byte()
        | flag(HAS_TIME, is_first || next.at() != previous.at())
        | flag(HAS_SOURCE, is_first || next.source() != previous.source())
        | flag(HAS_LINE, is_first || !follows)
        | flag(HAS_PRODUCER, !next.producer().is_empty())
        | flag(HAS_CONTENT, next.content().is_some());
    let (id, before) = (next.granule_id(), previous.granule_id());
    let start = id.iter().zip(before).take_while(|(a, b)| a == b).count();
    let (rest, rest_before) = (&id[start..], &before[start..]);
    let ends = rest.iter().rev().zip(rest_before.iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    let own = &rest[..rest.len() - end];
    bytes.push(flags);
    // An id has at most 1,024 bytes.
    for length in [start, own.len(), end] {
        bytes.extend((length as u16).to_le_bytes());
    }
    bytes.extend(own);
    if flags & HAS_TIME != 0 {
        bytes.extend(next.at().to_le_bytes());
    }
    if flags & HAS_SOURCE != 0 {
        bytes.extend(next.source().to_le_bytes());
    }
    if flags & HAS_LINE != 0 {
        bytes.extend(next.line().to_le_bytes());
    }
    if flags & HAS_PRODUCER != 0 {
        bytes.extend((next.producer().len() as u16).to_le_bytes());
        bytes.extend(next.producer());
    }
    if let Some(content) = next.content() {
        bytes.extend((content.len() as u32).to_le_bytes());
        bytes.extend(content);
    }
    file.write_all(bytes)?;
    Ok(bytes.len() as u64)
}

/// Reads the next event into `record`, which contains the one before, and is empty before the first.
/// `false` means that the run ends.
pub(super) fn read_after(record: &mut Vec<u8>, file: &mut impl Read) -> io::Result<bool> {
    let mut flags = [0];
    if file.read(&mut flags)? == 0 {
        return Ok(false);
    }
    let [flags] = flags;
    let lengths: [u8; 6] = array_from(file)?;
    let length = |at: usize| usize::from(u16::from_le_bytes([lengths[at], lengths[at + 1]]));
    let [start, own, end] = [length(0), length(2), length(4)];
    let previous = Record(record);
    let (mut at, mut source, mut line) =
        (previous.at(), previous.source(), previous.line().wrapping_add(1));
    let before = previous.granule_id().len();
    let Some(last) = before.checked_sub(end).filter(|_| start <= before) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    // The parts that both ids share stay in the record: only what is between them is read.
    record.resize(HEADER_BYTES + before, 0);
    let (from, to) = (HEADER_BYTES + start, HEADER_BYTES + start + own);
    let granule_id = start + own + end;
    record.resize(HEADER_BYTES + before.max(granule_id), 0);
    record.copy_within(HEADER_BYTES + last..HEADER_BYTES + before, to);
    record.truncate(HEADER_BYTES + granule_id);
    file.read_exact(&mut record[from..to])?;
    if flags & HAS_TIME != 0 {
        at = i64::from_le_bytes(array_from(file)?);
    }
    if flags & HAS_SOURCE != 0 {
        source = u32::from_le_bytes(array_from(file)?);
    }
    if flags & HAS_LINE != 0 {
        line = u64::from_le_bytes(array_from(file)?);
    }
    let mut producer = 0;
    if flags & HAS_PRODUCER != 0 {
        producer = usize::from(u16_from(file)?);
        record.resize(HEADER_BYTES + granule_id + producer, 0);
        file.read_exact(&mut record[HEADER_BYTES + granule_id..])?;
    }
    let mut content = NO_CONTENT;
    if flags & HAS_CONTENT != 0 {
        let length = u32::from_le_bytes(array_from(file)?);
        let start = record.len();
        record.resize(start + length as usize, 0);
        file.read_exact(&mut record[start..])?;
        content = length.checked_add(1).ok_or(io::ErrorKind::InvalidData)?;
    }
    let kind = flags & KIND;
    let header = Header { kind, at, source, line, granule_id, producer, content };
    record[..HEADER_BYTES].copy_from_slice(&header.encode());
    Ok(true)
}

fn u16_from(file: &mut impl Read) -> io::Result<u16> {
    Ok(u16::from_le_bytes(array_from(file)?))
}

fn array_from<const N: usize>(file: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The runs that were written, and one that may be being written.
#[derive(Debug, Default)]
pub(super) struct Spill {
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Written(Written),
    Writing(JoinHandle<Result<Written>>),
    /// The error was returned already.
    Failed,
}

impl Default for State {
    fn default() -> Self {
        State::Written(Written::default())
    }
}

/// The runs, and a buffer that can be filled again.
#[derive(Debug, Default)]
struct Written {
    runs: Runs,
    spare: Buffer,
}

/// Runs in a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs {
    /// `None` means that there are none.
    pub file: Option<Arc<File>>,
    pub runs: Vec<Range<u64>>,
    /// The last event of the last run: a buffer that begins after it continues that run.
    last: Vec<u8>,
}

impl Spill {
    /// Writes a buffer, as a new run or as the continuation of the last one, while the caller fills
    /// the buffer that is returned.
    ///
    /// # Errors
    ///
    /// The buffer before cannot be written.
    pub fn write(&mut self, mut buffer: Buffer, by: SortBy) -> Result<Buffer> {
        let Written { mut runs, spare } = finish(self.state())?;
        let write = move || {
            runs.write(&buffer, by)?;
            buffer.clear();
            Ok(Written { runs, spare: buffer })
        };
        let thread = std::thread::Builder::new().spawn(write);
        let thread = thread.map_err(|source| scratch::unusable("write", source))?;
        *self.state() = State::Writing(thread);
        Ok(spare)
    }

    /// The runs, once all are written.
    ///
    /// # Errors
    ///
    /// As [`Spill::write`].
    pub fn runs(&self) -> Result<Runs> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Written { runs, .. } = finish(&mut state)?;
        *state = State::Written(Written { runs: runs.clone(), spare: Buffer::default() });
        Ok(runs)
    }

    fn state(&mut self) -> &mut State {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for what is being written, and takes it out of the state.
fn finish(state: &mut State) -> Result<Written> {
    match std::mem::replace(state, State::Failed) {
        State::Written(written) => Ok(written),
        State::Writing(thread) => {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }
        State::Failed => {
            let source = io::Error::other("an earlier attempt failed");
            Err(scratch::unusable("write", source))
        }
    }
}

impl Runs {
    fn write(&mut self, buffer: &Buffer, by: SortBy) -> Result<()> {
        let order = buffer.order(by);
        let (Some(&first), Some(&last)) = (order.first(), order.last()) else { return Ok(()) };
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(self.file.insert(Arc::new(scratch::file()?))),
        };
        let continues = Record(&self.last).compare(buffer.record(first), by).is_le();
        let before = if continues { self.last.as_slice() } else { &[] };
        let written = append(&file, before, order.iter().map(|&start| buffer.record(start)))
            .map_err(|source| scratch::unusable("write", source))?;
        match self.runs.last_mut().filter(|_| continues) {
            Some(run) => run.end = written.end,
            None => self.runs.push(written),
        }
        self.last = buffer.record(last).0.to_vec();
        Ok(())
    }
}

/// Appends events to a file, the first one after `previous`. Returns where they are.
fn append<'a>(
    mut file: &'a File,
    mut previous: &'a [u8],
    events: impl Iterator<Item = Record<'a>>,
) -> io::Result<Range<u64>> {
    let begin = file.seek(SeekFrom::End(0))?;
    let mut writer = BufWriter::with_capacity(READ_AHEAD_BYTES, file);
    let (mut end, mut bytes) = (begin, Vec::new());
    for event in events {
        end += write_after(previous, event, &mut bytes, &mut writer)?;
        previous = event.0;
    }
    writer.flush()?;
    Ok(begin..end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_run_is_read_as_it_was_written(
            events in prop::collection::vec(
                ("[a-cé]{1,6}", "[a-c]{0,3}", any::<bool>(), -2_i64..2, 0_u32..3, 0_u64..4,
                    prop::option::of("[0-9]{0,9}")), 0..50),
        ) {
            let records: Vec<Vec<u8>> = events.iter().map(|(id, producer, kind, at, source, line, content)| {
                let header = Header {
                    kind: u8::from(*kind),
                    at: *at,
                    source: *source,
                    line: *line,
                    granule_id: id.len(),
                    producer: producer.len(),
                    content: content.as_ref().map_or(NO_CONTENT, |it| it.len() as u32 + 1),
                };
                let content = content.as_deref().unwrap_or_default();
                [&header.encode(), id.as_bytes(), producer.as_bytes(), content.as_bytes()].concat()
            }).collect();
            let (mut file, mut written, mut previous) = (Vec::new(), 0, &[][..]);
            for record in &records {
                written += write_after(previous, Record(record), &mut Vec::new(), &mut file).unwrap();
                previous = record;
            }
            prop_assert_eq!(written, file.len() as u64);
            let (mut rest, mut record) = (file.as_slice(), Vec::new());
            for expected in &records {
                prop_assert!(read_after(&mut record, &mut rest).unwrap());
                prop_assert_eq!(&record, expected);
            }
            prop_assert!(!read_after(&mut record, &mut rest).unwrap());
        }
    }
}
