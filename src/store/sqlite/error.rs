//! Converts SQLite's result codes into errors of a registry.

use std::error::Error as _;

use rusqlite::ErrorCode;

use super::connection::{MAX_VALUE_BYTES, MEMORY_BYTES};
use crate::disk::scratch;
use crate::error::ErrorDetail;
use crate::model::quoted;
use crate::store::{Error, ErrorKind};

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error as Sqlite;
        match &error {
            Sqlite::FromSqlConversionFailure(..)
            | Sqlite::InvalidColumnType(..)
            | Sqlite::IntegralValueOutOfRange(..)
            | Sqlite::Utf8Error(..) => {
                return Error::damaged(error);
            }
            _ => {}
        }
        if extended_code(&error) == Some(rusqlite::ffi::SQLITE_IOERR_GETTEMPPATH) {
            return temporary(error);
        }
        // Before SQLite creates a file beside the registry, it reads the mode of the registry file by its name.
        if extended_code(&error) == Some(rusqlite::ffi::SQLITE_IOERR_FSTAT) {
            return Error::replaced();
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::busy(),
            Some(ErrorCode::DiskFull) => Error::full(),
            Some(ErrorCode::ReadOnly) => Error::read_only(),
            Some(ErrorCode::CannotOpen) => Error::stored(
                ErrorKind::Denied,
                "cannot open the registry, or the -wal and -shm files beside it",
            ),
            Some(ErrorCode::TooBig) => Error::stored(
                ErrorKind::TooLong,
                format!("a string is too long: a row has at most {MAX_VALUE_BYTES} bytes"),
            ),
            Some(ErrorCode::SystemIoFailure) => {
                Error::stored(ErrorDetail::Disk, "the disk failed, or is full").because(error)
            }
            Some(ErrorCode::OutOfMemory) => Error::stored(
                ErrorKind::Database,
                format!(
                    "SQLite needs more than the {} MiB that it may use: is a row too long?",
                    MEMORY_BYTES >> 20
                ),
            ),
            Some(ErrorCode::OperationInterrupted) => Error::interrupted(),
            Some(ErrorCode::DatabaseCorrupt) => Error::damaged(error),
            Some(ErrorCode::NotADatabase) => {
                Error::not_a_registry("the file is not an SQLite database")
            }
            _ => {
                Error::stored(ErrorKind::Database, "the database reported an error").because(error)
            }
        }
    }
}

impl Error {
    /// Whether SQLite cannot lock the file, or cannot create the files that it needs for locking: because the
    /// file or its directory cannot be written, or the disk has no space for a `-shm` file.
    pub(super) fn is_of_locks(&self) -> bool {
        if self.detail() == Some(ErrorDetail::Disk) {
            let cause = self.source().and_then(|cause| cause.downcast_ref());
            return cause.and_then(extended_code) == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE);
        }
        self.kind() == ErrorKind::Denied
    }
}

fn temporary(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    let message = format!(
        "cannot use the directory {} for temporary files (the environment variable TMPDIR names another)",
        quoted(&scratch::directory_of_sqlite().to_string_lossy())
    );
    Error::stored(ErrorKind::Temporary, message).because(cause)
}

fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    Some(error.sqlite_error()?.extended_code)
}

#[cfg(test)]
mod tests {
    use rusqlite::types::Type;
    use rusqlite::{Error as Sqlite, ffi};

    use super::*;

    fn of(code: i32) -> Error {
        Error::from(Sqlite::SqliteFailure(ffi::Error::new(code), None))
    }

    #[test]
    fn each_result_code_of_sqlite_becomes_its_error() {
        assert_eq!(of(ffi::SQLITE_BUSY).kind(), ErrorKind::Busy);
        assert_eq!(of(ffi::SQLITE_BUSY_SNAPSHOT).kind(), ErrorKind::Busy);
        assert_eq!(of(ffi::SQLITE_LOCKED).kind(), ErrorKind::Busy);
        assert_eq!(of(ffi::SQLITE_FULL).kind(), ErrorKind::Full);
        assert_eq!(of(ffi::SQLITE_READONLY_DBMOVED).kind(), ErrorKind::Denied);
        assert_eq!(of(ffi::SQLITE_CANTOPEN).kind(), ErrorKind::Denied);
        assert_eq!(of(ffi::SQLITE_TOOBIG).kind(), ErrorKind::TooLong);
        assert_eq!(of(ffi::SQLITE_IOERR_FSYNC).detail(), Some(ErrorDetail::Disk));
        assert_eq!(of(ffi::SQLITE_IOERR_GETTEMPPATH).kind(), ErrorKind::Temporary);
        assert_eq!(of(ffi::SQLITE_NOMEM).kind(), ErrorKind::Database);
        assert_eq!(of(ffi::SQLITE_INTERRUPT).kind(), ErrorKind::Interrupted);
        assert_eq!(of(ffi::SQLITE_CORRUPT).kind(), ErrorKind::Damaged);
        assert_eq!(of(ffi::SQLITE_IOERR_FSTAT).kind(), ErrorKind::Replaced);
        assert_eq!(of(ffi::SQLITE_NOTADB).kind(), ErrorKind::NotARegistry);
        assert_eq!(of(ffi::SQLITE_MISUSE).kind(), ErrorKind::Database);
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
            assert_eq!(Error::from(wrong).kind(), ErrorKind::Damaged);
        }
    }
}
