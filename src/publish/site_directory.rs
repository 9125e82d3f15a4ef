//! The directory of a published site: its files, the heads of its datasets, and its lock.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tempfile::SpooledTempFile;

use crate::disk::reserved::SHARED_LOCK;
use crate::disk::scratch::{self, ScratchDirectory};
use crate::disk::{Directory, read_small_text};
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::log::{HeadFile, MAX_LINE_BYTES};
use crate::mirror::{HEAD, SITE};
use crate::model::{DatasetName, Timestamp, quoted};

/// The directory of the datasets.
pub(super) const DATASETS: &str = "datasets";
/// The cited subsets of a dataset.
pub(super) const SUBSETS: &str = "subsets.jsonl";
/// The annotations of a dataset, if it has any.
pub(super) const ANNOTATIONS: &str = "annotations.jsonl";

/// The names that publishing writes into the root of a directory.
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

/// A directory with a published site. A file is named by its path in the directory, such as
/// `datasets/US/head.json`. No symbolic link on the way is followed, because others may be able to write there,
/// too.
///
/// # Examples
///
/// ```
/// use accession::publish::SiteDirectory;
///
/// let directory = tempfile::tempdir()?;
/// let site = SiteDirectory::open_or_create(directory.path())?;
/// site.write("datasets/US/index.html", "<p>US")?;
/// assert_eq!(site.names("datasets/US")?, ["index.html"]);
/// assert!(site.remove("datasets/US/index.html")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SiteDirectory {
    pub(super) root: Directory,
    /// The lock ends when the file is closed. `None` means that nothing was ever published into the directory,
    /// or that it belongs to this process.
    _lock: Option<File>,
    /// Removes the directory at the end, if it is temporary.
    _temporary: Option<ScratchDirectory>,
}

impl SiteDirectory {
    /// Opens a directory to publish into it, and creates it if it does not exist. Waits until no other process
    /// publishes into it, and locks it until this value is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`]: nothing was published there, and it contains a file that would be
    /// replaced. [`ErrorKind::Io`].
    pub fn open_or_create(path: &Path) -> Result<Self> {
        SiteDirectory::locked(path, File::lock)
    }

    /// Like [`SiteDirectory::open_or_create`], for datasets. Each dataset is locked while it is published
    /// ([`lock_to_publish`]), so other processes can publish other datasets at the same time.
    pub(super) fn to_publish_datasets(path: &Path) -> Result<Self> {
        SiteDirectory::locked(path, File::lock_shared)
    }

    fn locked(path: &Path, lock: fn(&File) -> io::Result<()>) -> Result<Self> {
        let root = Directory::create_all(path)?;
        // A killed run has left the lock file. A rejected run has not created it.
        if root.read(SHARED_LOCK)?.is_none() {
            refuse_to_replace(&root)?;
        }
        let file = root.lock_file(SHARED_LOCK)?;
        lock(&file).map_err(|source| Error::cannot("lock", &root.path_of(SHARED_LOCK), source))?;
        Ok(SiteDirectory { root, _lock: Some(file), _temporary: None })
    }

    /// Creates an empty temporary directory that only the user of the process can read. Dropping this value
    /// removes it. If the process is killed, the directory stays until [`SiteDirectory::remove_abandoned`] is
    /// called.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`]: the directory for temporary files does not exist, cannot be written, or is
    /// full.
    pub fn temporary() -> Result<Self> {
        let temporary = ScratchDirectory::new()?;
        let root = Directory::open(temporary.path())?;
        Ok(SiteDirectory { root, _lock: None, _temporary: Some(temporary) })
    }

    /// Removes the temporary directories of processes that were killed.
    pub fn remove_abandoned() {
        scratch::remove_leftovers();
    }

