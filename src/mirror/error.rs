//! The errors of comparing a mirror with its primary, or pulling from it.

use std::io;
use std::path::PathBuf;

use crate::error::ErrorKind;
use crate::input;
use crate::model::{DatasetName, Timestamp, quoted};

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
    Registry(#[from] crate::error::Error),
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
    /// Not the address of a dataset.
    #[error("{} is not the address of a dataset: {why}", quoted(text))]
    Address {
        /// What was written.
        text: String,
        /// Why it is refused.
        why: String,
    },
    /// An address that is not encrypted.
    #[error("{url} is not encrypted: anyone on the way could change what is read")]
    NotEncrypted {
        /// The address.
        url: String,
    },
    /// A file of authorities without certificates.
    #[error("the file of certificates has no certificate in PEM form")]
    NoCertificate,
    /// A certificate of an authority that is not trusted.
    #[error("{url}: the certificate of the server is not from an authority that is trusted")]
    UnknownAuthority {
        /// The address.
        url: String,
    },
    /// A certificate that is refused for another reason.
    #[error("{url}: the certificate of the server is refused: {what}")]
    Certificate {
        /// The address.
        url: String,
        /// Why it is refused.
        what: String,
    },
    /// A proxy that cannot be used. Its address is not shown, since it may have a password.
    #[error("{variable} in the environment: {why}")]
    Proxy {
        /// The environment variable.
        variable: String,
        /// Why it cannot be used.
        why: String,
    },
    /// A proxy that does not connect to the server.
    #[error("{url}: {what}")]
    ProxyRefused {
        /// The address.
        url: String,
        /// The proxy, and what it responded.
        what: String,
    },
    /// A server that cannot be reached, or a connection that broke again and again.
    #[error("{url}: {what}")]
    Unreachable {
        /// The address.
        url: String,
        /// What happened.
        what: String,
    },
    /// A response that is refused.
    #[error("{url}: {what}")]
    Response {
        /// The address.
        url: String,
        /// Why it is refused.
        what: String,
    },
    /// The primary refuses until a person acts: its own registry contradicts what it published, for
    /// instance.
    #[error("{url}: the primary needs its operator{what}")]
    PrimaryConflict {
        /// The address.
        url: String,
        /// What the primary says.
        what: String,
    },
    /// More bytes than are allowed.
    #[error("{url}: more than {max_bytes} bytes were read")]
    TooManyBytes {
        /// The address.
        url: String,
        /// The greatest number that is allowed.
        max_bytes: u64,
    },
    /// A head that was written too long ago.
    #[error("{url} was last written at {modified}: the primary may no longer publish")]
    TooOld {
        /// The address.
        url: String,
        /// When it was written, according to the server.
        modified: Timestamp,
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
    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Registry(error) => error.kind(),
            Error::Input(_) => ErrorKind::RefusedCharacter,
            Error::File { .. } => ErrorKind::Io,
            Error::Output { .. } => ErrorKind::Output,
            Error::Address { .. } => ErrorKind::Address,
            Error::NotEncrypted { .. } => ErrorKind::NotEncrypted,
            Error::NoCertificate => ErrorKind::NoCertificate,
            Error::UnknownAuthority { .. } => ErrorKind::UnknownAuthority,
            Error::Certificate { .. } => ErrorKind::Certificate,
            Error::Proxy { .. } | Error::ProxyRefused { .. } => ErrorKind::Proxy,
            Error::Unreachable { .. } => ErrorKind::NoResponse,
            Error::Response { .. } => ErrorKind::Response,
            Error::PrimaryConflict { .. } => ErrorKind::PrimaryConflict,
            Error::TooManyBytes { .. } => ErrorKind::TooManyBytes,
            Error::TooOld { .. } => ErrorKind::TooOld,
            Error::NoPrimaryDataset { .. } => ErrorKind::PrimaryDatasetUnknown,
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
