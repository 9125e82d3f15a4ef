//! New registry files: empty ones, and copies of one consistent state of a registry, made while others
//! read and write it.

use std::fs::Metadata;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::{Result, connection, files, schema};
use crate::disk::{self, AtomicFile, reserved};
use crate::store::Error;

/// A new registry in a temporary file beside its target, which is renamed to the target when complete.
///
/// If it is dropped before that, it is removed. Connections to it must be closed first.
pub(crate) struct NewFile {
    file: AtomicFile,
}

impl NewFile {
    /// Creates an empty registry beside `target`, where no file exists yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Orphaned`],
    /// [`ErrorKind::RegistryExists`]: there is already a file of a registry.
    /// [`ErrorKind::ReservedName`],
    /// [`ErrorKind::PathTooLong`],
    /// [`ErrorKind::Io`]: no registry can be created there.
    pub fn create(target: &Path, busy_wait: Duration) -> Result<(Connection, Self)> {
        let temporary = NewFile::without_bytes(target)?;
        let mut connection = connection::open(temporary.path())?;
        connection::configure(&connection, busy_wait)?;
        // Until the file is put in place, nobody else can see it, and after a crash it is removed:
        // it needs no write-ahead log, through which every page would be written twice, and no
        // syncs but the last. The rollback journal stays, since a change that fails is rolled back
        // here too; it contains only pages that were in the file before the change.
        connection.pragma_update(None, "synchronous", "OFF")?;
        // Every row that is added here belongs to a dataset that is added in the same transaction.
        // Looking that up again for each row takes a fifth of the time of adding it; `verify` checks
        // it in any registry.
        connection.pragma_update(None, "foreign_keys", "OFF")?;
        schema::migrate(&mut connection)?;
        Ok((connection, temporary))
    }

    /// Creates an empty file beside `target`, where no file exists yet.
    pub(super) fn without_bytes(target: &Path) -> Result<Self> {
        reserved::check(target).map_err(Error::of_disk)?;
        files::check_is_free(target)?;
        NewFile::beside(target)
    }

    /// Creates an empty file beside `target`, whether or not a file exists there.
    pub(super) fn beside(target: &Path) -> Result<Self> {
        if let Ok(directory) = disk::directory_of(target).canonicalize() {
            files::check_length(&directory.join(target.file_name().unwrap_or_default()))?;
        }
        let file = AtomicFile::beside(target).map_err(Error::of_disk)?;
        Ok(NewFile { file })
    }

    /// The path of the temporary file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The path that the registry is meant for.
    pub fn target(&self) -> &Path {
        self.file.target()
    }

    /// Gives the registry the permissions of the file at a path, if there is one.
    pub fn take_permissions_of(&self, path: &Path) -> Result<()> {
        match files::metadata(path)? {
            Some(metadata) => self.take_permissions(&metadata),
            None => Ok(()),
        }
    }

    /// Gives the registry the permissions of another file, before anything is copied into it.
    pub(super) fn take_permissions(&self, of: &Metadata) -> Result<()> {
        self.file.take_permissions(of).map_err(Error::of_disk)
    }

    /// Closes the connection that filled the registry, and sets the mode of a registry in use,
    /// which is stored in the file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`], and the errors of writing.
    pub fn close(&self, connection: Option<Connection>) -> Result<()> {
        let Some(connection) = connection else { return Ok(()) };
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection::close(connection)
    }

    /// Syncs the registry and renames it to its target, atomically. All connections to it must be closed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryExists`]: another process has created a file there.
    pub fn put_in_place(self) -> Result<()> {
        files::check_is_free(self.file.target())?;
        self.file.put_in_place().map_err(Error::of_disk)
    }

    /// The file, to which all connections must be closed.
    pub(super) fn into_file(self) -> AtomicFile {
        self.file
    }
}

/// Pages that are copied between two calls of the progress function.
const STEP_PAGES: i32 = 4_096;

/// How long to wait before a lock is requested again.
const RETRY: Duration = Duration::from_millis(10);

