//! Which file was opened, and whether its path still leads to it.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::connection::Access;
use super::{Result, files};
use crate::store::Error;

/// The registry that was opened: to check that it is still there, and to open it again.
///
/// A registry that is moved or removed while it is open goes on being written, where nobody finds it.
/// So a writer calls [`Identity::check`] before it commits, and a reader of many pages before each.
#[derive(Debug, Clone)]
pub struct Identity {
    pub(super) access: Access,
    pub(super) busy_wait: Duration,
    pub(super) place: Place,
}

/// Where a registry is.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// In one connection only: in memory, or a copy of an older registry.
    Connection,
    /// In a file.
    File {
        /// The absolute path by which it was opened, links included.
        path: PathBuf,
        /// The path without links.
        file: PathBuf,
        id: FileId,
        /// How the file looked when it was opened without locks; `None` means with locks.
        unlocked: Option<Unlocked>,
    },
}

/// What distinguishes a file from another that takes its name.
///
/// Device and inode are not used again as long as the file is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
    #[cfg(not(unix))]
    created: Option<SystemTime>,
}

/// What changes when somebody writes to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unlocked {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Identity {
    /// The identity of a registry that is in one connection only.
    pub(in crate::store) fn of_connection(access: Access, busy_wait: Duration) -> Self {
        Identity { access, busy_wait, place: Place::Connection }
    }

    /// The path of the registry without links; `None` means that it is not in a file.
    pub fn file(&self) -> Option<&Path> {
        match &self.place {
            Place::Connection => None,
            Place::File { file, .. } => Some(file),
        }
    }

    /// Checks that the path still leads to the file that was opened and, where the file is read
    /// without locks, that nobody has written to it. Costs one or two calls of the operating system.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`]: the file was moved, removed or replaced. [`Error::Changed`]: it was
    /// written to while it was read without locks. [`Error::Io`]: the path cannot be looked at.
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
