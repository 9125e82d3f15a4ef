//! Whole lists of ids, and of checksums, in files: each is written, and proved, once, and compressed once.
//!
//! The files have no names, so that nothing is left of them when the process ends. What a list has does not
//! depend on the state of the registry, only on its key; whether it is shown does, which the caller
//! checks. One task fills an entry, the others wait for it; when nobody waits any more, it ends.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hashlink::LinkedHashMap;
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, watch};

use super::coding::Coding;
use super::config::Limits;
use super::problem::Problem;
use super::sending::Stored;
use crate::disk::scratch;

/// How many lists are written at the same time.
const WRITERS: usize = 2;

/// What a list depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// What its tag has: the set, the version of its format, and all else that decides its lines.
    pub name: String,
    /// How it is compressed.
    pub coding: Coding,
}

/// A list in a file.
#[derive(Debug, Clone)]
pub struct List {
    /// The file.
    pub content: Stored,
    /// The SHA-256 of its bytes.
    pub digest: [u8; 32],
    /// How much was left out of it, as its writer has counted.
    pub left_out: u64,
}

/// How long a list that is being written is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Until it is complete.
    Complete,
    /// Until it is complete, or longer than one that is waited for.
    Short,
    /// Not at all.
    Not,
}

/// What became of a list.
pub enum Found {
    /// It is complete.
    Complete(List),
    /// It is being written, as long as this is held.
    Begun(Arc<Filling>),
    /// It cannot be kept: it is longer than the cache, or the disk is full.
    Unkept,
}

/// A list that is being written.
pub struct Filling(watch::Sender<Progress>);

#[derive(Debug, Clone)]
enum Progress {
    Begun,
    /// It is longer than one that is waited for.
    Long,
    /// It has ended. `None` means that it cannot be kept.
    Ended(Result<Option<List>, Problem>),
}

/// The lists that were asked for last.
pub struct Lists {
    /// Where the files are. `None` means the directory for temporary files.
    directory: Option<PathBuf>,
    most_bytes: u64,
    /// The length up to which a list is complete before its first byte is sent.
    pub waited_bytes: u64,
    writers: Arc<Semaphore>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// In the order of their last use. `None` is a list that is longer than the cache.
    lists: LinkedHashMap<Key, Option<List>>,
    /// Every file that takes space on the disk, with its bytes: of a list that is kept, that is being written, or that
    /// was removed while clients read it.
    files: Vec<(Weak<File>, u64)>,
    filling: HashMap<Key, Weak<Filling>>,
}

/// How many lists are remembered at most.
const MAX_LISTS: usize = 4_096;

/// The file of a list that is being written.
pub struct Writer {
    lists: Arc<Lists>,
    file: BufWriter<Arc<File>>,
    sha256: Sha256,
    bytes: u64,
    filling: Weak<Filling>,
    /// How much was left out of the list.
    pub left_out: u64,
}

impl Filling {
    /// Waits until the list has been written.
    pub async fn ended(self: Arc<Self>) {
        let is_over = |progress: &Progress| matches!(progress, Progress::Ended(_));
        let _ = self.0.subscribe().wait_for(is_over).await;
    }
}

impl Writer {
    /// Whether nobody waits for the list any more.
    pub fn is_abandoned(&self) -> bool {
        self.filling.strong_count() == 0
    }

    fn finish(mut self) -> io::Result<List> {
        self.file.flush()?;
        let file = self.file.into_inner().map_err(|error| error.into_error())?;
        let content = Stored::File { file, bytes: self.bytes };
        let digest = self.sha256.finalize().into();
        Ok(List { content, digest, left_out: self.left_out })
    }
}

impl Write for Writer {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        // Not `Interrupted`, after which writing is tried again.
        if self.is_abandoned() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.bytes += part.len() as u64;
        self.lists.make_room(self.file.get_ref(), self.bytes)?;
        if self.bytes > self.lists.waited_bytes
            && let Some(filling) = self.filling.upgrade()
        {
            filling.0.send_if_modified(|progress| {
                let is_first = matches!(progress, Progress::Begun);
                if is_first {
                    *progress = Progress::Long;
                }
                is_first
            });
        }
        self.sha256.update(part);
        self.file.write_all(part)?;
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Why a list was not written.
pub enum Unwritten {
    /// The file cannot be written.
    File(io::Error),
    /// The list cannot be read, or does not prove.
    List(Problem),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Unwritten::File(error)
    }
}

impl From<crate::Error> for Unwritten {
    fn from(error: crate::Error) -> Self {
        Unwritten::List(error.into())
    }
}

impl Lists {
    /// No lists yet, in a directory or in that for temporary files.
    pub fn new(directory: Option<PathBuf>, limits: &Limits) -> Self {
        let Limits { cache_bytes: most_bytes, waited_bytes, .. } = *limits;
        Lists {
            directory,
            most_bytes,
            waited_bytes,
            writers: Arc::new(Semaphore::new(WRITERS)),
            kept: Mutex::default(),
        }
    }

