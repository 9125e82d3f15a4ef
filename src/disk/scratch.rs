//! Temporary files: their directory, and records that are read in the order in which they were written.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::SpooledTempFile;

use super::atomic_file::{self, Lock};
use crate::error::{Error, ErrorKind, Result};
use crate::model::quoted;

/// The directory in which temporary files are created.
pub fn directory() -> PathBuf {
    std::env::temp_dir()
}

/// The directory in which SQLite creates its temporary files (`unixTempFileDir` in os_unix.c).
pub fn directory_of_sqlite() -> PathBuf {
    let named = ["SQLITE_TMPDIR", "TMPDIR"].into_iter().filter_map(std::env::var_os);
    let usual = ["/var/tmp", "/usr/tmp", "/tmp"].map(Into::into);
    let mut directories = named.chain(usual).map(PathBuf::from);
    directories.find(|candidate| candidate.is_dir()).unwrap_or_else(directory)
}

/// Creates an empty temporary file, which is deleted when it is closed.
///
/// # Errors
///
/// [`ErrorKind::Temporary`]: the directory does not exist, cannot be written, or is full.
pub fn file() -> Result<File> {
    file_in(&directory())
}

/// The number of bytes that a spool holds in memory.
const SPOOL_BYTES: usize = 256 * 1_024;

/// A buffer in memory, which becomes a temporary file when it grows longer than `SPOOL_BYTES`.
pub fn spool() -> SpooledTempFile {
    SpooledTempFile::new_in(SPOOL_BYTES, directory())
}

/// A temporary directory, which is removed when it is dropped.
pub struct ScratchDirectory {
    path: PathBuf,
    // Dropped last, so that remaining files are locked until then.
    _lock: Lock,
}

crate::model::debug_fields!(ScratchDirectory: path);

impl ScratchDirectory {
    /// Creates an empty directory that only the user of the process can read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`]: the directory for temporary files does not exist, cannot be written, or is
    /// full.
    pub fn new() -> Result<Self> {
        let create = || {
            let lock = Lock::new(&directory())?;
            Ok(ScratchDirectory { path: lock.new_directory()?, _lock: lock })
        };
        create().map_err(|source: io::Error| created(&directory(), source))
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Removes the temporary directories of processes that no longer exist.
pub fn remove_leftovers() {
    atomic_file::remove(&directory());
}

/// The error for a temporary file that cannot be read or written; `verb` is `"read"` or `"write"`.
pub fn unusable(verb: &'static str, source: io::Error) -> Error {
    cannot(verb, &directory(), source)
}

/// The error for a temporary file that does not contain what was written to it.
pub fn unreadable() -> Error {
    unusable("read", io::ErrorKind::InvalidData.into())
}

/// Like [`file`], in a directory.
pub fn file_in(directory: &Path) -> Result<File> {
    tempfile::tempfile_in(directory).map_err(|source| created(directory, source))
}

fn created(directory: &Path, source: io::Error) -> Error {
    // The name of the temporary file is left out: the user did not choose it.
    cannot("create", directory, source.kind().into())
}

fn cannot(verb: &str, directory: &Path, source: io::Error) -> Error {
    let message = format!(
        "cannot {verb} a temporary file in the directory {} (the environment variable TMPDIR names another)",
        quoted(&directory.to_string_lossy())
    );
    Error::new(ErrorKind::Temporary, message).because(source)
}

/// The number of bytes in memory above which they are written to the temporary file.
const MAX_IN_MEMORY: usize = 64 * 1_024;

/// Records in the order in which they were added. The memory does not depend on their number.
#[derive(Debug, Default)]
pub struct Spool {
    /// The last records, each after its length.
    memory: Vec<u8>,
    /// The earlier records. `None` means that there are none.
    file: Option<Arc<File>>,
    file_bytes: u64,
    count: u64,
}

impl Spool {
    /// Adds a record. Returns its position, for [`Spool::record_at`].
    pub fn add(&mut self, record: &[u8]) -> Result<u64> {
        let at = self.file_bytes + self.memory.len() as u64;
        self.memory.extend((record.len() as u64).to_le_bytes());
        self.memory.extend(record);
        self.count += 1;
        if self.memory.len() > MAX_IN_MEMORY {
            // The buffer is freed, since it may be large after a long record.
            let bytes = std::mem::take(&mut self.memory);
            let file = match &self.file {
                Some(file) => file,
                None => self.file.insert(Arc::new(file()?)),
            };
            let mut file = &**file;
            file.seek(SeekFrom::Start(self.file_bytes))
                .and_then(|_| file.write_all(&bytes))
                .map_err(|source| unusable("write", source))?;
            self.file_bytes += bytes.len() as u64;
        }
        Ok(at)
    }

    /// Adds a value, for [`Spool::values`]. Returns its position, for [`Spool::value_at`].
    pub(crate) fn add_value(&mut self, value: &impl Serialize) -> Result<u64> {
        self.add(&record_of(value)?)
    }

    /// Reads the value at a position.
    pub(crate) fn value_at<T: DeserializeOwned>(&self, at: u64) -> Result<T> {
        value_of(&self.record_at(at)?)
    }

    /// Reads all values.
    pub(crate) fn values<T: DeserializeOwned>(&self) -> impl Iterator<Item = Result<T>> + '_ {
        self.records().map(|record| value_of(&record?))
    }

    /// Reads the record at a position.
    pub fn record_at(&self, at: u64) -> Result<Vec<u8>> {
        let record = match (&self.file, at.checked_sub(self.file_bytes)) {
            (Some(file), None) => {
                read_record(&mut FileSection { file: Arc::clone(file), rest: at..self.file_bytes })
            }
            (_, within) => {
                let within = usize::try_from(within.unwrap_or(at)).unwrap_or(usize::MAX);
                read_record(&mut self.memory.get(within..).unwrap_or_default())
            }
        };
        record.map_err(|source| unusable("read", source))
    }

    /// Reads all records, while others use the spool.
    pub fn shared_records(spool: &Arc<Self>) -> impl Iterator<Item = Result<Vec<u8>>> + use<> {
        let (spool, mut at) = (Arc::clone(spool), 0);
        (0..spool.count).map(move |_| {
            let record = spool.record_at(at)?;
            // Each record is after its length, in 8 bytes.
            at += 8 + record.len() as u64;
            Ok(record)
        })
    }

    /// The number of records.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Reads all records.
    pub fn records(&self) -> SpooledRecords<'_> {
        let file = self.file.as_ref().map(|file| {
            BufReader::new(FileSection { file: Arc::clone(file), rest: 0..self.file_bytes })
        });
        SpooledRecords { file, memory: &self.memory, left: self.count }
    }
}

