//! What the operating system refused, with the path and what was tried.

use std::io;
use std::path::PathBuf;

use crate::model::quoted;

/// What can go wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file exists where a new one was to be put.
    #[error("{} already exists", quoted(&path.to_string_lossy()))]
    Exists {
        /// Which file.
        path: PathBuf,
    },
    /// The name belongs to a registry in the same directory.
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
        /// What was tried.
        verb: &'static str,
        /// The directory for temporary files.
        directory: PathBuf,
        /// What the operating system reported.
        source: io::Error,
    },
    /// The operating system refused something else.
    #[error("cannot {verb} {}", quoted(&path.to_string_lossy()))]
    Io {
        /// What was tried.
        verb: &'static str,
        /// With which file or directory.
        path: PathBuf,
        /// What the operating system reported.
        source: io::Error,
    },
}

impl Error {
    /// A stable name of what went wrong, for scripts.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Exists { .. } => "file-exists",
            Error::ReservedName { .. } => "reserved-name",
            Error::Scratch { .. } => "temporary",
            Error::Io { .. } => "io",
        }
    }
}
