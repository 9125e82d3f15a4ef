//! The only way to open a registry, and the checks that a file must pass before it is read.

use std::fs::Metadata;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::files::{FileId, Identity, Location, Unlocked};
use super::schema::{self, SCHEMA};
use super::{Result, connection, files};
use crate::store::{Access, Error};

/// An open registry.
pub struct Opened {
    /// The first connection to it.
    pub connection: Connection,
    /// The identity of the file, to check it and to open it again.
    pub identity: Identity,
}

/// Opens the registry at `path`. A writer waits up to `busy_wait` for another writer.
///
/// A registry with an older schema is migrated if it is opened for writing, and refused if it is opened for
/// reading.
///
/// Even for reading, the file is opened for writing where possible, with writes disabled: the last
/// reader then removes the `-wal` and `-shm` files, which a read-only connection would leave
/// (observed with SQLite 3.40 to 3.54).
///
/// # Errors
///
/// [`ErrorKind::RegistryMissing`], [`ErrorKind::NotARegistry`], [`ErrorKind::OtherSchema`],
/// [`ErrorKind::Damaged`]: there is no registry that this version can read. [`ErrorKind::InvalidPath`],
/// [`ErrorKind::Denied`], [`ErrorKind::Busy`], [`ErrorKind::Temporary`],
/// [`ErrorKind::Io`]: it cannot be opened. [`ErrorKind::Replaced`]: another file replaced it while it was
/// being opened.
pub fn open(path: &Path, access: Access, busy_wait: Duration) -> Result<Opened> {
    let Some(metadata) = files::metadata(path)? else {
        // Creating a registry here would fail because the name is taken, so the link must be
        // reported.
        return Err(match path.symlink_metadata() {
            Ok(_) => Error::not_a_registry("it is a link to a file that does not exist"),
            Err(_) => Error::missing(),
        });
    };
    files::check_is_a_file_with_bytes(&metadata)?;
    let file = files::canonical(path)?;
    let (connection, unlocked) = connect(&file, access, busy_wait, &metadata)?;
    let absolute = std::path::absolute(path);
    let path = absolute.map_err(|source| Error::cannot("look at", path, source).of_store())?;
    let location = Some(Location { path, file, id: FileId::of(&metadata), unlocked });
    let opened = Opened { connection, identity: Identity { access, busy_wait, location } };
    // Another file may have replaced it between the check and the opening.
    opened.identity.check()?;
    opened.prepare()
}

/// Creates an empty registry in memory, which is deleted when the connection is closed.
///
/// # Errors
///
/// [`ErrorKind::Database`]: SQLite cannot allocate memory.
pub fn in_memory(busy_wait: Duration) -> Result<Opened> {
    let mut connection = connection::open_in_memory()?;
    schema::migrate(&mut connection)?;
    let identity = Identity::of_connection(Access::Write, busy_wait);
    Ok(Opened { connection, identity })
}

impl Opened {
    /// Checks the schema, migrates it, and restricts the connection to its access.
    fn prepare(self) -> Result<Self> {
        let Opened { mut connection, identity } = self;
        if identity.access == Access::Write && schema::version(&connection)? < SCHEMA {
            schema::migrate(&mut connection)?;
        }
        schema::check(&connection)?;
        restrict(&connection, identity.access)?;
        Ok(Opened { connection, identity })
    }
}

impl Identity {
    /// Opens another connection to the same registry. `None` means that there can be only one: the
    /// registry is in memory.
    ///
    /// The schema is not checked again, so this takes a third of the time of [`open`].
    pub fn open_again(&self) -> Result<Option<Connection>> {
        let Some(Location { file, unlocked, .. }) = &self.location else { return Ok(None) };
        let connection = match unlocked {
            None => open_locked(file, self.access, self.busy_wait)?,
            Some(_) => open_unlocked(file, self.busy_wait)?,
        };
        // A newer version may have migrated the file.
        schema::check_version(&connection)?;
        restrict(&connection, self.access)?;
        self.check()?;
        Ok(Some(connection))
    }
}

/// Opens a file with locks or, if locks are not possible and it is only read, without.
fn connect(
    file: &Path,
    access: Access,
    busy_wait: Duration,
    metadata: &Metadata,
) -> Result<(Connection, Option<Unlocked>)> {
    match open_locked(file, access, busy_wait) {
        Err(error) if access.is_for_reading() && error.is_of_locks() && !files::has_wal(file)? => {
            Ok((open_unlocked(file, busy_wait)?, Some(Unlocked::of(metadata))))
        }
        result => Ok((result?, None)),
    }
}

