//! Errors as Python raises them: `Error`, whose `kind` is that of the library.

use accession::{ErrorKind, SourceLocation};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Why a call fails.
pub enum Failure {
    /// An error of the library.
    Library(accession::Error),
    /// An error of this package: its kind, its message and what to do.
    Here(&'static str, String, &'static str),
    /// An exception of Python.
    Python(PyErr),
}

impl Failure {
    /// What was closed is used.
    pub fn closed() -> Self {
        let message = "the registry was closed".to_owned();
        Failure::Here("closed", message, "open it again, or work within the `with` block")
    }

    /// What another process made is used.
    pub fn forked() -> Self {
        let message = "it was opened by another process, of which this one is a fork".to_owned();
        Failure::Here("forked", message, "open the registry in each process; sets can be pickled")
    }

    /// An argument is wrong.
    pub fn usage(message: impl Into<String>, hint: &'static str) -> Self {
        Failure::Here("usage", message.into(), hint)
    }

    /// An argument cannot be read.
    pub fn unreadable(argument: &str, cause: impl std::fmt::Display) -> Self {
        Failure::usage(format!("{argument}: {cause}"), "")
    }
}

impl From<accession::Error> for Failure {
    fn from(error: accession::Error) -> Self {
        Failure::Library(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Failure::Python(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::Python(error.into())
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| match failure {
            Failure::Python(error) => error,
            Failure::Library(error) => of_library(py, &error).unwrap_or_else(|error| error),
            Failure::Here(kind, message, hint) => {
                let hint = Some(hint).filter(|hint| !hint.is_empty());
                raised(py, kind, &message, hint).map_or_else(|error| error, PyErr::from_value)
            }
        })
    }
}

fn of_library(py: Python<'_>, error: &accession::Error) -> PyResult<PyErr> {
    let kind = error.kind();
    let value = raised(py, kind.as_str(), &error.with_causes(), hint_of(kind))?;
    value.setattr("granule", error.granule().map(ToString::to_string))?;
    let (file, line) = match error.location() {
        Some(SourceLocation::Line { source, line }) => (Some(source.to_string()), Some(*line)),
        _ => (error.path().map(|path| path.to_string_lossy().into_owned()), error.line()),
    };
    value.setattr("file", file)?;
    value.setattr("line", line)?;
    Ok(PyErr::from_value(value))
}

fn raised<'py>(
    py: Python<'py>,
    kind: &str,
    message: &str,
    hint: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = CLASS.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("accession_registry._records")?.getattr("Error")?.unbind())
    })?;
    let text = match hint {
        Some(hint) => format!("{message}\nhint: {hint}"),
        None => message.to_owned(),
    };
    let value = class.bind(py).call1((text,))?;
    value.setattr("kind", kind)?;
    value.setattr("message", message)?;
    value.setattr("hint", hint)?;
    Ok(value)
}

/// What to do about an error of a kind, as Python writes it.
fn hint_of(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::RegistryMissing => "open(…, create=True) creates it",
        ErrorKind::DatasetUnknown => {
            "Registry.datasets() lists those of the registry; create=True creates one"
        }
        ErrorKind::Held => "skip_existing=True skips granules that are held already",
        ErrorKind::NotHeld => "skip_missing=True skips granules that are not held",
        ErrorKind::Twice => "name each granule once; skip_existing=True skips repetitions",
        ErrorKind::TooManyDeletions => {
            "nothing was changed; check that the listing is complete: compare() shows all that differ; max_delete=N or \"P%\" accepts it"
        }
        ErrorKind::TooManyAdditions => {
            "nothing was changed; check that the listing is of this dataset: compare() shows all that differ; max_add=N or \"P%\" accepts it"
        }
        ErrorKind::EmptyListing => "nothing was changed; check how the listing was made",
        ErrorKind::Backfill => {
            "nothing was changed; name the time of the change with at=…; say at=\"now\" if it is now"
        }
        ErrorKind::NotAfterLast => "name a later time with at=…, or at=\"now\"",
        ErrorKind::Future | ErrorKind::NotYet => "name an earlier time, or none for now",
        ErrorKind::ClockAhead => {
            "nothing was changed; correct the clock, or confirm it with at=\"now\" if it is right"
        }
        ErrorKind::IdentifierUnknown => "Registry.history() lists the identifiers of a dataset",
        ErrorKind::Ambiguous => "name one of them",
        ErrorKind::BeingChecked => {
            "its files are free again when the other run has ended, or ten minutes after it was killed; jobs=… reads more files at a time"
        }
        ErrorKind::Busy => "wait until the other process has finished, and try again",
        ErrorKind::Damaged => {
            "`accession verify` shows what is damaged; write nothing more to the registry, and restore it from a backup"
        }
        ErrorKind::OtherSchema => "install the version of this package that wrote it",
        ErrorKind::ReadOnly | ErrorKind::CannotOpen | ErrorKind::Denied => {
            "nothing was changed; check who is permitted to read and write the registry"
        }
        ErrorKind::Withdrawn => "`accession dataset reinstate` ends the withdrawal",
        ErrorKind::NotEncrypted => "use https; insecure=True accepts http",
        ErrorKind::UnknownAuthority | ErrorKind::NoCertificate => {
            "ca_file=… names the certificates of a private authority"
        }
        ErrorKind::DoiTaken => "shared_doi=True gives it to both",
        ErrorKind::ContentContradicts => {
            "nothing was changed; either a file is damaged, or it was processed again: then max_replace=N or \"P%\" with note=… takes its new bytes, and the history keeps the old"
        }
        ErrorKind::Temporary => "set TMPDIR to a directory with enough space",
        ErrorKind::NotAnInstance => "name the instance as DATASET@TIME",
        ErrorKind::PrimaryDatasetUnknown => "name one of them with primary_dataset=…",
        _ => return None,
    })
}
