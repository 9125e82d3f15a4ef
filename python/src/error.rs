//! Errors as Python raises them. The Python package converts the JSON of an error to an exception.

use accession_cli::Outcome;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Why a call fails.
#[derive(Debug)]
pub enum Failure {
    /// An error of a command, as `--json` prints it.
    Command(Value),
    /// An exception of Python.
    Python(PyErr),
}

impl Failure {
    /// An error of this module. `hint` says what to do.
    pub fn new(kind: &str, message: impl Into<String>, hint: &str) -> Self {
        Failure::Command(json!({ "kind": kind, "message": message.into(), "hint": hint }))
    }

    /// An error in a row of a table, counted from 1.
    pub fn in_row(row: u64, message: &str, hint: &str) -> Self {
        let message = format!("listing:{row}: {message}");
        Failure::Command(json!({
            "kind": "input", "message": message, "hint": hint, "file": "listing", "line": row,
        }))
    }

    /// The error that the registry was closed.
    pub fn closed() -> Self {
        let hint = "open it again, or work within the `with` block";
        Failure::new("closed", "the registry was closed", hint)
    }

    /// The error that a value is used in a fork of the process that created it.
    pub fn forked() -> Self {
        let message = "it was opened by another process, of which this one is a fork";
        Failure::new("forked", message, "open the registry in each process; sets can be pickled")
    }

    /// The error that the work was cancelled.
    pub fn interrupted() -> Self {
        Failure::new("interrupted", "the call was interrupted", "")
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
        let error = match failure {
            Failure::Python(error) => return error,
            Failure::Command(error) => error.to_string(),
        };
        Python::attach(|py| {
            let made = py.import("accession_registry._errors");
            let raised = made.and_then(|errors| errors.call_method1("error", (error,)));
            raised.map_or_else(|error| error, PyErr::from_value)
        })
    }
}

/// The warnings of a command, as JSON.
///
/// # Errors
///
/// The command failed.
pub fn warnings_of(outcome: Outcome) -> Result<Vec<String>, Failure> {
    match outcome.error {
        Some(error) => Err(Failure::Command(error)),
        None => Ok(outcome.warnings.iter().map(ToString::to_string).collect()),
    }
}