fn open_locked(file: &Path, access: Access, busy_wait: Duration) -> Result<Connection> {
    let connection = connection::open(file)?;
    // Checked before the first read: in a writable directory, that would create -wal and -shm files
    // that nobody removes and that the owner of the registry cannot write.
    let is_read_only = connection.is_readonly(rusqlite::MAIN_DB)?;
    if is_read_only && (access == Access::Write || !files::has_wal(file)?) {
        return Err(Error::read_only());
    }
    // Its first read is that of the schema, with which SQLite opens the file and the two files beside it.
    connection::configure(&connection, busy_wait)?;
    Ok(connection)
}

fn open_unlocked(file: &Path, busy_wait: Duration) -> Result<Connection> {
    let connection = connection::open_immutable(file)?;
    connection::configure(&connection, busy_wait)?;
    Ok(connection)
}

/// Restricts a connection to its access.
fn restrict(connection: &Connection, access: Access) -> Result<()> {
    match access {
        Access::Read => connection.pragma_update(None, "query_only", true)?,
        // The mode is stored in the file, but a copy made by VACUUM INTO does not have it.
        Access::Write => connection.pragma_update(None, "journal_mode", "WAL")?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::PathBuf;
    use std::time::SystemTime;

    use super::*;
    use crate::store::sqlite::create::NewFile;
    use crate::store::{BUSY_WAIT, ErrorKind};

    /// A new registry in a directory of its own.
    fn registry() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("accession.db");
        create(&path);
        (directory, path)
    }

    fn create(path: &Path) {
        let (connection, temporary) = NewFile::create(path, BUSY_WAIT).unwrap();
        temporary.close(Some(connection)).unwrap();
        temporary.put_in_place().unwrap();
    }

    fn open(path: &Path, access: Access) -> Result<Opened> {
        super::open(path, access, BUSY_WAIT)
    }

    fn unlocked(path: &Path) -> Opened {
        let metadata = files::metadata(path).unwrap().unwrap();
        let location = Some(Location {
            path: path.to_owned(),
            file: path.to_owned(),
            id: FileId::of(&metadata),
            unlocked: Some(Unlocked::of(&metadata)),
        });
        let identity = Identity { access: Access::Read, busy_wait: BUSY_WAIT, location };
        let connection = open_unlocked(path, BUSY_WAIT).unwrap();
        Opened { connection, identity }.prepare().unwrap()
    }

    #[test]
    fn a_read_without_locks_is_refused_if_the_file_changed() {
        let (directory, path) = registry();
        let identity = unlocked(&path).identity;
        identity.check().unwrap();
        assert!(identity.open_again().unwrap().is_some());

        let wal = directory.path().join("accession.db-wal");
        std::fs::write(&wal, "a change").unwrap();
        assert_eq!(identity.check().err().unwrap().kind(), ErrorKind::Replaced);
        assert_eq!(identity.open_again().err().unwrap().kind(), ErrorKind::Replaced);
        std::fs::remove_file(wal).unwrap();

        let file = File::options().append(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(identity.check().err().unwrap().kind(), ErrorKind::Replaced);
    }

    #[test]
    fn a_link_that_was_changed_to_another_file_is_detected() {
        let (directory, path) = registry();
        let at = |name: &str| directory.path().join(name);
        create(&at("other.db"));
        std::os::unix::fs::symlink(&path, at("link.db")).unwrap();
        let opened = open(&at("link.db"), Access::Write).unwrap();
        opened.identity.check().unwrap();
        std::fs::remove_file(at("link.db")).unwrap();
        std::os::unix::fs::symlink("other.db", at("link.db")).unwrap();
        assert_eq!(opened.identity.check().err().unwrap().kind(), ErrorKind::Replaced);
    }

    #[test]
    fn a_registry_is_opened_again_with_the_same_access() {
        let (_directory, path) = registry();
        let insert = "INSERT INTO dataset (name, record, row_check) VALUES ('A', '{}', 0)";
        for access in [Access::Read, Access::Write] {
            let opened = open(&path, access).unwrap();
            let second = opened.identity.open_again().unwrap().unwrap();
            for connection in [&opened.connection, &second] {
                let inserted = connection.unchecked_transaction().unwrap().execute(insert, []);
                assert_eq!(inserted.is_ok(), access == Access::Write);
            }
        }
        assert!(in_memory(Duration::ZERO).unwrap().identity.open_again().unwrap().is_none());
    }

    #[test]
    fn a_registry_that_a_newer_version_migrated_is_not_opened_again() {
        let (_directory, path) = registry();
        let opened = open(&path, Access::Read).unwrap();
        let newer = Connection::open(&path).unwrap();
        newer.pragma_update(None, "user_version", SCHEMA + 1).unwrap();
        assert_eq!(opened.identity.open_again().err().unwrap().kind(), ErrorKind::OtherSchema);
    }

    #[test]
    fn a_path_without_a_registry_is_refused_with_its_reason() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let error = |name: &str| open(&at(name), Access::Read).map(|_| ()).unwrap_err();
        assert_eq!(error("missing").kind(), ErrorKind::RegistryMissing);
        assert_eq!(error("no directory/missing").kind(), ErrorKind::RegistryMissing);
        assert_eq!(
            open(Path::new(""), Access::Read).err().unwrap().kind(),
            ErrorKind::RegistryMissing
        );
        std::fs::write(at("empty"), "").unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        std::os::unix::fs::symlink("missing", at("link")).unwrap();
        let _listening = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for (name, reason) in [
            ("empty", "the file is empty"),
            ("directory", "it is a directory"),
            ("link", "it is a link to a file that does not exist"),
            ("socket", "it is a pipe or a device"),
        ] {
            let error = error(name);
            assert_eq!(error.to_string(), format!("not a registry: {reason}"));
        }
        assert_eq!(error("empty/registry").kind(), ErrorKind::Io);
        assert_eq!(error("nul\0byte").kind(), ErrorKind::Io);
    }

    /// For a path that is too long, SQLite reports that it cannot open the file, or that the disk
    /// failed.
    #[test]
    fn a_path_is_refused_if_and_only_if_it_is_too_long_for_sqlite() {
        let root = tempfile::tempdir().unwrap();
        let mut directory = root.path().canonicalize().unwrap();
        while directory.as_os_str().len() < 400 {
            directory.push("d".repeat(50));
        }
        std::fs::create_dir_all(&directory).unwrap();
        let of_length =
            |bytes: usize| directory.join("n".repeat(bytes - directory.as_os_str().len() - 1));
        let longest = of_length(504);
        create(&longest);
        for access in [Access::Read, Access::Write] {
            let opened = open(&longest, access).unwrap();
            opened.connection.execute_batch("BEGIN; SELECT * FROM dataset; COMMIT").unwrap();
        }
        let is_too_long =
            |error: Error| error.to_string().contains(" is 505 bytes long, but only 504 ");
        let new = NewFile::create(&of_length(505), BUSY_WAIT).map(|_| ());
        assert!(is_too_long(new.unwrap_err()));
        std::fs::copy(&longest, of_length(505)).unwrap();
        assert!(is_too_long(open(&of_length(505), Access::Read).map(|_| ()).unwrap_err()));
    }

    /// A new registry is first written to a temporary file. The message used to state the length of the path
    /// of that file: 512 bytes for a given path of 495 bytes.
    #[test]
    fn a_directory_is_refused_if_its_temporary_files_have_too_long_a_path_for_sqlite() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let of_length = |bytes: usize| {
            let mut directory = root.clone();
            while directory.as_os_str().len() + 101 < bytes {
                directory.push("d".repeat(50));
            }
            directory.push("d".repeat(bytes - directory.as_os_str().len() - 1));
            std::fs::create_dir_all(&directory).unwrap();
            directory
        };
        create(&of_length(482).join("a.db"));
        for (bytes, name) in [(483, "a.db"), (490, "a.db"), (490, "abcdefghi.db")] {
            let error = NewFile::create(&of_length(bytes).join(name), BUSY_WAIT).err().unwrap();
            let what = format!(
                "the absolute path of the directory is {bytes} bytes long, but only 482 are allowed"
            );
            assert!(error.to_string().contains(&what), "{error}");
            assert_eq!(std::fs::read_dir(of_length(bytes)).unwrap().count(), 0);
        }
    }
}
