//! A new registry file, or the copy of one, before it is put in place.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::create::TemporaryRegistry;
use super::restore::TargetLock;
use super::{files, restore};
use crate::store::Result;

/// A new registry in a temporary file, which is not visible until it is put in place.
pub(crate) struct NewFile {
    file: TemporaryRegistry,
}

impl NewFile {
    pub(super) fn of(file: TemporaryRegistry) -> Self {
        NewFile { file }
    }

    /// Copies the registry at `copy` into a temporary file beside `target`, which can then replace
    /// it. `progress` is called with the number of pages copied and the total number of pages.
    ///
    /// # Errors
    ///
    /// Those of [`Store::open`] for the copy; [`ErrorKind::Full`]; [`ErrorKind::Interrupted`]: `progress`
    /// returned `Break`.
    pub fn copy_of(
        copy: &Path,
        target: &Path,
        busy_wait: Duration,
        progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Self> {
        let file = restore::prepare(copy, target, busy_wait, progress)?;
        Ok(NewFile { file })
    }

    /// The path of the temporary file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Gives the registry the permissions of the file at a path, if there is one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`].
    pub fn take_permissions_of(&self, path: &Path) -> Result<()> {
        match files::metadata(path)? {
            Some(metadata) => self.file.take_permissions(&metadata),
            None => Ok(()),
        }
    }

    /// Locks the registry at the target, if there is one, so that nobody else changes it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: another process is writing to it.
    pub fn lock_target(&self, busy_wait: Duration) -> Result<TargetLock> {
        restore::lock(self.file.target(), busy_wait)
    }

    /// Renames the file at the target, which is locked, to `TARGET.replaced-SUFFIX`, and then the
    /// registry, to which no connection is open, to the target. Returns the new path of the old file. `None` means that there was no
    /// file. If it fails, the file at the target is the one that was there before.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryExists`]: there is already a file `TARGET.replaced-SUFFIX`; [`ErrorKind::MovedAway`]: it
    /// was renamed, and cannot be renamed back.
    pub fn replace(self, lock: TargetLock, suffix: &str) -> Result<Option<PathBuf>> {
        restore::replace(self.file, lock, suffix)
    }

    /// Closes the connection that filled the registry.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`], and the errors of writing.
    pub fn close(&self, connection: Option<Connection>) -> Result<()> {
        connection.map_or(Ok(()), |connection| self.file.close(connection))
    }

    /// Renames the registry, to which no connection is open, to its target.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryExists`]: another process has created a file there.
    pub fn put_closed_in_place(self) -> Result<()> {
        self.file.put_in_place()
    }
}
