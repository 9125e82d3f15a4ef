//! Files that are sent: whole lists of ids and of checksums, which are written, and proved, once, and what
//! mirrors read.
//!
//! The files of lists have no names, so that nothing is left of them when the process ends. What a list has
//! does not depend on the state of the registry, only on its name; whether it is shown does, which the caller
//! checks. One client has a list written, and others wait for it; when that client hangs up, the next of them
//! begins again.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::config::ServerLimits;
use super::permits::Deadline;
use super::problem::Problem;
use accession::disk::scratch;
use accession::error::{Error, ErrorKind};

/// How many lists of usual length the cache has.
const USUAL_LISTS: usize = 32;

/// The bytes for which one permit is.
const PERMIT_BYTES: u64 = 1_024;

/// How much of a file is read at once, and is in memory for each client that reads slowly.
const PART_BYTES: u64 = 128 * 1_024;

/// How many parts of lists are kept in memory: those that are sent again and again are not read each time.
const KEPT_PARTS: usize = 128;

/// Parts of lists, each by the digest of the list and by where it begins.
type Parts = Cache<([u8; 32], u64), Bytes>;

/// A file that is complete, and does not change.
#[derive(Debug)]
pub struct Stored {
    file: File,
    /// Its length.
    pub bytes: u64,
    /// The SHA-256 of its bytes.
    pub sha256: [u8; 32],
    /// How much was left out of it, as its writer has counted.
    pub left_out: u64,
    /// Where its parts are kept. `None` means that they are not.
    parts: Option<Arc<Parts>>,
    /// Room on the disk, which is given back when the last client has read it. `None` means that the file
    /// belongs to somebody else.
    _room: Option<OwnedSemaphorePermit>,
}

impl Stored {
    /// The first bytes of a file that stays the same, with their SHA-256.
    pub fn new(file: File, bytes: u64, sha256: [u8; 32]) -> Self {
        Stored { file, bytes, sha256, left_out: 0, parts: None, _room: None }
    }

    /// What of a range is in the part that has its beginning. A part that is not in memory is read on a
    /// thread on which a disk may be waited for.
    ///
    /// # Errors
    ///
    /// It has fewer bytes than its length says, or the disk fails.
    pub async fn part(self: Arc<Self>, range: Range<u64>) -> io::Result<Bytes> {
        let begin = range.start - range.start % PART_BYTES;
        let key = (self.sha256, begin);
        let known = self.parts.as_ref().and_then(|parts| parts.get(&key));
        let part = match known {
            Some(part) => part,
            None => {
                let file = Arc::clone(&self);
                let read = tokio::task::spawn_blocking(move || file.read(begin)).await;
                let part = read.map_err(io::Error::other)??;
                if let Some(parts) = &self.parts {
                    parts.insert(key, part.clone());
                }
                part
            }
        };
        let within = |at: u64| usize::try_from(at - begin).unwrap_or(part.len()).min(part.len());
        Ok(part.slice(within(range.start)..within(range.end)))
    }

    /// Reads the part that begins at a place.
    fn read(&self, begin: u64) -> io::Result<Bytes> {
        let bytes = PART_BYTES.min(self.bytes - begin);
        let mut content = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut content, begin)?;
        Ok(content.into())
    }
}

/// The lists that were asked for last. They take half of the room; the other half is for those that are being
/// written, and those that were removed while clients read them.
pub struct Files {
    /// Where the files are. `None` means the directory for temporary files.
    directory: Option<PathBuf>,
    room: Arc<Semaphore>,
    kept: Cache<String, Arc<Stored>, Permits>,
    parts: Arc<Parts>,
}

/// How many permits a list has.
#[derive(Debug, Clone)]
struct Permits;

impl Weighter<String, Arc<Stored>> for Permits {
    fn weight(&self, _: &String, list: &Arc<Stored>) -> u64 {
        list.bytes.div_ceil(PERMIT_BYTES).max(1)
    }
}

/// Why a list was not written.
pub enum Unwritten {
    /// The file cannot be written, or not in time.
    File(io::Error),
    /// The list cannot be read, or does not prove.
    List(Problem),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Unwritten::File(error)
    }
}

impl From<Error> for Unwritten {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Interrupted => Unwritten::File(io::ErrorKind::TimedOut.into()),
            _ => Unwritten::List(error.into()),
        }
    }
}

