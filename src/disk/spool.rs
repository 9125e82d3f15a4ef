//! Records that are written once and read again: a few in memory, more of them in a temporary file.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

use super::scratch;
use crate::error::Result;

/// The bytes that are kept in memory before they are written to the temporary file.
const MAX_IN_MEMORY: usize = 64 * 1_024;

/// Records in the order in which they were added. The memory does not depend on their number.
#[derive(Debug, Default)]
pub struct Spool {
    /// The last records, each with its length before it.
    memory: Vec<u8>,
    /// The records before them. `None` means that there are none.
    file: Option<Arc<File>>,
    file_bytes: u64,
    count: u64,
}

impl Spool {
    /// Adds a record. Returns where it is, for [`Spool::record_at`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be written.
    pub fn add(&mut self, record: &[u8]) -> Result<u64> {
        let at = self.file_bytes + self.memory.len() as u64;
        self.memory.extend((record.len() as u64).to_le_bytes());
        self.memory.extend(record);
        self.count += 1;
        if self.memory.len() > MAX_IN_MEMORY {
            // A long record does not leave its buffer behind.
            let bytes = std::mem::take(&mut self.memory);
            let file = match &self.file {
                Some(file) => file,
                None => self.file.insert(Arc::new(scratch::file()?)),
            };
            let mut file = &**file;
            file.seek(SeekFrom::Start(self.file_bytes))
                .and_then(|_| file.write_all(&bytes))
                .map_err(|source| scratch::unusable("write", source))?;
            self.file_bytes += bytes.len() as u64;
        }
        Ok(at)
    }

    /// Reads the record that is there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be read.
    pub fn record_at(&self, at: u64) -> Result<Vec<u8>> {
        let record = match (&self.file, at.checked_sub(self.file_bytes)) {
            (Some(file), None) => {
                read_record(&mut Section { file: Arc::clone(file), rest: at..self.file_bytes })
            }
            (_, within) => {
                let within = usize::try_from(within.unwrap_or(at)).unwrap_or(usize::MAX);
                read_record(&mut self.memory.get(within..).unwrap_or_default())
            }
        };
        record.map_err(|source| scratch::unusable("read", source))
    }

    /// The number of records.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Reads the records, from the first one.
    pub fn records(&self) -> Records<'_> {
        let file = self.file.as_ref().map(|file| {
            BufReader::new(Section { file: Arc::clone(file), rest: 0..self.file_bytes })
        });
        Records { file, memory: &self.memory, left: self.count }
    }
}

/// The records of a [`Spool`], in the order in which they were added.
pub struct Records<'spool> {
    file: Option<BufReader<Section>>,
    memory: &'spool [u8],
    left: u64,
}

impl Records<'_> {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        // A record is either in the file or in memory.
        let is_in_file = self
            .file
            .as_ref()
            .is_some_and(|file| !file.buffer().is_empty() || !file.get_ref().rest.is_empty());
        match &mut self.file {
            Some(file) if is_in_file => read_record(file),
            _ => read_record(&mut self.memory),
        }
    }
}

fn read_record(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = usize::try_from(u64::from_le_bytes(length));
    let mut record = vec![0; length.map_err(|_| io::ErrorKind::InvalidData)?];
    from.read_exact(&mut record)?;
    Ok(record)
}

impl Iterator for Records<'_> {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        Some(self.read().map_err(|source| scratch::unusable("read", source)))
    }
}

/// A section of a file with a read position of its own, so that several can be read in parallel.
pub(crate) struct Section {
    pub file: Arc<File>,
    pub rest: Range<u64>,
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.rest.end - self.rest.start).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let read = read_at(&self.file, &mut buffer[..wanted], self.rest.start)?;
        if read == 0 && wanted > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.rest.start += read as u64;
        Ok(read)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_added_whatever_their_number_and_length() {
        let lengths = [0, 1, 7, 100, MAX_IN_MEMORY - 8, MAX_IN_MEMORY, 3 * MAX_IN_MEMORY];
        for count in [0, 1, 5, 40] {
            let records: Vec<Vec<u8>> =
                (0..count).map(|n| vec![n as u8; lengths[n * 3 % lengths.len()]]).collect();
            let (mut spool, mut places) = (Spool::default(), Vec::new());
            for (added, record) in records.iter().enumerate() {
                places.push(spool.add(record).unwrap());
                let any = added * 7 % places.len();
                assert_eq!(spool.record_at(places[any]).unwrap(), records[any]);
                // Two readers at once, while more is added afterwards.
                let (all, some) = (spool.records(), spool.records().take(added / 2));
                assert_eq!(some.map(Result::unwrap).collect::<Vec<_>>(), records[..added / 2]);
                assert_eq!(all.map(Result::unwrap).collect::<Vec<_>>(), records[..=added]);
                assert!(spool.memory.len() <= MAX_IN_MEMORY);
            }
            assert_eq!(spool.count(), records.len() as u64);
        }
    }
}
