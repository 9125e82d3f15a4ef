//! Reads and hashes one file after the other. Other threads read while one hashes, and the kernel reads
//! ahead of each.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::digest::Digests;
use super::root::{FileState, Refusal, Root};
use crate::model::{Algorithm, Checksum};

/// The bytes that are read at once.
const CHUNK_BYTES: usize = 256 * 1_024;

/// What is to be found out about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Nothing: the file is not looked at.
    Nothing,
    /// Its size. It is not opened.
    Size,
    /// Its size and its checksums of these algorithms.
    Checksums {
        algorithms: Vec<Algorithm>,
        /// The size that it should have. A file of another size is not read.
        size: Option<u64>,
    },
}

/// What was found out about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reading {
    /// It was not looked at.
    Nothing,
    /// Its size. It was not read.
    Size(u64),
    /// It was read.
    Content(Content),
    /// It cannot be read.
    Refused(Refusal),
}

/// The content of a file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    pub size: u64,
    pub checksums: Vec<Checksum>,
    pub stability: Stability,
}

/// Whether a file changed while it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stability {
    /// Nothing about it changed.
    Same,
    /// Its metadata changed, not its size or the time of its bytes, which can be set.
    Touched,
    /// It was written, or replaced.
    Written,
}

/// Reports how many bytes were read since the last call.
pub(super) trait Meter {
    fn count(&mut self, bytes: u64);
}

/// Reads and hashes files.
pub(super) struct Reader {
    root: Arc<Root>,
    is_stopped: Arc<AtomicBool>,
    buffer: Vec<u8>,
}

impl Reader {
    /// A reader of files below `root`, until `is_stopped`.
    pub fn new(root: Arc<Root>, is_stopped: Arc<AtomicBool>) -> Self {
        Reader { root, is_stopped, buffer: vec![0; CHUNK_BYTES] }
    }

    /// Finds out about a file what is wanted. `None` means that the work was stopped.
    pub fn read(&mut self, path: &str, wanted: &Wanted, meter: &mut impl Meter) -> Option<Reading> {
        let reading = match wanted {
            Wanted::Nothing => Ok(Reading::Nothing),
            Wanted::Size => self.root.find(path).map(|state| Reading::Size(state.size)),
            Wanted::Checksums { algorithms, size } => {
                self.read_content(path, algorithms, *size, meter)
            }
        };
        match self.is_stopped.load(Ordering::Relaxed) {
            true => None,
            false => Some(reading.unwrap_or_else(Reading::Refused)),
        }
    }

    fn read_content(
        &mut self,
        path: &str,
        algorithms: &[Algorithm],
        expected: Option<u64>,
        meter: &mut impl Meter,
    ) -> Result<Reading, Refusal> {
        let (file, before) = self.root.open_file(path)?;
        if expected.is_some_and(|expected| expected != before.size) {
            return Ok(Reading::Size(before.size));
        }
        let mut digests = Digests::new(algorithms);
        let read = self.hash(&file, before.size, &mut digests, meter);
        read.map_err(|error| Refusal::of(&error))?;
        let after = FileState::of(&file)?;
        let size = digests.size();
        let stability = match () {
            () if after.is_written_since(&before) || size != before.size => Stability::Written,
            // Another file was renamed to its path.
            () if !self.root.find(path).is_ok_and(|now| now.is_same_file(&after)) => {
                Stability::Written
            }
            () if after.is_touched_since(&before) => Stability::Touched,
            () => Stability::Same,
        };
        Ok(Reading::Content(Content { size, checksums: digests.finish(), stability }))
    }

    /// Hashes a file of this size, until its end or until the work is stopped.
    fn hash(
        &mut self,
        mut file: &File,
        size: u64,
        digests: &mut Digests,
        meter: &mut impl Meter,
    ) -> io::Result<()> {
        // That the kernel does not read further ahead is no error.
        #[cfg(target_os = "linux")]
        if size > CHUNK_BYTES as u64 {
            let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Sequential);
        }
        // A file that is larger by now is not read to its end: it may grow as fast as it is read.
        while digests.size() <= size && !self.is_stopped.load(Ordering::Relaxed) {
            match file.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(0) => break,
                Ok(read) => {
                    digests.update(&self.buffer[..read]);
                    meter.count(read as u64);
                }
            }
        }
        Ok(())
    }
}
