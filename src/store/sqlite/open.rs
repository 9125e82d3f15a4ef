//! The only way to open a registry, and the checks that a file must pass before it is read or written.

use rusqlite::Connection;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use super::files::{FileId, Identity, Location, Unlocked};
use super::schema::{self, SCHEMA};
use super::{Result, connection, files};
use crate::disk::scratch;
use crate::store::{BUSY_WAIT, Error};

/// An open registry.
pub struct Opened {
    /// The first connection to it.
    pub connection: Connection,
    /// The identity of the file, to check it and to open it again.
    pub identity: Identity,
}

/// Opens the registry at `path` for reading.
///
/// A registry with an older schema cannot be read before the first change migrates it.
///
/// If possible, the file is opened for writing, and writes are disabled. Then the last reader removes the
/// `-wal` and `-shm` files, which a read-only connection would leave (observed with SQLite 3.40 to 3.54).
///
/// # Errors
///
/// [`ErrorKind::RegistryMissing`], [`ErrorKind::NotARegistry`], [`ErrorKind::OtherSchema`],
/// [`ErrorKind::Damaged`]: no registry that this version can read is at the path. [`ErrorKind::InvalidPath`],
/// [`ErrorKind::Denied`], [`ErrorKind::Busy`], [`ErrorKind::Temporary`], [`ErrorKind::Io`]: the file cannot be
/// opened. [`ErrorKind::Replaced`]: another file replaced it while it was being opened.
pub fn open(path: &Path) -> Result<Opened> {
    let Some(metadata) = files::metadata(path)? else {
        // A dangling link must be reported, because creating a registry there would fail: the name is taken.
        return Err(match path.symlink_metadata() {
            Ok(_) => Error::not_a_registry("it is a link to a file that does not exist"),
            Err(_) => Error::missing(),
        });
    };
    files::check_is_a_file_with_bytes(&metadata)?;
    let file = files::canonical(path)?;
    let (connection, unlocked) = connect(&file, &metadata)?;
    let absolute = std::path::absolute(path);
    let path = absolute.map_err(|source| Error::cannot("look at", path, source).of_store())?;
    let location = Some(Location { path, file, id: FileId::of(&metadata), unlocked });
    let opened = Opened { connection, identity: Identity { location } };
    // Another file may have replaced it between the check and the opening.
    opened.identity.check()?;
    opened.prepare()
}

/// Creates an empty registry in memory, which is deleted when the connection is closed.
///
/// # Errors
///
/// [`ErrorKind::Database`]: SQLite cannot allocate memory.
pub fn in_memory() -> Result<Opened> {
    let mut connection = connection::open_in_memory()?;
    schema::migrate(&mut connection)?;
    Ok(Opened { connection, identity: Identity::of_connection() })
}

/// Creates an empty registry at a path in a temporary directory. It need not survive a crash, so nothing is
/// synced.
///
/// # Errors
///
/// [`ErrorKind::Temporary`]: the file cannot be created.
pub fn temporary(path: PathBuf) -> Result<Opened> {
    let created = File::create_new(&path).and_then(|file| file.metadata());
    let metadata = created.map_err(|error| scratch::unusable("create", error).of_store())?;
    let mut connection = connection::open(&path)?;
    connection::configure(&connection, BUSY_WAIT)?;
    connection::without_syncs(&connection)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    schema::migrate(&mut connection)?;
    restrict(&connection, true)?;
    let (file, id) = (files::canonical(&path)?, FileId::of(&metadata));
    let location = Some(Location { path, file, id, unlocked: None });
    Ok(Opened { connection, identity: Identity { location } })
}

impl Opened {
    /// Checks the schema, and disables writes.
    fn prepare(self) -> Result<Self> {
        // An older schema is checked when it is migrated. Until then, every read rejects it.
        if schema::version(&self.connection)? >= SCHEMA {
            schema::check(&self.connection)?;
        }
        restrict(&self.connection, true)?;
        Ok(self)
    }
}

impl Identity {
    /// Opens another connection to the same registry. `None` means that there can be only one, because the
    /// registry is in memory.
    ///
    /// The schema is not checked again, so this takes a third of the time of [`open`].
    pub fn open_again(&self) -> Result<Option<Connection>> {
        let Some(Location { file, unlocked, .. }) = &self.location else { return Ok(None) };
        let connection = match unlocked {
            None => open_locked(file)?,
            Some(_) => open_unlocked(file)?,
        };
        // A newer version may have migrated the file.
        if schema::version(&connection)? > SCHEMA {
            schema::check_version(&connection)?;
        }
        restrict(&connection, true)?;
        self.check()?;
        Ok(Some(connection))
    }

    /// Enables writes on a connection; called before each change. The first change of a registry (`is_first`)
    /// migrates an older schema, and sets the journal mode.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Denied`] and other errors of opening: the registry cannot be written. Errors of migrating
    /// it.
    pub fn enable_writes(&self, connection: &mut Connection, is_first: bool) -> Result<()> {
        let Some(Location { file, unlocked, .. }) = &self.location else { return Ok(()) };
        if unlocked.is_some() {
            // It was opened without locks because locking failed. Trying again returns that error, which may be
            // the reason.
            open_locked(file)?;
            return Err(Error::read_only());
        }
        if connection.is_readonly(rusqlite::MAIN_DB)? {
            return Err(Error::read_only());
        }
        restrict(connection, false)?;
        if is_first {
            if schema::version(connection)? < SCHEMA {
                schema::migrate(connection)?;
                schema::check(connection)?;
            }
            // The mode is stored in the file, but a copy made by VACUUM INTO does not have it.
            connection.pragma_update(None, "journal_mode", "WAL")?;
        }
        Ok(())
    }