/// Copies the state that a connection sees into a temporary file beside `target`, where no file
/// exists yet, with the permissions of the registry at `of`, if it has a path. `progress` is called with the
/// number of pages copied and the total number of pages.
///
/// In a transaction that has begun to read, the copy is of the state that the transaction sees.
///
/// # Errors
///
/// [`ErrorKind::ReservedName`], [`ErrorKind::RegistryExists`], [`ErrorKind::Full`], and the errors of
/// reading; [`ErrorKind::Interrupted`]: `progress` returned `Break`.
pub fn copy_beside(
    source: &Connection,
    of: Option<&Path>,
    target: &Path,
    busy_wait: Duration,
    progress: impl FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<NewFile> {
    // Checked first: otherwise a file that SQLite created there would be reported as existing.
    reserved::check(target).map_err(Error::of_disk)?;
    if target.symlink_metadata().is_ok() {
        return Err(Error::exists());
    }
    let temporary = NewFile::without_bytes(target)?;
    of.map_or(Ok(()), |of| temporary.take_permissions_of(of))?;
    fill(&temporary, source, busy_wait, progress)?;
    Ok(temporary)
}

/// Copies the state that a connection sees into a temporary file.
pub(super) fn fill(
    temporary: &NewFile,
    source: &Connection,
    busy_wait: Duration,
    progress: impl FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<()> {
    let mut copy = connection::open(temporary.path())?;
    connection::configure(&copy, busy_wait)?;
    copy_into(source, &mut copy, busy_wait, progress)?;
    Ok(copy.close().map_err(|(_, error)| error)?)
}

/// Copies the state that a connection sees into another database, whose content is replaced.
pub(super) fn copy_into(
    source: &Connection,
    copy: &mut Connection,
    busy_wait: Duration,
    mut progress: impl FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<()> {
    let backup = Backup::new(source, copy)?;
    let mut waited = Duration::ZERO;
    loop {
        match backup.step(STEP_PAGES)? {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            StepResult::Busy | StepResult::Locked if waited < busy_wait => {
                std::thread::sleep(RETRY);
                waited += RETRY;
            }
            _ => return Err(Error::busy()),
        }
        let pages = backup.progress();
        let all = u64::try_from(pages.pagecount).unwrap_or_default();
        let left = u64::try_from(pages.remaining).unwrap_or_default();
        if progress(all - left, all).is_break() {
            return Err(Error::interrupted());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{BUSY_WAIT, ErrorKind};

    fn create(target: &Path) -> Result<NewFile> {
        let (connection, temporary) = NewFile::create(target, BUSY_WAIT)?;
        temporary.close(Some(connection))?;
        Ok(temporary)
    }

    #[test]
    fn of_two_new_registries_at_one_path_the_second_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("accession.db");
        let (first, second) = (create(&path).unwrap(), create(&path).unwrap());
        first.put_in_place().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(second.put_in_place().err().unwrap().kind(), ErrorKind::RegistryExists);
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn changes_left_by_a_lost_registry_do_not_enter_a_new_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("accession.db");
        let wal = directory.path().join("accession.db-wal");
        // The changes appear after the temporary file was created, or before.
        let temporary = create(&path).unwrap();
        std::fs::write(&wal, "a change").unwrap();
        let is_orphaned = |error: Error| {
            let names_it = error.to_string().contains(&*wal.to_string_lossy());
            error.kind() == ErrorKind::Orphaned && names_it
        };
        assert!(is_orphaned(temporary.put_in_place().unwrap_err()));
        assert!(is_orphaned(create(&path).map(|_| ()).unwrap_err()));
        assert!(!path.exists());
        // If a registry exists there, the changes belong to it.
        std::fs::write(&path, "a registry").unwrap();
        assert_eq!(create(&path).map(|_| ()).unwrap_err().kind(), ErrorKind::RegistryExists);
    }

    #[test]
    fn a_new_registry_is_written_without_a_log_and_has_one_once_it_is_in_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("accession.db");
        let (connection, temporary) = NewFile::create(&path, BUSY_WAIT).unwrap();
        let mode = |connection: &Connection| -> String {
            connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap()
        };
        assert_eq!(mode(&connection), "delete");
        connection
            .execute_batch(
                "BEGIN; INSERT INTO dataset (name, record, row_check) VALUES ('A', '{}', 0)",
            )
            .unwrap();
        connection
            .execute_batch(
                "ROLLBACK; INSERT INTO dataset (name, record, row_check) VALUES ('B', '{}', 0)",
            )
            .unwrap();
        temporary.close(Some(connection)).unwrap();
        temporary.put_in_place().unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        let connection = Connection::open(&path).unwrap();
        assert_eq!(mode(&connection), "wal");
        let names: String = connection
            .query_row("SELECT group_concat(name) FROM dataset", [], |row| row.get(0))
            .unwrap();
        assert_eq!(names, "B");
    }

    fn large() -> Connection {
        let source = Connection::open_in_memory().unwrap();
        source.execute_batch("CREATE TABLE large (bytes BLOB) STRICT").unwrap();
        for _ in 0..20 {
            source.execute("INSERT INTO large VALUES (zeroblob(1000000))", []).unwrap();
        }
        source
    }

    #[test]
    fn a_large_copy_is_made_in_steps_and_reports_them() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("copy.db");
        let source = large();
        let mut reported = Vec::new();
        let progress = |done, all| {
            reported.push((done, all));
            ControlFlow::Continue(())
        };
        drop(copy_beside(&source, None, &target, Duration::ZERO, progress).unwrap());
        let all: i64 = source.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        let (step, all) = (STEP_PAGES as u64, all as u64);
        assert!(all > step);
        assert_eq!(reported, [(step, all)]);
    }

    #[test]
    fn a_copy_that_is_stopped_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("copy.db");
        let stop = |_, _| ControlFlow::Break(());
        let copied = copy_beside(&large(), None, &target, Duration::ZERO, stop);
        assert_eq!(copied.err().unwrap().kind(), ErrorKind::Interrupted);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
