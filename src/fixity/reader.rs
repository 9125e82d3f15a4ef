//! Reads one file after the other: a small one at once, a large one on a second thread that reads ahead.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::digest::Digests;
use super::root::{FileState, Refusal, Root};
use crate::model::{Algorithm, Checksum};

/// The bytes that are read at once. A file that is not larger is read and hashed on one thread: handing
/// it over would take longer than hashing it.
const CHUNK_BYTES: usize = 256 * 1_024;

/// The chunks that are read ahead of a large file.
const CHUNKS_AHEAD: usize = 8;

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
    /// Its metadata changed, not its size or the time of its bytes.
    Touched,
    /// It was written.
    Written,
}

/// Reports how many bytes were read since the last call.
pub(super) trait Meter {
    fn count(&mut self, bytes: u64);
}

/// Reads files with one thread that hashes, and one that reads ahead.
pub(super) struct Reader {
    root: Arc<Root>,
    is_stopped: Arc<AtomicBool>,
    buffer: Vec<u8>,
    ahead: Option<Ahead>,
}

impl Reader {
    /// A reader of files below `root`, until `is_stopped`.
    pub fn new(root: Arc<Root>, is_stopped: Arc<AtomicBool>) -> Self {
        Reader { root, is_stopped, buffer: Vec::new(), ahead: None }
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
        let is_small = before.size <= CHUNK_BYTES as u64;
        let read = match is_small {
            true => self.hash_small(&file, before.size, &mut digests, meter),
            false => self.hash_large(&file, before.size, &mut digests, meter),
        };
        read.map_err(|error| Refusal::of(&error))?;
        let after = FileState::of(&file)?;
        let size = digests.size();
        let stability = match () {
            () if after.is_written_since(&before) || size != before.size => Stability::Written,
            () if after.is_touched_since(&before) => Stability::Touched,
            () => Stability::Same,
        };
        Ok(Reading::Content(Content { size, checksums: digests.finish(), stability }))
    }

    fn hash_small(
        &mut self,
        mut file: &File,
        size: u64,
        digests: &mut Digests,
        meter: &mut impl Meter,
    ) -> io::Result<()> {
        self.buffer.resize(CHUNK_BYTES, 0);
        while let Some(read) = read_chunk(&mut file, digests.size(), size, &mut self.buffer)? {
            digests.update(&self.buffer[..read]);
            meter.count(read as u64);
        }
        Ok(())
    }

    fn hash_large(
        &mut self,
        file: &File,
        size: u64,
        digests: &mut Digests,
        meter: &mut impl Meter,
    ) -> io::Result<()> {
        if self.ahead.is_none() {
            self.ahead = Some(Ahead::start(Arc::clone(&self.is_stopped))?);
        }
        let ahead = self.ahead.as_ref().ok_or(io::ErrorKind::Other)?;
        ahead.files.send((file.try_clone()?, size)).map_err(|_| lost())?;
        loop {
            match ahead.chunks.recv().map_err(|_| lost())? {
                Chunk::End(result) => return result,
                Chunk::Bytes(buffer, read) => {
                    digests.update(&buffer[..read]);
                    meter.count(read as u64);
                    // The thread that reads has ended if nothing takes the buffer.
                    let _ = ahead.spare.send(buffer);
                }
            }
        }
    }
}

/// Reads the bytes that follow the first `done` of a file of `size` bytes. `None` means its end, or that
/// it is larger by now, which ends the reading: it may grow as fast as it is read.
fn read_chunk(
    file: &mut impl Read,
    done: u64,
    size: u64,
    buffer: &mut [u8],
) -> io::Result<Option<usize>> {
    if done > size {
        return Ok(None);
    }
    loop {
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return Ok(Some(read?).filter(|read| *read > 0)),
        }
    }
}

fn lost() -> io::Error {
    io::Error::other("the thread that reads ahead has ended")
}

/// A thread that reads large files ahead of the one that hashes them.
struct Ahead {
    /// The next file, and its size.
    files: SyncSender<(File, u64)>,
    chunks: Receiver<Chunk>,
    /// Buffers that can be filled again.
    spare: SyncSender<Vec<u8>>,
}

enum Chunk {
    Bytes(Vec<u8>, usize),
    /// The end of a file, or why it cannot be read further.
    End(io::Result<()>),
}

impl Ahead {
    fn start(is_stopped: Arc<AtomicBool>) -> io::Result<Self> {
        let (files, files_to_read) = sync_channel::<(File, u64)>(1);
        let (chunks_read, chunks) = sync_channel(CHUNKS_AHEAD);
        let (spare, spares) = sync_channel(2 * CHUNKS_AHEAD);
        let read = move || {
            for (file, size) in files_to_read {
                let result = read_ahead(file, size, &chunks_read, &spares, &is_stopped);
                if chunks_read.send(Chunk::End(result)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().spawn(read)?;
        Ok(Ahead { files, chunks, spare })
    }
}

fn read_ahead(
    mut file: File,
    size: u64,
    chunks: &SyncSender<Chunk>,
    spares: &Receiver<Vec<u8>>,
    is_stopped: &AtomicBool,
) -> io::Result<()> {
    // The kernel reads further ahead, too. That it does not is no error.
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Sequential);
    let mut done = 0;
    loop {
        if is_stopped.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let mut buffer = spares.try_recv().unwrap_or_else(|_| vec![0; CHUNK_BYTES]);
        let Some(read) = read_chunk(&mut file, done, size, &mut buffer)? else { return Ok(()) };
        done += read as u64;
        if chunks.send(Chunk::Bytes(buffer, read)).is_err() {
            return Ok(());
        }
    }
}
