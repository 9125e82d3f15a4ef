//! The application that runs a session, if it is not the program `accession`.

use std::cell::RefCell;
use std::path::PathBuf;

use accession::{CancelToken, Registry};
use serde_json::Value;

use super::error::{Error, Exit};
use super::output::to_value;

/// The result of a command.
#[derive(Debug)]
pub struct Outcome {
    /// The exit status that the program would have.
    pub exit: Exit,
    /// Each warning, as `--json` prints it: its `kind` and its `message`.
    pub warnings: Vec<Value>,
    /// The error of the command, as `--json` prints it. `None` means that it succeeded.
    pub error: Option<Value>,
}

/// The values that a session gets from the other program.
pub(crate) struct Host {
    /// The registry, if it is already open.
    pub registry: Option<Registry>,
    /// Cancels the work.
    pub token: CancelToken,
    /// The path of the directory of temporary listings, with a slash at its end.
    inputs: Option<String>,
    /// The warnings so far.
    pub warnings: RefCell<Vec<Value>>,
}

impl Host {
    pub(crate) fn new(
        registry: Option<Registry>,
        token: CancelToken,
        inputs: Option<PathBuf>,
    ) -> Self {
        let inputs = inputs.map(|path| format!("{}/", path.to_string_lossy()));
        Host { registry, token, inputs, warnings: RefCell::default() }
    }

    /// Removes the path of the directory of temporary listings from a text.
    pub fn shown(&self, text: &str) -> String {
        self.inputs.as_ref().map_or(text.to_owned(), |inputs| text.replace(inputs, ""))
    }
}

impl Outcome {
    /// The outcome of a command's result.
    pub(crate) fn of(result: Result<Exit, Error>, host: &Host) -> Self {
        match result {
            Ok(exit) => Outcome { exit, warnings: host.warnings.take(), error: None },
            Err(error) => Outcome::failed(&error, host),
        }
    }

    /// The outcome of an error of the library, reported as a command would, with its hint.
    pub fn failed_with(error: accession::Error) -> Self {
        Outcome::failed(&error.into(), &Host::new(None, CancelToken::new(), None))
    }

    /// The outcome of a failed command.
    pub(crate) fn failed(error: &Error, host: &Host) -> Self {
        let mut report = error.to_json();
        for (_, value) in &mut report.0 {
            if let Value::String(text) = value {
                *text = host.shown(text);
            }
        }
        let (exit, error) = (error.exit(), to_value(&report));
        Outcome { exit, warnings: host.warnings.take(), error: Some(error) }
    }
}
