//! What can go wrong with a registry file.

use std::io;
use std::path::PathBuf;

use crate::disk;
use crate::model::quoted;

/// What can go wrong with a registry file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file does not exist.
    #[error("there is no registry here")]
    Missing,
    /// A file exists where a registry was to be created.
    #[error("a file exists here already")]
    Exists,
    /// The file is something else.
    #[error("not a registry: {what}")]
    NotARegistry {
        /// What it is instead.
        what: String,
    },
    /// A newer version of this software wrote the file.
    #[error("the registry has schema {found}, and this version knows schemas 1 to {known}")]
    Newer {
        /// The schema of the file.
        found: u32,
        /// The newest schema known here.
        known: u32,
    },
    /// Another process is writing, and the wait for it is over.
    #[error("another process is writing to the registry, and did not finish in time")]
    Busy,
    /// The disk, or a quota, is full.
    #[error("the disk is full")]
    Full,
    /// A registry cannot be created beside changes that belong to one that no longer exists.
    #[error(
        "there is no file here, but changes to one that existed are in {}",
        quoted(&path.to_string_lossy())
    )]
    Orphaned {
        /// The file with the changes.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error("the registry cannot be written")]
    ReadOnly,
    /// The file or its directory cannot be opened.
    #[error("cannot open the registry, or the -wal and -shm files beside it")]
    CannotOpen,
    /// The path is longer than SQLite can open.
    #[error("the absolute path is {bytes} bytes long, and may be at most {most}")]
    PathTooLong {
        /// The length of the absolute path, without links.
        bytes: usize,
        /// The length of the longest path.
        most: usize,
    },
    /// The name belongs to a file that SQLite creates and deletes beside a registry.
    #[error("a name that ends in -wal, -shm or -journal belongs to a registry beside it")]
    ReservedName,
    /// The file changed while it was read without locks.
    #[error("the registry changed while it was being read")]
    Changed,
    /// The path no longer leads to the file that was opened.
    #[error("the registry was moved, removed or replaced while it was open")]
    Replaced,
    /// The file does not contain what a registry contains.
    #[error("the registry is damaged: {what}")]
    Damaged {
        /// What is wrong, and where.
        what: String,
    },
    /// The disk failed to read, write or sync; a full one may report this too.
    #[error("the disk failed, or is full")]
    Disk(#[source] rusqlite::Error),
    /// A value that no registry contains.
    #[error("a string of more than {most_bytes} bytes, with the rest of its row")]
    TooLong {
        /// The length of the longest row.
        most_bytes: usize,
    },
    /// A row that does not fit into the memory that SQLite may use.
    #[error("more memory is needed than the {mebibytes} MiB that may be used: is a row too long?")]
    Memory {
        /// How much may be used.
        mebibytes: u32,
    },
    /// A temporary file cannot be created or used.
    #[error(
        "cannot use the directory {} for temporary files (the environment variable TMPDIR names another)",
        quoted(&directory.to_string_lossy())
    )]
    Temporary {
        /// The directory for temporary files.
        directory: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The operating system refused something.
    #[error("cannot {verb} {}", quoted(&path.to_string_lossy()))]
    Io {
        /// What was tried.
        verb: &'static str,
        /// With which file or directory.
        path: PathBuf,
        /// What the operating system reported.
        source: io::Error,
    },
    /// Anything else that SQLite reports.
    #[error("the database refused")]
    Database(#[source] rusqlite::Error),
}

impl From<disk::Error> for Error {
    fn from(error: disk::Error) -> Self {
        match error {
            disk::Error::Exists { .. } => Error::Exists,
            disk::Error::ReservedName { .. } => Error::ReservedName,
            disk::Error::Scratch { directory, source, .. } => {
                Error::Temporary { directory, source: source.into() }
            }
            disk::Error::Io { verb, path, source } => Error::Io { verb, path, source },
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
            Error::Busy => "busy",
            Error::Orphaned { .. } => "orphaned",
            Error::Full => "full",
            Error::ReadOnly => "read-only",
            Error::CannotOpen => "cannot-open",
            Error::PathTooLong { .. } => "path-too-long",
            Error::ReservedName => "reserved-name",
            Error::Changed => "changed",
            Error::Replaced => "replaced",
            Error::Damaged { .. } => "damaged",
            Error::TooLong { .. } => "too-long",
            Error::Memory { .. } => "memory",
            Error::Temporary { .. } => "temporary",
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
