//! The files of a published directory: their names, their heads and their lock.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use tempfile::SpooledTempFile;

use crate::disk::reserved::SHARED_LOCK;
use crate::disk::{Directory, read_small_text, scratch};
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::HEAD;
use crate::mirror::log::{HeadFile, MAX_LINE_BYTES};
use crate::model::{DatasetName, Timestamp, quoted};

/// The directory of the datasets.
pub const DATASETS: &str = "datasets";
/// The cited subsets of a dataset.
pub const SUBSETS: &str = "subsets.jsonl";
/// The annotations of a dataset, if it has any.
pub const ANNOTATIONS: &str = "annotations.jsonl";

/// What publishing writes into the root of a directory.
const PUBLISHED: [&str; 14] = [
    "404.html",
    DATASETS,
    "di",
    "di.map",
    "feed.atom",
    "icon.svg",
    "identifier.html",
    "index.html",
    "lists",
    "robots.txt",
    "script.js",
    "sitemap.xml",
    "statements",
    "style.css",
];

/// A directory that is published into. While this value exists, no other process publishes the same data into
/// it.
#[derive(Debug)]
pub struct PublishDirectory {
    pub root: Directory,
    /// The lock ends when the file is closed. `None`: the directory was never published into.
    _lock: Option<File>,
}

impl PublishDirectory {
    /// Creates the directory if it does not exist, and waits until no other process publishes into it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`]: nothing was published there, and it has a file that would be replaced.
    pub fn to_publish(path: &Path) -> Result<Self> {
        PublishDirectory::locked(path, File::lock)
    }

    /// As [`PublishDirectory::to_publish`], for datasets. Each dataset is locked while it is published
    /// ([`lock_to_publish`]), so other datasets can be published at the same time.
    pub fn to_publish_datasets(path: &Path) -> Result<Self> {
        PublishDirectory::locked(path, File::lock_shared)
    }

    fn locked(path: &Path, lock: fn(&File) -> io::Result<()>) -> Result<Self> {
        let root = Directory::create_all(path)?;
        // A run that was killed has left the lock, and one that was refused has not.
        if root.read(SHARED_LOCK)?.is_none() {
            refuse_to_replace(&root)?;
        }
        let file = root.lock_file(SHARED_LOCK)?;
        lock(&file).map_err(|source| Error::cannot("lock", &root.path_of(SHARED_LOCK), source))?;
        Ok(PublishDirectory { root, _lock: Some(file) })
    }

    /// Opens a directory to read it, and waits until no process publishes into it.
    pub fn to_read(path: &Path) -> Result<Self> {
        let root = Directory::open(path)?;
        let lock = lock_to_read(&root)?;
        Ok(PublishDirectory { root, _lock: lock })
    }

    /// The directory of the datasets, which is created if it does not exist.
    pub fn datasets(&self) -> Result<Directory> {
        self.root.enter_or_create(DATASETS)
    }

    /// The names in the directory of the datasets that are names of datasets.
    pub fn names(&self) -> Result<Vec<DatasetName>> {
        let Some(datasets) = self.root.enter(DATASETS)? else { return Ok(Vec::new()) };
        Ok(datasets.names()?.iter().filter_map(|name| name.parse().ok()).collect())
    }
}

/// Waits until no other process publishes into the directory of a dataset. The lock ends when the file is
/// closed.
pub(super) fn lock_to_publish(directory: &Directory) -> Result<File> {
    let file = directory.lock_file(SHARED_LOCK)?;
    let path = directory.path_of(SHARED_LOCK);
    file.lock().map_err(|source| Error::cannot("lock", &path, source))?;
    Ok(file)
}

/// Waits until no process publishes into a directory. `None` means that nothing was ever published into it.
pub(super) fn lock_to_read(directory: &Directory) -> Result<Option<File>> {
    let file = directory.read(SHARED_LOCK)?;
    if let Some(file) = &file {
        let path = directory.path_of(SHARED_LOCK);
        file.lock_shared().map_err(|source| Error::cannot("lock", &path, source))?;
    }
    Ok(file)
}

/// Refuses a directory that has something that publishing would replace.
fn refuse_to_replace(root: &Directory) -> Result<()> {
    let found = root.names()?.into_iter().find(|name| PUBLISHED.contains(&name.as_str()));
    let Some(name) = found else { return Ok(()) };
    let path = root.path_of(&name);
    let shown = quoted(&path.to_string_lossy()).to_string();
    let message = format!(
        "{shown} exists, and nothing was published into its directory: it was not replaced"
    );
    Err(Error::new(ErrorKind::AlreadyExists, message).in_path(path))
}

