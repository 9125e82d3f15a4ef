//! Converts SQLite's result codes into errors of a registry.

use rusqlite::ErrorCode;

use super::limits::{MAX_VALUE_BYTES, MEMORY_BYTES};
use crate::disk::scratch;
use crate::store::Error;

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
        if extended_code(&error) == Some(rusqlite::ffi::SQLITE_IOERR_GETTEMPPATH) {
            return temporary(error);
        }
        // SQLite reads the mode of the file by its name before it creates a file beside it.
        if extended_code(&error) == Some(rusqlite::ffi::SQLITE_IOERR_FSTAT) {
            return Error::Replaced;
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy,
            Some(ErrorCode::DiskFull) => Error::Full,
            Some(ErrorCode::ReadOnly) => Error::ReadOnly,
            Some(ErrorCode::CannotOpen) => Error::CannotOpen,
            Some(ErrorCode::TooBig) => Error::TooLong { most_bytes: MAX_VALUE_BYTES as usize },
            Some(ErrorCode::SystemIoFailure) => Error::Disk(error),
            Some(ErrorCode::OutOfMemory) => Error::Memory { mebibytes: MEMORY_BYTES >> 20 },
            Some(ErrorCode::OperationInterrupted) => Error::Interrupted,
            Some(ErrorCode::DatabaseCorrupt) => Error::Damaged { what: error.to_string() },
            Some(ErrorCode::NotADatabase) => {
                Error::NotARegistry { what: "the file is not an SQLite database".to_owned() }
            }
            _ => Error::Database(error),
        }
    }
}

impl Error {
    /// Whether SQLite cannot lock the file, or cannot create the files that it needs for locking:
    /// the file or its directory cannot be written, or the disk has no space for a `-shm` file.
    pub(super) fn is_of_locks(&self) -> bool {
        match self {
            Error::CannotOpen | Error::ReadOnly => true,
            Error::Disk(error) => extended_code(error) == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE),
            _ => false,
        }
    }

    /// Converts the error of a temporary table or database: the disk that failed or is full is that
    /// of the temporary files, not that of the registry.
    pub(in crate::store) fn of_temporary_file(self) -> Self {
        match self {
            Error::Full | Error::Disk(_) | Error::CannotOpen => temporary(self),
            other => other,
        }
    }
}

fn temporary(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Temporary { directory: scratch::directory_of_sqlite(), source: error.into() }
}

fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    Some(error.sqlite_error()?.extended_code)
}

#[cfg(test)]
mod tests {
    use rusqlite::{Error as Sqlite, ffi, types::Type};

    use super::*;

    fn of(code: i32) -> Error {
        Error::from(Sqlite::SqliteFailure(ffi::Error::new(code), None))
    }

    #[test]
    fn each_result_code_of_sqlite_becomes_its_error() {
        assert!(matches!(of(ffi::SQLITE_BUSY), Error::Busy));
        assert!(matches!(of(ffi::SQLITE_BUSY_SNAPSHOT), Error::Busy));
        assert!(matches!(of(ffi::SQLITE_LOCKED), Error::Busy));
        assert!(matches!(of(ffi::SQLITE_FULL), Error::Full));
        assert!(matches!(of(ffi::SQLITE_READONLY_DBMOVED), Error::ReadOnly));
        assert!(matches!(of(ffi::SQLITE_CANTOPEN), Error::CannotOpen));
        assert!(matches!(of(ffi::SQLITE_TOOBIG), Error::TooLong { most_bytes: 1_048_576 }));
        assert!(matches!(of(ffi::SQLITE_IOERR_FSYNC), Error::Disk(_)));
        assert!(matches!(of(ffi::SQLITE_IOERR_GETTEMPPATH), Error::Temporary { .. }));
        assert!(matches!(of(ffi::SQLITE_NOMEM), Error::Memory { mebibytes: 64 }));
        assert!(matches!(of(ffi::SQLITE_INTERRUPT), Error::Interrupted));
        assert!(matches!(of(ffi::SQLITE_CORRUPT), Error::Damaged { .. }));
        assert!(matches!(of(ffi::SQLITE_IOERR_FSTAT), Error::Replaced));
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

    #[test]
    fn a_full_directory_for_temporary_files_is_not_reported_as_a_full_disk() {
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_CANTOPEN] {
            let error = of(code).of_temporary_file();
            assert!(matches!(error, Error::Temporary { .. }), "{error:?}");
            assert!(error.to_string().contains("TMPDIR"), "{error}");
        }
        assert!(matches!(of(ffi::SQLITE_BUSY).of_temporary_file(), Error::Busy));
    }
}
