//! Runs commands inside another program, such as Python. They write nothing to the standard streams, watch no
//! signals and never exit the process.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use accession::{CancelToken, Registry};
use clap::CommandFactory;

use super::error::{Error, Exit, usage_text};
use super::host::{Host, Outcome};
use super::program::{Arguments, parse, run_command};
use super::session::Session;
use super::unknown_options::unknown_option;
use super::words::{Meant, meant};

/// A command to run inside another program.
#[derive(Debug, Default)]
pub struct Call {
    /// The arguments after the name of the program. With `--json`, the output is lines of JSON.
    pub words: Vec<OsString>,
    /// The registry that is already open at the path or address in `--registry`. `None` means that the command
    /// opens it.
    pub registry: Option<Registry>,
    /// Cancels the work.
    pub token: CancelToken,
    /// The directory of temporary listings. Messages omit its path, because the names of the files are enough.
    pub inputs: Option<PathBuf>,
}

/// Runs a command, and writes to `out` what the program would print on stdout.
///
/// # Examples
///
/// ```
/// use accession_cli::{Call, Exit, call};
///
/// let words = ["--json", "ids", "explain", "nothing"].map(Into::into).to_vec();
/// let outcome = call(Call { words, ..Call::default() }, Box::new(std::io::sink()));
/// assert_eq!(outcome.exit, Exit::Trouble);
/// assert_eq!(outcome.error.unwrap()["kind"], "usage");
/// ```
pub fn call(call: Call, out: Box<dyn Write + Send>) -> Outcome {
    let Call { words, registry, token, inputs } = call;
    let host = Host::new(registry, token, inputs);
    let mut arguments = vec![OsString::from("accession")];
    arguments.extend(words);
    let mut parsed = parse(&mut Arguments::command(), &arguments);
    if parsed.is_err() {
        match meant(&arguments) {
            Some(Meant::Nothing(error)) => return Outcome::failed(&error, &host),
            Some(Meant::Arguments(others)) => {
                parsed = parse(&mut Arguments::command(), &others);
            }
            None => {}
        }
    }
    let (parsed, standard_input_uses) = match parsed {
        Ok(parsed) => parsed,
        Err(usage) if usage.use_stderr() => {
            let error = unknown_option(&usage, &arguments);
            let error = error.unwrap_or_else(|| Error::usage(usage_text(&usage)));
            return Outcome::failed(&error, &host);
        }
        Err(help) => return printed(&help, out, &host),
    };
    let mut session = Session::inside(parsed.options, arguments, host, out);
    let result = run_command(parsed.command, standard_input_uses, &mut session);
    let finished = session.finish();
    let result = match result.and_then(|exit| finished.map(|()| exit)) {
        Err(error) if session.has_committed() => Err(error.after_commit()),
        Err(error) => Err(session.with_next_command(error)),
        exit => exit,
    };
    session.conclude_inside(result)
}

/// Writes the help or the version.
fn printed(help: &clap::Error, mut out: Box<dyn Write + Send>, host: &Host) -> Outcome {
    match write!(out, "{}", help.render()).and_then(|()| out.flush()) {
        Ok(()) => Outcome { exit: Exit::Done, warnings: Vec::new(), error: None },
        Err(error) => Outcome::failed(&Error::from(error), host),
    }
}
