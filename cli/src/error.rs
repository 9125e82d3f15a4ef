//! The error of a command: its output for people and for scripts, its hint, and its exit status.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::process::ExitCode;

use accession::ParseError;
use accession::text::is_escaped;
use accession::{ErrorDetail, ErrorKind, Expected, GranuleId, SourceLocation};
use accession_server::BindError;

use super::hint;
pub use super::kind::Kind;
use super::output::{Failure, Label, Object, json, one_line, write_message};

/// The result of a part of a command.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of a command.
#[derive(Debug)]
pub struct Error(Box<Failed>);

/// A cause, what could not be done because of it, and a hint if the command has a better one than the kind.
#[derive(Debug)]
struct Failed {
    cause: Cause,
    context: Vec<String>,
    hint: Option<String>,
    /// Whether the hint says how to continue with the rest of the work.
    continues: bool,
}

/// The cause of the error.
#[derive(Debug)]
enum Cause {
    /// An error of the library.
    Library(accession::Error),
    /// An error that only the command can detect.
    Command { kind: Kind, message: String, location: Option<SourceLocation> },
}

impl Error {
    /// An error that only the command can detect.
    pub fn new(kind: impl Into<Kind>, message: impl Into<String>) -> Self {
        let (kind, message) = (kind.into(), message.into());
        Error::of(Cause::Command { kind, message, location: None })
    }

    /// An error in a file that the command read.
    pub fn input(message: impl Into<String>, location: SourceLocation) -> Self {
        let (kind, message) = (ErrorKind::Input.into(), message.into());
        Error::of(Cause::Command { kind, message, location: Some(location) })
    }

    fn of(cause: Cause) -> Self {
        Error(Box::new(Failed { cause, context: Vec::new(), hint: None, continues: false }))
    }

    /// An error in the arguments, or in the files that they name.
    pub fn usage(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Usage, message)
    }

    /// Adds a hint, which says what to type instead.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds a hint for continuing with the rest of the work. It also applies after a commit.
    pub fn with_continuation(mut self, hint: impl Into<String>) -> Self {
        self.0.continues = true;
        self.with_hint(hint)
    }

    /// Adds a hint that something was committed, so that the error is not mistaken for a refusal. Errors of
    /// interrupted work and of statements that were not signed already say so.
    pub fn after_commit(self) -> Self {
        let says_so = [ErrorKind::Interrupted, ErrorKind::TreeDiffers];
        if self.0.continues || says_so.iter().any(|kind| self.kind() == *kind) {
            return self;
        }
        self.with_hint(OF_COMMITTED)
    }

    /// The error of the library. `None` means that the command detected it.
    fn library(&self) -> Option<&accession::Error> {
        match &self.0.cause {
            Cause::Library(error) => Some(error),
            Cause::Command { .. } => None,
        }
    }

    /// The possible replacements for a name that means several sets. `None` means that there are none.
    fn candidates(&self) -> Option<&[String]> {
        self.library().map(accession::Error::candidates).filter(|named| !named.is_empty())
    }

    /// The unknown dataset or identifier.
    pub fn unknown(&self) -> Option<&str> {
        self.library()?.unknown()
    }

    /// The granule that the error concerns.
    pub fn granule(&self) -> Option<&GranuleId> {
        self.library()?.granule()
    }

    /// Whether a listing was rejected because of its content.
    pub fn rejects_listing(&self) -> bool {
        let is_of_content =
            [ErrorKind::Input, ErrorKind::NotMounted].map(|kind| self.kind() == kind);
        is_of_content.contains(&true) || self.library().is_some_and(|it| it.rejects_listing())
    }

    /// The refusal of a guard, with the set that the dataset would hold. `None` means that no guard refused a
    /// change.
    pub fn refusal(&self) -> Option<(&accession::Error, Expected)> {
        let error = self.library()?;
        Some((error, error.expect()?))
    }

    /// Whether the command gave a better hint than the kind has.
    pub fn has_own_hint(&self) -> bool {
        self.0.hint.is_some()
    }

    /// The exit status of a command with this error.
    pub fn exit(&self) -> Exit {
        match self.library() {
            Some(error) if error.is_refusal() => Exit::Refused,
            _ => Exit::Trouble,
        }
    }

    /// Whether the error is that a file lacks dates.
    pub fn lacks_dates(&self) -> bool {
        self.library().is_some_and(|error| error.detail() == Some(ErrorDetail::NoDates))
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        match &self.0.cause {
            Cause::Library(error) => error.kind().into(),
            Cause::Command { kind, .. } => *kind,
        }
    }

    fn location(&self) -> Option<&SourceLocation> {
        match &self.0.cause {
            Cause::Library(error) => error.location(),
            Cause::Command { location, .. } => location.as_ref(),
        }
    }

    fn hint(&self) -> Option<&str> {
        let of_cause = || match &self.0.cause {
            Cause::Library(error) => hint::of_library(error),
            Cause::Command { kind, .. } => hint::of_command(*kind),
        };
        self.0.hint.as_deref().or_else(of_cause)
    }

    /// Prints the error, and returns the exit status.
    pub fn report(&self, wants_json: bool) -> Exit {
        if !wants_json {
            write_message(Label::Error, &self.to_string());
            if let Some(hint) = self.hint() {
                write_message(Label::Hint, hint);
            }
            return self.exit();
        }
        let report = json::to_string(&BTreeMap::from([("error", self.to_json())]));
        // If stderr cannot be written, there is nowhere left to report it.
        let _ = writeln!(io::stderr(), "{report}");
        self.exit()
    }

    /// The error as JSON. Members without a value are omitted.
    pub fn to_json(&self) -> Object {
        let published = self.library().filter(|it| it.kind() == ErrorKind::PublishedDamaged);
        let (file, line) = match (self.location(), published) {
            (Some(SourceLocation::Line { source, line }), _) => {
                (Some(source.to_string()), Some(*line))
            }
            (_, Some(error)) => {
                (error.path().map(|path| path.to_string_lossy().into_owned()), error.line())
            }
            _ => (None, None),
        };
        let mut report = object!({
            "kind": self.kind().as_str(),
            "message": self.to_string(),
            "hint": self.hint(),
            "file": file,
            "line": line,
            "granule": self.granule(),
            "candidates": self.candidates(),
            "expect": self.refusal().map(|(_, expect)| expect),
        });
        report.0.retain(|(_, value)| !value.is_null());
        report
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.context.iter().rev().try_for_each(|context| write!(f, "{context}: "))?;
        match &self.0.cause {
            Cause::Library(error) => f.write_str(&error.with_causes()),
            Cause::Command { message, location: Some(location), .. } => {
                write!(f, "{location}: {message}")
            }
            Cause::Command { message, location: None, .. } => f.write_str(message),
        }
    }
}

