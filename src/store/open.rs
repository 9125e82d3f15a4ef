//! The one way in: flags, pragmas, and what a file must be before anything is read from it.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempPath;

use super::migrate::{self, Stamp};
use super::{Error, Result, Store, schema};

/// How long a writer waits for another before it says so.
pub const BUSY_WAIT: Duration = Duration::from_secs(10);

/// The longest text, blob or row in a registry, in bytes: a longer one is neither read nor written.
///
/// A note of so many control characters, and a thousand granules beside it, still make a line of a
/// manifest that its reader takes.
pub(super) const MAX_VALUE_BYTES: i32 = 1_024 * 1_024;

/// What SQLite does for us at most (sqlite.org/limits.html): a file from a stranger cannot ask for
/// more. The depth of expressions and the number of columns stay as SQLite has them, since the
/// tables and views that others keep in the file are parsed with ours.
const LIMITS: [(Limit, i32); 7] = [
    (Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_VALUE_BYTES),
    (Limit::SQLITE_LIMIT_VDBE_OP, 25_000),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50),
    // Also the actions of foreign keys, of which we have none. (VACUUM INTO would need one file.)
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// What SQLite may have of the memory, in bytes (64 MiB): it needs a tenth of that.
pub(super) const MEMORY_BYTES: u32 = 67_108_864;

/// Limits what all SQLite connections of this process have of the memory, once and for all: for a
/// program that does nothing but this.
///
/// A limit on the length of a value alone does not do it: to find a row of a table WITHOUT ROWID,
/// SQLite reads those it compares with whole, however long. (A granule id of 100 MB cost 100 MB.)
pub fn limit_memory() -> Result<()> {
    let connection = Connection::open_in_memory()?;
    Ok(connection.pragma_update(None, "hard_heap_limit", MEMORY_BYTES)?)
}

/// What a registry is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Only to read: also where nothing can be written.
    Read,
    /// To read and to write.
    Write,
}

/// A new registry's file, which stands beside its place until it is published.
pub struct Draft {
    file: TempPath,
    target: PathBuf,
}

/// How a file looked when it was opened without locks.
pub(super) struct Unlocked {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Store {
    /// Opens the registry at `path`.
    ///
    /// Reading, too, opens the file for writing where it can, with writes switched off: the last
    /// reader then takes the `-wal` and `-shm` files away again, which a read-only connection
    /// would leave behind (seen with SQLite 3.40 to 3.54).
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        let Some(metadata) = metadata(path)? else {
            // What makes registries finds the name taken, and must not say that none is there.
            return Err(match path.symlink_metadata() {
                Ok(_) => Error::NotARegistry { what: "it is a link that leads nowhere".to_owned() },
                Err(_) => Error::Missing,
            });
        };
        check_is_a_file_with_bytes(&metadata)?;
        // SQLite follows a link before it looks for what stands beside the file, and so must we.
        let file = match path.is_symlink() {
            true => path.canonicalize().map_err(|source| unseen(path, source))?,
            false => path.to_owned(),
        };
        let store = match Store::open_locked(&file, access) {
            Err(error) if access == Access::Read && error.is_of_locks() && !has_wal(&file)? => {
                Store::open_unlocked(&file, metadata)?
            }
            result => result?,
        };
        Store { path: path.to_owned(), ..store }.prepare(access)
    }

    /// Makes a registry that lies nowhere, and is gone when it is dropped.
    pub fn in_memory() -> Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        configure(&connection)?;
        migrate::migrate(&mut connection)?;
        Ok(Store { connection, path: PathBuf::from(":memory:"), unlocked: None })
    }

    fn open_locked(path: &Path, access: Access) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        // Before the first read: where the folder can be written, that would make -wal and -shm
        // files which nobody takes away, and which the registry's owner cannot write.
        let is_read_only = connection.is_readonly(rusqlite::MAIN_DB)?;
        if is_read_only && (access == Access::Write || !has_wal(path)?) {
            return Err(Error::ReadOnly);
        }
        configure(&connection)?;
        // The first read: only now does SQLite look at the file and the two beside it.
        migrate::stamp(&connection)?;
        Ok(Store { connection, path: path.to_owned(), unlocked: None })
    }

    fn open_unlocked(path: &Path, metadata: Metadata) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(immutable_uri(path), flags)?;
        configure(&connection)?;
        let unlocked = Unlocked {
            path: path.to_owned(),
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
        };
        Ok(Store { connection, path: path.to_owned(), unlocked: Some(unlocked) })
    }

    fn prepare(mut self, access: Access) -> Result<Self> {
        if let Stamp::Older(found) = schema::check(&self.connection)? {
            if self.connection.is_readonly(rusqlite::MAIN_DB)? {
                return Err(Error::Older { found, known: migrate::SCHEMA });
            }
            migrate::migrate(&mut self.connection)?;
        }
        match access {
            Access::Read => self.connection.pragma_update(None, "query_only", true)?,
            // Lasting, and so a matter of course; but a copy made by VACUUM INTO has lost it.
            Access::Write => self.connection.pragma_update(None, "journal_mode", "WAL")?,
        }
        Ok(self)
    }
}

