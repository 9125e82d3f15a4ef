//! An error, as a person or a script reads it: printed in one place.

use std::ffi::OsStr;
use std::io::{self, Write};

use accession::Error;

use super::output::{is_unseen, one_line};
use super::{Exit, json};

/// Something about the command line that clap cannot know.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(super) struct Usage {
    pub(super) what: String,
    pub(super) hint: Option<String>,
}

impl Usage {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Usage { what: what.into(), hint: None }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Usage { hint: Some(hint.into()), ..self }
    }
}

/// Reports trouble. A reader who closed the pipe has what it wanted, and hears nothing; but who
/// asks for the exit status must not take half an answer for a whole one.
pub(super) fn trouble(error: &anyhow::Error, json: bool) -> Exit {
    if is_broken_pipe(error) {
        return Exit::Trouble;
    }
    let (kind, hint) = if let Some(error) = error.downcast_ref::<Error>() {
        (error.kind(), error.hint())
    } else if let Some(error) = error.downcast_ref::<Usage>() {
        ("usage", error.hint.clone())
    } else if let Some(error) = error.downcast_ref::<accession::input::Error>() {
        ("input", error.hint())
    } else {
        ("io", None)
    };
    // The whole chain of causes on one line; each says only its own part.
    print(kind, &format!("{error:#}"), hint.as_deref(), json);
    Exit::Trouble
}

/// Reports what clap says of the arguments; `--help` and `--version` come this way too.
pub(super) fn usage(error: &clap::Error, is_plain: bool, json: bool) -> Exit {
    if !error.use_stderr() {
        return match error.print() {
            Ok(()) => Exit::Done,
            Err(error) => trouble(&error.into(), json),
        };
    }
    if json {
        let text = error.render().to_string();
        let message = text.trim_end().strip_prefix("error: ").unwrap_or(&text);
        print("usage", message, None, json);
    } else if is_plain {
        // Nothing is left to tell if stderr cannot be written.
        let _ = error.print();
    } else {
        // What clap quotes came from somebody's list, perhaps: without colours, and seen.
        for line in error.render().to_string().lines() {
            let _ = writeln!(io::stderr(), "{}", one_line(line));
        }
    }
    Exit::Trouble
}

/// Whether an argument is text without anything that a terminal obeys.
pub(super) fn is_plain(argument: &OsStr) -> bool {
    argument.to_str().is_some_and(|text| !text.contains(is_unseen))
}

fn print(kind: &str, message: &str, hint: Option<&str>, wants_json: bool) {
    let text = if wants_json {
        let message = match hint {
            Some(hint) => format!("{message}; {hint}"),
            None => message.to_owned(),
        };
        json::text(&serde_json::json!({ "error": { "kind": kind, "message": message } }))
    } else {
        // What is quoted in it is escaped already; what SQLite or the system says is not.
        match hint {
            Some(hint) => format!("error: {}\nhint: {}", one_line(message), one_line(hint)),
            None => format!("error: {}", one_line(message)),
        }
    };
    // Nothing is left to tell if stderr cannot be written.
    let _ = writeln!(io::stderr(), "{text}");
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
