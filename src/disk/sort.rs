//! The external merge sort.
//!
//! Entries are added to a buffer. A full buffer is sorted and appended to an unlinked temporary file as a
//! *run*, while the next buffer is filled. Reading merges the runs with the entries that are still in the
//! buffer. Entries that are added in order form a single run, whatever their number, so the file is written and
//! read once and nothing is sorted.
//!
//! The file contains only the difference of each entry to the previous one. For a key, this is the part between
//! the common prefix and the common suffix; for a value, the part after the common prefix.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::scratch::{self, FileSection};
use crate::error::Result;

/// The size in bytes at which the entries in memory are written as a run. There are two buffers: one is filled
/// while the other is written.
const BUFFER_BYTES: usize = 8 * 1_024 * 1_024;

/// The number of bytes that are read ahead in each run, and that are written at once.
const READ_AHEAD_BYTES: usize = 32 * 1_024;

/// Entries of a key and a value. They are added in any order, and can be read several times in the order of
/// their keys. Entries with the same key are read in the order in which they were added. A reader returns the
/// entries that were added before it was created, even if others are added meanwhile.
#[derive(Debug)]
pub struct Sorter {
    /// Readers share the buffer. It is copied if an entry is added while a reader still uses it.
    buffer: Arc<Buffer>,
    spill: Spill,
    count: u64,
    buffer_bytes: usize,
}

impl Default for Sorter {
    fn default() -> Self {
        Sorter::with_buffer(BUFFER_BYTES)
    }
}

impl Sorter {
    pub(crate) fn with_buffer(buffer_bytes: usize) -> Self {
        Sorter { buffer: Arc::default(), spill: Spill::default(), count: 0, buffer_bytes }
    }

    /// The number of entries.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds an entry, given the parts of its key and of its value.
    pub fn add(&mut self, key: &[&[u8]], value: &[&[u8]]) -> Result<()> {
        let buffer = Arc::make_mut(&mut self.buffer);
        buffer.push(key, value);
        self.count += 1;
        if buffer.bytes.len() >= self.buffer_bytes {
            self.buffer = Arc::new(self.spill.write(std::mem::take(buffer))?);
        }
        Ok(())
    }

    /// The number of runs in the temporary file.
    #[cfg(test)]
    pub(crate) fn runs(&self) -> usize {
        self.spill.runs().unwrap().runs.len()
    }
}

/// The entries of a [`Sorter`], in order.
pub struct SortedEntries {
    merge: Merge,
}

crate::model::debug_fields!(SortedEntries);

impl SortedEntries {
    pub fn of(sorter: &Sorter) -> Result<Self> {
        Ok(SortedEntries { merge: Merge::of(sorter)? })
    }
}

impl Iterator for SortedEntries {
    type Item = Result<(Box<[u8]>, Box<[u8]>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.merge.next(|key, value| Ok((key.into(), value.into())))
    }
}

/// The position of a reader in the entries of a [`Sorter`].
pub(crate) struct Merge {
    buffer: Arc<Buffer>,
    runs: Vec<Run>,
    /// The next entry of each run, except finished ones.
    heads: BinaryHeap<Reverse<Head>>,
}

impl Merge {
    /// The position before the first entry.
    pub fn of(sorter: &Sorter) -> Result<Self> {
        let Runs { file, runs: spilled, .. } = sorter.spill.runs()?;
        let buffer = Arc::clone(&sorter.buffer);
        let mut runs = Vec::new();
        if let Some(file) = file {
            for rest in spilled {
                let section = FileSection { file: Arc::clone(&file), rest };
                let file = BufReader::with_capacity(READ_AHEAD_BYTES, section);
                runs.push(Run::Spilled { file, last: Entry::default() });
            }
        }
        runs.push(Run::Buffered(buffer.order().into_iter()));
        let mut heads = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            let mut head = Head { key: Vec::new(), run: number, value: Vec::new() };
            if run.read(&buffer, &mut head)? {
                heads.push(Reverse(head));
            }
        }
        Ok(Merge { buffer, runs, heads })
    }

    /// The next entry, decoded by `decode`. `None` means that there is none.
    ///
    /// # Errors
    ///
    /// The errors of `decode`; [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot
    /// be read.
    pub fn next<T>(&mut self, decode: impl FnOnce(&[u8], &[u8]) -> Result<T>) -> Option<Result<T>> {
        let mut first = self.heads.peek_mut()?;
        let Reverse(head) = &mut *first;
        let decoded = decode(&head.key, &head.value);
        // Replacing the head with the run's next entry costs less than removing it and adding another.
        let has_next = self.runs[head.run].read(&self.buffer, head);
        if !matches!(has_next, Ok(true)) {
            PeekMut::pop(first);
        }
        Some(has_next.and(decoded))
    }
}

enum Run {
    Spilled {
        file: BufReader<FileSection>,
        /// The last entry that was read.
        last: Entry,
    },
    Buffered(std::vec::IntoIter<usize>),
}

