//! The command line of `accession`: arguments, text and JSON output, exit statuses, hints, progress.
//!
//! The program `accession` calls [`run`] with its arguments. Another program can offer the same commands, for
//! example below a command of its own:
//!
//! ```
//! use accession_cli::{Exit, run};
//!
//! # let directory = tempfile::tempdir()?;
//! # let registry = directory.path().join("accession.db");
//! # let registry = registry.to_str().unwrap();
//! let arguments = ["accession", "--quiet", "--registry", registry, "ingest", "FOO", "--id", "A", "--create"];
//! assert_eq!(run(arguments.map(Into::into)), Exit::Done);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Each command is a file in `command/`. It has the arguments, whose documentation is the help text, and the
//! function that runs the command. The registry itself is in the crate [`accession`], and `accession serve` in
//! the crate [`accession_server`].

/// Defines the commands of the program or of a group, each with its arguments, and the function that runs them.
macro_rules! commands {
    ($(#[$group:meta])* enum Command { $($(#[$attribute:meta])* $name:ident($args:ty),)+ }) => {
        $(#[$group])*
        #[derive(clap::Subcommand)]
        #[allow(clippy::large_enum_variant, reason = "a run has one value, which is taken apart at once")]
        pub enum Command {
            $($(#[$attribute])* $name($args),)+
        }

        impl Command {
            /// Runs the command.
            pub fn run(
                self,
                session: &mut $crate::session::Session,
            ) -> $crate::error::Result<$crate::error::Exit> {
                match self {
                    $(Command::$name(args) => args.run(session),)+
                }
            }
        }
    };
}

/// An object as `serde_json::json!` writes it, except that its members keep their order.
macro_rules! object {
    ({ $($name:literal: $value:expr),+ $(,)? }) => {
        $crate::output::Object(vec![$(($name, serde_json::json!($value))),+])
    };
}

mod again;
mod applied;
mod args;
mod by_length;
mod call;
mod command;
mod error;
mod events;
mod hint;
mod host;
mod input_file;
mod key_file;
mod kind;
mod listing_guard;
mod output;
mod page;
mod paths;
mod program;
mod reading;
mod references;
mod same_id;
mod session;
mod short_help;
mod signals;
mod sources;
mod temporary_file;
mod unknown_options;
mod words;

use std::ffi::OsString;
use std::io::Write;

use clap::CommandFactory;
use clap::error::{ContextKind, ErrorKind};

pub use call::{Call, call};
pub use error::Exit;
use error::Result;
pub use host::Outcome;
use program::{Arguments, HelpLength, parse};
use session::{RunOptions, Session};
use signals::report_too_long_files;
use unknown_options::unknown_option;
use words::{Meant, meant};

/// Runs the command in the arguments, and returns its exit status. The first argument is the name of the
/// program. Errors are printed on stderr.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    output::show_progress();
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    let is_plain = arguments.iter().all(|argument| error::is_plain(argument));
    // It is leaked, because the end of the process frees it at once.
    let mut parsed = parse(Box::leak(Box::new(Arguments::command())), &arguments);
    if parsed.is_err() {
        match meant(&arguments) {
            Some(Meant::Nothing(error)) => return error.report(wants_json),
            Some(Meant::Arguments(others)) => arguments = others,
            None => {}
        }
        // Only help and errors show descriptions, so other runs do not prepare them.
        parsed = parse(&mut Arguments::program(HelpLength::of(&arguments)), &arguments);
    }
    match parsed {
        Ok((parsed, uses)) => {
            let mut session = Session::new(parsed.options, arguments);
            let result = run_command(parsed.command, uses, &mut session);
            conclude(result, &mut session)
        }
        Err(mut error) if error.use_stderr() => {
            if error.kind() == ErrorKind::UnknownArgument {
                // clap would suggest to pass a mistyped option as a value, or name the option of another
                // command.
                error.remove(ContextKind::Suggested);
            }
            if let Some(error) = unknown_option(&error, &arguments) {
                return error.report(wants_json);
            }
            let mut program = Arguments::program(HelpLength::of(&arguments));
            error::usage(&error.format(&mut program), is_plain, wants_json)
        }
        Err(help) => {
            let mut session =
                Session::new(RunOptions { json: wants_json, ..RunOptions::default() }, arguments);
            let result = print_help(&help, &mut session);
            conclude(result, &mut session)
        }
    }
}

fn run_command(
    command: command::Command,
    standard_input_uses: usize,
    session: &mut Session,
) -> Result<Exit> {
    accession::Registry::limit_memory()?;
    report_too_long_files()?;
    program::run_command(command, standard_input_uses, session)
}

/// Prints the help or the version.
fn print_help(help: &clap::Error, session: &mut Session) -> Result<Exit> {
    if session.is_on_terminal() {
        // Only clap knows the colours of the terminal.
        help.print()?;
    } else {
        write!(session.document(), "{}", help.render())?;
    }
    Ok(Exit::Done)
}

/// Writes the buffered output, even after an error, and reports the failure. If output could not be written,
/// reports this instead of the errors that it caused.
fn conclude(result: Result<Exit>, session: &mut Session) -> Exit {
    let is_lost = session.output_failure().is_some();
    let finished = session.finish();
    match (session.output_failure(), result) {
        (Some(failure), result) if is_lost || result.is_ok() => {
            error::output_failure(failure, session.has_committed(), session.is_json())
        }
        (_, result) => match result.and_then(|exit| finished.map(|()| exit)) {
            Ok(exit) => exit,
            Err(error) => match session.has_committed() {
                true => error.after_commit().report(session.is_json()),
                false => session.with_next_command(error).report(session.is_json()),
            },
        },
    }
}

#[cfg(test)]
mod tests {
    use clap::Arg;
    use clap::builder::{Resettable, ValueParser};

    use super::*;
    use crate::program::matches;

    /// The words of a list in the `Debug` text of an argument or a group, since clap shows requirements nowhere
    /// else.
    fn listed(debug: &str, member: &str) -> Vec<String> {
        let list = debug.split_once(&format!(" {member}: [")).map_or("", |(_, rest)| rest);
        let list = list.split_once(']').map_or("", |(list, _)| list);
        list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    }

    /// The words with which a user gives an argument.
    fn given(argument: &Arg) -> Vec<OsString> {
        let value = argument.get_action().takes_values().then(|| "x".into());
        let name = argument.get_long().map(|name| OsString::from(format!("--{name}")));
        name.into_iter().chain(value).collect()
    }

    /// Checks that each argument is rejected without the argument it requires, alone and together with an
    /// argument that conflicts with the required one.
    fn refused_in(command: &clap::Command, path: &[OsString], tried: &mut usize) {
        let find = |id: &str| command.get_arguments().find(|it| it.get_id() == id).unwrap();
        let mut requirements = Vec::new();
        for argument in command.get_arguments() {
            let targets = listed(&format!("{argument:?}"), "requires");
            requirements.extend(targets.into_iter().map(|target| (argument, target)));
        }
        for group in command.get_groups() {
            for target in listed(&format!("{group:?}"), "requires") {
                let members = group.get_args().map(|id| (find(id.as_str()), target.clone()));
                requirements.extend(members);
            }
        }
        for (argument, target) in requirements {
            let group = command.get_groups().find(|group| group.get_id() == &*target);
            let targets = match group {
                Some(group) => group.get_args().map(|id| find(id.as_str())).collect(),
                None => vec![find(&target)],
            };
            let conflicts = |left: &Arg, right: &Arg| {
                command.get_arg_conflicts_with(left).iter().any(|it| it.get_id() == right.get_id())
            };
            let in_conflict = command.get_arguments().filter(|other| {
                let is_other = other.get_id() != argument.get_id();
                is_other && targets.iter().any(|it| conflicts(it, other) || conflicts(other, it))
            });
            for other in in_conflict.map(Some).chain([None]) {
                let positional = command.get_positionals().filter(|it| {
                    let is_named = [Some(argument), other].contains(&Some(*it));
                    let is_target = targets.iter().any(|target| target.get_id() == it.get_id());
                    it.is_required_set() && !is_named && !is_target
                });
                let words = positional.chain([argument]).chain(other).flat_map(given);
                let words: Vec<OsString> = path.iter().cloned().chain(words).collect();
                let mut program = with_any_values(Arguments::command());
                let refused = matches(&mut program, &words).expect_err(&format!("{words:?}"));
                let kind = refused.kind();
                let is_refused = [ErrorKind::MissingRequiredArgument, ErrorKind::ArgumentConflict]
                    .contains(&kind);
                assert!(is_refused, "{words:?}: {refused}");
                *tried += 1;
            }
        }
        for below in command.get_subcommands() {
            let path: Vec<_> = path.iter().cloned().chain([below.get_name().into()]).collect();
            refused_in(below, &path, tried);
        }
    }

    fn with_any_values(command: clap::Command) -> clap::Command {
        let command = command.mut_args(|argument| match argument.get_action().takes_values() {
            true => argument.value_parser(ValueParser::string()).default_value(Resettable::Reset),
            false => argument,
        });
        command.mut_subcommands(with_any_values)
    }

    #[test]
    fn a_requirement_holds_even_if_another_argument_conflicts_with_the_required_one() {
        let (mut command, mut tried) = (Arguments::command(), 0);
        command.build();
        refused_in(&command, &["accession".into()], &mut tried);
        assert!(tried > 30, "{tried}");
    }
}