/// The head in the directory of a dataset. `None` means that there is none.
pub(super) fn head_in(directory: &Directory) -> Result<Option<HeadFile>> {
    let Some(line) = text_in(directory, HEAD)? else { return Ok(None) };
    let damaged = |what| Error::published_damaged(&directory.path_of(HEAD), None, what);
    HeadFile::parse(&line).map(Some).map_err(damaged)
}

/// The text of a file that is one line. `None` means that the file does not exist.
pub fn text_in(directory: &Directory, name: &str) -> Result<Option<String>> {
    let Some(file) = directory.read(name)? else { return Ok(None) };
    let path = directory.path_of(name);
    match read_small_text(file, MAX_LINE_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Error::published_damaged(&path, None, "it is not UTF-8"))
        }
        Err(source) => Err(Error::cannot("read", &path, source)),
    }
}

/// Writes a text, unless it is there. It is not made durable: the next run would write it again.
pub fn write(directory: &Directory, name: &str, text: &str) -> Result<()> {
    replace_other(directory, name, &mut io::Cursor::new(text), |_| Ok(()))
}

/// Writes a file of lines durably, unless it is there as it is to be.
pub fn write_spooled(directory: &Directory, name: &str, lines: &mut SpooledTempFile) -> Result<()> {
    replace_other(directory, name, lines, File::sync_data)
}

/// Appends lines durably after the first `after` bytes of a file, unless there are no lines. Anything after
/// these bytes was written by a run that was killed, and is removed.
pub(super) fn append_spooled(
    directory: &Directory,
    name: &str,
    after: u64,
    lines: &mut SpooledTempFile,
) -> Result<()> {
    let failed = |source| Error::cannot("write", &directory.path_of(name), source);
    let gone = || failed(io::ErrorKind::NotFound.into());
    let mut file = directory.write(name)?.ok_or_else(gone)?;
    file.set_len(after).map_err(failed)?;
    file.seek(io::SeekFrom::End(0)).map_err(failed)?;
    if io::copy(lines, &mut file).map_err(failed)? > 0 {
        file.sync_data().map_err(failed)?;
    }
    Ok(())
}

/// Replaces a file that has other content, or none.
fn replace_other(
    directory: &Directory,
    name: &str,
    content: &mut (impl Read + Seek),
    keep: fn(&File) -> io::Result<()>,
) -> Result<()> {
    if let Some(found) = directory.read(name)? {
        let is_same = is_same(&mut io::BufReader::new(found), content);
        if is_same.map_err(|source| Error::cannot("read", &directory.path_of(name), source))? {
            return Ok(());
        }
        content.rewind().map_err(|source| scratch::unusable("read", source))?;
    }
    directory.replace(name, |file| {
        io::copy(content, file)?;
        keep(file)
    })
}

/// Whether two files have the same content.
pub(super) fn is_same(left: &mut impl Read, right: &mut impl Read) -> io::Result<bool> {
    const BLOCK: u64 = 64 * 1_024;
    let (mut one, mut other) = (Vec::new(), Vec::new());
    loop {
        one.clear();
        other.clear();
        left.by_ref().take(BLOCK).read_to_end(&mut one)?;
        right.by_ref().take(BLOCK).read_to_end(&mut other)?;
        if one != other || one.is_empty() {
            return Ok(one == other);
        }
    }
}

impl Error {
    /// A published file that is not as it was written, from a line on (`None`: all of it). What is
    /// wrong is the cause. Hidden: the server publishes files of its own beside those of the library.
    #[doc(hidden)]
    pub fn published_damaged(path: &Path, line: Option<u64>, what: impl Into<String>) -> Self {
        let in_line = line.map_or_else(String::new, |line| format!(", line {line},"));
        let shown = quoted(&path.to_string_lossy()).to_string();
        let message = format!("{shown}{in_line} is not as it was published");
        Error::new(ErrorKind::PublishedDamaged, message)
            .in_path(path)
            .in_line(line)
            .because(what.into())
    }

    /// A history that is not the one that was published into a directory. The first change that
    /// differs is the cause.
    pub(super) fn published_otherwise(
        name: &DatasetName,
        path: &Path,
        change: u64,
        timestamp: Timestamp,
    ) -> Self {
        let shown = quoted(&path.to_string_lossy()).to_string();
        let message = format!("the history of {name} contradicts what was published in {shown}");
        let cause =
            format!("change {change}, at {timestamp}, is not in the registry as it was published");
        Error::new(ErrorKind::PublishedOtherwise, message).in_path(path).because(cause)
    }
}
