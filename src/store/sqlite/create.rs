//! New registry files, and how they are put in place or replace a registry. A new file is empty, or a copy of
//! one consistent state of a registry, made while others read and write that registry.

use std::ffi::OsString;
use std::fs::Metadata;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::{Result, connection, files, open, schema};
use crate::disk::{self, AtomicFile, Directory, reserved};
use crate::model::quoted;
use crate::store::{Error, ErrorKind};

/// A new registry in a temporary file beside its target, which is renamed to the target when complete.
///
/// Dropping it before that removes the file. Close all connections to it first.
pub(crate) struct NewFile {
    file: AtomicFile,
}

impl NewFile {
    /// Creates an empty registry beside `target`, where no file may exist yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Misplaced`], [`ErrorKind::AlreadyExists`]: a file of a registry already exists there.
    /// [`ErrorKind::InvalidPath`], [`ErrorKind::Io`]: no registry can be created there.
    pub fn create(target: &Path, busy_wait: Duration) -> Result<(Connection, Self)> {
        let temporary = NewFile::without_bytes(target)?;
        let mut connection = connection::open(temporary.path())?;
        connection::configure(&connection, busy_wait)?;
        // No other process sees the file before it is put in place, and a file left by a crash is removed. So
        // it needs no write-ahead log, which would write every page twice, and no syncs but the last. It has a
        // rollback journal, since a failed change is rolled back here too. The journal contains only pages that
        // were in the file before the change.
        connection::without_syncs(&connection)?;
        // Every row that is added here belongs to a dataset that is added in the same transaction. Checking the
        // foreign key of each row would take a fifth of the time of adding it; `verify` checks them in any
        // registry.
        connection.pragma_update(None, "foreign_keys", "OFF")?;
        schema::migrate(&mut connection)?;
        Ok((connection, temporary))
    }

    /// Creates an empty file beside `target`, where no file may exist yet.
    fn without_bytes(target: &Path) -> Result<Self> {
        reserved::check(target).map_err(Error::of_disk)?;
        files::check_is_free(target)?;
        NewFile::beside(target)
    }

    /// Creates an empty file beside `target`, even if a file exists there.
    fn beside(target: &Path) -> Result<Self> {
        let directory = disk::directory_of(target).canonicalize();
        if let Ok(directory) = &directory {
            files::check_length(&directory.join(target.file_name().unwrap_or_default()))?;
        }
        let file = AtomicFile::beside(target).map_err(Error::of_disk)?;
        if let Ok(directory) = &directory {
            files::check_length_of_new(directory, file.path())?;
        }
        Ok(NewFile { file })
    }

    /// The path of the temporary file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The path at which the registry will be put in place.
    pub fn target(&self) -> &Path {
        self.file.target()
    }

    /// Gives the registry the permissions of the file at a path, if that file exists.
    pub fn take_permissions_of(&self, path: &Path) -> Result<()> {
        match files::metadata(path)? {
            Some(metadata) => self.take_permissions(&metadata),
            None => Ok(()),
        }
    }

    /// Gives the registry the permissions of another file. Call this before anything is copied into it.
    fn take_permissions(&self, of: &Metadata) -> Result<()> {
        self.file.take_permissions(of).map_err(Error::of_disk)
    }

    /// Closes the connection that filled the registry, and sets the journal mode of a registry in use, which is
    /// stored in the file.
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
    /// [`ErrorKind::AlreadyExists`]: another process has created a file there.
    pub fn put_in_place(self) -> Result<()> {
        files::check_is_free(self.file.target())?;
        self.file.put_in_place().map_err(Error::of_disk)
    }
}

/// The number of pages that are copied between two calls of the progress function.
const STEP_PAGES: i32 = 4_096;

/// The time between two attempts to get a lock.
const RETRY: Duration = Duration::from_millis(10);

