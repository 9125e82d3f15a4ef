//! The file that was opened, and whether its path still refers to it.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rusqlite::Connection;

use super::{Result, files};
use crate::store::{Access, Error, ErrorKind};

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
    /// In a single connection to a migrated copy of an older registry, whose writers are followed.
    Copy {
        /// The absolute path of the older registry, with links not resolved.
        path: PathBuf,
        id: FileId,
        original: Arc<Mutex<Connection>>,
        /// The [`data_version`] of the original before it was copied.
        state: i64,
    },
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
            Place::Connection | Place::Copy { .. } => None,
            Place::File { file, .. } => Some(file),
        }
    }

    /// Checks that the path still refers to the file that was opened and, where the file is read
    /// without locks, that it has not been written. Costs one or two system calls.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`]: the file was moved, removed or replaced. [`ErrorKind::Changed`]: it was
    /// written while it was read without locks, or since it was copied. [`ErrorKind::Io`]: its metadata
    /// cannot be read.
    pub fn check(&self) -> Result<()> {
        let (path, id) = match &self.place {
            Place::Connection => return Ok(()),
            Place::Copy { path, id, .. } | Place::File { path, id, .. } => (path, id),
        };
        let Some(metadata) = files::metadata(path)? else { return Err(Error::replaced()) };
        if FileId::of(&metadata) != *id {
            return Err(Error::replaced());
        }
        let has_changed = match &self.place {
            Place::Copy { original, state, .. } => {
                let original = original.lock().unwrap_or_else(PoisonError::into_inner);
                data_version(&original)? != *state
            }
            Place::File { file, unlocked: Some(unlocked), .. } => {
                *unlocked != Unlocked::of(&metadata) || files::has_wal(file)?
            }
            _ => false,
        };
        if has_changed {
            Err(Error::stored(ErrorKind::Changed, "the registry changed while it was being read"))
        } else {
            Ok(())
        }
    }
}

/// A number that changes when another connection commits.
pub(super) fn data_version(connection: &Connection) -> Result<i64> {
    Ok(connection.pragma_query_value(None, "data_version", |row| row.get(0))?)
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
