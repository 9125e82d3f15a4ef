//! An error, as a person or a script reads it: printed in one place.

use std::io::{self, Write};

use accession::Error;

use super::Exit;

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

/// Reports trouble; a reader who closed the pipe has what it wanted, and hears nothing.
pub(super) fn trouble(error: &anyhow::Error, json: bool) -> Exit {
    if is_broken_pipe(error) {
        return Exit::Done;
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
pub(super) fn usage(error: &clap::Error, json: bool) -> Exit {
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
    } else {
        // Nothing is left to tell if stderr cannot be written.
        let _ = error.print();
    }
    Exit::Trouble
}

fn print(kind: &str, message: &str, hint: Option<&str>, json: bool) {
    let text = if json {
        let message = match hint {
            Some(hint) => format!("{message}; {hint}"),
            None => message.to_owned(),
        };
        serde_json::json!({ "error": { "kind": kind, "message": message } }).to_string()
    } else {
        match hint {
            Some(hint) => format!("error: {message}\nhint: {hint}"),
            None => format!("error: {message}"),
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