/// The record of a value, in JSON.
pub fn record_of(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| unusable("write", error.into()))
}

/// The value in a record.
pub fn value_of<T: DeserializeOwned>(record: &[u8]) -> Result<T> {
    serde_json::from_slice(record).map_err(|error| unusable("read", error.into()))
}

/// The records of a [`Spool`], in the order in which they were added.
pub struct SpooledRecords<'spool> {
    file: Option<BufReader<FileSection>>,
    memory: &'spool [u8],
    left: u64,
}

crate::model::debug_fields!(SpooledRecords<'_>: left);

impl SpooledRecords<'_> {
    /// Reads the next record as a value.
    pub(crate) fn value<T: DeserializeOwned>(&mut self) -> Result<T> {
        value_of(&self.next().unwrap_or_else(|| Err(unreadable()))?)
    }

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

impl Iterator for SpooledRecords<'_> {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        Some(self.read().map_err(|source| unusable("read", source)))
    }
}

/// A section of a file with its own read position, so that several sections can be read in parallel.
pub(crate) struct FileSection {
    pub file: Arc<File>,
    pub rest: Range<u64>,
}

impl Read for FileSection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.rest.end - self.rest.start).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let read = self.file.read_at(&mut buffer[..wanted], self.rest.start)?;
        if read == 0 && wanted > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.rest.start += read as u64;
        Ok(read)
    }
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
                // Two readers at once, while more records are added.
                let (all, some) = (spool.records(), spool.records().take(added / 2));
                assert_eq!(some.map(Result::unwrap).collect::<Vec<_>>(), records[..added / 2]);
                assert_eq!(all.map(Result::unwrap).collect::<Vec<_>>(), records[..=added]);
                assert!(spool.memory.len() <= MAX_IN_MEMORY);
            }
            assert_eq!(spool.count(), records.len() as u64);
        }
    }
}
