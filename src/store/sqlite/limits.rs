//! The limits on what SQLite may use, whatever the file contains.

use rusqlite::limits::Limit;

/// The longest string, blob or row in a registry, in bytes (1 MiB): a longer one is neither read
/// nor written.
///
/// A note of this length that consists of control characters, together with a thousand granules,
/// still gives a line of a manifest that its reader accepts.
pub const MAX_VALUE_BYTES: i32 = 1_024 * 1_024;

/// The memory that all connections of the process may use together, in bytes (64 MiB). They usually
/// need a tenth of that.
pub const MEMORY_BYTES: u32 = 67_108_864;

/// The page cache of a connection, in KiB: SQLite's default. It is set because a file can specify
/// another size: one flipped bit is enough to request more than [`MEMORY_BYTES`].
pub const CACHE_KIB: i32 = 2_000;

/// The longest path of a registry that SQLite can open, in bytes: SQLite's limit is 512, with the
/// endings of the files beside it (`MAX_PATHNAME` in os_unix.c, `sqlite3PagerOpen`). Windows has a
/// larger limit.
pub const MAX_PATH_BYTES: usize = 504;

/// Limits of SQLite (sqlite.org/limits.html) that protect against an untrusted file. The depth of
/// expressions and the number of columns keep SQLite's defaults, since the tables and views that
/// others have added to the file are parsed too.
pub const LIMITS: [(Limit, i32); 7] = [
    (Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_VALUE_BYTES),
    (Limit::SQLITE_LIMIT_VDBE_OP, 25_000),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50),
    // This also limits the actions of foreign keys, of which the schema has none. (VACUUM INTO
    // would need one attached file.)
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];
