//! What a command fails with, and how it ends: the error as it is printed for people and for
//! scripts, the hint of what to type next, and the exit status.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::process::ExitCode;

use accession::error::{FrontEnd, Unknown};
use accession::model::is_interpreted;
use accession::{ErrorKind, SourceLocation};
use serde::Serialize;

use super::output::{Failure, Label, json, one_line, write_message};

/// The result of a part of a command.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a command failed.
#[derive(Debug)]
pub struct Error(Box<Report>);

/// An error as it is reported; with `--json`, fields that are `None` are omitted.
#[derive(Debug, Default, Serialize)]
struct Report {
    kind: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    granule: Option<String>,
    #[serde(skip)]
    of_library: Option<ErrorKind>,
    /// What is unknown, for which something that exists may have been meant.
    #[serde(skip)]
    unknown: Option<Unknown>,
}

impl Error {
    /// An error in the arguments, or in the files that they name, that only the command can detect.
    pub fn usage(message: impl Into<String>) -> Self {
        Report { kind: "usage", message: message.into(), ..Report::default() }.into()
    }

    /// A search result of which pages are missing.
    pub fn pages_missing(message: String) -> Self {
        let hint = Some(OF_MISSING_PAGES.to_owned());
        Report { kind: "pages-missing", message, hint, ..Report::default() }.into()
    }

    /// The program was asked to end.
    pub fn interrupted(message: &str) -> Self {
        Report { kind: "interrupted", message: message.to_owned(), ..Report::default() }.into()
    }

    /// An error of a file, with its cause in the message.
    pub fn io(message: String) -> Self {
        Report { kind: "io", message, ..Report::default() }.into()
    }

    /// The same error with what to type instead.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error after something was committed, so that nobody takes it for a refusal. What was
    /// interrupted says so itself.
    pub fn after_commit(mut self) -> Self {
        if self.0.kind != "interrupted" {
            self.0.hint = Some(OF_COMMITTED.to_owned());
        }
        self
    }

    /// What is unknown.
    pub fn unknown(&self) -> Option<&Unknown> {
        self.0.unknown.as_ref()
    }

    /// The kind, if it is an error of the library.
    pub fn of_library(&self) -> Option<ErrorKind> {
        self.0.of_library
    }

    /// Reports why a command failed.
    pub fn report(&self, wants_json: bool) -> Exit {
        self.print(wants_json);
        Exit::Trouble
    }

    fn print(&self, wants_json: bool) {
        if wants_json {
            let report = json::to_string(&BTreeMap::from([("error", &self.0)]));
            // If stderr cannot be written, there is nowhere left to report it.
            let _ = writeln!(io::stderr(), "{report}");
            return;
        }
        write_message(Label::Error, &self.0.message);
        if let Some(hint) = &self.0.hint {
            write_message(Label::Hint, hint);
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl StdError for Error {}

impl From<Report> for Error {
    fn from(report: Report) -> Self {
        Error(Box::new(report))
    }
}

impl From<accession::Error> for Error {
    fn from(error: accession::Error) -> Self {
        let (kind, location) = (error.kind(), error.location());
        let (file, line) = match location {
            Some(SourceLocation::Line { source, line }) => (Some(source.to_string()), Some(*line)),
            _ if kind == ErrorKind::PublishedDamaged => {
                (error.path().map(|path| path.to_string_lossy().into_owned()), error.line())
            }
            _ => (None, None),
        };
        let report = Report {
            kind: kind.as_str(),
            message: error.with_causes(),
            hint: error.hint(FrontEnd::CommandLine),
            file,
            line,
            granule: error.granule().map(ToString::to_string),
            of_library: Some(kind),
            unknown: error.unknown().cloned(),
        };
        report.into()
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::io(accession::Error::chain_of(&error))
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
            error.0.message = format!("{}: {}", message(), error.0.message);
            error
        })
    }
}

/// Reports that the output of a command is incomplete, and whether the command had committed something.
///
/// If nothing was committed and the reader closed its pipe, no message is printed, because the
/// reader has what it wanted. The exit status still reports that the output is incomplete.
pub fn output_failure(failure: &Failure, committed: bool, wants_json: bool) -> Exit {
    let (what, hint) = match committed {
        true => (
            "the change was made, but its report could not be written",
            Some(OF_COMMITTED.to_owned()),
        ),
        false if *failure == Failure::BrokenPipe => return Exit::Trouble,
        false => ("cannot write", None),
    };
    let message = format!("{what} to standard output: {failure}");
    Error::from(Report { kind: "output", message, hint, ..Report::default() }).print(wants_json);
    Exit::Trouble
}

/// Reports what clap says about the arguments, which includes `--help` and `--version`.
pub fn usage(error: &clap::Error, is_plain: bool, wants_json: bool) -> Exit {
    if wants_json {
        let text = error.render().to_string();
        let message = text.trim_end().strip_prefix("error: ").unwrap_or(&text).to_owned();
        Error::usage(message).print(wants_json);
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
    argument.to_str().is_some_and(|text| !text.contains(is_interpreted))
}

/// What to do about a search result that lacks pages.
pub const OF_MISSING_PAGES: &str =
    "nothing was changed; name the files of all pages; ingest and import take these with --partial";

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
        assert_eq!(Error::interrupted("stopped").after_commit().0.hint, None);
    }
}
