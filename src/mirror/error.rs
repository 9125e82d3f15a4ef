//! What comparing with a primary or pulling from it can fail with.

use std::io;
use std::path::PathBuf;

use crate::input;
use crate::model::{DatasetName, quoted};
use crate::registry;

/// The result of working with a mirror.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How many datasets a message names: a registry can have a million.
const MAX_NAMED: usize = 20;

/// What comparing with a primary or pulling from it can fail with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A registry: the mirror's or the primary's.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// A manifest.
    #[error(transparent)]
    Input(#[from] input::Error),
    /// A file that cannot be read.
    #[error("cannot read {}", quoted(&path.to_string_lossy()))]
    File {
        /// Which one.
        path: PathBuf,
        /// What the operating system reported.
        source: io::Error,
    },
    /// The manifest cannot be written.
    #[error("cannot write the manifest")]
    Output {
        /// What the operating system reported.
        source: io::Error,
    },
    /// A primary that does not have the dataset.
    #[error("the primary has no dataset {name}; it has {}", listed(names))]
    NoPrimaryDataset {
        /// The name that was looked for.
        name: DatasetName,
        /// Those that there are; of many, the first by name.
        names: Vec<DatasetName>,
    },
}

impl Error {
    /// A stable name of what went wrong, for scripts.
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
