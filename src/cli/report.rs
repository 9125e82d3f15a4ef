//! Prints errors for people and for scripts, all in one place.

use std::ffi::OsStr;
use std::io::{self, Write};

use accession::model::is_interpreted;
use accession::{Error, ErrorKind, SourceLocation, input};
use serde::Serialize;

use super::commit::Commit;
use super::exit::Exit;
use super::hint;
use super::output::{Failure, Label, json, one_line, write_message};
use super::reading::PagesMissing;
use super::usage::UsageError;

/// An error as `--json` prints it. Fields that are `None` are omitted.
#[derive(Default, Serialize)]
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
}

/// The object in which a report is printed.
#[derive(Serialize)]
struct Envelope<'a> {
    error: &'a Report,
}

/// Reports why a command failed.
pub fn error(error: &anyhow::Error, wants_json: bool) -> Exit {
    // The whole chain of causes on one line. Each error states only its own part.
    let message = format!("{error:#}");
    let report = if let Some(error) = error.downcast_ref::<Error>() {
        of_registry(error, message)
    } else if let Some(error) = error.downcast_ref::<UsageError>() {
        let hint = error.hint().map(str::to_owned);
        Report { kind: "usage", message, hint, ..Report::default() }
    } else if let Some(error) = error.downcast_ref::<input::Error>() {
        of_input(error, message)
    } else if error.is::<PagesMissing>() {
        let kind = "pages-missing";
        let hint = Some(hint::OF_MISSING_PAGES.to_owned());
        Report { kind, message, hint, ..Report::default() }
    } else {
        of_server(error, &message).unwrap_or(Report { kind: "io", message, ..Report::default() })
    };
    report.print(wants_json);
    Exit::Trouble
}

/// The report of an error of the server. `None` if it is another error.
fn of_server(error: &anyhow::Error, message: &str) -> Option<Report> {
    let error = error.downcast_ref::<accession::server::ServerError>()?;
    let hint = hint::of_kind(error.kind(), false).map(str::to_owned);
    Some(Report {
        kind: error.kind().as_str(),
        message: message.to_owned(),
        hint,
        ..Report::default()
    })
}

fn of_registry(error: &Error, message: String) -> Report {
    let granule = error.granule().map(ToString::to_string);
    let report = Report {
        kind: error.kind().as_str(),
        message,
        hint: hint::of(error),
        granule,
        ..Report::default()
    };
    if error.kind() == ErrorKind::PublishedDamaged {
        let file = error.path().map(|path| path.to_string_lossy().into_owned());
        return Report { file, line: error.line(), ..report };
    }
    report.at(line_of(error.location()))
}

fn of_input(error: &input::Error, message: String) -> Report {
    let report =
        Report { kind: "input", message, hint: hint::of_input(error), ..Report::default() };
    report.at(line_of(Some(&error.location)))
}

/// Reports that the output of a command is incomplete, and what the command had committed before.
///
/// If nothing was committed and the reader closed its pipe, no message is printed, because the
/// reader has what it wanted. The exit status still reports that the output is incomplete.
pub fn output_failure(failure: &Failure, committed: Option<Commit>, wants_json: bool) -> Exit {
    let (message, hint) = match committed {
        Some(commit) => (
            format!(
                "the change was made, but {} could not be written to standard output: {failure}",
                commit.output()
            ),
            Some(commit.hint().to_owned()),
        ),
        None if *failure == Failure::BrokenPipe => return Exit::Trouble,
        None => (format!("cannot write to standard output: {failure}"), None),
    };
    Report { kind: "output", message, hint, ..Report::default() }.print(wants_json);
    Exit::Trouble
}

/// Reports what clap says about the arguments, which includes `--help` and `--version`.
pub fn usage(error: &clap::Error, is_plain: bool, wants_json: bool) -> Exit {
    if wants_json {
        let text = error.render().to_string();
        let message = text.trim_end().strip_prefix("error: ").unwrap_or(&text).to_owned();
        Report { kind: "usage", message, ..Report::default() }.print(wants_json);
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

impl Report {
    fn at(self, location: Option<(String, u64)>) -> Self {
        match location {
            Some((file, line)) => Report { file: Some(file), line: Some(line), ..self },
            None => self,
        }
    }

    fn print(&self, wants_json: bool) {
        if wants_json {
            let report = json::to_string(&Envelope { error: self });
            // If stderr cannot be written, there is nowhere left to report it.
            let _ = writeln!(io::stderr(), "{report}");
            return;
        }
        write_message(Label::Error, &self.message);
        if let Some(hint) = &self.hint {
            write_message(Label::Hint, hint);
        }
    }
}

fn line_of(location: Option<&SourceLocation>) -> Option<(String, u64)> {
    match location {
        Some(SourceLocation::Line { source, line }) => Some((source.to_string(), *line)),
        Some(SourceLocation::Argument { .. }) | None => None,
    }
}