impl StdError for Error {}

impl From<accession::Error> for Error {
    fn from(error: accession::Error) -> Self {
        Error::of(Cause::Library(error))
    }
}

impl From<ParseError> for Error {
    fn from(error: ParseError) -> Self {
        Error::usage(error.to_string())
    }
}

impl From<BindError> for Error {
    fn from(error: BindError) -> Self {
        let kind = match &error {
            BindError::Listen { .. } => Kind::CannotListen,
            BindError::Start(_) => ErrorKind::Io.into(),
        };
        Error::new(kind, accession::Error::chain_of(&error))
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::new(ErrorKind::Io, accession::Error::chain_of(&error))
    }
}

/// Adds what could not be done to an error.
pub trait Context<T> {
    /// Returns the same result, with this message before that of the error.
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
    let error = Error::new(Kind::Output, message);
    if committed { error.after_commit() } else { error }.report(wants_json)
}

/// Reports an error of clap about the arguments.
pub fn usage(error: &clap::Error, is_plain: bool, wants_json: bool) -> Exit {
    if wants_json {
        Error::usage(usage_text(error)).report(wants_json);
    } else if is_plain {
        // If stderr cannot be written, there is nowhere left to report it.
        let _ = error.print();
    } else {
        // clap repeats the argument in its message. It is escaped for the terminal, and printed without
        // colours.
        for line in error.render().to_string().lines() {
            let _ = writeln!(io::stderr(), "{}", one_line(line));
        }
    }
    Exit::Trouble
}

/// The message of clap about the arguments, without the label.
pub fn usage_text(error: &clap::Error) -> String {
    let text = error.render().to_string();
    text.trim_end().strip_prefix("error: ").unwrap_or(&text).to_owned()
}

/// Whether an argument contains nothing that a terminal would interpret.
pub fn is_plain(argument: &OsStr) -> bool {
    argument.to_str().is_some_and(|text| !text.contains(is_escaped))
}

/// The exit status of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// The command succeeded, or both sides are the same.
    Done = 0,
    /// A comparison or a check found a difference.
    Differs = 1,
    /// Incorrect usage, invalid input, an I/O error, or output that could not be written.
    Trouble = 2,
    /// A guard refused a change that may be right.
    Refused = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// The hint if something fails after a commit: the report, or the rest of the work.
const OF_COMMITTED: &str = "what was made before is not undone: look at what is there before the command is repeated; `accession history` lists the changes of a dataset";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_after_a_change_is_not_that_of_a_refused_one() {
        let lost = || Error::new(ErrorKind::ConnectionLost, "the connection was lost");
        assert_eq!(lost().after_commit().0.hint.as_deref(), Some(OF_COMMITTED));
        let stopped = Error::new(ErrorKind::Interrupted, "stopped");
        assert_eq!(stopped.after_commit().0.hint, None);
    }
}
