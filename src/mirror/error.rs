//! The errors of comparing a mirror with its primary, or pulling from it.

use std::io;
use std::path::PathBuf;

use crate::input;
use crate::model::{DatasetName, quoted};
use crate::registry;

/// The result of an operation on a mirror.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The greatest number of datasets that a message names. A registry can have a million.
const MAX_NAMED: usize = 20;

/// An error of comparing a mirror with its primary, or pulling from it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The error is in a registry: the mirror's or the primary's.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// The error is in a manifest.
    #[error(transparent)]
    Input(#[from] input::Error),
    /// A file cannot be read.
    #[error("cannot read {}", quoted(&path.to_string_lossy()))]
    File {
        /// The path of the file.
        path: PathBuf,
        /// What the operating system reported.
        source: io::Error,
    },
    /// A manifest cannot be written.
    #[error("cannot write the manifest")]
    Output {
        /// What the operating system reported.
        source: io::Error,
    },
    /// The primary does not have the dataset.
    #[error("the primary has no dataset {name}; it has {}", listed(names))]
    NoPrimaryDataset {
        /// The requested name.
        name: DatasetName,
        /// The datasets that it has. Only the first ones, by name, if there are many.
        names: Vec<DatasetName>,
    },
}

impl Error {
    /// The stable name of the error kind, for scripts.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Registry(error) => error.kind(),
            Error::Input(_) => "input",
            Error::File { .. } => "io",
            Error::Output { .. } => "output",
            Error::NoPrimaryDataset { .. } => "primary-dataset-unknown",
        }
    }
}

fn listed(names: &[DatasetName]) -> String {
    let first: Vec<&str> = names.iter().take(MAX_NAMED).map(DatasetName::as_str).collect();
    match (first.is_empty(), names.len() - first.len()) {
        (true, _) => "none".to_owned(),
        (false, 0) => first.join(", "),
        (false, _) => format!("{}, and more", first.join(", ")),
    }
}