    /// Opens a directory for reading. Waits until no process publishes into it.
    pub(super) fn to_read(path: &Path) -> Result<Self> {
        let root = Directory::open(path)?;
        let lock = lock_to_read(&root)?;
        Ok(SiteDirectory { root, _lock: lock, _temporary: None })
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Opens a file for reading. `None` means that it does not exist.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidPath`]: the path leads out of the directory. [`ErrorKind::Io`]: the file is not a
    /// regular file, or the path contains a symbolic link.
    pub fn open(&self, path: &str) -> Result<Option<File>> {
        let (directory, name) = self.split(path)?;
        match self.root.enter_below(directory)? {
            Some(directory) => directory.read(name),
            None => Ok(None),
        }
    }

    /// Writes a file, and creates its directories. A file with the same content stays as it is. A reader sees
    /// the previous content or the new one. The file is not synced.
    ///
    /// # Errors
    ///
    /// The errors of [`SiteDirectory::open`]; the file cannot be written.
    pub fn write(&self, path: &str, text: &str) -> Result<()> {
        let (directory, name) = self.split(path)?;
        write(&self.root.enter_or_create_below(directory)?, name, text)
    }

    /// Removes a file. Returns whether it existed.
    ///
    /// # Errors
    ///
    /// The errors of [`SiteDirectory::open`].
    pub fn remove(&self, path: &str) -> Result<bool> {
        let (directory, name) = self.split(path)?;
        match self.root.enter_below(directory)? {
            Some(directory) => directory.remove(name),
            None => Ok(false),
        }
    }

    /// The names in a directory of the site, in order. Empty if the directory does not exist.
    ///
    /// # Errors
    ///
    /// The errors of [`SiteDirectory::open`].
    pub fn names(&self, path: &str) -> Result<Vec<String>> {
        self.split(path)?;
        self.root.enter_below(path)?.map_or(Ok(Vec::new()), |directory| directory.names())
    }

    /// Whether a dataset was published into the directory under this name.
    ///
    /// # Errors
    ///
    /// The errors of [`SiteDirectory::open`].
    pub fn has_dataset(&self, name: &DatasetName) -> Result<bool> {
        Ok(self.open(&format!("{DATASETS}/{name}/{HEAD}"))?.is_some())
    }

    /// Removes the published files of a dataset, so that it is published anew.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`].
    pub fn remove_dataset(&self, name: &DatasetName) -> Result<()> {
        let path = self.root.path_of(DATASETS).join(name.as_str());
        fs::remove_dir_all(&path).map_err(|source| Error::cannot("remove", &path, source))
    }

    /// The site's description, as an earlier run recorded it. `None` means that no run did.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::PublishedDamaged`]; [`ErrorKind::Io`].
    pub fn description(&self) -> Result<Option<SiteDescription>> {
        let Some(text) = text_in(&self.root, SITE)? else { return Ok(None) };
        let damaged = |what: String| Error::published_damaged(&self.root.path_of(SITE), None, what);
        let recorded: RecordedDescription =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        match recorded.accession_publish {
            ..=VERSION => Ok(Some(recorded.description)),
            found => Err(damaged(format!("it has version {found}, this program reads {VERSION}"))),
        }
    }

    /// Records the site's description. The file is synced.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`].
    pub fn describe(&self, description: &SiteDescription) -> Result<()> {
        let description = description.clone();
        let recorded = RecordedDescription { accession_publish: VERSION, description };
        let text = serde_json::to_string(&recorded);
        let text =
            text.map_err(|error| Error::cannot("write", &self.root.path_of(SITE), error.into()))?;
        self.root.replace(SITE, |file| {
            writeln!(file, "{text}")?;
            file.sync_data()
        })
    }

    /// Opens the directory of the datasets, and creates it if it does not exist.
    pub(super) fn datasets(&self) -> Result<Directory> {
        self.root.enter_or_create(DATASETS)
    }

    /// The names in the directory of the datasets that are valid dataset names.
    pub(super) fn dataset_names(&self) -> Result<Vec<DatasetName>> {
        Ok(self.names(DATASETS)?.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Splits a path into its directory (empty means the root) and its name.
    fn split<'path>(&self, path: &'path str) -> Result<(&'path str, &'path str)> {
        if path.split('/').any(|name| matches!(name, "" | "." | "..")) {
            let message = format!("{} is not a path below a directory", quoted(path));
            return Err(Error::new(ErrorKind::InvalidPath, message).in_path(self.path().join(path)));
        }
        Ok(path.rsplit_once('/').unwrap_or(("", path)))
    }
}

/// A published site's description of itself, recorded in its directory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SiteDescription {
    /// The URL of the directory for readers, without a slash at the end.
    pub public_url: Option<String>,
    /// The name of the site.
    #[serde(rename = "site_name")]
    pub name: Option<String>,
    /// How to contact the people who run the site.
    pub contact: Option<String>,
}

