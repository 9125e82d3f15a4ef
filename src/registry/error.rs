//! The errors of operations on a registry.

use std::path::{Path, PathBuf};

use super::refusal::{ChangeError, before};
use crate::error::ErrorKind;
use crate::minting::payment::PaymentError;
use crate::model::{DatasetName, GranuleId, Identifier, Moment, SourceLocation, Timestamp, quoted};
use crate::store;

/// The result of an operation on a registry.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of an operation on a registry.
///
/// [`Error::kind`] is its stable name. Its cause is returned by `source()` and is not part of the
/// message, so that a chain of errors states each fact once.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The stored registry.
    #[error("{}", match path.as_os_str().is_empty() {
        true => "the registry in memory".to_owned(),
        false => format!("registry {}", quoted(&path.to_string_lossy())),
    })]
    Store {
        /// The path of the registry file. Empty if the registry is in memory or in a temporary
        /// file.
        path: PathBuf,
        /// The cause.
        source: crate::error::Error,
    },
    /// A change is refused.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// There is no dataset with this name.
    #[error("the registry has no dataset {name}")]
    NoDataset {
        /// The name that was requested.
        name: DatasetName,
    },
    /// There is already a dataset with this name.
    #[error("the registry already has a dataset {name}")]
    DatasetExists {
        /// Its name.
        name: DatasetName,
    },
    /// The dataset was withdrawn and accepts no further changes.
    #[error("{name} was withdrawn at {since}{}", match note {
        Some(note) => format!(": {}", quoted(note)),
        None => String::new(),
    })]
    Withdrawn {
        /// Its name.
        name: DatasetName,
        /// When it was withdrawn.
        since: Timestamp,
        /// Why it was withdrawn. `None` means that no reason was given.
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
        /// The time that was requested.
        at: Moment,
        /// When the history of the dataset begins.
        begins: Timestamp,
    },
    /// The dataset has a history, but nothing of it had been recorded at the time as of which the
    /// registry is asked ([`Snapshot::known_at`](super::Snapshot::known_at)).
    #[error("nothing of {name} was known then: its first change was recorded at {recorded}")]
    NothingKnown {
        /// The dataset.
        name: DatasetName,
        /// The time as of which the registry is asked.
        known_at: Timestamp,
        /// When the first change was recorded.
        recorded: Timestamp,
    },
    /// The identifier was never in force.
    #[error("{identifier} was never in force {}", match dataset {
        Some(name) => format!("in {name}"),
        None => "in any dataset of this registry".to_owned(),
    })]
    UnknownIdentifier {
        /// The identifier that was requested.
        identifier: Identifier,
        /// The only dataset that was searched. `None` means that all were searched.
        dataset: Option<DatasetName>,
    },
    /// A citation would select no granules.
    #[error("no granule that {dataset} held at {at} is selected")]
    SelectsNothing {
        /// The dataset.
        dataset: DatasetName,
        /// The time for which it is cited.
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
        /// The time for which it is cited.
        at: Timestamp,
    },
    /// A value is longer than any log may have it.
    #[error("{what} has {bytes} bytes, but at most {most} are allowed")]
    TooLong {
        /// The value.
        what: &'static str,
        /// Its length in bytes.
        bytes: usize,
        /// The greatest length that is allowed, in bytes.
        most: usize,
    },
    /// A dataset has changed since an earlier attempt to copy its registry copied it.
    #[error("{name} was copied by an earlier attempt, and has changed since")]
    CopiedBefore {
        /// The dataset.
        name: DatasetName,
    },
    /// The clock is more than two years ahead of every time that the registry has recorded.
    #[error(
        "the clock is at {now}, more than two years after the latest time that was recorded in the registry, {newest}"
    )]
    ClockAhead {
        /// The time of the clock.
        now: Timestamp,
        /// The latest time that was recorded.
        newest: Timestamp,
    },
    /// A payment id is not valid, or cannot be issued.
    #[error(transparent)]
    Payment(#[from] PaymentError),
    /// The registry issues payment ids with another layout or epoch.
    #[error(
        "this registry issues payment ids of the {layout} layout with the epoch {epoch}: ids of another scheme could be equal to them"
    )]
    PaymentScheme {
        /// The name of its layout.
        layout: String,
        /// Its epoch.
        epoch: Timestamp,
    },
    /// Machines of a cluster could not be reached, so the answer lacks what is on them.
    #[error("a machine cannot be reached, and the answer lacks its datasets: {datasets}")]
    Incomplete {
        /// How many datasets are missing.
        datasets: u64,
    },
    /// A temporary file that the operation needs cannot be used.
    #[error(transparent)]
    Temporary(crate::error::Error),
    /// The monitor stopped the operation. Nothing was changed.
    #[error("stopped; nothing was changed")]
    Interrupted,
}

impl Error {
    /// The stable name of the error kind, for scripts; the command line prints it with `--json`.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Store { source, .. } => source.kind().as_str(),
            Error::Change(error) => error.kind(),
            Error::NoDataset { .. } => "dataset-unknown",
            Error::DatasetExists { .. } => "dataset-exists",
            Error::Withdrawn { .. } => "withdrawn",
            Error::NoHistory { .. } => "no-history",
            Error::NothingKnown { .. } => "nothing-known",
            Error::BeforeHistory { .. } => "before-history",
            Error::UnknownIdentifier { .. } => "identifier-unknown",
            Error::SelectsNothing { .. } => "selects-nothing",
            Error::NotHeldThen { .. } => "not-held",
            Error::TooLong { .. } => "too-long",
            Error::CopiedBefore { .. } => "copied-before",
            Error::ClockAhead { .. } => "clock-ahead",
            Error::Payment(_) => "payment-id",
            Error::PaymentScheme { .. } => "payment-scheme",
            Error::Incomplete { .. } => "incomplete",
            Error::Temporary(_) => "temporary",
            Error::Interrupted => "interrupted",
        }
    }

    /// Whether the store lost a connection: where it is on several machines, the others may still
    /// answer.
    pub(super) fn is_of_lost_connection(&self) -> bool {
        matches!(self, Error::Store { source, .. } if source.kind() == ErrorKind::ConnectionLost)
    }

    /// The error for content of the registry that contradicts itself. It has no path yet.
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        crate::error::Error::damaged(what.into()).into()
    }

    /// Adds the path of the registry file to an error of the store that does not have one yet.
    pub(super) fn in_file(mut self, file: &Path) -> Self {
        if let Error::Store { path, .. } = &mut self
            && path.as_os_str().is_empty()
        {
            *path = store::shown_name(file);
        }
        self
    }
}

impl From<crate::error::Error> for Error {
    fn from(source: crate::error::Error) -> Self {
        match source.kind() {
            ErrorKind::Interrupted => Error::Interrupted,
            _ if source.is_of_registry() => Error::Store { path: PathBuf::new(), source },
            _ => Error::Temporary(source),
        }
    }
}
