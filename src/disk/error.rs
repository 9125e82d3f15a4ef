//! Errors of the file system, with the path and the operation that failed.

use std::io;
use std::path::PathBuf;

use crate::model::quoted;

/// An error of an operation on a file or directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file already exists at the path of a new one.
    #[error("{} already exists", quoted(&path.to_string_lossy()))]
    Exists {
        /// The path of that file.
        path: PathBuf,
    },
    /// The name is one that SQLite gives to a file beside a registry.
    #[error(
        "{} is the name of a file that SQLite creates and deletes beside a registry",
        quoted(&path.to_string_lossy())
    )]
    ReservedName {
        /// The path with that name.
        path: PathBuf,
    },
    /// A temporary file cannot be created or used.
    #[error(
        "cannot {verb} a temporary file in the directory {} (the environment variable TMPDIR names another)",
        quoted(&directory.to_string_lossy())
    )]
    Scratch {
        /// The operation that failed, as a verb.
        verb: &'static str,
        /// The directory for temporary files.
        directory: PathBuf,
        /// What the operating system reported.
        source: io::Error,
    },
    /// Another operation failed.
    #[error("cannot {verb} {}", quoted(&path.to_string_lossy()))]
    Io {
        /// The operation that failed, as a verb.
        verb: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the operating system reported.
        source: io::Error,
    },
}

impl Error {
    /// The stable name of the error kind, for scripts.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Exists { .. } => "file-exists",
            Error::ReservedName { .. } => "reserved-name",
            Error::Scratch { .. } => "temporary",
            Error::Io { .. } => "io",
        }
    }
}
