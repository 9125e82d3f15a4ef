//! Replaces a registry with a copy, and puts new ones in place.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::create::NewFile;
use super::{connection, create, files, open};
use crate::disk::{self, Directory, reserved};
use crate::model::quoted;
use crate::store::{Access, Error, ErrorKind, Result};

/// A lock on the registry that is to be replaced, which ends when it is dropped.
pub(crate) struct TargetLock {
    connection: Option<Connection>,
}

impl NewFile {
    /// Copies the registry at `copy` into a temporary file beside `target`, which can then replace it, with
    /// the permissions of the file at `target` or, if there is none, of the copy. `progress` is called with
    /// the number of pages copied and the total number of pages.
    ///
    /// # Errors
    ///
    /// Those of [`open::open`] for the copy; [`ErrorKind::Interrupted`]: `progress` returned `Break`.
    pub fn copy_of(
        copy: &Path,
        target: &Path,
        busy_wait: Duration,
        progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Self> {
        // A link is kept, and still refers to the registry.
        let target = match target.is_symlink() {
            true => files::canonical(target)?,
            false => target.to_owned(),
        };
        let source = open::open(copy, Access::Read, busy_wait)?;
        let temporary = NewFile::beside(&target)?;
        let replaced = match files::metadata(&target)? {
            None => files::metadata(copy)?,
            replaced => replaced,
        };
        if let Some(replaced) = replaced {
            temporary.take_permissions(&replaced)?;
        }
        create::fill(&temporary, &source.connection, busy_wait, progress)?;
        source.identity.check()?;
        Ok(temporary)
    }

    /// Locks the registry at the target for writing, so that no change is in progress while it is replaced.
    /// What SQLite cannot open is not locked, since no other process is writing to it either.
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

    /// Renames the file at the target, which is locked, with its `-wal` and `-shm` files, and then
    /// renames the temporary file to the target. All connections to the temporary file must be closed.
    ///
    /// Returns the new path of the old file, `TARGET.replaced-SUFFIX`. `None` means that there was no
    /// file. `suffix` is the time, in a form that is allowed in a file name.
    ///
    /// Processes that have the old registry open find by [`Identity::check`](super::Identity::check) that
    /// it was replaced. Between the two renames there is no file at the target; if the process is
    /// killed at that moment, both the old registry and the copy exist under other names.
    ///
    /// Whatever can fail without renaming anything is done first: the copy is synced, and so is the
    /// directory. If something fails afterwards, what was renamed is renamed back.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryExists`]: there is already a file `TARGET.replaced-SUFFIX`, or another process
    /// has since created a registry at the target; [`ErrorKind::MovedAway`]: the old file cannot be renamed
    /// back.
    pub fn replace(self, lock: TargetLock, suffix: &str) -> Result<Option<PathBuf>> {
        let file = self.into_file();
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
                    // The names are as they were; that they may not be durable is part of the error.
                    let _ = directory.sync();
                    source
                }
                Err(_) => moved_away(&target, &kept).because(source),
            });
        }
        // Processes that wait for the lock may continue only now. Because the file was renamed, closing
        // the connection does not touch the files at the target (`databaseIsUnmoved` in pager.c).
        drop(lock.connection);
        Ok((!moves.done.is_empty()).then_some(kept))
    }
}

/// The renames that were made to replace a registry.
#[derive(Default)]
struct Moves {
    /// The old and the new path of each file, in the order in which they were renamed.
    done: Vec<(PathBuf, PathBuf)>,
    /// The path of the new registry, once it is there.
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

/// The error for a registry that was renamed to be replaced, and that has no other at its path.
fn moved_away(from: &Path, to: &Path) -> Error {
    let message = format!(
        "{} was moved to {}, and cannot be moved back",
        quoted(&from.to_string_lossy()),
        quoted(&to.to_string_lossy())
    );
    Error::stored(ErrorKind::MovedAway, message)
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
        datasets_of(&open::open(path, Access::Read, BUSY_WAIT).unwrap().connection)
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

    #[test]
    fn changes_that_are_only_in_the_wal_file_move_with_their_registry() {
        let directory = tempfile::tempdir().unwrap();
        let (copy, target) = (at(&directory, "copy.db"), at(&directory, "accession.db"));
        create(&copy, "OLD");
        create(&target, "NEW");
        let Opened { connection, identity } =
            open::open(&target, Access::Write, BUSY_WAIT).unwrap();
        connection
            .execute("INSERT INTO dataset (name, record, row_check) VALUES ('LATER', '{}', 0)", [])
            .unwrap();
        let moved = restore(&copy, &target).unwrap().unwrap();
        assert_eq!(identity.check().err().unwrap().kind(), ErrorKind::Replaced);
        assert_eq!(datasets_of(&connection), "NEW,LATER");
        // Another process writes to the new registry, and then the old one is closed.
        let new = open::open(&target, Access::Write, BUSY_WAIT).unwrap();
        new.connection
            .execute("INSERT INTO dataset (name, record, row_check) VALUES ('AFTER', '{}', 0)", [])
            .unwrap();
        drop(connection);
        assert!(reserved::beside(&target, "-wal").exists());
        drop(new);
        assert_eq!(datasets(&target), "OLD,AFTER");
        assert_eq!(datasets(&moved), "NEW,LATER");
        // The name for the old file is in use by now.
        assert_eq!(restore(&copy, &target).err().unwrap().kind(), ErrorKind::RegistryExists);
    }

    #[test]
    fn a_registry_that_is_being_written_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (copy, target) = (at(&directory, "copy.db"), at(&directory, "accession.db"));
        create(&copy, "OLD");
        create(&target, "NEW");
        let writer = open::open(&target, Access::Write, BUSY_WAIT).unwrap();
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