    /// Disables writes on a connection after a change.
    pub fn disable_writes(&self, connection: &Connection) -> Result<()> {
        // The only connection to a new registry stays writable, because closing it sets another journal mode.
        if self.location.is_some() { restrict(connection, true) } else { Ok(()) }
    }
}

/// Opens a file with locks or, if locks are not possible, without.
fn connect(file: &Path, metadata: &Metadata) -> Result<(Connection, Option<Unlocked>)> {
    match open_locked(file) {
        Err(error) if error.is_of_locks() && !files::has_wal(file)? => {
            Ok((open_unlocked(file)?, Some(Unlocked::of(metadata))))
        }
        result => Ok((result?, None)),
    }
}

fn open_locked(file: &Path) -> Result<Connection> {
    let connection = connection::open(file)?;
    // Checked before the first read. In a writable directory, the read would create -wal and -shm files that
    // nobody removes and that the owner of the registry cannot write.
    if connection.is_readonly(rusqlite::MAIN_DB)? && !files::has_wal(file)? {
        return Err(Error::read_only());
    }
    // This reads the schema first. With that read, SQLite opens the file and the two files beside it.
    connection::configure(&connection, BUSY_WAIT)?;
    Ok(connection)
}

fn open_unlocked(file: &Path) -> Result<Connection> {
    let connection = connection::open_immutable(file)?;
    connection::configure(&connection, BUSY_WAIT)?;
    Ok(connection)
}

/// Disables or enables writes on a connection.
fn restrict(connection: &Connection, is_for_reading: bool) -> Result<()> {
    Ok(connection.pragma_update(None, "query_only", is_for_reading)?)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::store::ErrorKind;
    use crate::store::sqlite::create::NewFile;

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

    fn unlocked(path: &Path) -> Opened {
        let metadata = files::metadata(path).unwrap().unwrap();
        let location = Some(Location {
            path: path.to_owned(),
            file: path.to_owned(),
            id: FileId::of(&metadata),
            unlocked: Some(Unlocked::of(&metadata)),
        });
        let identity = Identity { location };
        let connection = open_unlocked(path).unwrap();
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
        let opened = open(&at("link.db")).unwrap();
        opened.identity.check().unwrap();
        std::fs::remove_file(at("link.db")).unwrap();
        std::os::unix::fs::symlink("other.db", at("link.db")).unwrap();
        assert_eq!(opened.identity.check().err().unwrap().kind(), ErrorKind::Replaced);
    }

    #[test]
    fn a_connection_writes_only_between_enabling_and_disabling_it() {
        let (_directory, path) = registry();
        let insert = "INSERT INTO dataset (name, record, row_check) VALUES ('A', '{}', 0)";
        let Opened { connection, identity } = open(&path).unwrap();
        let second = identity.open_again().unwrap().unwrap();
        for mut connection in [connection, second] {
            let inserts = |connection: &Connection| {
                connection.unchecked_transaction().unwrap().execute(insert, []).is_ok()
            };
            assert!(!inserts(&connection));
            identity.enable_writes(&mut connection, true).unwrap();
            assert!(inserts(&connection));
            identity.disable_writes(&connection).unwrap();
            assert!(!inserts(&connection));
        }
        assert!(in_memory().unwrap().identity.open_again().unwrap().is_none());
    }

    #[test]
    fn a_registry_that_is_read_without_locks_accepts_no_change() {
        let (_directory, path) = registry();
        let Opened { mut connection, identity } = unlocked(&path);
        let refused = identity.enable_writes(&mut connection, true).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Denied);
    }

    #[test]
    fn a_registry_that_a_newer_version_migrated_is_not_opened_again() {
        let (_directory, path) = registry();
        let opened = open(&path).unwrap();
        let newer = Connection::open(&path).unwrap();
        newer.pragma_update(None, "user_version", SCHEMA + 1).unwrap();
        assert_eq!(opened.identity.open_again().err().unwrap().kind(), ErrorKind::OtherSchema);
    }

    #[test]
    fn a_path_without_a_registry_is_refused_with_its_reason() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let error = |name: &str| open(&at(name)).map(|_| ()).unwrap_err();
        assert_eq!(error("missing").kind(), ErrorKind::RegistryMissing);
        assert_eq!(error("no directory/missing").kind(), ErrorKind::RegistryMissing);
        assert_eq!(open(Path::new("")).err().unwrap().kind(), ErrorKind::RegistryMissing);
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

    /// For a path that is too long, SQLite reports that it cannot open the file, or that the disk failed.
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
        let mut opened = open(&longest).unwrap();
        opened.identity.enable_writes(&mut opened.connection, true).unwrap();
        opened.connection.execute_batch("BEGIN; SELECT * FROM dataset; COMMIT").unwrap();
        let is_too_long =
            |error: Error| error.to_string().contains(" is 505 bytes long, but only 504 ");
        let new = NewFile::create(&of_length(505), BUSY_WAIT).map(|_| ());
        assert!(is_too_long(new.unwrap_err()));
        std::fs::copy(&longest, of_length(505)).unwrap();
        assert!(is_too_long(open(&of_length(505)).map(|_| ()).unwrap_err()));
    }

    /// A new registry is first written to a temporary file. The message used to state the length of that file's
    /// path: 512 bytes for a given path of 495 bytes.
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