impl Files {
    /// No lists yet, in a directory or in that for temporary files.
    pub fn new(directory: Option<PathBuf>, limits: &ServerLimits) -> Self {
        let permits = limits.cache_bytes / PERMIT_BYTES;
        let all = usize::try_from(permits).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Files {
            directory,
            room: Arc::new(Semaphore::new(all)),
            kept: Cache::with_weighter(USUAL_LISTS, permits / 2, Permits),
            parts: Arc::new(Cache::new(KEPT_PARTS)),
        }
    }

    /// A list by its name, which has all that decides its bytes. `write` writes it, once it has one of the
    /// permits, unless it is there. `None` means that it could not be written in this time, or that there is
    /// no room for it.
    ///
    /// # Errors
    ///
    /// Those of `write` about the list.
    pub async fn get(
        &self,
        name: &str,
        permits: Arc<Semaphore>,
        time: Duration,
        write: impl FnOnce(&mut Writer) -> Result<(), Unwritten> + Send + 'static,
    ) -> Result<Option<Arc<Stored>>, Problem> {
        let list = self.kept.get_or_insert_async(name, self.written(permits, time, write));
        match tokio::time::timeout(time, list).await {
            Ok(Ok(list)) => Ok(Some(list)),
            Ok(Err(Unwritten::List(problem))) => Err(problem),
            Ok(Err(Unwritten::File(error))) => {
                tracing::warn!(cause = %error, "a list could not be kept");
                Ok(None)
            }
            Err(_) => Ok(None),
        }
    }

    /// Has a list written on a thread of its own, until this is dropped.
    async fn written(
        &self,
        permits: Arc<Semaphore>,
        time: Duration,
        write: impl FnOnce(&mut Writer) -> Result<(), Unwritten> + Send + 'static,
    ) -> Result<Arc<Stored>, Unwritten> {
        let permit = permits.acquire_owned().await.map_err(io::Error::other)?;
        let deadline = Deadline::after(time);
        let _waiting = deadline.waiting();
        let (directory, room) = (self.directory.clone(), Arc::clone(&self.room));
        let parts = Arc::clone(&self.parts);
        let work = move || {
            let _permit = permit;
            let file = match &directory {
                None => scratch::file(),
                Some(directory) => scratch::file_in(directory),
            };
            let file = file.map_err(|error| io::Error::other(error.with_causes()))?;
            let mut writer = Writer {
                file: BufWriter::with_capacity(256 * 1_024, file),
                sha256: Sha256::new(),
                bytes: 0,
                left_out: 0,
                held: Arc::clone(&room).try_acquire_many_owned(0).map_err(io::Error::other)?,
                room,
                deadline,
            };
            write(&mut writer)?;
            Ok(Arc::new(Stored { parts: Some(parts), ..writer.finish()? }))
        };
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
    }
}

/// A list that is being written.
pub struct Writer {
    file: BufWriter<File>,
    sha256: Sha256,
    bytes: u64,
    /// How much was left out of the list.
    pub left_out: u64,
    held: OwnedSemaphorePermit,
    room: Arc<Semaphore>,
    /// When writing must have ended.
    pub deadline: Arc<Deadline>,
}

impl Writer {
    fn finish(self) -> io::Result<Stored> {
        let Writer { file, sha256, bytes, left_out, held, .. } = self;
        let file = file.into_inner().map_err(|error| error.into_error())?;
        let sha256 = sha256.finalize().into();
        Ok(Stored { file, bytes, sha256, left_out, parts: None, _room: Some(held) })
    }
}

impl Write for Writer {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        // Not `Interrupted`, after which writing is tried again.
        if self.deadline.is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.bytes += part.len() as u64;
        let lacking = self.bytes.div_ceil(PERMIT_BYTES) - self.held.num_permits() as u64;
        let lacking = u32::try_from(lacking).map_err(io::Error::other)?;
        let more = Arc::clone(&self.room).try_acquire_many_owned(lacking);
        self.held.merge(more.map_err(|_| io::ErrorKind::StorageFull)?);
        self.sha256.update(part);
        self.file.write_all(part)?;
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// So many permits.
    fn files(permits: u64) -> Files {
        let cache_bytes = permits * PERMIT_BYTES;
        Files::new(None, &ServerLimits { cache_bytes, ..ServerLimits::default() })
    }

