//! Reads and hashes files on several threads, and returns the results in the order of the input. Some threads
//! read while others hash, and the kernel reads ahead for each.
//!
//! The threads start files in order, so the started files are always the first ones, and the results are a
//! prefix without a gap. At most [`WINDOW`] files are read from the input ahead of the next result, so the
//! memory does not depend on their number.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::check::{CheckedFile, FileProblem, Purpose, ReadFile, RecordedFile, Stability};
use super::digest::Digests;

use super::root::{FileState, Root};
use crate::error::{Error, Result};
use crate::model::Algorithm;
use crate::registry::{self, InOrder, Progress, Watcher};

/// The number of files that are read from the input ahead of the next result. While a thread reads a large
/// file, the others can read this many small ones.
const WINDOW: usize = 4_096;

/// The number of bytes, and of files, after which the observer is called.
const REPORTED_BYTES: u64 = 1_024 * 1_024;
const REPORTED_FILES: u64 = 256;

/// The number of bytes that are read at once.
const CHUNK_BYTES: usize = 256 * 1_024;

/// Reads and hashes files.
struct Reader {
    root: Arc<Root>,
    is_stopped: Arc<AtomicBool>,
    buffer: Vec<u8>,
}

impl Reader {
    /// A reader of files below `root`. It stops when `is_stopped` is set.
    pub fn new(root: Arc<Root>, is_stopped: Arc<AtomicBool>) -> Self {
        Reader { root, is_stopped, buffer: vec![0; CHUNK_BYTES] }
    }

    /// Computes the checksums of a file. Without algorithms, only its metadata is read. A file whose size
    /// differs from the expected one is not read. `count` is called with the number of bytes of each read.
    fn read(
        &mut self,
        path: &str,
        algorithms: &[Algorithm],
        expected: Option<u64>,
        count: &impl Fn(u64),
    ) -> Result<ReadFile, FileProblem> {
        let seen =
            |size| ReadFile { size, bytes: 0, checksums: Vec::new(), stability: Stability::Same };
        if algorithms.is_empty() {
            return Ok(seen(self.root.find(path)?.size));
        }
        let (file, before) = self.root.open_file(path)?;
        if expected.is_some_and(|expected| expected != before.size) {
            return Ok(seen(before.size));
        }
        let mut digests = Digests::new(algorithms);
        let read = self.hash(&file, before.size, &mut digests, count);
        read.map_err(|error| FileProblem::of_error(&error))?;
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
        Ok(ReadFile { size, bytes: size, checksums: digests.finish(), stability })
    }

    /// Hashes a file of this size, to its end or until the work is stopped.
    fn hash(
        &mut self,
        mut file: &File,
        size: u64,
        digests: &mut Digests,
        count: &impl Fn(u64),
    ) -> io::Result<()> {
        // If the kernel does not read further ahead, that is no error.
        #[cfg(target_os = "linux")]
        if size > CHUNK_BYTES as u64 {
            let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Sequential);
        }
        // A file that has grown is not read to its end, because it may grow as fast as it is read.
        while digests.size() <= size && !self.is_stopped.load(Ordering::Relaxed) {
            match file.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(0) => break,
                Ok(read) => {
                    digests.update(&self.buffer[..read]);
                    count(read as u64);
                }
            }
        }
        Ok(())
    }
}

/// The options for reading files.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions {
    /// The number of files that are read in parallel.
    pub jobs: NonZeroUsize,
    /// The time after which no file is started, except the first ones. Started files are finished. `None` means
    /// that all files are read.
    pub begin_until: Option<Instant>,
    /// The number of files that are started in any case, so that repeated short runs make progress.
    pub at_least: u64,
}

impl ReadOptions {
    /// Reads all files. `jobs` is the number that are read in parallel; `None` means the number of cores.
    pub fn new(jobs: impl Into<Option<NonZeroUsize>>) -> Self {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let jobs = jobs.into().unwrap_or(cores);
        ReadOptions { jobs, begin_until: None, at_least: 1 }
    }
}

