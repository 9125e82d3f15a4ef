//! From SQLite's codes to words.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

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
    #[error("another process has been writing for more than {} s", waited.as_secs_f32())]
    Busy {
        /// How long this one waited.
        waited: std::time::Duration,
    },
    /// The path leads to another file by now.
    #[error("the registry was replaced by another file, or removed")]
    Replaced,
    /// Whoever asked for the work stopped it.
    #[error("the work was stopped")]
    Interrupted,
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
    #[error("a text of more than 1048576 bytes, with what stands beside it")]
    TooLong,
    /// A row that does not fit into the memory SQLite has.
    #[error("it needs more memory than it may have, {} MiB: is a row of it too long?", 64)]
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
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { waited: std::time::Duration::from_secs(10) },
            Some(ErrorCode::OperationInterrupted) => Error::Interrupted,
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


impl Error {
    /// A stable name of what went wrong, for scripts.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Missing => "registry-missing",
            Error::Exists => "registry-exists",
            Error::NotARegistry { .. } => "not-a-registry",
            Error::Newer { .. } => "newer",
            Error::Older { .. } => "older",
            Error::Busy { .. } => "busy",
            Error::Orphaned { .. } => "orphaned",
            Error::Full => "full",
            Error::ReadOnly => "read-only",
            Error::CannotOpen => "cannot-open",
            Error::Changed => "changed",
            Error::Replaced => "replaced",
            Error::Damaged { .. } => "damaged",
            Error::TooLong => "too-long",
            Error::Memory => "memory",
            Error::Interrupted => "interrupted",
            Error::Disk(_) | Error::Io { .. } => "io",
            Error::Database(_) => "database",
        }
    }

    /// Whether it is about what the registry contains, or the disk under it: another part of the
    /// registry may still be readable.
    pub(crate) fn is_of_content(&self) -> bool {
        matches!(
            self,
            Error::Damaged { .. }
                | Error::NotARegistry { .. }
                | Error::TooLong { .. }
                | Error::Memory { .. }
                | Error::Disk(_)
                | Error::Database(_)
        )
    }
}