impl Draft {
    /// Makes an empty registry beside `target`, where there is no file yet.
    pub fn beside(target: &Path) -> Result<(Store, Self)> {
        let draft = Draft::empty_beside(target)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(draft.path(), flags)?;
        configure(&connection)?;
        migrate::migrate(&mut connection)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        Ok((Store { connection, path: target.to_owned(), unlocked: None }, draft))
    }

    /// Makes a file without bytes beside `target`, which is gone if it is not published.
    pub(super) fn empty_beside(target: &Path) -> Result<Self> {
        check_is_free(target)?;
        let folder = folder_of(target);
        let fail = |source: io::Error| Error::Io {
            verb: "make a file in the folder",
            path: folder.to_owned(),
            // Without the name of the file, which nobody chose.
            source: source.kind().into(),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".accession-").suffix(".new");
        #[cfg(unix)]
        {
            // As any new file: the umask has its say, not the 0600 of a temporary one.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        // The path only: closing a second handle on a database drops SQLite's locks on it.
        let file = builder.tempfile_in(folder).map_err(fail)?.into_temp_path();
        Ok(Draft { file, target: target.to_owned() })
    }

    /// Where the file stands until it is published.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Puts the registry in its place, in one step.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] if there is a file by now: another process was faster.
    pub fn publish(self, store: Store) -> Result<()> {
        // Closing moves what the -wal file holds into the registry too, and removes it; but it does
        // not say if that failed, and a registry without its -wal file is not whole.
        let is_busy: bool =
            store.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if is_busy {
            return Err(Error::Busy);
        }
        store.connection.close().map_err(|(_, error)| error)?;
        self.publish_closed()
    }

    /// Puts a file that nobody has open in its place, in one step.
    ///
    /// # Errors
    ///
    /// As [`Draft::publish`].
    pub fn publish_closed(self) -> Result<()> {
        let Draft { file, target } = self;
        check_is_free(&target)?;
        let folder = folder_of(&target).to_owned();
        file.persist_noclobber(&target).map_err(|persist| match persist.error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists,
            _ => Error::Io { verb: "create", path: target, source: persist.error },
        })?;
        // On Unix a new name is lasting once its folder is; elsewhere folders cannot be opened.
        #[cfg(unix)]
        File::open(&folder).and_then(|handle| handle.sync_all()).map_err(|source| Error::Io {
            verb: "sync",
            path: folder,
            source,
        })?;
        Ok(())
    }
}

impl Unlocked {
    /// Refuses what was read if the file is no longer as it was.
    pub(super) fn check(&self) -> Result<()> {
        let now = metadata(&self.path)?.ok_or(Error::Changed)?;
        let is_same = now.len() == self.bytes && now.modified().ok() == self.modified;
        if is_same && !has_wal(&self.path)? { Ok(()) } else { Err(Error::Changed) }
    }
}

pub(super) fn configure(connection: &Connection) -> Result<()> {
    connection.busy_timeout(BUSY_WAIT)?;
    // A file from a stranger runs nothing: no triggers, no views, no functions with effects.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    // Without it a statement is prepared anew whenever a bound value changes, to look for a better
    // plan; ours have one plan only.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // A truncated file that is mapped into memory ends the process (SIGBUS); a read says so.
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.set_prepared_statement_cache_capacity(32);
    for (limit, most) in LIMITS {
        connection.set_limit(limit, most)?;
    }
    Ok(())
}

fn metadata(path: &Path) -> Result<Option<Metadata>> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(unseen(path, source)),
    }
}

fn unseen(path: &Path, source: io::Error) -> Error {
    Error::Io { verb: "look at", path: path.to_owned(), source }
}

fn check_is_a_file_with_bytes(metadata: &Metadata) -> Result<()> {
    let what = if metadata.is_dir() {
        "it is a folder"
    } else if !metadata.is_file() {
        "it is a pipe or a device"
    } else if metadata.len() == 0 {
        // To SQLite an empty file is an empty database. To us it is a registry that was lost.
        "the file is empty"
    } else {
        return Ok(());
    };
    Err(Error::NotARegistry { what: what.to_owned() })
}

fn has_wal(path: &Path) -> Result<bool> {
    Ok(beside(path, "-wal")?.is_some())
}

/// The file of that ending beside a registry, if it holds something.
fn beside(path: &Path, ending: &str) -> Result<Option<PathBuf>> {
    let mut name = OsString::from(path);
    name.push(ending);
    let file = PathBuf::from(name);
    let holds_something = metadata(&file)?.is_some_and(|metadata| metadata.len() > 0);
    Ok(holds_something.then_some(file))
}