/// Files that are being read. When this is dropped, started files are not finished.
///
/// The iterator ends after an error, or after the first file that was not started in time. If reading was
/// cancelled, the last item is that error.
pub struct FileReader<I> {
    files: InOrder<Reads, I>,
    has_ended: bool,
}

impl<I> fmt::Debug for FileReader<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileReader").finish_non_exhaustive()
    }
}

/// Reads files one by one.
struct Reads {
    root: Arc<Root>,
    purpose: Purpose,
    options: ReadOptions,
    watcher: Watcher,
    /// The readers that are not in use.
    readers: Mutex<Vec<Reader>>,
    is_stopped: Arc<AtomicBool>,
    /// The numbers of bytes and files that were not yet reported to the observer.
    bytes: AtomicU64,
    files: AtomicU64,
}

impl registry::Task for Reads {
    type Job = RecordedFile;
    /// `None` means that the file was not started in time, or that reading was stopped.
    type Done = Option<CheckedFile>;

    const WINDOW: usize = WINDOW;

    fn work(&self, number: u64, file: RecordedFile) -> Option<CheckedFile> {
        let ReadOptions { begin_until, at_least, .. } = self.options;
        let is_late =
            number >= at_least && begin_until.is_some_and(|until| Instant::now() >= until);
        if is_late || self.is_stopped() {
            return None;
        }
        let mut reader = self
            .readers()
            .pop()
            .unwrap_or_else(|| Reader::new(Arc::clone(&self.root), Arc::clone(&self.is_stopped)));
        let read = self.purpose.algorithms(&file).map(|algorithms| {
            reader.read(&file.path, &algorithms, file.size, &|bytes| self.count(bytes, 0))
        });
        if self.is_stopped() {
            return None;
        }
        self.readers().push(reader);
        self.count(0, 1);
        Some(CheckedFile::of(file, &self.purpose, read))
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

impl Reads {
    fn readers(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn count(&self, bytes: u64, files: u64) {
        let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let files = self.files.fetch_add(files, Ordering::Relaxed) + files;
        if bytes >= REPORTED_BYTES || files >= REPORTED_FILES {
            self.report();
        }
    }

    /// Reports the bytes that were read since the last report.
    fn report(&self) {
        let bytes = self.bytes.swap(0, Ordering::Relaxed);
        self.files.store(0, Ordering::Relaxed);
        self.watcher.report(Progress::Advance(bytes));
        if self.watcher.is_cancelled() {
            registry::Task::stop(self);
        }
    }
}

impl<I: Iterator<Item = Result<RecordedFile>>> FileReader<I> {
    /// Begins to read files below a root. Every file is read once, for all its checksums.
    ///
    /// # Performance
    ///
    /// The memory does not depend on the number or the size of the files: about 3 MiB for each job, and 4,096
    /// files of the input.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io): no thread can be started. The items have the errors of the
    /// input; [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted) means that the work was cancelled.
    pub fn start(
        root: &Arc<Root>,
        files: I,
        purpose: Purpose,
        options: ReadOptions,
        watcher: &Watcher,
    ) -> Result<Self> {
        let jobs = options.jobs.get();
        let reads = Reads {
            root: Arc::clone(root),
            purpose,
            options,
            watcher: watcher.clone(),
            readers: Mutex::default(),
            is_stopped: Arc::default(),
            bytes: AtomicU64::new(0),
            files: AtomicU64::new(0),
        };
        Ok(FileReader { files: InOrder::of(jobs, reads, files)?, has_ended: false })
    }

    /// Waits until the next file is finished, or for at most a time. Returns whether [`FileReader::next`] would
    /// return at once.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        self.has_ended || self.files.wait(at_most)
    }
}

impl<I: Iterator<Item = Result<RecordedFile>>> Iterator for FileReader<I> {
    type Item = Result<CheckedFile>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let next = self.files.next().and_then(Result::transpose);
        self.has_ended = !matches!(next, Some(Ok(_)));
        let reads = self.files.task();
        if next.is_none() {
            reads.report();
        }
        match next {
            None if reads.is_stopped() => Some(Err(Error::interrupted())),
            next => next,
        }
    }
}