    /// A list, which `write` writes unless it is there, or is being written for another client.
    ///
    /// # Errors
    ///
    /// Those of `write` about the list.
    pub async fn get(
        self: &Arc<Self>,
        key: Key,
        wait: Wait,
        write: impl FnOnce(&mut Writer) -> Result<(), Unwritten> + Send + 'static,
    ) -> Result<Found, Problem> {
        let filling = {
            let mut kept = self.kept();
            match kept.lists.to_back(&key) {
                Some(Some(list)) => return Ok(Found::Complete(list.clone())),
                Some(None) => return Ok(Found::Unkept),
                None => {}
            }
            match kept.filling.get(&key).and_then(Weak::upgrade) {
                Some(filling) => filling,
                None => {
                    let filling = Arc::new(Filling(watch::Sender::new(Progress::Begun)));
                    kept.filling.insert(key.clone(), Arc::downgrade(&filling));
                    let (lists, filling_of) = (Arc::clone(self), Arc::downgrade(&filling));
                    tokio::spawn(async move { lists.fill(key, filling_of, write).await });
                    filling
                }
            }
        };
        if wait == Wait::Not {
            return Ok(Found::Begun(filling));
        }
        let mut progress = filling.0.subscribe();
        let is_over = |progress: &Progress| match progress {
            Progress::Begun => false,
            Progress::Long => wait == Wait::Short,
            Progress::Ended(_) => true,
        };
        let reached = progress.wait_for(is_over).await.map(|reached| reached.clone());
        match reached {
            Ok(Progress::Ended(Ok(Some(list)))) => Ok(Found::Complete(list)),
            Ok(Progress::Ended(Ok(None))) => Ok(Found::Unkept),
            Ok(Progress::Ended(Err(problem))) => Err(problem),
            _ => Ok(Found::Begun(filling)),
        }
    }

    /// Writes a list on a thread of its own, and keeps it.
    async fn fill(
        self: Arc<Self>,
        key: Key,
        filling: Weak<Filling>,
        write: impl FnOnce(&mut Writer) -> Result<(), Unwritten> + Send + 'static,
    ) {
        let permit = Arc::clone(&self.writers).acquire_owned().await;
        let (lists, of) = (Arc::clone(&self), Weak::clone(&filling));
        let work = move || {
            let _permit = permit;
            lists.write(of, write)
        };
        let written = tokio::task::spawn_blocking(work).await;
        let ended = match written {
            Ok(Ok(list)) => Ok(Some(list)),
            Ok(Err(Unwritten::List(problem))) => Err(problem),
            Ok(Err(Unwritten::File(error))) => {
                if error.kind() == io::ErrorKind::FileTooLarge {
                    self.keep(key.clone(), None);
                } else if filling.strong_count() > 0 {
                    tracing::warn!(cause = %error, "a list could not be kept");
                }
                Ok(None)
            }
            Err(error) => Err(Problem::internal(error.to_string())),
        };
        if let Ok(Some(list)) = &ended {
            self.keep(key.clone(), Some(list.clone()));
        }
        let mut kept = self.kept();
        if kept.filling.get(&key).is_some_and(|known| known.ptr_eq(&filling)) {
            kept.filling.remove(&key);
        }
        drop(kept);
        if let Some(filling) = filling.upgrade() {
            filling.0.send_replace(Progress::Ended(ended));
        }
    }

    fn write(
        self: Arc<Self>,
        filling: Weak<Filling>,
        write: impl FnOnce(&mut Writer) -> Result<(), Unwritten>,
    ) -> Result<List, Unwritten> {
        let file = match &self.directory {
            None => scratch::file(),
            Some(directory) => scratch::file_in(directory),
        };
        let file = file.map_err(|error| Unwritten::File(io::Error::other(error.with_causes())))?;
        let file = BufWriter::with_capacity(256 * 1_024, Arc::new(file));
        let sha256 = Sha256::new();
        let mut writer = Writer { lists: self, file, sha256, bytes: 0, filling, left_out: 0 };
        write(&mut writer)?;
        Ok(writer.finish()?)
    }

    /// Makes room for so many bytes of a file, in place of lists that were asked for less recently.
    fn make_room(&self, file: &Arc<File>, bytes: u64) -> io::Result<()> {
        if bytes > self.most_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let (mut kept, file) = (self.kept(), Arc::downgrade(file));
        loop {
            kept.files.retain(|(other, _)| other.strong_count() > 0 && !other.ptr_eq(&file));
            let others: u64 = kept.files.iter().map(|(_, bytes)| bytes).sum();
            if others + bytes <= self.most_bytes {
                kept.files.push((file, bytes));
                return Ok(());
            }
            if kept.lists.pop_front().is_none() {
                return Err(io::Error::other("what clients read fills the cache"));
            }
        }
    }