impl Run {
    /// Reads the next entry. Returns `false` at the end.
    fn read(&mut self, buffer: &Buffer, into: &mut Head) -> Result<bool> {
        let (key, value) = match self {
            Run::Buffered(starts) => match starts.next() {
                Some(start) => buffer.entry(start),
                None => return Ok(false),
            },
            Run::Spilled { file, last } => {
                if file.buffer().is_empty() && file.get_ref().rest.is_empty() {
                    return Ok(false);
                }
                last.read_next(file).map_err(|source| scratch::unusable("read", source))?;
                (last.key.as_slice(), last.value.as_slice())
            }
        };
        into.key.clear();
        into.key.extend_from_slice(key);
        into.value.clear();
        into.value.extend_from_slice(value);
        Ok(true)
    }
}

/// The next entry of a run. It is ordered by its key and then by its run, so that entries with the same key
/// stay in the order in which they were added.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    key: Vec<u8>,
    run: usize,
    value: Vec<u8>,
}

#[derive(Debug, Clone, Default)]
struct Entry {
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Entry {
    /// Writes an entry as the difference to this one, and replaces this one with it. Returns the number of
    /// bytes.
    fn write_next(
        &mut self,
        (key, value): (&[u8], &[u8]),
        bytes: &mut Vec<u8>,
        file: &mut impl Write,
    ) -> io::Result<u64> {
        bytes.clear();
        let start = shared(key.iter(), self.key.iter());
        let (rest, rest_before) = (&key[start..], &self.key[start..]);
        let end = shared(rest.iter().rev(), rest_before.iter().rev());
        let own = &rest[..rest.len() - end];
        let value_start = shared(value.iter(), self.value.iter());
        let own_value = &value[value_start..];
        for length in [start, own.len(), end, value_start, own_value.len()] {
            write_length(length, bytes);
        }
        bytes.extend_from_slice(own);
        bytes.extend_from_slice(own_value);
        file.write_all(bytes)?;
        self.key.truncate(start);
        self.key.extend_from_slice(rest);
        self.value.truncate(value_start);
        self.value.extend_from_slice(own_value);
        Ok(bytes.len() as u64)
    }

    /// Reads the difference to this entry, and replaces this entry with the next one.
    fn read_next(&mut self, file: &mut impl Read) -> io::Result<()> {
        let mut lengths = [0; 5];
        for length in &mut lengths {
            *length = read_length(file)?;
        }
        let [start, own, end, value_start, own_value] = lengths;
        let before = self.key.len();
        let last = before.checked_sub(end).filter(|_| start <= before);
        let (Some(last), true) = (last, value_start <= self.value.len()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        // The common prefix and suffix of the keys stay. Only the part between them is read.
        let length = start + own + end;
        self.key.resize(before.max(length), 0);
        self.key.copy_within(last..before, start + own);
        self.key.truncate(length);
        file.read_exact(&mut self.key[start..start + own])?;
        self.value.resize(value_start + own_value, 0);
        file.read_exact(&mut self.value[value_start..])
    }
}

/// The number of equal bytes before the first difference.
fn shared<'a>(one: impl Iterator<Item = &'a u8>, other: impl Iterator<Item = &'a u8>) -> usize {
    one.zip(other).take_while(|(a, b)| a == b).count()
}

/// Appends a length in groups of seven bits, one a byte, least significant first.
fn write_length(mut length: usize, bytes: &mut Vec<u8>) {
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
}

fn read_length(file: &mut impl Read) -> io::Result<usize> {
    let mut length = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let mut byte = [0];
        file.read_exact(&mut byte)?;
        length |= usize::from(byte[0] & 0x7f) << shift;
        if byte[0] & 0x80 == 0 {
            return Ok(length);
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// Concatenated entries, and the position at which each begins. An entry is the lengths of its key and its
/// value, in four bytes each, and then both.
#[derive(Debug, Clone, Default)]
struct Buffer {
    bytes: Vec<u8>,
    starts: Vec<usize>,
    is_out_of_order: bool,
}

impl Buffer {
    fn push(&mut self, key: &[&[u8]], value: &[&[u8]]) {
        let start = self.bytes.len();
        for parts in [key, value] {
            let length: usize = parts.iter().map(|part| part.len()).sum();
            let length = u32::try_from(length).expect("no entry has 4 GiB");
            self.bytes.extend(length.to_le_bytes());
        }
        key.iter().chain(value).for_each(|part| self.bytes.extend_from_slice(part));
        if let Some(&previous) = self.starts.last() {
            self.is_out_of_order |= self.entry(start).0 < self.entry(previous).0;
        }
        self.starts.push(start);
    }

    /// The positions at which the entries begin, in the order of the entries.
    fn order(&self) -> Vec<usize> {
        let mut order = self.starts.clone();
        if self.is_out_of_order {
            order.sort_by(|&a, &b| self.entry(a).0.cmp(self.entry(b).0));
        }
        order
    }

    /// The key and the value of the entry that begins at a position.
    fn entry(&self, start: usize) -> (&[u8], &[u8]) {
        let (lengths, rest) = self.bytes[start..].split_at(8);
        let length = |at: usize| {
            let [a, b, c, d] = [lengths[at], lengths[at + 1], lengths[at + 2], lengths[at + 3]];
            u32::from_le_bytes([a, b, c, d]) as usize
        };
        let (key, rest) = rest.split_at(length(0));
        (key, &rest[..length(4)])
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.starts.clear();
        self.is_out_of_order = false;
    }
}

/// The written runs, and the run that is being written, if any.
#[derive(Debug, Default)]
struct Spill {
    state: Mutex<SpillState>,
}

#[derive(Debug)]
enum SpillState {
    Written(Written),
    Writing(JoinHandle<Result<Written>>),
    /// Writing failed, and the error was returned.
    Failed,
}

impl Default for SpillState {
    fn default() -> Self {
        SpillState::Written(Written::default())
    }
}

/// The written runs, and a buffer that can be filled again.
#[derive(Debug, Default)]
struct Written {
    runs: Runs,
    spare: Buffer,
}

/// Runs in a file.
#[derive(Debug, Clone, Default)]
struct Runs {
    /// `None` means that there are none.
    file: Option<Arc<File>>,
    runs: Vec<Range<u64>>,
    /// The last entry of the last run. A buffer that begins after it continues that run.
    last: Entry,
}

impl Spill {
    /// Writes a buffer on another thread, as a new run or as the continuation of the last one. Returns another
    /// buffer, which the caller can fill meanwhile.
    fn write(&mut self, mut buffer: Buffer) -> Result<Buffer> {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Written { mut runs, spare } = finish(state)?;
        let write = move || {
            runs.write(&buffer)?;
            buffer.clear();
            Ok(Written { runs, spare: buffer })
        };
        let thread = std::thread::Builder::new().spawn(write);
        *state = SpillState::Writing(thread.map_err(|source| scratch::unusable("write", source))?);
        Ok(spare)
    }

    /// The runs, after waiting for the run that is being written.
    fn runs(&self) -> Result<Runs> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Written { runs, .. } = finish(&mut state)?;
        *state = SpillState::Written(Written { runs: runs.clone(), spare: Buffer::default() });
        Ok(runs)
    }
}

/// Waits for the run that is being written, and takes the result out of the state.
fn finish(state: &mut SpillState) -> Result<Written> {
    match std::mem::replace(state, SpillState::Failed) {
        SpillState::Written(written) => Ok(written),
        SpillState::Writing(thread) => {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }
        SpillState::Failed => {
            let source = io::Error::other("an earlier attempt failed");
            Err(scratch::unusable("write", source))
        }
    }
}

impl Runs {
    fn write(&mut self, buffer: &Buffer) -> Result<()> {
        let order = buffer.order();
        let Some(&first) = order.first() else { return Ok(()) };
        let mut file = match &self.file {
            Some(file) => &**file,
            None => self.file.insert(Arc::new(scratch::file()?)),
        };
        let continues = !self.runs.is_empty() && self.last.key.as_slice() <= buffer.entry(first).0;
        if !continues {
            self.last = Entry::default();
        }
        let append = || {
            let begin = file.seek(SeekFrom::End(0))?;
            let mut writer = BufWriter::with_capacity(READ_AHEAD_BYTES, file);
            let (mut end, mut bytes) = (begin, Vec::new());
            for start in order {
                end += self.last.write_next(buffer.entry(start), &mut bytes, &mut writer)?;
            }
            writer.flush()?;
            Ok(begin..end)
        };
        let written = append().map_err(|source| scratch::unusable("write", source))?;
        match self.runs.last_mut().filter(|_| continues) {
            Some(run) => run.end = written.end,
            None => self.runs.push(written),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_are_read_as_a_stable_sort_of_what_was_added(
            mut entries in prop::collection::vec(("[a-cé]{0,6}", "[xy]{0,9}"), 0..300),
            buffer_bytes in 1_usize..2_000,
            is_sorted in any::<bool>(),
        ) {
            let mut sorted = entries.clone();
            sorted.sort_by(|one, other| one.0.cmp(&other.0));
            if is_sorted {
                entries.clone_from(&sorted);
            }
            let mut sorter = Sorter::with_buffer(buffer_bytes);
            for (key, value) in &entries {
                let (start, end) = value.as_bytes().split_at(value.len() / 2);
                sorter.add(&[key.as_bytes()], &[start, end]).unwrap();
            }
            prop_assert_eq!(sorter.count(), entries.len() as u64);
            prop_assert!(!is_sorted || sorter.runs() <= 1);
            // It can be read several times, also while entries are added.
            Merge::of(&sorter).unwrap().next(|_, _| Ok(()));
            let entries = SortedEntries::of(&sorter).unwrap();
            for value in ["between", "xy"] {
                sorter.add(&[b"b"], &[value.as_bytes()]).unwrap();
            }
            let read: Vec<(String, String)> = entries.map(|entry| {
                let (key, value) = entry.unwrap();
                let text = |bytes: Box<[u8]>| String::from_utf8(bytes.into_vec()).unwrap();
                (text(key), text(value))
            }).collect();
            prop_assert_eq!(read, sorted);
        }
    }
}
