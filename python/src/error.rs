//! Errors as Python raises them: `Error`, whose `kind` is that of the library.

use accession::ParseError;
use accession::SourceLocation;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

use crate::hint;

/// Why a call fails.
#[derive(Debug)]
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

    /// Pages of a search result are missing.
    pub fn pages_missing(message: String) -> Self {
        let hint = "nothing was changed; ask the catalogue for all pages";
        Failure::Here("pages-missing", message, hint)
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

impl From<ParseError> for Failure {
    fn from(error: ParseError) -> Self {
        Failure::Library(error.into())
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
            Failure::Library(error) => of_library(py, &error),
            Failure::Here(kind, message, hint) => {
                raised(py, (kind, message, Some(hint).filter(|hint| !hint.is_empty())))
            }
        })
    }
}

fn of_library(py: Python<'_>, error: &accession::Error) -> PyErr {
    let (kind, hint) = (error.kind().as_str(), hint::of_library(error));
    let hint = hint.as_deref();
    let granule = error.granule().map(ToString::to_string);
    let (file, line) = match error.location() {
        Some(SourceLocation::Line { source, line }) => (Some(source.to_string()), Some(*line)),
        _ => (error.path().map(|path| path.to_string_lossy().into_owned()), error.line()),
    };
    raised(py, (kind, error.with_causes(), hint, granule, file, line))
}

/// The error with these arguments of `accession_registry._records.error`.
fn raised<'py>(py: Python<'py>, arguments: impl PyCallArgs<'py>) -> PyErr {
    let made = py.import("accession_registry._records");
    let error = made.and_then(|records| records.call_method1("error", arguments));
    error.map_or_else(|error| error, PyErr::from_value)
}
