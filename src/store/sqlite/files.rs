//! The files of a registry: the file at its path, and the files that SQLite creates beside it. Also checks that
//! the path still refers to the file that was opened.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Result;
use crate::disk::reserved::beside;
use crate::model::quoted;
use crate::store::{Error, ErrorKind};

/// The longest path of a registry that SQLite can open, in bytes. SQLite's limit is 512, including the suffixes
/// of the files beside it (`MAX_PATHNAME` in os_unix.c, `sqlite3PagerOpen`). Windows has a larger limit.
const MAX_PATH_BYTES: usize = 504;

/// The metadata of the file at a path. `None` means that no file exists.
pub(super) fn metadata(path: &Path) -> Result<Option<Metadata>> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(unseen(path, source)),
    }
}

/// The absolute path of an existing file, with links resolved.
///
/// SQLite follows a link before it looks for the files beside a database. It interprets a path that begins with
/// `file:` as a URI, and `:memory:` as a database in memory. An absolute path is neither.
///
/// # Errors
///
/// [`ErrorKind::InvalidPath`]; [`ErrorKind::Io`]: the path cannot be resolved.
pub(super) fn canonical(path: &Path) -> Result<PathBuf> {
    let file = path.canonicalize().map_err(|source| unseen(path, source))?;
    check_length(&file)?;
    Ok(file)
}

/// Rejects an absolute path that SQLite cannot open.
pub(super) fn check_length(file: &Path) -> Result<()> {
    let bytes = file.as_os_str().len();
    if cfg!(unix) && bytes > MAX_PATH_BYTES {
        let message = format!(
            "the absolute path is {bytes} bytes long, but only {MAX_PATH_BYTES} are allowed"
        );
        return Err(Error::stored(ErrorKind::InvalidPath, message));
    }
    Ok(())
}

/// Rejects the path of a new registry if SQLite cannot open the temporary file to which the registry is first
/// written. That file is in the same directory, and its name may be longer than the final name.
pub(super) fn check_length_of_new(directory: &Path, temporary: &Path) -> Result<()> {
    let name = temporary.file_name().unwrap_or_default();
    if check_length(&directory.join(name)).is_ok() {
        return Ok(());
    }
    let message = format!(
        "the absolute path of the directory is {} bytes long, but only {} are allowed where a registry is written",
        directory.as_os_str().len(),
        MAX_PATH_BYTES - 1 - name.len()
    );
    Err(Error::stored(ErrorKind::InvalidPath, message))
}

/// Rejects a file that cannot be a registry: a directory, a device, an empty file.
pub(super) fn check_is_a_file_with_bytes(metadata: &Metadata) -> Result<()> {
    check_is_a_file(metadata)?;
    // SQLite opens an empty file as an empty database. A registry is never empty.
    if metadata.len() == 0 { Err(Error::not_a_registry("the file is empty")) } else { Ok(()) }
}

/// Rejects what is not a file: a directory, a pipe, a device.
pub(super) fn check_is_a_file(metadata: &Metadata) -> Result<()> {
    let what = if metadata.is_dir() {
        "it is a directory"
    } else if !metadata.is_file() {
        "it is a pipe or a device"
    } else {
        return Ok(());
    };
    Err(Error::not_a_registry(what))
}

/// Whether a registry has a `-wal` file that is not empty.
pub(super) fn has_wal(path: &Path) -> Result<bool> {
    has_bytes(&beside(path, "-wal"))
}

/// Rejects a path beside which an earlier registry has left changes, since SQLite would write these into the
/// next file there.
pub(super) fn check_is_free(target: &Path) -> Result<()> {
    for ending in ["-wal", "-journal"] {
        let path = beside(target, ending);
        if has_bytes(&path)? {
            // Checked in this order, because a registry that another process has just created has its own
            // `-wal`.
            return Err(match target.symlink_metadata() {
                Ok(_) => Error::exists(),
                Err(_) => orphaned(&path),
            });
        }
    }
    Ok(())
}

