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
use super::schema;
use super::session::Store;
use crate::store::{Error, Result};

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
pub(crate) struct NewFile {
    file: TempPath,
    target: PathBuf,
}

/// How a file looked when it was opened without locks.
pub(super) struct Unlocked {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
}

/// Where connections to an open registry come from.
pub(super) struct Source {
    path: PathBuf,
    access: Access,
    busy_wait: Duration,
    unlocked: Option<Unlocked>,
    #[cfg(unix)]
    inode: (u64, u64),
}

#[cfg(unix)]
fn inode_of(path: &Path) -> Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = metadata(path)?.ok_or(Error::Replaced)?;
    Ok((found.dev(), found.ino()))
}

impl Source {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn busy_wait(&self) -> Duration {
        self.busy_wait
    }

    pub fn connect(&self) -> Result<Connection> {
        Ok(open(&self.path, self.access, self.busy_wait)?.0)
    }

    pub fn check(&self) -> Result<()> {
        #[cfg(unix)]
        if inode_of(&self.path)? != self.inode {
            return Err(Error::Replaced);
        }
        match &self.unlocked {
            Some(unlocked) => unlocked.check(),
            None => Ok(()),
        }
    }
}

pub(super) fn in_memory(_busy_wait: Duration) -> Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    configure(&connection)?;
    migrate::migrate(&mut connection)?;
    Ok(connection)
}

/// Opens the registry at `path`.
///
/// Reading, too, opens the file for writing where it can, with writes switched off: the last
/// reader then takes the `-wal` and `-shm` files away again, which a read-only connection
/// would leave behind (seen with SQLite 3.40 to 3.54).
pub(super) fn open(
    path: &Path,
    access: Access,
    busy_wait: Duration,
) -> Result<(Connection, Source)> {
    let Some(metadata) = metadata(path)? else {
        return Err(match path.symlink_metadata() {
            Ok(_) => Error::NotARegistry { what: "it is a link that leads nowhere".to_owned() },
            Err(_) => Error::Missing,
        });
    };
    check_is_a_file_with_bytes(&metadata)?;
    let file = match path.is_symlink() {
        true => path.canonicalize().map_err(|source| unseen(path, source))?,
        false => path.to_owned(),
    };
    let (connection, unlocked) = match open_locked(&file, access) {
        Err(error) if access == Access::Read && error.is_of_locks() && !has_wal(&file)? => {
            open_unlocked(&file, metadata)?
        }
        result => result?,
    };
    let connection = prepare(connection, access)?;
    let source = Source {
        path: path.to_owned(),
        access,
        busy_wait,
        unlocked,
        #[cfg(unix)]
        inode: inode_of(path)?,
    };
    Ok((connection, source))
}

type Unprepared = (Connection, Option<Unlocked>);

fn open_locked(path: &Path, access: Access) -> Result<Unprepared> {
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
    Ok((connection, None))
}

fn open_unlocked(path: &Path, metadata: Metadata) -> Result<Unprepared> {
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
    Ok((connection, Some(unlocked)))
}

fn prepare(mut connection: Connection, access: Access) -> Result<Connection> {
    if let Stamp::Older(found) = schema::check(&connection)? {
        if connection.is_readonly(rusqlite::MAIN_DB)? {
            return Err(Error::Older { found, known: migrate::SCHEMA });
        }
        migrate::migrate(&mut connection)?;
    }
    match access {
        Access::Read => connection.pragma_update(None, "query_only", true)?,
        // Lasting, and so a matter of course; but a copy made by VACUUM INTO has lost it.
        Access::Write => connection.pragma_update(None, "journal_mode", "WAL")?,
    }
    Ok(connection)
}

impl NewFile {
    /// Makes an empty registry beside `target`, where there is no file yet.
    pub fn beside(target: &Path, busy_wait: Duration) -> Result<(Store, Self)> {
        let draft = NewFile::empty_beside(target)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(draft.path(), flags)?;
        configure(&connection)?;
        migrate::migrate(&mut connection)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        let source = Source {
            path: draft.path().to_owned(),
            access: Access::Write,
            busy_wait,
            unlocked: None,
            #[cfg(unix)]
            inode: inode_of(draft.path())?,
        };
        Ok((Store::of_new(connection, source), draft))
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
        Ok(NewFile { file, target: target.to_owned() })
    }

    pub fn bytes(&self) -> Result<u64> {
        Ok(metadata(&self.file)?.map_or(0, |metadata| metadata.len()))
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
        let connection = store.into_connection().ok_or(Error::Busy { waited: Duration::ZERO })?;
        let is_busy: bool =
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if is_busy {
            return Err(Error::Busy { waited: Duration::ZERO });
        }
        connection.close().map_err(|(_, error)| error)?;
        self.publish_closed()
    }

    /// Puts a file that nobody has open in its place, in one step.
    ///
    /// # Errors
    ///
    /// As [`NewFile::publish`].
    pub fn publish_closed(self) -> Result<()> {
        let NewFile { file, target } = self;
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
    rusqlite::vtab::array::load_module(connection)?;
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