/// Refuses a place where a registry was, and left changes beside it that SQLite would put into
/// whatever file is there next.
fn check_is_free(target: &Path) -> Result<()> {
    for ending in ["-wal", "-journal"] {
        if let Some(path) = beside(target, ending)? {
            // In this order: a registry that another process made meanwhile has its own.
            return Err(match target.symlink_metadata() {
                Ok(_) => Error::Exists,
                Err(_) => Error::Orphaned { path },
            });
        }
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The path as a URI that asks SQLite for no locks (sqlite.org/uri.html).
fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                uri.push(byte as char);
            }
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_any_characters_makes_a_uri() {
        assert_eq!(
            immutable_uri(Path::new("/a b/x?y#z%.db")),
            "file:/a%20b/x%3fy%23z%25.db?immutable=1"
        );
    }

    #[test]
    fn what_was_read_without_locks_is_refused_if_the_file_changed_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accession.db");
        let (store, draft) = Draft::beside(&path).unwrap();
        draft.publish(store).unwrap();
        let unlocked = || {
            let metadata = metadata(&path).unwrap().unwrap();
            Store::open_unlocked(&path, metadata).unwrap().prepare(Access::Read).unwrap()
        };
        unlocked().read().unwrap().finish().unwrap();

        let mut store = unlocked();
        let read = store.read().unwrap();
        std::fs::write(folder.path().join("accession.db-wal"), "a change").unwrap();
        assert!(matches!(read.finish(), Err(Error::Changed)));
        std::fs::remove_file(folder.path().join("accession.db-wal")).unwrap();

        let mut store = unlocked();
        let read = store.read().unwrap();
        let file = File::options().append(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(matches!(read.finish(), Err(Error::Changed)));
    }

    #[test]
    fn of_two_drafts_of_one_registry_the_second_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accession.db");
        let (first, second) = (Draft::beside(&path).unwrap(), Draft::beside(&path).unwrap());
        first.1.publish(first.0).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(matches!(second.1.publish(second.0), Err(Error::Exists)));
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_lost_registry_left_gets_into_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accession.db");
        let wal = folder.path().join("accession.db-wal");
        // It comes when the draft is there, or before.
        let (store, draft) = Draft::beside(&path).unwrap();
        std::fs::write(&wal, "a change").unwrap();
        let is_orphaned = |error: Error| matches!(&error, Error::Orphaned { path } if *path == wal);
        assert!(is_orphaned(draft.publish(store).unwrap_err()));
        assert!(is_orphaned(Draft::beside(&path).map(|_| ()).unwrap_err()));
        assert!(!path.exists());
        // Beside a registry it is that one's.
        std::fs::write(&path, "a registry").unwrap();
        assert!(matches!(Draft::beside(&path).map(|_| ()).unwrap_err(), Error::Exists));
    }

    #[cfg(unix)]
    #[test]
    fn a_registry_behind_a_link_is_called_by_the_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (store, draft) = Draft::beside(&at("accession.db")).unwrap();
        draft.publish(store).unwrap();
        std::os::unix::fs::symlink("accession.db", at("link.db")).unwrap();
        let store = Store::open(&at("link.db"), Access::Write).unwrap();
        assert_eq!(store.path(), at("link.db"));
    }

    #[test]
    fn a_path_is_a_registry_or_missing_or_something_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let open = |name: &str| Store::open(&at(name), Access::Read).map(|_| ()).unwrap_err();
        assert!(matches!(open("missing"), Error::Missing));
        assert!(matches!(open("no folder/missing"), Error::Missing));
        std::fs::write(at("empty"), "").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        for (name, said) in [("empty", "the file is empty"), ("folder", "it is a folder")] {
            let error = open(name);
            assert!(matches!(&error, Error::NotARegistry { what } if what == said), "{error:?}");
        }
        assert!(matches!(open("empty/registry"), Error::Io { verb: "look at", .. }));
    }

    #[cfg(unix)]
    #[test]
    fn a_name_that_leads_to_no_file_is_no_registry() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("missing", at("link")).unwrap();
        let _listening = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for (name, said) in
            [("link", "it is a link that leads nowhere"), ("socket", "it is a pipe or a device")]
        {
            let error = Store::open(&at(name), Access::Write).map(|_| ()).unwrap_err();
            assert!(matches!(&error, Error::NotARegistry { what } if what == said), "{error:?}");
        }
    }

    #[test]
    fn a_wal_file_counts_if_it_holds_something() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accession.db");
        assert!(!has_wal(&path).unwrap());
        std::fs::write(folder.path().join("accession.db-wal"), "").unwrap();
        assert!(!has_wal(&path).unwrap());
        std::fs::write(folder.path().join("accession.db-wal"), "a change").unwrap();
        assert!(has_wal(&path).unwrap());
    }

    #[test]
    fn a_bare_name_stands_in_the_folder_one_is_in() {
        assert_eq!(folder_of(Path::new("accession.db")), Path::new("."));
        assert_eq!(folder_of(Path::new("a/accession.db")), Path::new("a"));
        assert_eq!(folder_of(Path::new("/accession.db")), Path::new("/"));
    }
}