/// Copies the state that a connection sees into a temporary file beside `target`, where no file may exist yet.
/// The copy gets the permissions of the registry at `of`, if that has a path. Calls `progress` with the number
/// of pages copied and the total number of pages.
///
/// If the connection is in a transaction that has begun to read, the copy is of the state that the transaction
/// sees.
///
/// # Errors
///
/// [`ErrorKind::InvalidPath`], [`ErrorKind::AlreadyExists`], [`ErrorKind::Full`], and the errors of
/// reading; [`ErrorKind::Interrupted`]: `progress` returned `Break`.
pub fn copy_beside(
    source: &Connection,
    of: Option<&Path>,
    target: &Path,
    busy_wait: Duration,
    progress: impl FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<NewFile> {
    // Checked first, because otherwise a file that SQLite created there would be reported as existing.
    reserved::check(target).map_err(Error::of_disk)?;
    if target.symlink_metadata().is_ok() {
        return Err(Error::exists());
    }
    let temporary = NewFile::without_bytes(target)?;
    of.map_or(Ok(()), |of| temporary.take_permissions_of(of))?;
    fill(&temporary, source, busy_wait, progress)?;
    Ok(temporary)
}

/// Copies the state that a connection sees into a temporary file. The connection must be in a transaction that
/// has begun to read, so that the state does not change.
fn fill(
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

/// Replaces the content of another database with the state that a connection sees.
fn copy_into(
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

/// A lock on the registry that will be replaced. Dropping it releases the lock.
pub(crate) struct TargetLock {
    connection: Option<Connection>,
}

impl NewFile {
    /// Rejects a target that is not a file: replacing a directory or a device would remove it for other
    /// programs.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotARegistry`]: the target is a directory, a pipe or a device.
    pub fn check_target(target: &Path) -> Result<()> {
        files::metadata(target)?.map_or(Ok(()), |metadata| files::check_is_a_file(&metadata))
    }

    /// Copies the registry at `copy` into a temporary file beside `target`, which can then replace the file
    /// there. The copy gets the permissions of the file at `target` or, if none exists, of the file at `copy`.
    /// Calls `progress` with the number of pages copied and the total number of pages.
    ///
    /// # Errors
    ///
    /// The errors of [`open::open`] for the copy; [`ErrorKind::Interrupted`]: `progress` returned `Break`.
    pub fn copy_of(
        copy: &Path,
        target: &Path,
        busy_wait: Duration,
        progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Self> {
        // If the target is a link, the file that it refers to is replaced, and the link stays.
        let target = match target.is_symlink() {
            true => files::canonical(target)?,
            false => target.to_owned(),
        };
        let source = open::open(copy)?;
        let temporary = NewFile::beside(&target)?;
        let replaced = match files::metadata(&target)? {
            None => files::metadata(copy)?,
            replaced => replaced,
        };
        if let Some(replaced) = replaced {
            temporary.take_permissions(&replaced)?;
        }
        // Without a transaction that has begun to read, SQLite copies everything again after each change
        // by another process.
        let snapshot = source.connection.unchecked_transaction()?;
        schema::check_version(&snapshot)?;
        fill(&temporary, &snapshot, busy_wait, progress)?;
        drop(snapshot);
        source.identity.check()?;
        Ok(temporary)
    }

    /// Locks the registry at the target for writing, so that no change is in progress while it is replaced. If
    /// SQLite cannot open the file, it is not locked; no other process can be writing to it either.
    ///
    /// The schema is not checked, since a newer version of this program may be writing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: another process is writing to it.
    pub fn lock_target(&self, busy_wait: Duration) -> Result<TargetLock> {
        let open = || -> Result<Connection> {
            let connection = connection::open(self.target())?;
            connection::configure(&connection, busy_wait)?;
            connection.execute_batch("BEGIN IMMEDIATE")?;
            Ok(connection)
        };
        match open() {
            Err(error) if error.kind() == ErrorKind::Busy => Err(error),
            connection => Ok(TargetLock { connection: connection.ok() }),
        }
    }

    /// Renames the locked file at the target, with its `-wal` and `-shm` files, and then renames the temporary
    /// file to the target. All connections to the temporary file must be closed.
    ///
    /// Returns the new path of the old file, `TARGET.replaced-SUFFIX`. `None` means that no file existed.
    /// `suffix` is the time, in a form that is allowed in a file name.
    ///
    /// Processes that have the old registry open detect the replacement with
    /// [`Identity::check`](super::Identity::check). Between the two renames no file is at the target. If the
    /// process is killed at that moment, both the old registry and the copy exist under other names.
    ///
    /// Everything that can fail without renaming anything is done first: syncing the copy and the directory. If
    /// something fails afterwards, the renames are undone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`]: a file `TARGET.replaced-SUFFIX` already exists, or another process has
    /// created a registry at the target meanwhile. [`ErrorKind::Misplaced`]: the old file cannot be renamed
    /// back.
    pub fn replace(self, lock: TargetLock, suffix: &str) -> Result<Option<PathBuf>> {
        let file = self.file;
        let target = file.target().to_owned();
        let mut name = OsString::from(&target);
        name.push(format!(".replaced-{suffix}"));
        let kept = PathBuf::from(name);
        if kept.symlink_metadata().is_ok() {
            return Err(Error::exists());
        }
        file.sync().map_err(Error::of_disk)?;
        let directory = Directory::open(disk::directory_of(&target)).map_err(Error::of_disk)?;
        directory.sync().map_err(Error::of_disk)?;
        let mut moves = Moves::default();
        let exchange = || -> Result<()> {
            moves.move_registry(&target, &kept)?;
            file.rename().map_err(Error::of_disk)?;
            moves.placed = Some(target.clone());
            directory.sync().map_err(Error::of_disk)
        };
        if let Err(source) = exchange() {
            return Err(match moves.undo() {
                Ok(()) => {
                    // The old names are restored. The error includes that this may not be durable.
                    let _ = directory.sync();
                    source
                }
                Err(_) => moved_away(&target, &kept).because(source),
            });
        }
        // Processes that wait for the lock may continue only now. Because the file was renamed, closing the
        // connection does not change the files at the target (`databaseIsUnmoved` in pager.c).
        drop(lock.connection);
        Ok((!moves.done.is_empty()).then_some(kept))
    }
}

/// The renames that were made to replace a registry.
#[derive(Default)]
struct Moves {
    /// The old and the new path of each file, in the order of the renames.
    done: Vec<(PathBuf, PathBuf)>,
    /// The path of the new registry, after it was renamed to the target.
    placed: Option<PathBuf>,
}

impl Moves {
    /// Renames a registry and the files beside it. The registry is renamed first, so that no process
    /// opens it without its `-wal` file.
    fn move_registry(&mut self, target: &Path, kept: &Path) -> Result<()> {
        for ending in [""].into_iter().chain(reserved::ENDINGS) {
            let (from, to) = (reserved::beside(target, ending), reserved::beside(kept, ending));
            if from.symlink_metadata().is_ok() {
                rename(&from, &to)?;
                self.done.push((from, to));
            }
        }
        Ok(())
    }

    /// Removes the new registry and renames the old files back, the registry last.
    fn undo(&self) -> Result<()> {
        if let Some(placed) = &self.placed {
            let unmoved = |source| Error::cannot("remove", placed, source).of_store();
            std::fs::remove_file(placed).map_err(unmoved)?;
        }
        self.done.iter().rev().try_for_each(|(from, to)| rename(to, from))
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to).map_err(|source| Error::cannot("move", from, source).of_store())
}

/// The error for a registry that was renamed to be replaced and could not be renamed back, so that no registry
/// is at its path.
fn moved_away(from: &Path, to: &Path) -> Error {
    let message = format!(
        "{} was moved to {}, and cannot be moved back",
        quoted(&from.to_string_lossy()),
        quoted(&to.to_string_lossy())
    );
    Error::stored(ErrorKind::Misplaced, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::BUSY_WAIT;
    use crate::store::sqlite::open::Opened;

    fn prepare(target: &Path) -> Result<NewFile> {
        let (connection, temporary) = NewFile::create(target, BUSY_WAIT)?;
        temporary.close(Some(connection))?;
        Ok(temporary)
    }

    #[test]
    fn of_two_new_registries_at_one_path_the_second_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("accession.db");
        let (first, second) = (prepare(&path).unwrap(), prepare(&path).unwrap());
        first.put_in_place().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(second.put_in_place().err().unwrap().kind(), ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn changes_left_by_a_lost_registry_do_not_enter_a_new_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("accession.db");
        let wal = directory.path().join("accession.db-wal");
        // The changes appear after the temporary file was created, and before.
        let temporary = prepare(&path).unwrap();
        std::fs::write(&wal, "a change").unwrap();
        let is_orphaned = |error: Error| {
            let names_it = error.to_string().contains(&*wal.to_string_lossy());
            error.kind() == ErrorKind::Misplaced && names_it
        };
        assert!(is_orphaned(temporary.put_in_place().unwrap_err()));
        assert!(is_orphaned(prepare(&path).map(|_| ()).unwrap_err()));
        assert!(!path.exists());
        // If a registry exists at the path, the changes belong to it.
        std::fs::write(&path, "a registry").unwrap();
        assert_eq!(prepare(&path).map(|_| ()).unwrap_err().kind(), ErrorKind::AlreadyExists);
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

    fn at(directory: &tempfile::TempDir, name: &str) -> PathBuf {
        directory.path().join(name)
    }

    fn create(path: &Path, dataset: &str) {
        let (connection, temporary) = NewFile::create(path, BUSY_WAIT).unwrap();
        connection
            .execute(
                "INSERT INTO dataset (name, record, row_check) VALUES (?1, '{}', 0)",
                [dataset],
            )
            .unwrap();
        temporary.close(Some(connection)).unwrap();
        temporary.put_in_place().unwrap();
    }

    fn datasets(path: &Path) -> String {
        datasets_of(&open::open(path).unwrap().connection)
    }

    fn datasets_of(connection: &Connection) -> String {
        let sql = "SELECT group_concat(name) FROM (SELECT name FROM dataset ORDER BY id)";
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn restore(copy: &Path, target: &Path) -> Result<Option<PathBuf>> {
        let wait = Duration::from_millis(50);
        let temporary = NewFile::copy_of(copy, target, wait, |_, _| ControlFlow::Continue(()))?;
        let lock = temporary.lock_target(wait)?;
        temporary.replace(lock, "T")
    }

    fn open_to_write(path: &Path) -> Opened {
        let mut opened = open::open(path).unwrap();
        opened.identity.enable_writes(&mut opened.connection, true).unwrap();
        opened
    }

    #[test]
    fn changes_that_are_only_in_the_wal_file_move_with_their_registry() {
        let directory = tempfile::tempdir().unwrap();
        let (copy, target) = (at(&directory, "copy.db"), at(&directory, "accession.db"));
        create(&copy, "OLD");
        create(&target, "NEW");
        let Opened { connection, identity } = open_to_write(&target);
        connection
            .execute("INSERT INTO dataset (name, record, row_check) VALUES ('LATER', '{}', 0)", [])
            .unwrap();
        let moved = restore(&copy, &target).unwrap().unwrap();
        assert_eq!(identity.check().err().unwrap().kind(), ErrorKind::Replaced);
        assert_eq!(datasets_of(&connection), "NEW,LATER");
        // Another process writes to the new registry, and then the old registry is closed.
        let new = open_to_write(&target);
        new.connection
            .execute("INSERT INTO dataset (name, record, row_check) VALUES ('AFTER', '{}', 0)", [])
            .unwrap();
        drop(connection);
        assert!(reserved::beside(&target, "-wal").exists());
        drop(new);
        assert_eq!(datasets(&target), "OLD,AFTER");
        assert_eq!(datasets(&moved), "NEW,LATER");
        // The name for the old file is already in use.
        assert_eq!(restore(&copy, &target).err().unwrap().kind(), ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_registry_that_is_being_written_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (copy, target) = (at(&directory, "copy.db"), at(&directory, "accession.db"));
        create(&copy, "OLD");
        create(&target, "NEW");
        let writer = open_to_write(&target);
        writer.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert_eq!(restore(&copy, &target).err().unwrap().kind(), ErrorKind::Busy);
        writer.connection.execute_batch("COMMIT").unwrap();
        drop(writer);
        assert_eq!(datasets(&target), "NEW");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_damaged_or_lost_registry_is_replaced_and_its_files_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let (copy, target) = (at(&directory, "copy.db"), at(&directory, "accession.db"));
        create(&copy, "OLD");
        for ending in ["", "-wal"] {
            std::fs::write(reserved::beside(&target, ending), "not a registry").unwrap();
            let moved = restore(&copy, &target).unwrap().unwrap();
            assert_eq!(datasets(&target), "OLD");
            let left = reserved::beside(&moved, ending);
            assert_eq!(std::fs::read(&left).unwrap(), b"not a registry");
            std::fs::remove_file(left).unwrap();
            std::fs::remove_file(&target).unwrap();
        }
        assert_eq!(restore(&copy, &target).unwrap(), None);
        assert_eq!(datasets(&target), "OLD");
    }
}
