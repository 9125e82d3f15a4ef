//! The file that was opened, and whether its path still refers to it.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Result, files};
use crate::store::{Access, Error};

/// Identifies an open registry, to check that it is still at its path and to open it again.
///
/// Writes to a registry that was moved or removed while it was open succeed, but nobody finds them.
/// So a writer calls [`Identity::check`] before it commits, and a reader of several pages calls it
/// before each page.
#[derive(Debug, Clone)]
pub struct Identity {
    pub(super) access: Access,
    pub(super) busy_wait: Duration,
    pub(super) place: Place,
}

/// Where a registry is.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// In a single connection: in memory, or a migrated copy of an older registry.
    Connection,
    /// In a file.
    File {
        /// The absolute path with which it was opened, with links not resolved.
        path: PathBuf,
        /// The path with links resolved.
        file: PathBuf,
        id: FileId,
        /// The state of the file when it was opened without locks. `None` means that it was opened
        /// with locks.
        unlocked: Option<Unlocked>,
    },
}

/// Distinguishes a file from another one that replaces it under the same name.
///
/// Device and inode are not reused while the file is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
    #[cfg(not(unix))]
    created: Option<SystemTime>,
}

/// The metadata that change when a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unlocked {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Identity {
    /// The identity of a registry that exists in a single connection.
    pub(in crate::store) fn of_connection(access: Access, busy_wait: Duration) -> Self {
        Identity { access, busy_wait, place: Place::Connection }
    }

    /// The path of the registry with links resolved. `None` means that it is not in a file.
    pub fn file(&self) -> Option<&Path> {
        match &self.place {
            Place::Connection => None,
            Place::File { file, .. } => Some(file),
        }
    }

    /// Checks that the path still refers to the file that was opened and, where the file is read
    /// without locks, that it has not been written. Costs one or two system calls.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`]: the file was moved, removed or replaced. [`Error::Changed`]: it was
    /// written while it was read without locks. [`Error::Io`]: its metadata cannot be read.
    pub fn check(&self) -> Result<()> {
        let Place::File { path, file, id, unlocked } = &self.place else { return Ok(()) };
        let Some(metadata) = files::metadata(path)? else { return Err(Error::Replaced) };
        if FileId::of(&metadata) != *id {
            return Err(Error::Replaced);
        }
        match unlocked {
            Some(unlocked) if *unlocked != Unlocked::of(&metadata) || files::has_wal(file)? => {
                Err(Error::Changed)
            }
            _ => Ok(()),
        }
    }
}

impl FileId {
    pub(super) fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            FileId { device: metadata.dev(), inode: metadata.ino() }
        }
        #[cfg(not(unix))]
        FileId { created: metadata.created().ok() }
    }
}

impl Unlocked {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Unlocked { bytes: metadata.len(), modified: metadata.modified().ok() }
    }
}
