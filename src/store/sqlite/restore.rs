//! Replaces a registry with a copy.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::create::TemporaryRegistry;
use super::{Result, backup, connection, files, open};
use crate::disk::{self, reserved};
use crate::store::{Access, Error};

/// Copies the registry at `copy` into a temporary file beside `target`, whether or not there is a
/// file at `target`. `progress` is called with the number of pages copied and the total number of
/// pages.
///
/// # Errors
///
/// Those of [`open::open`] for the copy; [`Error::Interrupted`]: `progress` returned `Break`.
pub fn prepare(
    copy: &Path,
    target: &Path,
    busy_wait: Duration,
    progress: impl FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<TemporaryRegistry> {
    // A link is kept, and still refers to the registry.
    let target = match target.is_symlink() {
        true => files::canonical(target)?,
        false => target.to_owned(),
    };
    let source = open::open(copy, Access::Read, busy_wait)?;
    let temporary = TemporaryRegistry::beside(&target)?;
    backup::fill(&temporary, &source.connection, busy_wait, progress)?;
    source.identity.check()?;
    Ok(temporary)
}

/// Renames the file at the target of a temporary file, with its `-wal` and `-shm` files, and then
/// renames the temporary file to the target. All connections to the temporary file must be closed.
///
/// Returns the new path of the old file, `TARGET.replaced-SUFFIX`. `None` means that there was no
/// file. `suffix` is the time, in a form that is allowed in a file name.
///
/// If the target is a registry, its write lock is held while it is renamed, so no change is in
/// progress. Processes that have it open find by [`Identity::check`](super::Identity::check) that
/// it was replaced. Between the two renames there is no file at the target; if the process is
/// killed at that moment, both the old registry and the copy exist under other names.
///
/// # Errors
///
/// [`Error::Busy`]: another process is writing to the target; [`Error::Exists`]: there is already a
/// file `TARGET.replaced-SUFFIX`, or another process has since created a registry at the target.
pub fn replace(
    temporary: TemporaryRegistry,
    suffix: &str,
    busy_wait: Duration,
) -> Result<Option<PathBuf>> {
    let target = temporary.target().to_owned();
    let lock = target_connection(&target, busy_wait)?;
    let moved = move_away(&target, suffix)?;
    temporary.put_in_place()?;
    // Processes that wait for the lock may continue only now. Because the file was renamed, closing
    // the connection does not touch the files at the target (`databaseIsUnmoved` in pager.c).
    drop(lock);
    Ok(moved)
}

/// Opens a connection to the target with which it can be locked. `None` means that SQLite cannot
/// open it, so no other process is writing to it either.
///
/// The schema is not checked, since a newer version of this program may be writing.
fn target_connection(target: &Path, busy_wait: Duration) -> Result<Option<Connection>> {
    let open = || {
        let connection = connection::open(target)?;
        connection::configure(&connection, busy_wait)?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        Ok(connection)
    };
    match open() {
        Ok(connection) => Ok(Some(connection)),
        Err(Error::Busy) => Err(Error::Busy),
        Err(_) => Ok(None),
    }
}

/// Renames a registry and the files beside it. The registry is renamed first, so that no process
/// opens it without its `-wal` file.
fn move_away(target: &Path, suffix: &str) -> Result<Option<PathBuf>> {
    let mut name = OsString::from(target);
    name.push(format!(".replaced-{suffix}"));
    let moved = PathBuf::from(name);
    if moved.symlink_metadata().is_ok() {
        return Err(Error::Exists);
    }
    let has_registry = target.symlink_metadata().is_ok();
    let mut was_there = false;
    if has_registry {
        rename(target, &moved)?;
        was_there = true;
    }
    for ending in reserved::ENDINGS {
        let (from, to) = (reserved::beside(target, ending), reserved::beside(&moved, ending));
        if from.symlink_metadata().is_ok() {
            rename(&from, &to)?;
            was_there = true;
        }
    }
    disk::sync_directory(disk::directory_of(target))?;
    Ok(was_there.then_some(moved))
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to).map_err(|source| Error::Io {
        verb: "move",
        path: from.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::BUSY_WAIT;
    use crate::store::sqlite::open::Opened;

    fn at(directory: &tempfile::TempDir, name: &str) -> PathBuf {
        directory.path().join(name)
    }

    fn create(path: &Path, dataset: &str) {
        let (connection, temporary) = TemporaryRegistry::create(path, BUSY_WAIT).unwrap();
        connection.execute("INSERT INTO dataset (name) VALUES (?1)", [dataset]).unwrap();
        temporary.close(connection).unwrap();
        temporary.put_in_place().unwrap();
    }

    fn datasets(path: &Path) -> String {
        datasets_of(&open::open(path, Access::Read, BUSY_WAIT).unwrap().connection)
    }

    fn datasets_of(connection: &Connection) -> String {
        let sql = "SELECT group_concat(name) FROM (SELECT name FROM dataset ORDER BY id)";
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn restore(copy: &Path, target: &Path) -> Result<Option<PathBuf>> {
        let wait = Duration::from_millis(50);
        let temporary = prepare(copy, target, wait, |_, _| ControlFlow::Continue(()))?;
        replace(temporary, "T", wait)
    }

    #[test]
    fn a_copy_replaces_a_registry_which_is_kept_under_another_name() {
        let directory = tempfile::tempdir().unwrap();
        let (copy, target) = (at(&directory, "copy.db"), at(&directory, "accession.db"));
        create(&copy, "OLD");
        create(&target, "NEW");
        let moved = restore(&copy, &target).unwrap().unwrap();
        assert_eq!(moved, at(&directory, "accession.db.replaced-T"));
        assert_eq!(datasets(&target), "OLD");
        assert_eq!(datasets(&moved), "NEW");
        assert_eq!(datasets(&copy), "OLD");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3);
        // The name for the old file is in use by now.
        assert!(matches!(restore(&copy, &target), Err(Error::Exists)));
        assert_eq!(datasets(&target), "OLD");
    }

    #[test]
    fn changes_that_are_only_in_the_wal_file_move_with_their_registry() {
        let directory = tempfile::tempdir().unwrap();
        let (copy, target) = (at(&directory, "copy.db"), at(&directory, "accession.db"));
        create(&copy, "OLD");
        create(&target, "NEW");
        let Opened { connection, identity } =
            open::open(&target, Access::Write, BUSY_WAIT).unwrap();
        connection.execute("INSERT INTO dataset (name) VALUES ('LATER')", []).unwrap();
        let moved = restore(&copy, &target).unwrap().unwrap();
        assert!(matches!(identity.check(), Err(Error::Replaced)));
        assert_eq!(datasets_of(&connection), "NEW,LATER");
        // Another process writes to the new registry, and then the old one is closed.
        let new = open::open(&target, Access::Write, BUSY_WAIT).unwrap();
        new.connection.execute("INSERT INTO dataset (name) VALUES ('AFTER')", []).unwrap();
        drop(connection);
        assert!(reserved::beside(&target, "-wal").exists());
        drop(new);
        assert_eq!(datasets(&target), "OLD,AFTER");
        assert_eq!(datasets(&moved), "NEW,LATER");
    }

    #[test]
    fn a_registry_that_is_being_written_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (copy, target) = (at(&directory, "copy.db"), at(&directory, "accession.db"));
        create(&copy, "OLD");
        create(&target, "NEW");
        let writer = open::open(&target, Access::Write, BUSY_WAIT).unwrap();
        writer.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(matches!(restore(&copy, &target), Err(Error::Busy)));
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

    #[test]
    fn a_file_that_is_not_a_registry_replaces_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (copy, target) = (at(&directory, "copy.db"), at(&directory, "accession.db"));
        std::fs::write(&copy, "not a registry").unwrap();
        create(&target, "NEW");
        assert!(matches!(restore(&copy, &target), Err(Error::NotARegistry { .. })));
        assert_eq!(datasets(&target), "NEW");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
