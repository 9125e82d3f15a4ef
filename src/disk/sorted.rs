//! Keys and values that are added in any order and read in the order of the keys.
//!
//! A full buffer is sorted and appended to a temporary file as a *run*; reading merges the runs with what is
//! still in the buffer, so the memory does not depend on their number. What is added in order is written
//! and read as it is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

use super::{Section, scratch};
use crate::error::Result;

/// Bytes that are kept in memory before they are written as a run.
const BUFFER_BYTES: usize = 16 * 1_024 * 1_024;

/// Bytes that are read ahead in each run.
const READ_AHEAD_BYTES: usize = 32 * 1_024;

/// A key and its value.
pub(crate) type Entry = (Box<[u8]>, Box<[u8]>);

/// Entries that are sorted: a few in memory, more of them in a temporary file.
#[derive(Debug)]
pub(crate) struct Sorter {
    buffer: Vec<Entry>,
    used: usize,
    limit: usize,
    /// `None` means that there are no runs.
    file: Option<Arc<File>>,
    runs: Vec<Range<u64>>,
}

impl Default for Sorter {
    fn default() -> Self {
        Sorter::with_buffer(BUFFER_BYTES)
    }
}

impl Sorter {
    fn with_buffer(limit: usize) -> Self {
        Sorter { buffer: Vec::new(), used: 0, limit, file: None, runs: Vec::new() }
    }

    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be written.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.buffer.push((key.into(), value.into()));
        self.used += key.len() + value.len() + size_of::<Entry>();
        if self.used < self.limit {
            return Ok(());
        }
        self.spill()
    }

    fn spill(&mut self) -> Result<()> {
        self.buffer.sort();
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(Arc::new(scratch::file()?)),
        };
        let start = self.runs.last().map_or(0, |run| run.end);
        let end = write_run(file, start, &self.buffer);
        self.runs.push(start..end.map_err(|source| scratch::unusable("write", source))?);
        self.buffer.clear();
        self.used = 0;
        Ok(())
    }

    /// The entries in the order of their keys, and those with the same key in the order of their values.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be read.
    pub fn finish(mut self) -> Result<Sorted> {
        self.buffer.sort();
        let mut runs: Vec<Run> = Vec::new();
        if let Some(file) = &self.file {
            for rest in self.runs {
                let section = Section { file: Arc::clone(file), rest };
                runs.push(Run::Spilled(BufReader::with_capacity(READ_AHEAD_BYTES, section)));
            }
        }
        runs.push(Run::Buffered(self.buffer.into_iter()));
        let mut sorted = Sorted { runs, heads: BinaryHeap::new() };
        for run in 0..sorted.runs.len() {
            sorted.advance(run)?;
        }
        Ok(sorted)
    }
}

fn write_run(file: &File, start: u64, entries: &[Entry]) -> io::Result<u64> {
    let mut file = BufWriter::new(file);
    file.seek(SeekFrom::Start(start))?;
    let mut end = start;
    for (key, value) in entries {
        for bytes in [key, value] {
            file.write_all(&(bytes.len() as u64).to_le_bytes())?;
            file.write_all(bytes)?;
            end += 8 + bytes.len() as u64;
        }
    }
    file.flush()?;
    Ok(end)
}

enum Run {
    Spilled(BufReader<Section>),
    Buffered(std::vec::IntoIter<Entry>),
}

impl Run {
    fn read(&mut self) -> io::Result<Option<Entry>> {
        let file = match self {
            Run::Buffered(entries) => return Ok(entries.next()),
            Run::Spilled(file) => file,
        };
        if file.buffer().is_empty() && file.get_ref().rest.is_empty() {
            return Ok(None);
        }
        let mut bytes = || {
            let mut length = [0; 8];
            file.read_exact(&mut length)?;
            let length = usize::try_from(u64::from_le_bytes(length));
            let mut bytes = vec![0; length.map_err(|_| io::ErrorKind::InvalidData)?];
            file.read_exact(&mut bytes)?;
            Ok::<_, io::Error>(bytes.into_boxed_slice())
        };
        Ok(Some((bytes()?, bytes()?)))
    }
}

/// The entries of a [`Sorter`], in order.
pub(crate) struct Sorted {
    runs: Vec<Run>,
    /// The next entry of each run that has one.
    heads: BinaryHeap<Reverse<(Entry, usize)>>,
}

impl Sorted {
    /// Reads the next entry of a run.
    fn advance(&mut self, run: usize) -> Result<()> {
        let entry = self.runs[run].read().map_err(|source| scratch::unusable("read", source))?;
        self.heads.extend(entry.map(|entry| Reverse((entry, run))));
        Ok(())
    }
}

impl Iterator for Sorted {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        let Reverse((entry, run)) = self.heads.pop()?;
        Some(self.advance(run).map(|()| entry))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_are_read_in_order(
            mut entries in prop::collection::vec(("[a-c]{0,3}", "[xy]{0,2}"), 0..200),
            limit in 1_usize..3_000,
        ) {
            let mut sorter = Sorter::with_buffer(limit);
            for (key, value) in &entries {
                sorter.add(key.as_bytes(), value.as_bytes()).unwrap();
            }
            entries.sort();
            let read: Vec<(String, String)> = sorter.finish().unwrap().map(|entry| {
                let (key, value) = entry.unwrap();
                let text = |bytes: Box<[u8]>| String::from_utf8(bytes.into_vec()).unwrap();
                (text(key), text(value))
            }).collect();
            prop_assert_eq!(read, entries);
        }
    }
}