    /// Keeps a list. `None` is one that is too long.
    fn keep(&self, key: Key, list: Option<List>) {
        let mut kept = self.kept();
        kept.lists.insert(key, list);
        if kept.lists.len() > MAX_LISTS {
            kept.lists.pop_front();
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl List {
    /// Reads the list, from its first byte.
    pub fn reader(&self) -> impl Read + Send + use<> {
        Reader { content: self.content.clone(), at: 0 }
    }
}

struct Reader {
    content: Stored,
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        let read = match &self.content {
            Stored::File { file, .. } => file.read_at(part, self.at)?,
            Stored::Memory(bytes) => (&bytes[self.at as usize..]).read(part)?,
        };
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn key(number: u128, coding: Coding) -> Key {
        Key { name: number.to_string(), coding }
    }

    fn lists(cache_bytes: u64) -> Lists {
        Lists::new(None, &Limits { cache_bytes, ..Limits::default() })
    }

    fn complete(found: Result<Found, Problem>) -> List {
        match found {
            Ok(Found::Complete(list)) => list,
            _ => panic!("the list is not complete"),
        }
    }

    fn on_disk(lists: &Lists) -> u64 {
        let mut kept = lists.kept();
        kept.files.retain(|(file, _)| file.strong_count() > 0);
        kept.files.iter().map(|(_, bytes)| bytes).sum()
    }

    fn zeros(bytes: usize) -> impl FnOnce(&mut Writer) -> Result<(), Unwritten> {
        move |writer| Ok(writer.write_all(&vec![0; bytes])?)
    }

    #[tokio::test]
    async fn one_task_writes_and_the_others_wait() {
        let lists = Arc::new(lists(1_000));
        let written = Arc::new(AtomicUsize::new(0));
        let get = || {
            let (lists, written) = (Arc::clone(&lists), Arc::clone(&written));
            async move {
                let write = move |writer: &mut Writer| {
                    std::thread::sleep(std::time::Duration::from_millis(50));
                    written.fetch_add(1, Ordering::Relaxed);
                    Ok(writer.write_all(b"a\nb\n")?)
                };
                lists.get(key(1, Coding::Identity), Wait::Short, write).await
            }
        };
        let (one, two, three) = tokio::join!(get(), get(), get());
        for found in [one, two, three, get().await] {
            let mut content = String::new();
            complete(found).reader().read_to_string(&mut content).unwrap();
            assert_eq!(content, "a\nb\n");
        }
        assert_eq!(written.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn the_files_have_never_more_bytes_than_the_cache() {
        let lists = Arc::new(lists(100));
        let get =
            |number, bytes| lists.get(key(number, Coding::Identity), Wait::Short, zeros(bytes));
        complete(get(1, 40).await);
        complete(get(2, 40).await);
        complete(get(1, 0).await);
        assert_eq!(complete(get(3, 40).await).content.len(), 40);
        assert_eq!(on_disk(&lists), 80);
        assert_eq!(complete(get(1, 7).await).content.len(), 40, "it was used after the second");
        assert_eq!(complete(get(2, 8).await).content.len(), 8, "it was removed");
        // One that is too long is not written again.
        assert!(matches!(get(4, 101).await, Ok(Found::Unkept)));
        assert!(matches!(get(4, 1).await, Ok(Found::Unkept)));
        assert!(on_disk(&lists) <= 100 && lists.kept().filling.is_empty());
    }

    #[tokio::test]
    async fn what_is_read_by_slow_clients_counts_until_they_have_read_it() {
        let lists = Arc::new(lists(100));
        let get = |number| lists.get(key(number, Coding::Identity), Wait::Short, zeros(40));
        let reader = complete(get(1).await).reader();
        let other = complete(get(2).await).reader();
        assert!(matches!(get(3).await, Ok(Found::Unkept)), "both were removed, and are there");
        assert_eq!(on_disk(&lists), 80);
        drop((reader, other));
        complete(get(3).await);
        assert_eq!(on_disk(&lists), 40);
    }

    #[tokio::test]
    async fn writing_ends_when_nobody_waits_and_a_refusal_is_not_kept() {
        let lists = Arc::new(lists(1_000_000));
        let (ended, has_ended) = std::sync::mpsc::channel();
        let endless = move |writer: &mut Writer| {
            while writer.write_all(b"a").is_ok() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            ended.send(()).unwrap();
            Ok(writer.write_all(b"a")?)
        };
        let begun = lists.get(key(1, Coding::Identity), Wait::Not, endless).await;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        assert!(has_ended.try_recv().is_err());
        drop(begun);
        tokio::task::spawn_blocking(move || has_ended.recv().unwrap()).await.unwrap();
        let refuse = |_: &mut Writer| Err(Unwritten::List(Problem::internal("damaged".to_owned())));
        let refused = lists.get(key(1, Coding::Identity), Wait::Short, refuse).await;
        assert!(refused.is_err());
        complete(lists.get(key(1, Coding::Identity), Wait::Short, zeros(5)).await);
    }
}
