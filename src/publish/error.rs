//! What publishing can fail with.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::ErrorKind;
use crate::mirror;
use crate::model::{DatasetName, Timestamp, quoted};

/// The result of publishing.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What publishing can fail with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The registry.
    #[error(transparent)]
    Registry(#[from] crate::error::Error),
    /// A log that cannot be read or written.
    #[error(transparent)]
    Mirror(#[from] mirror::Error),
    /// A file or a directory.
    #[error("cannot {verb} {}", quoted(&path.to_string_lossy()))]
    File {
        /// What could not be done.
        verb: &'static str,
        /// Which one.
        path: PathBuf,
        /// What the operating system reported.
        source: io::Error,
    },
    /// A history that is not the one that was published.
    #[error(
        "the history of {name} contradicts what was published in {}: change {change}, at {timestamp}, is not in the registry as it was published",
        quoted(&path.to_string_lossy())
    )]
    Contradicts {
        /// The dataset.
        name: DatasetName,
        /// Where it was published.
        path: PathBuf,
        /// The number of the first change that differs, from 1.
        change: u64,
        /// When that change took effect, according to what was published.
        timestamp: Timestamp,
    },
    /// A published file that is not as it was written.
    #[error("{}{} is not as it was published: {what}", quoted(&path.to_string_lossy()), in_line(*line))]
    Damaged {
        /// Which one.
        path: PathBuf,
        /// The first line that is not, from 1. `None` means that it concerns the whole file.
        line: Option<u64>,
        /// What is wrong with it.
        what: String,
    },
}

fn in_line(line: Option<u64>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line},"))
}

impl Error {
    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Registry(error) => error.kind(),
            Error::Mirror(error) => error.kind(),
            Error::File { .. } => ErrorKind::Io,
            Error::Contradicts { .. } => ErrorKind::PublishedOtherwise,
            Error::Damaged { .. } => ErrorKind::PublishedDamaged,
        }
    }

    pub(super) fn file(verb: &'static str, path: &Path, source: io::Error) -> Self {
        Error::File { verb, path: path.to_owned(), source }
    }
}