    fn permits() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(1))
    }

    fn left(files: &Files) -> usize {
        files.room.available_permits()
    }

    async fn get(files: &Files, name: &str, kib: usize) -> Option<Arc<Stored>> {
        let write = move |writer: &mut Writer| Ok(writer.write_all(&vec![0; kib * 1_024])?);
        files.get(name, permits(), Duration::from_secs(60), write).await.ok().flatten()
    }

    #[tokio::test]
    async fn one_task_writes_and_the_others_wait() {
        let (files, written) = (files(100), Arc::new(AtomicUsize::new(0)));
        let get = || {
            let written = Arc::clone(&written);
            let write = move |writer: &mut Writer| {
                std::thread::sleep(Duration::from_millis(50));
                written.fetch_add(1, Ordering::Relaxed);
                Ok(writer.write_all(b"a\nb\n")?)
            };
            files.get("1", permits(), Duration::from_secs(60), write)
        };
        let (one, two, three) = tokio::join!(get(), get(), get());
        for found in [one, two, three, get().await] {
            let list = found.ok().flatten().unwrap();
            assert_eq!(&list.part(0..4).await.unwrap()[..], b"a\nb\n");
        }
        assert_eq!(written.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_file_is_read_in_parts_which_are_kept_in_memory() {
        let files = files(10_000);
        let content: Vec<u8> = (0..300 * 1_024_u32).map(|at| (at / 7) as u8).collect();
        let written = content.clone();
        let write = move |writer: &mut Writer| Ok(writer.write_all(&written)?);
        let list = files.get("1", permits(), Duration::from_secs(60), write).await;
        let list = list.ok().flatten().unwrap();
        let end = content.len() as u64;
        for _ in 0..2 {
            for (range, until) in [
                (0..end, PART_BYTES),
                (PART_BYTES..end, 2 * PART_BYTES),
                (2 * PART_BYTES..end, end),
                (PART_BYTES - 1..end, PART_BYTES),
                (PART_BYTES + 5..PART_BYTES + 9, PART_BYTES + 9),
                (end - 1..end, end),
            ] {
                let part = Arc::clone(&list).part(range.clone()).await.unwrap();
                assert!(part == content[range.start as usize..until as usize], "{range:?}");
            }
            // From now on, only what is in memory is there.
            list.file.set_len(0).unwrap();
        }
        drop((list, files.kept.remove("1")));
        assert_eq!(files.parts.len(), 3);
    }

    #[tokio::test]
    async fn the_files_never_have_more_bytes_than_there_is_room_for() {
        let files = files(100);
        for number in 0..20 {
            assert_eq!(get(&files, &number.to_string(), 20).await.unwrap().bytes, 20 * 1_024);
            assert!(left(&files) >= 50, "those that are kept take half of it");
        }
        assert!(get(&files, "long", 101).await.is_none());
        assert!(left(&files) >= 50);
        // One that is too long to be kept is sent.
        drop(get(&files, "long", 60).await.unwrap());
        assert!(left(&files) >= 50);
    }

    #[tokio::test]
    async fn what_is_read_by_slow_clients_counts_until_they_have_read_it() {
        let files = files(100);
        let (one, other) = (get(&files, "1", 40).await, get(&files, "2", 40).await);
        assert!(one.is_some() && other.is_some());
        assert!(get(&files, "3", 40).await.is_none(), "both are there");
        drop((one, other));
        assert!(get(&files, "3", 40).await.is_some());
    }

    #[tokio::test]
    async fn writing_ends_when_nobody_waits_and_a_refusal_is_not_kept() {
        let files = files(1_000_000);
        let (ended, has_ended) = std::sync::mpsc::channel();
        let endless = move |writer: &mut Writer| {
            while writer.write_all(b"a").is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
            ended.send(()).unwrap();
            Ok(writer.write_all(b"a")?)
        };
        let begun = files.get("1", permits(), Duration::from_secs(60), endless);
        assert!(tokio::time::timeout(Duration::from_millis(20), begun).await.is_err());
        tokio::task::spawn_blocking(move || has_ended.recv().unwrap()).await.unwrap();
        let refuse = |_: &mut Writer| Err(Unwritten::List(Problem::internal("damaged".to_owned())));
        assert!(files.get("1", permits(), Duration::from_secs(60), refuse).await.is_err());
        assert!(get(&files, "1", 5).await.is_some());
    }
}
