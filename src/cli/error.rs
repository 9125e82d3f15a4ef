//! What a command fails with, and how it ends: the error as it is printed for people and for
//! scripts, the hint of what to type next, and the exit status.

use std::error::Error as StdError;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::process::ExitCode;

use accession::error::Unknown;
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

/// The object in which an error is printed.
#[derive(Serialize)]
struct Envelope<'a> {
    error: &'a Report,
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

    /// The same error, if it came after a change that was made: what failed is the report of it, so
    /// nobody must take it for a refusal. Where a command goes on with its work, it is as it was.
    pub fn after(mut self, commit: Commit) -> Self {
        if commit == Commit::Whole {
            let report = &mut self.0;
            let cause = &report.message;
            report.message =
                format!("the change was made, but its report is not complete: {cause}");
            report.hint = Some(OF_COMMITTED.to_owned());
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
            let report = json::to_string(&Envelope { error: &self.0 });
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
            hint: of_kind(kind, location.is_some()).map(str::to_owned),
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

/// Reports that the output of a command is incomplete, and what the command had committed before.
///
/// If nothing was committed and the reader closed its pipe, no message is printed, because the
/// reader has what it wanted. The exit status still reports that the output is incomplete.
pub fn output_failure(failure: &Failure, committed: Option<Commit>, wants_json: bool) -> Exit {
    let (what, hint) = match committed {
        Some(_) => (
            "the change was made, but its report could not be written",
            Some(OF_COMMITTED.to_owned()),
        ),
        None if *failure == Failure::BrokenPipe => return Exit::Trouble,
        None => ("cannot write", None),
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

/// Returns what to do about an error of a kind. A value that is refused was read from a file, or else
/// typed.
pub fn of_kind(kind: ErrorKind, was_read: bool) -> Option<&'static str> {
    let hint = match kind {
        ErrorKind::RegistryMissing => {
            "if it was lost, restore it from a backup with `accession restore`; `accession dataset add NAME` and --create create a new one"
        }
        ErrorKind::CannotListen => {
            "name another address with --listen, or stop the program that uses it"
        }
        ErrorKind::NotMounted => {
            "is it mounted? if it is the right one, and its files are gone, --mounted says so"
        }
        ErrorKind::NotARegistry => "name another file with --registry",
        ErrorKind::RegistryExists => "name a file that does not exist, or an empty database",
        ErrorKind::OtherSchema => {
            "use the version of accession that wrote it; its `export` writes what `import` reads into a new registry"
        }
        ErrorKind::Replaced => {
            "nothing was changed; find out where the registry is now, and try again"
        }
        ErrorKind::PathTooLong => "use a shorter path, or work in another directory",
        ErrorKind::ReservedName => "name another file",
        ErrorKind::Temporary => "nothing was changed; set TMPDIR to a directory with enough space",
        ErrorKind::Withdrawn => "`accession dataset reinstate` ends the withdrawal",
        ErrorKind::BeingChecked => {
            "its files are free again when the other run has ended, or ten minutes after it was killed; --jobs reads more files at a time"
        }
        ErrorKind::Busy => "wait until the other command has finished, and try again",
        ErrorKind::Full => "nothing was changed; free some space, and try again",
        ErrorKind::Orphaned => {
            "put the missing file back, or move these files away: SQLite would apply them to the next file of that name"
        }
        ErrorKind::MovedAway => {
            "move the file back, with those whose names continue with -wal and -shm, before anything else"
        }
        ErrorKind::ReadOnly => {
            "nothing was changed; check who is permitted to write to the registry, and whether its server is a standby"
        }
        ErrorKind::CannotOpen => {
            "check who is permitted to read the file, and to write to its directory"
        }
        ErrorKind::Changed => "try again",
        ErrorKind::Damaged => {
            "`accession verify` shows what is damaged; write nothing more to the registry, keep a copy of it, and restore it from a backup or a mirror"
        }
        ErrorKind::TooLong => "shorten the note, the title or the list of patterns",
        ErrorKind::RegistryAddress => {
            "write the path of a file, or postgres://USER@HOST/DATABASE and the password into ~/.pgpass"
        }
        ErrorKind::Unreachable => {
            "check the address, the role, its password (PGPASSWORD, or a line of ~/.pgpass), and whether the server runs"
        }
        ErrorKind::ConnectionLost => {
            "nothing was changed; try again when the server can be reached"
        }
        ErrorKind::OutcomeUnknown => {
            "when the server can be reached, `accession history` shows whether the change was made"
        }
        ErrorKind::NotVisible => {
            "do not make it again: it appears when Citus has recovered the machine (citus.recover_2pc_interval)"
        }
        ErrorKind::Incomplete => "try again when the machine can be reached",
        ErrorKind::Conflict | ErrorKind::Cancelled => "nothing was changed; try again",
        ErrorKind::Denied => {
            "nothing was changed; the guide lists the privileges that a role needs"
        }
        ErrorKind::NotAnInstance => {
            "name the instance as DATASET@TIME: `accession resolve` shows it"
        }
        ErrorKind::ClockAhead => {
            "nothing was changed; correct the clock, or confirm it with --at now if it is right"
        }
        ErrorKind::NotAFile => {
            "`accession copy` copies a registry in a file to a server, and one on a server to a file"
        }
        ErrorKind::NotAServer => "`accession copy` copies the registry to a server",
        ErrorKind::NoCitus => "CREATE EXTENSION citus, on every machine, as a superuser",
        ErrorKind::PublishedOtherwise => {
            "nothing of this dataset was published; if the registry was restored from a backup, `accession import` restores the days that it lost from the published log; if another history has the name for good, move the directory of the dataset away and publish again: its mirrors report `rewritten`"
        }
        ErrorKind::PublishedDamaged => {
            "nothing more of this dataset was published; if `accession verify` finds the registry sound, move the directory of the dataset away and publish again: the log gets the same bytes"
        }
        ErrorKind::NotEncrypted => "use https; --insecure accepts http",
        ErrorKind::NoCertificate => "--ca-file names a file of certificates in PEM form",
        ErrorKind::UnknownAuthority => {
            "nothing was changed; --ca-file names the certificates of a private authority"
        }
        ErrorKind::Certificate => {
            "nothing was changed; check the address, or ask those who run the server"
        }
        ErrorKind::Proxy => {
            "nothing was changed; HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is http://USER:PASSWORD@HOST:PORT, and NO_PROXY names hosts that need no proxy"
        }
        ErrorKind::Address => {
            "write the address of a dataset, such as https://data.example.org/datasets/US.FOOL2.002/"
        }
        ErrorKind::NoResponse => "nothing was changed; try again later",
        ErrorKind::Response => "nothing was changed; check the address, or try again later",
        ErrorKind::PrimaryConflict => {
            "nothing was changed; tell the primary: trying again does not help before its operator has acted"
        }
        ErrorKind::TooManyBytes => "nothing was changed; a larger --max-bytes permits more",
        ErrorKind::TooOld => {
            "nothing was changed; ask the primary, or accept its age with --max-age"
        }
        ErrorKind::PrimaryDatasetUnknown => "name one of them with --primary-dataset",
        ErrorKind::DatasetUnknown => "`accession dataset list` lists the datasets of the registry",
        ErrorKind::DatasetExists => "`accession dataset edit` changes its metadata",
        ErrorKind::DoiTaken => "--shared-doi gives it to both",
        ErrorKind::NoHistory => "`accession ingest` makes its first change",
        ErrorKind::NothingKnown => "name a later time with --known-at, or omit it",
        ErrorKind::Ambiguous => "name one of them",
        ErrorKind::IdentifierUnknown => "`accession history` lists the identifiers of a dataset",
        ErrorKind::SelectsNothing | ErrorKind::NotHeldToCite => {
            "`accession granules` lists the granules held; --at names another time"
        }
        ErrorKind::PaymentScheme => {
            "name these with --layout and --epoch, or use another registry for other ids"
        }
        ErrorKind::Held => "--skip-existing skips granules that are already held",
        ErrorKind::HeldThen | ErrorKind::NotHeldThen => {
            "nothing was changed; correct the file: a granule is ingested and deleted in turn"
        }
        ErrorKind::NotHeld => "--skip-missing skips granules that are not held",
        ErrorKind::Twice => {
            "name each granule once; --skip-existing and --skip-missing skip repetitions"
        }
        ErrorKind::RefusedDirectory => {
            "nothing was changed; leave out ./, as find -printf '%P\\n' does, or sed 's|^\\./||'"
        }
        ErrorKind::RefusedCharacter => "nothing was changed; leave out this character",
        ErrorKind::Both => "make two changes, one after the other",
        ErrorKind::NotAsExpected if was_read => {
            "nothing was changed; the log contradicts itself, or the dataset has another history: tell the primary"
        }
        ErrorKind::NotAsExpected => {
            "nothing was changed; either another process changed the dataset, or the input is wrong"
        }
        ErrorKind::EmptyListing => {
            "nothing was changed; check how the listing was made; `accession delete` deletes granules"
        }
        ErrorKind::TooManyDeletions => {
            "nothing was changed; `accession mirror compare --all` lists all that differ; --max-delete N or P% allows more"
        }
        ErrorKind::TooManyAdditions => {
            "nothing was changed; `accession mirror compare --all` lists all that differ; --max-add N or P% allows more"
        }
        ErrorKind::Backfill => {
            "nothing was changed; name the time of the change with --at; say --at now if it is now"
        }
        ErrorKind::ContentContradicts => {
            "nothing was changed; either a file is damaged, or it was processed again: then --max-replace N or P% with --note WHY takes its new bytes, and the history keeps the old"
        }
        ErrorKind::NoChecksums => "`accession fixity add` records checksums",
        ErrorKind::StatedFile => "correct the file; --no-files ignores sizes and checksums",
        ErrorKind::NoAlgorithm => {
            "name it with --algorithm; --no-files ignores sizes and checksums"
        }
        ErrorKind::Empty => "name granules as arguments, or a file with --from (- is stdin)",
        ErrorKind::NotAfterLast if was_read => {
            "nothing was changed; an import must be later than the last change of the dataset"
        }
        ErrorKind::NotAfterLast => {
            "name a later time with --at, or --at now; to add an earlier change, build the history again with `accession export --until`"
        }
        ErrorKind::Future if was_read => {
            "nothing was changed; correct the time, or import the file when that time has come"
        }
        ErrorKind::Future => "name an earlier time with --at, or --at now",
        ErrorKind::NotReplaced => "move it away, or write elsewhere",
        ErrorKind::NotYet => "name an earlier time, or omit it for now",
        ErrorKind::ClockBehind => "correct the clock, or wait until it has caught up",
        ErrorKind::NotYetIssued => "name the epoch of the id with --epoch",
        ErrorKind::WorkerUnknown => "name the layout of the id with --layout",
        ErrorKind::NoColumn => {
            "name one of them with --column; --format lines takes each line as one granule"
        }
        ErrorKind::NotAGranuleId => "nothing was changed; correct the file and try again",
        ErrorKind::Cells => "--format lines takes each line as one granule",
        ErrorKind::NoOffset => "nothing was changed; add the offset, or Z if the times are UTC",
        ErrorKind::NoDates => {
            "an import needs a column ingested, or an event file; `accession ingest` takes lists"
        }
        ErrorKind::IsAHistory => "`accession import` takes event files and manifests",
        ErrorKind::NoList => "check whether the response reports an error, or has another --format",
        ErrorKind::NoField => "name the field with --column",
        ErrorKind::NotOfFormat => {
            "nothing was changed; omit the option, or name the format with --format"
        }
        ErrorKind::UnknownFormat => {
            "write one object a line (jq -c '.[]'), and name the field with --column; or one id a \
             line (jq -r '.[]')"
        }
        ErrorKind::Markup => {
            "ask the catalogue for JSON or CSV, and take the ids of other XML out first; or a server \
             sent a page about an error: download the file again"
        }
        ErrorKind::NotPublished => {
            "nothing was changed; fetch it again, and if that does not help, tell the primary, whose log this is"
        }
        ErrorKind::NotGzip => "download the file again, or rename it",
        _ => return None,
    };
    Some(hint)
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

/// How much of its work a command had committed when it failed. That remains even if the output is lost,
/// so the command must not be repeated as if it had failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    /// A part: the command goes on with its work, and what fails then is not only its report.
    Part,
    /// All of it: the command only prints what it made.
    Whole,
}

/// What to do about a change that was made, but not reported.
const OF_COMMITTED: &str = "nothing of it was undone: look at what is there before the command is repeated; `accession history` lists the changes of a dataset";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refused_change_has_a_hint() {
        let refusals = [
            ErrorKind::Empty,
            ErrorKind::NotAfterLast,
            ErrorKind::Future,
            ErrorKind::Both,
            ErrorKind::NotHeld,
        ];
        for kind in refusals {
            assert!(of_kind(kind, false).is_some(), "{kind}");
        }
    }

    #[test]
    fn an_error_after_a_change_is_not_that_of_a_refused_one() {
        let lost = || -> Error {
            accession::Error::new(ErrorKind::ConnectionLost, "the connection was lost").into()
        };
        let after = lost().after(Commit::Whole);
        assert!(after.0.message.starts_with("the change was made, but"), "{after}");
        assert!(after.0.message.ends_with(": the connection was lost"), "{after}");
        assert_eq!(after.0.hint.as_deref(), Some(OF_COMMITTED));
        assert_eq!(lost().after(Commit::Part).0.hint, lost().0.hint);
    }

    #[test]
    fn a_hint_depends_on_whether_the_time_was_typed_or_read() {
        assert!(of_kind(ErrorKind::Future, false).unwrap().contains("--at"));
        assert!(!of_kind(ErrorKind::Future, true).unwrap().contains("--at"));
    }
}
