//! Everything that can go wrong, gathered: what it is, and a stable name for scripts.

use std::io;
use std::path::{Path, PathBuf};

use crate::minting::payment::PaymentError;
use crate::model::{DatasetName, GranuleId, Identifier, Moment, SourceLocation, Timestamp, quoted};
use crate::registry::{ChangeError, before};
use crate::store;

/// How many datasets a message names: a registry can have a million.
const MAX_NAMED: usize = 20;

/// What a call of this library can fail with.
///
/// [`Error::kind`] is the stable name. A cause is in `source()` and not in the text, so that a chain
/// of errors says each thing once.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The registry file.
    #[error("registry {}", quoted(&path.to_string_lossy()))]
    Store {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: store::Error,
    },
    /// A change that is refused.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// No dataset of that name.
    #[error("the registry has no dataset {name}")]
    NoDataset {
        /// The name asked for.
        name: DatasetName,
    },
    /// A dataset of that name stands already.
    #[error("the registry has a dataset {name} already")]
    DatasetExists {
        /// Its name.
        name: DatasetName,
    },
    /// A dataset without any change yet.
    #[error("{name} has no history yet: nothing was ever ingested")]
    NoHistory {
        /// Its name.
        name: DatasetName,
    },
    /// A time before a dataset's first change.
    #[error("{at} is before the history of {name}, which begins at {begins}")]
    BeforeHistory {
        /// The dataset.
        name: DatasetName,
        /// The time asked for.
        at: Moment,
        /// When its history begins.
        begins: Timestamp,
    },
    /// An identifier that was never in force.
    #[error("{identifier} was never in force {}", match dataset {
        Some(name) => format!("in {name}"),
        None => "in a dataset of this registry".to_owned(),
    })]
    UnknownIdentifier {
        /// The identifier asked for.
        identifier: Identifier,
        /// The only dataset that was searched.
        dataset: Option<DatasetName>,
    },
    /// Nothing to cite: a citation of no granules would say nothing.
    #[error("no granule that {dataset} held at {at} is selected")]
    SelectsNothing {
        /// The dataset.
        dataset: DatasetName,
        /// As of when.
        at: Timestamp,
    },
    /// A granule to cite that was not held.
    #[error("{}{} was not held in {dataset} at {at}", before(location), quoted(granule_id.as_str()))]
    NotHeldThen {
        /// Which one.
        granule_id: GranuleId,
        /// Where it was read.
        location: Option<SourceLocation>,
        /// The dataset.
        dataset: DatasetName,
        /// As of when.
        at: Timestamp,
    },
    /// A mirror that never held what it is said to mirror.
    #[error("{name} never held the granules of {identifier}")]
    NotIdentical {
        /// The mirror.
        name: DatasetName,
        /// The set.
        identifier: Identifier,
    },
    /// A payment id, or issuing one.
    #[error(transparent)]
    Payment(#[from] PaymentError),
    /// Payment ids of another layout or epoch than the registry issues.
    #[error(
        "this registry issues payment ids of the {layout} layout since {epoch}: those of another could be the same"
    )]
    PaymentScheme {
        /// The name of its layout.
        layout: String,
        /// Its epoch.
        epoch: Timestamp,
    },
    /// A file that somebody else wrote.
    #[error(transparent)]
    Input(#[from] crate::input::Error),
    /// A file that cannot be read.
    #[error("cannot read {}", quoted(&path.to_string_lossy()))]
    File {
        /// Which one.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A primary without the dataset.
    #[error("the primary has no dataset {name}; it has {}", match names.as_slice() {
        [] => "none".to_owned(),
        names => {
            let first: Vec<&str> = names.iter().take(MAX_NAMED).map(DatasetName::as_str).collect();
            let more = match names.len() - first.len() {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            format!("{}{more}", first.join(", "))
        }
    })]
    NoPrimaryDataset {
        /// The name that was looked for.
        name: DatasetName,
        /// Those there are.
        names: Vec<DatasetName>,
    },
    /// Whoever was shown the results could not take them.
    #[error("cannot write the output")]
    Output {
        /// Why not.
        source: io::Error,
    },
    /// The registry disagrees with itself.
    #[error("the registry disagrees with itself: {what}")]
    Inconsistent {
        /// How.
        what: String,
    },
}

impl Error {
    /// A stable name of what went wrong, for scripts; the command line prints it with `--json`.
    pub fn kind(&self) -> &'static str {
        use store::Error as Store;
        match self {
            Error::Store { source, .. } => match source {
                Store::Missing => "registry-missing",
                Store::Exists => "registry-exists",
                Store::NotARegistry { .. } => "not-a-registry",
                Store::Newer { .. } => "newer",
                Store::Older { .. } => "older",
                Store::Busy => "busy",
                Store::Orphaned { .. } => "orphaned",
                Store::Full => "full",
                Store::ReadOnly => "read-only",
                Store::CannotOpen => "cannot-open",
                Store::Changed => "changed",
                Store::Damaged { .. } => "damaged",
                Store::TooLong => "too-long",
                Store::Memory => "memory",
                Store::Disk(_) | Store::Io { .. } => "io",
                Store::Database(_) => "database",
            },
            Error::Change(error) => error.kind(),
            Error::NoDataset { .. } => "dataset-unknown",
            Error::DatasetExists { .. } => "dataset-exists",
            Error::NoHistory { .. } => "no-history",
            Error::BeforeHistory { .. } => "before-history",
            Error::UnknownIdentifier { .. } => "identifier-unknown",
            Error::SelectsNothing { .. } => "selects-nothing",
            Error::NotHeldThen { .. } => "not-held",
            Error::NotIdentical { .. } => "not-identical",
            Error::Input(_) => "input",
            Error::File { .. } => "io",
            Error::NoPrimaryDataset { .. } => "primary-dataset-unknown",
            Error::Payment(_) => "payment-id",
            Error::PaymentScheme { .. } => "payment-scheme",
            Error::Output { .. } => "output",
            Error::Inconsistent { .. } => "inconsistent",
        }
    }

    /// Says which registry file an error of the store is about, where that is not said yet.
    pub(crate) fn in_file(mut self, file: &Path) -> Self {
        if let Error::Store { path, .. } = &mut self
            && path.as_os_str().is_empty()
        {
            file.clone_into(path);
        }
        self
    }
}

impl From<store::Error> for Error {
    fn from(source: store::Error) -> Self {
        Error::Store { path: PathBuf::new(), source }
    }
}

impl From<io::Error> for Error {
    /// What a caller's own output returned.
    fn from(source: io::Error) -> Self {
        Error::Output { source }
    }
}
