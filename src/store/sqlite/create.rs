//! New registries.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::{Result, connection, files, migrate};
use crate::disk::{self, AtomicFile, reserved};

/// A registry in a temporary file beside its target, which appears there once it is whole.
///
/// Dropped before that, it is removed. Connections to it must be closed first.
pub struct TemporaryRegistry {
    file: AtomicFile,
}

impl TemporaryRegistry {
    /// Creates an empty registry beside `target`, where no file exists yet.
    ///
    /// # Errors
    ///
    /// [`Error::Orphaned`](crate::store::Error::Orphaned), [`Error::Exists`](crate::store::Error::Exists): a file of a registry is there. [`Error::ReservedName`](crate::store::Error::ReservedName),
    /// [`Error::PathTooLong`](crate::store::Error::PathTooLong), [`Error::Io`](crate::store::Error::Io): no registry can be created there.
    pub fn create(target: &Path, busy_wait: Duration) -> Result<(Connection, Self)> {
        let temporary = TemporaryRegistry::without_bytes(target)?;
        let mut connection = connection::open(temporary.path())?;
        connection::configure(&connection, busy_wait)?;
        migrate::migrate(&mut connection)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        Ok((connection, temporary))
    }

    /// Creates a file without bytes beside `target`, where no file exists yet.
    pub(super) fn without_bytes(target: &Path) -> Result<Self> {
        reserved::check(target)?;
        files::check_is_free(target)?;
        TemporaryRegistry::beside(target)
    }

    /// Creates a file without bytes beside `target`, whatever is there.
    pub(super) fn beside(target: &Path) -> Result<Self> {
        if let Ok(directory) = disk::directory_of(target).canonicalize() {
            files::check_length(&directory.join(target.file_name().unwrap_or_default()))?;
        }
        Ok(TemporaryRegistry { file: AtomicFile::beside(target)? })
    }

    /// The path of the temporary file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The path that the registry is meant for.
    pub fn target(&self) -> &Path {
        self.file.target()
    }

    /// Closes the connection that filled the registry.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`](crate::store::Error::Busy), and what writing may return.
    pub fn close(&self, connection: Connection) -> Result<()> {
        connection::close(connection)
    }

    /// Puts the registry in the place of its target, in one step. All connections to it are closed.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`](crate::store::Error::Exists): a file is there by now; another process was faster.
    pub fn put_in_place(self) -> Result<()> {
        files::check_is_free(self.file.target())?;
        Ok(self.file.put_in_place()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Error;
    use crate::store::sqlite::BUSY_WAIT;

    fn create(target: &Path) -> Result<TemporaryRegistry> {
        let (connection, temporary) = TemporaryRegistry::create(target, BUSY_WAIT)?;
        temporary.close(connection)?;
        Ok(temporary)
    }

    #[test]
    fn of_two_new_registries_at_one_path_the_second_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("accession.db");
        let (first, second) = (create(&path).unwrap(), create(&path).unwrap());
        first.put_in_place().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(matches!(second.put_in_place(), Err(Error::Exists)));
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn changes_that_a_lost_registry_left_get_into_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("accession.db");
        let wal = directory.path().join("accession.db-wal");
        // They appear when the temporary file exists, or before.
        let temporary = create(&path).unwrap();
        std::fs::write(&wal, "a change").unwrap();
        let is_orphaned = |error: Error| matches!(&error, Error::Orphaned { path } if *path == wal);
        assert!(is_orphaned(temporary.put_in_place().unwrap_err()));
        assert!(is_orphaned(create(&path).map(|_| ()).unwrap_err()));
        assert!(!path.exists());
        // Beside a registry they belong to it.
        std::fs::write(&path, "a registry").unwrap();
        assert!(matches!(create(&path).map(|_| ()).unwrap_err(), Error::Exists));
    }

    #[test]
    fn a_new_registry_that_is_dropped_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let new = TemporaryRegistry::create(&directory.path().join("accession.db"), BUSY_WAIT);
        let (connection, temporary) = new.unwrap();
        drop((connection, temporary));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
