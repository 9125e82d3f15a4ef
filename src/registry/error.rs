//! What working on a registry can fail with.

use std::path::{Path, PathBuf};

use super::refusal::{ChangeError, before};
use crate::minting::payment::PaymentError;
use crate::model::{DatasetName, GranuleId, Identifier, Moment, SourceLocation, Timestamp, quoted};
use crate::store;

/// The result of working on a registry.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What working on a registry can fail with.
///
/// [`Error::kind`] is the stable name. A cause is in `source()` and not in the text, so that a chain
/// of errors says each thing once.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The stored registry.
    #[error("{}", match path.as_os_str().is_empty() {
        true => "the registry that is in no file".to_owned(),
        false => format!("registry {}", quoted(&path.to_string_lossy())),
    })]
    Store {
        /// Which one. Empty: it is in memory, or in a temporary file.
        path: PathBuf,
        /// What is wrong with it.
        source: store::Error,
    },
    /// A change that is refused.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// There is no dataset of that name.
    #[error("the registry has no dataset {name}")]
    NoDataset {
        /// The name asked for.
        name: DatasetName,
    },
    /// There is a dataset of that name already.
    #[error("the registry already has a dataset {name}")]
    DatasetExists {
        /// Its name.
        name: DatasetName,
    },
    /// The dataset was withdrawn: it takes no further changes.
    #[error("{name} was withdrawn at {since}{}", match note {
        Some(note) => format!(": {}", quoted(note)),
        None => String::new(),
    })]
    Withdrawn {
        /// Its name.
        name: DatasetName,
        /// Since when.
        since: Timestamp,
        /// Why. `None`: the archive did not say.
        note: Option<String>,
    },
    /// The dataset has had no change yet.
    #[error("{name} has no history yet: nothing was ever ingested")]
    NoHistory {
        /// Its name.
        name: DatasetName,
    },
    /// The time is before the dataset's first change.
    #[error("{at} is before the history of {name}, which begins at {begins}")]
    BeforeHistory {
        /// The dataset.
        name: DatasetName,
        /// The time asked for.
        at: Moment,
        /// When its history begins.
        begins: Timestamp,
    },
    /// The identifier was never in force.
    #[error("{identifier} was never in force {}", match dataset {
        Some(name) => format!("in {name}"),
        None => "in any dataset of this registry".to_owned(),
    })]
    UnknownIdentifier {
        /// The identifier asked for.
        identifier: Identifier,
        /// The only dataset that was searched. `None`: all were.
        dataset: Option<DatasetName>,
    },
    /// There is nothing to cite: a citation of no granules would say nothing.
    #[error("nothing that {dataset} held at {at} is selected")]
    SelectsNothing {
        /// The dataset.
        dataset: DatasetName,
        /// As of when.
        at: Timestamp,
    },
    /// A granule that is to be cited was not held.
    #[error("{}{} was not held in {dataset} at {at}", before(location), quoted(granule_id.as_str()))]
    NotHeldThen {
        /// The granule.
        granule_id: GranuleId,
        /// Where it was read.
        location: Option<SourceLocation>,
        /// The dataset.
        dataset: DatasetName,
        /// As of when.
        at: Timestamp,
    },
    /// A dataset never held the set that it is said to mirror.
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
    /// The registry issues payment ids of another layout or epoch.
    #[error(
        "this registry issues payment ids of the {layout} layout since {epoch}: ids of another scheme could be the same"
    )]
    PaymentScheme {
        /// The name of its layout.
        layout: String,
        /// Its epoch.
        epoch: Timestamp,
    },
    /// The registry disagrees with itself.
    #[error("the registry disagrees with itself: {what}")]
    Inconsistent {
        /// How.
        what: String,
    },
    /// A temporary file that the work needs.
    #[error(transparent)]
    Temporary(#[from] crate::disk::Error),
    /// The monitor stopped the work. Nothing was changed.
    #[error("stopped; nothing was changed")]
    Interrupted,
}

impl Error {
    /// A stable name of what went wrong, for scripts; the command line prints it with `--json`.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Store { source, .. } => source.kind(),
            Error::Change(error) => error.kind(),
            Error::NoDataset { .. } => "dataset-unknown",
            Error::DatasetExists { .. } => "dataset-exists",
            Error::Withdrawn { .. } => "withdrawn",
            Error::NoHistory { .. } => "no-history",
            Error::BeforeHistory { .. } => "before-history",
            Error::UnknownIdentifier { .. } => "identifier-unknown",
            Error::SelectsNothing { .. } => "selects-nothing",
            Error::NotHeldThen { .. } => "not-held",
            Error::NotIdentical { .. } => "not-identical",
            Error::Payment(_) => "payment-id",
            Error::PaymentScheme { .. } => "payment-scheme",
            Error::Inconsistent { .. } => "inconsistent",
            Error::Temporary(_) => "temporary",
            Error::Interrupted => "interrupted",
        }
    }

    /// Names the registry file that an error of the store is about, where it is not named yet.
    pub(super) fn in_file(mut self, file: &Path) -> Self {
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
        match source {
            store::Error::Interrupted => Error::Interrupted,
            source => Error::Store { path: PathBuf::new(), source },
        }
    }
}