/// The error for a path where no registry exists, but a file with changes of an earlier registry does.
fn orphaned(changes: &Path) -> Error {
    let message = format!(
        "there is no registry here, but {} contains changes to one that existed",
        quoted(&changes.to_string_lossy())
    );
    Error::stored(ErrorKind::Misplaced, message)
}

fn has_bytes(path: &Path) -> Result<bool> {
    Ok(metadata(path)?.is_some_and(|metadata| metadata.len() > 0))
}

fn unseen(path: &Path, source: io::Error) -> Error {
    Error::cannot("look at", path, source).of_store()
}

/// The first bytes of every SQLite database (sqlite.org/fileformat.html § 1.3).
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The number of bytes that [`is_database`] reads.
pub const MAGIC_BYTES: u64 = MAGIC.len() as u64;

/// Whether a file that begins with these bytes is a database, and so perhaps a registry.
pub fn is_database(beginning: &[u8]) -> bool {
    beginning.starts_with(MAGIC)
}

/// Identifies an open registry, to check that it is still at its path and to open it again.
///
/// If a registry was moved or removed while it was open, writes to it succeed, but nobody finds them. So a
/// writer calls [`Identity::check`] before it commits. A reader of several pages calls it before each page, and
/// [`Identity::check_unchanged`] after each page.
/// before each page, and [`Identity::check_unchanged`] after it.
#[derive(Debug, Clone)]
pub struct Identity {
    /// `None` means that the registry exists only in one connection.
    pub(super) location: Option<Location>,
}

/// The file of a registry.
#[derive(Debug, Clone)]
pub(super) struct Location {
    /// The absolute path with which the registry was opened, with links not resolved.
    pub path: PathBuf,
    /// The path with links resolved.
    pub file: PathBuf,
    pub id: FileId,
    /// The state of the file when it was opened without locks. `None` means that it was opened with locks.
    pub unlocked: Option<Unlocked>,
}

/// Distinguishes a file from another file that replaces it under the same name.
///
/// The system does not reuse the device and inode while the file is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

/// The part of the metadata that changes when a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unlocked {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Identity {
    /// The identity of a registry that exists only in one connection.
    pub(in crate::store) fn of_connection() -> Self {
        Identity { location: None }
    }

    /// The path of the registry with links resolved. `None` means that it exists only in one connection.
    pub fn file(&self) -> Option<&Path> {
        self.location.as_ref().map(|location| location.file.as_path())
    }

    /// Checks that the path still refers to the file that was opened. If the file is read without locks, also
    /// checks that it has not been written. Costs one or two system calls.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`]: the file was moved, removed or replaced, or was written while it was read
    /// without locks. [`ErrorKind::Io`]: its metadata cannot be read.
    pub fn check(&self) -> Result<()> {
        let Some(Location { path, file, id, unlocked }) = &self.location else { return Ok(()) };
        let Some(metadata) = metadata(path)? else { return Err(Error::replaced()) };
        if FileId::of(&metadata) != *id {
            return Err(Error::replaced());
        }
        match unlocked {
            Some(unlocked) if *unlocked != Unlocked::of(&metadata) || has_wal(file)? => {
                let message = "the registry changed while it was being read";
                Err(Error::stored(ErrorKind::Replaced, message))
            }
            _ => Ok(()),
        }
    }

    /// Like [`Identity::check`], for a file that is read without locks. With locks, nobody changes what is
    /// being read, so nothing is checked.
    pub fn check_unchanged(&self) -> Result<()> {
        match &self.location {
            Some(Location { unlocked: Some(_), .. }) => self.check(),
            _ => Ok(()),
        }
    }
}

impl FileId {
    pub(super) fn of(metadata: &Metadata) -> Self {
        FileId { device: metadata.dev(), inode: metadata.ino() }
    }
}

impl Unlocked {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Unlocked { bytes: metadata.len(), modified: metadata.modified().ok() }
    }
}
