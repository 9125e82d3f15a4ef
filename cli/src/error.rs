//! What a command fails with, and how it ends: the error as it is printed for people and for
//! scripts, the hint of what to type next, and the exit status.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::process::ExitCode;

use accession::error::FrontEnd;
use accession::model::is_escaped;
use accession::{ErrorKind, GranuleId, SourceLocation};

use super::output::{Failure, Label, json, one_line, write_message};

/// The result of a part of a command.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a command failed.
#[derive(Debug)]
pub struct Error(Box<Failed>);

/// An error, what could not be done because of it, and what to do, if a command knows that better.
#[derive(Debug)]
struct Failed {
    error: accession::Error,
    context: Vec<String>,
    hint: Option<String>,
}

impl Error {
    /// An error that only the command can detect.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        accession::Error::new(kind, message).into()
    }

    /// An error in the arguments, or in the files that they name.
    pub fn usage(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Usage, message)
    }

    /// The same error with what to type instead.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error after something was committed, so that nobody takes it for a refusal. What was
    /// interrupted, or was stated and not signed, says so itself.
    pub fn after_commit(self) -> Self {
        match self.kind() {
            ErrorKind::Interrupted | ErrorKind::TreeDiffers => self,
            _ => self.with_hint(OF_COMMITTED),
        }
    }

    /// What is unknown.
    pub fn unknown(&self) -> Option<&str> {
        self.0.error.unknown()
    }

    /// The granule that it is about.
    pub fn granule(&self) -> Option<&GranuleId> {
        self.0.error.granule()
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.error.kind()
    }

    /// Reports why a command failed.
    pub fn report(&self, wants_json: bool) -> Exit {
        let Failed { error, hint, .. } = &*self.0;
        let hint = hint.clone().or_else(|| error.hint(FrontEnd::CommandLine));
        if !wants_json {
            write_message(Label::Error, &self.to_string());
            if let Some(hint) = hint {
                write_message(Label::Hint, &hint);
            }
            return Exit::Trouble;
        }
        let (file, line) = match error.location() {
            Some(SourceLocation::Line { source, line }) => (Some(source.to_string()), Some(*line)),
            _ if error.kind() == ErrorKind::PublishedDamaged => {
                (error.path().map(|path| path.to_string_lossy().into_owned()), error.line())
            }
            _ => (None, None),
        };
        let mut report = object!({
            "kind": error.kind().as_str(),
            "message": self.to_string(),
            "hint": hint,
            "file": file,
            "line": line,
            "granule": error.granule(),
        });
        report.0.retain(|(_, value)| !value.is_null());
        let report = json::to_string(&BTreeMap::from([("error", report)]));
        // If stderr cannot be written, there is nowhere left to report it.
        let _ = writeln!(io::stderr(), "{report}");
        Exit::Trouble
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.context.iter().rev().try_for_each(|context| write!(f, "{context}: "))?;
        f.write_str(&self.0.error.with_causes())
    }
}

impl StdError for Error {}

impl From<accession::Error> for Error {
    fn from(error: accession::Error) -> Self {
        Error(Box::new(Failed { error, context: Vec::new(), hint: None }))
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::new(ErrorKind::Io, accession::Error::chain_of(&error))
    }
}

/// Adds what could not be done to the message of an error.
pub trait Context<T> {
    /// The same result, with the message before that of the error.
    fn with_context(self, message: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn with_context(self, message: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| {
            let mut error: Error = error.into();
            error.0.context.push(message());
            error
        })
    }
}

/// Reports that the output of a command is incomplete, and whether the command had committed something.
///
/// If nothing was committed and the reader closed its pipe, no message is printed, because the
/// reader has what it wanted. The exit status still reports that the output is incomplete.
pub fn output_failure(failure: &Failure, committed: bool, wants_json: bool) -> Exit {
    let what = match committed {
        true => "the change was made, but its report could not be written",
        false if *failure == Failure::BrokenPipe => return Exit::Trouble,
        false => "cannot write",
    };
    let message = format!("{what} to standard output: {failure}");
    let error = Error::new(ErrorKind::Output, message);
    if committed { error.after_commit() } else { error }.report(wants_json)
}

/// Reports what clap says about the arguments, which includes `--help` and `--version`.
pub fn usage(error: &clap::Error, is_plain: bool, wants_json: bool) -> Exit {
    if wants_json {
        let text = error.render().to_string();
        let message = text.trim_end().strip_prefix("error: ").unwrap_or(&text).to_owned();
        Error::usage(message).report(wants_json);
    } else if is_plain {
        // If stderr cannot be written, there is nowhere left to report it.
        let _ = error.print();
    } else {
        // clap quotes an argument that a terminal would interpret: escaped, and without colours.
        for line in error.render().to_string().lines() {
            let _ = writeln!(io::stderr(), "{}", one_line(line));
        }
    }
    Exit::Trouble
}

/// Whether an argument contains nothing that a terminal would interpret.
pub fn is_plain(argument: &OsStr) -> bool {
    argument.to_str().is_some_and(|text| !text.contains(is_escaped))
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// The command succeeded, or both sides are the same.
    Done = 0,
    /// A comparison or a check found a difference.
    Differs = 1,
    /// Incorrect usage, invalid input, an I/O error, or output that could not be written.
    Trouble = 2,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// What to do after something was committed, whatever failed then: its report, or the rest of the work.
const OF_COMMITTED: &str = "what was made before is not undone: look at what is there before the command is repeated; `accession history` lists the changes of a dataset";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_after_a_change_is_not_that_of_a_refused_one() {
        let lost = || -> Error {
            accession::Error::new(ErrorKind::ConnectionLost, "the connection was lost").into()
        };
        assert_eq!(lost().after_commit().0.hint.as_deref(), Some(OF_COMMITTED));
        let stopped = Error::new(ErrorKind::Interrupted, "stopped");
        assert_eq!(stopped.after_commit().0.hint, None);
    }
}
