//! From SQLite's codes to words.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

use super::BUSY_WAIT;
use super::open::{MAX_VALUE_BYTES, MEMORY_BYTES};
use crate::model::quoted;

/// What can go wrong with a registry file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no file.
    #[error("there is no registry here")]
    Missing,
    /// There is a file where a registry was to be made.
    #[error("there is a file here already")]
    Exists,
    /// The file is something else.
    #[error("not a registry: {what}")]
    NotARegistry {
        /// What it is instead.
        what: String,
    },
    /// A newer version of this software wrote the file.
    #[error("the registry has schema {found}, this version knows 1 to {known}")]
    Newer {
        /// The schema of the file.
        found: u32,
        /// The newest schema known here.
        known: u32,
    },
    /// An older version wrote the file, and it cannot be brought up to date.
    #[error(
        "the registry has schema {found} and must be brought to schema {known}, but it cannot be written"
    )]
    Older {
        /// The schema of the file.
        found: u32,
        /// The newest schema known here.
        known: u32,
    },
    /// Another process is writing.
    #[error("another process has been writing for more than {} seconds", BUSY_WAIT.as_secs())]
    Busy,
    /// The disk, or a quota, is full.
    #[error("the disk is full")]
    Full,
    /// Where a file was to be made lie changes of one that was there.
    #[error("there is no file here, but changes of one that was lie in {}", quoted(&path.to_string_lossy()))]
    Orphaned {
        /// Where.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error("the registry cannot be written")]
    ReadOnly,
    /// The file or its folder cannot be opened.
    #[error("cannot open the registry, or the -wal and -shm files beside it")]
    CannotOpen,
    /// The file changed while it was read without locks.
    #[error("the registry changed while it was being read")]
    Changed,
    /// The file does not hold what a registry holds.
    #[error("the registry is damaged: {what}")]
    Damaged {
        /// What is wrong, and where.
        what: String,
    },
    /// A read, a write or a sync that the disk did not do; a full one says so too.
    #[error("the disk failed, or is full")]
    Disk(#[source] rusqlite::Error),
    /// A value that no registry holds.
    #[error("a text of more than {MAX_VALUE_BYTES} bytes, with what stands beside it")]
    TooLong,
    /// A row that does not fit into the memory SQLite has.
    #[error("it needs more memory than it may have, {} MiB: is a row of it too long?", MEMORY_BYTES >> 20)]
    Memory,
    /// The operating system refused something.
    #[error("cannot {verb} {}", quoted(&path.to_string_lossy()))]
    Io {
        /// What was tried.
        verb: &'static str,
        /// With what.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Anything else that SQLite says.
    #[error("the database refused")]
    Database(#[source] rusqlite::Error),
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error as Sqlite;
        match &error {
            Sqlite::FromSqlConversionFailure(..)
            | Sqlite::InvalidColumnType(..)
            | Sqlite::IntegralValueOutOfRange(..)
            | Sqlite::Utf8Error(..) => {
                return Error::Damaged { what: error.to_string() };
            }
            _ => {}
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy,
            Some(ErrorCode::DiskFull) => Error::Full,
            Some(ErrorCode::ReadOnly) => Error::ReadOnly,
            Some(ErrorCode::CannotOpen) => Error::CannotOpen,
            Some(ErrorCode::TooBig) => Error::TooLong,
            Some(ErrorCode::SystemIoFailure) => Error::Disk(error),
            Some(ErrorCode::OutOfMemory) => Error::Memory,
            Some(ErrorCode::DatabaseCorrupt) => Error::Damaged { what: error.to_string() },
            Some(ErrorCode::NotADatabase) => {
                Error::NotARegistry { what: "the file is no SQLite database".to_owned() }
            }
            _ => Error::Database(error),
        }
    }
}

impl Error {
    /// Whether it is that SQLite cannot lock the file, nor make what it needs for that: a file or a
    /// folder that cannot be written, or a disk without room for a `-shm` file.
    pub(super) fn is_of_locks(&self) -> bool {
        match self {
            Error::CannotOpen | Error::ReadOnly => true,
            Error::Disk(error) => {
                let code = error.sqlite_error().map(|error| error.extended_code);
                code == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::{Error as Sqlite, ffi, types::Type};

    use super::*;

    #[test]
    fn what_sqlite_says_is_told_by_what_it_means() {
        let of = |code| Error::from(Sqlite::SqliteFailure(ffi::Error::new(code), None));
        assert!(matches!(of(ffi::SQLITE_BUSY), Error::Busy));
        assert!(matches!(of(ffi::SQLITE_BUSY_SNAPSHOT), Error::Busy));
        assert!(matches!(of(ffi::SQLITE_LOCKED), Error::Busy));
        assert!(matches!(of(ffi::SQLITE_FULL), Error::Full));
        assert!(matches!(of(ffi::SQLITE_READONLY_DBMOVED), Error::ReadOnly));
        assert!(matches!(of(ffi::SQLITE_CANTOPEN), Error::CannotOpen));
        assert!(matches!(of(ffi::SQLITE_TOOBIG), Error::TooLong));
        assert!(matches!(of(ffi::SQLITE_IOERR_FSYNC), Error::Disk(_)));
        assert!(matches!(of(ffi::SQLITE_NOMEM), Error::Memory));
        assert!(matches!(of(ffi::SQLITE_CORRUPT), Error::Damaged { .. }));
        assert!(matches!(of(ffi::SQLITE_NOTADB), Error::NotARegistry { .. }));
        assert!(matches!(of(ffi::SQLITE_MISUSE), Error::Database(_)));
        for code in [ffi::SQLITE_CANTOPEN, ffi::SQLITE_READONLY, ffi::SQLITE_IOERR_SHMSIZE] {
            assert!(of(code).is_of_locks(), "{code}");
        }
        for code in
            [ffi::SQLITE_BUSY, ffi::SQLITE_FULL, ffi::SQLITE_IOERR_READ, ffi::SQLITE_CORRUPT]
        {
            assert!(!of(code).is_of_locks(), "{code}");
        }
        let not_text = String::from_utf8(vec![0xff]).unwrap_err();
        for wrong in [
            Sqlite::FromSqlConversionFailure(0, Type::Text, Box::new(not_text)),
            Sqlite::InvalidColumnType(0, "note".to_owned(), Type::Blob),
            Sqlite::IntegralValueOutOfRange(0, -1),
        ] {
            assert!(matches!(Error::from(wrong), Error::Damaged { .. }));
        }
    }
}
