//! Database connections: their flags, pragmas and limits.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::{Result, files};
use crate::model::Content;
use crate::store::Error;

/// Limits the memory that all SQLite connections of this process may use together. The limit cannot be raised
/// later, so only a program that uses SQLite for nothing else should call this.
///
/// A limit on the length of a value is not enough: to find a row of a WITHOUT ROWID table, SQLite reads each
/// row that it compares completely. (A granule id of 100 MB used 100 MB.)
pub fn limit_memory() -> Result<()> {
    let connection = Connection::open_in_memory()?;
    Ok(connection.pragma_update(None, "hard_heap_limit", MEMORY_BYTES)?)
}

/// Opens an existing database file, for reading and writing if possible.
///
/// The connection is not configured yet, and nothing has been read from the file.
pub(super) fn open(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(files::canonical(path)?, flags)?)
}

/// Opens a database file for reading without locks. The file must not change while it is open.
pub(super) fn open_immutable(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    Ok(Connection::open_with_flags(immutable_uri(&files::canonical(path)?), flags)?)
}

/// Opens an empty database in memory.
pub(super) fn open_in_memory() -> Result<Connection> {
    let connection = Connection::open_in_memory()?;
    configure(&connection, Duration::ZERO)?;
    Ok(connection)
}

/// Applies the settings that every connection needs before it reads rows.
///
/// This reads the schema, since SQLite sets the size of the cache only after reading it.
pub(super) fn configure(connection: &Connection, busy_wait: Duration) -> Result<()> {
    connection.busy_timeout(busy_wait)?;
    // Provides `rarray`, which passes a list of ids to a statement.
    rusqlite::vtab::array::load_module(connection)?;
    // An untrusted file must not run code: no triggers, no views, no functions with side effects.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    // Without this setting, SQLite prepares a statement again whenever a bound value changes, to look for a
    // better plan. Each statement of the store has only one plan.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // If a mapped file is truncated, the process is killed (SIGBUS). If it is read, an error is returned.
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.set_prepared_statement_cache_capacity(32);
    for (limit, most) in LIMITS {
        connection.set_limit(limit, most)?;
    }
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    Ok(())
}

/// Makes a connection write its file without syncs, for a file that need not survive a crash.
pub(super) fn without_syncs(connection: &Connection) -> Result<()> {
    Ok(connection.pragma_update(None, "synchronous", "OFF")?)
}

/// Runs a checkpoint, which moves the content of the `-wal` file into the database, and closes the connection.
///
/// Closing a connection also runs a checkpoint, but does not report a failure. Without its `-wal` file, the
/// database would then be incomplete.
pub(super) fn close(connection: Connection) -> Result<()> {
    let is_busy: bool =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if is_busy {
        return Err(Error::busy());
    }
    Ok(connection.close().map_err(|(_, error)| error)?)
}

/// The absolute path as a URI that makes SQLite use no locks (sqlite.org/uri.html).
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

/// The longest string, blob or row in a registry, in bytes: a longer one is neither read nor written. The
/// longest row is the record of the files of a granule, with its key.
pub(super) const MAX_VALUE_BYTES: i32 = Content::MAX_BYTES as i32 + 8 * 1_024;

/// The longest statement of SQL, in bytes.
const MAX_SQL_BYTES: i32 = 1_024 * 1_024;

/// The memory that all connections of the process may use together, in bytes (64 MiB). They usually
/// need a tenth of that.
pub(super) const MEMORY_BYTES: u32 = 67_108_864;

/// The page cache of a connection, in KiB: SQLite's default. It is set because a file can request another size:
/// one flipped bit can request more than [`MEMORY_BYTES`].
pub(super) const CACHE_KIB: i32 = 2_000;

/// Limits of SQLite (sqlite.org/limits.html) that protect against an untrusted file. The depth of expressions
/// and the number of columns keep SQLite's defaults, since SQLite also parses tables and views that others have
/// added to the file.
pub(super) const LIMITS: [(Limit, i32); 7] = [
    (Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES),
    (Limit::SQLITE_LIMIT_VDBE_OP, 25_000),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50),
    // This also limits the actions of foreign keys; the schema has none. (VACUUM INTO would need one attached
    // file.)
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::BUSY_WAIT;

    #[test]
    fn a_path_with_any_characters_becomes_a_uri() {
        assert_eq!(
            immutable_uri(Path::new("/a b/x?y#z%.db")),
            "file:/a%20b/x%3fy%23z%25.db?immutable=1"
        );
    }

    /// One flipped bit in the cache size in a file's header made SQLite cache gigabytes. With the memory limit,
    /// a registry of 97 MB could not be read.
    #[test]
    fn the_file_does_not_decide_how_much_memory_its_pages_get() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("accession.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("CREATE TABLE t (x); PRAGMA default_cache_size = 1000000")
            .unwrap();
        drop(connection);
        let plain = Connection::open(&path).unwrap();
        let size = |connection: &Connection| -> i32 {
            connection.execute_batch("SELECT * FROM t").unwrap();
            connection.pragma_query_value(None, "cache_size", |row| row.get(0)).unwrap()
        };
        assert_eq!(size(&plain), 1_000_000);
        let configured = open(&path).unwrap();
        configure(&configured, BUSY_WAIT).unwrap();
        assert_eq!(size(&configured), -CACHE_KIB);
        // Another connection changes the schema, so this one reads it again.
        plain.execute_batch("CREATE TABLE u (x)").unwrap();
        configured.execute_batch("SELECT * FROM u").unwrap();
        assert_eq!(size(&configured), -CACHE_KIB);
    }
}