/// The version of the record that is written, and the latest that is read.
const VERSION: u64 = 1;

/// A description in the form of its file.
#[derive(Serialize, Deserialize)]
struct RecordedDescription {
    accession_publish: u64,
    #[serde(flatten)]
    description: SiteDescription,
}

/// Locks the directory of a dataset, after waiting until no other process publishes into it. The lock ends when
/// the file is closed.
pub(super) fn lock_to_publish(directory: &Directory) -> Result<File> {
    let file = directory.lock_file(SHARED_LOCK)?;
    let path = directory.path_of(SHARED_LOCK);
    file.lock().map_err(|source| Error::cannot("lock", &path, source))?;
    Ok(file)
}

/// Locks a directory for reading, after waiting until no process publishes into it. `None` means that nothing
/// was ever published into it.
pub(super) fn lock_to_read(directory: &Directory) -> Result<Option<File>> {
    let file = directory.read(SHARED_LOCK)?;
    if let Some(file) = &file {
        let path = directory.path_of(SHARED_LOCK);
        file.lock_shared().map_err(|source| Error::cannot("lock", &path, source))?;
    }
    Ok(file)
}

/// Rejects a directory that contains something that publishing would replace.
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

/// Reads the head in the directory of a dataset. `None` means that there is none.
pub(super) fn head_in(directory: &Directory) -> Result<Option<HeadFile>> {
    let Some(line) = text_in(directory, HEAD)? else { return Ok(None) };
    let damaged = |what| Error::published_damaged(&directory.path_of(HEAD), None, what);
    HeadFile::parse(&line).map(Some).map_err(damaged)
}

/// Reads the text of a file of one line. `None` means that the file does not exist.
pub(super) fn text_in(directory: &Directory, name: &str) -> Result<Option<String>> {
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

/// Writes a text, unless the file has this content. It is not synced: the next run would write it again.
pub(super) fn write(directory: &Directory, name: &str, text: &str) -> Result<()> {
    replace_other(directory, name, &mut io::Cursor::new(text), |_| Ok(()))
}

/// Writes a file of lines durably, unless it has this content.
pub(super) fn write_spooled(
    directory: &Directory,
    name: &str,
    lines: &mut SpooledTempFile,
) -> Result<()> {
    replace_other(directory, name, lines, File::sync_data)
}

/// Appends lines durably after the first `after` bytes of a file, unless there are no lines. Bytes after these
/// were written by a killed run, and are removed.
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

/// Replaces a file if it has other content or does not exist.
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
    /// The error for a damaged published file. `line` is the first damaged line (`None` means the whole file),
    /// and `what` is the cause.
    pub(super) fn published_damaged(
        path: &Path,
        line: Option<u64>,
        what: impl Into<String>,
    ) -> Self {
        let in_line = line.map_or_else(String::new, |line| format!(", line {line},"));
        let shown = quoted(&path.to_string_lossy()).to_string();
        let message = format!("{shown}{in_line} is not as it was published");
        Error::new(ErrorKind::PublishedDamaged, message)
            .in_path(path)
            .in_line(line)
            .because(what.into())
    }

    /// The error for a history that contradicts what was published into a directory. The cause names the first
    /// change that differs.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_out_of_the_directory_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let site = SiteDirectory::open_or_create(&directory.path().join("www")).unwrap();
        for path in ["", ".", "..", "../a", "a/../b", "/a", "a//b", "a/"] {
            let refused = [
                site.open(path).map(drop),
                site.write(path, "text"),
                site.remove(path).map(drop),
                site.names(path).map(drop),
            ];
            for refused in refused {
                assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidPath, "{path}");
            }
        }
    }

    #[test]
    fn a_temporary_directory_is_removed_with_all_that_was_published_into_it() {
        let site = SiteDirectory::temporary().unwrap();
        site.write("datasets/US/index.html", "US").unwrap();
        let path = site.path().to_owned();
        assert!(path.join("datasets/US/index.html").exists());
        drop(site);
        assert!(!path.exists());
    }
}
