//! The program with all its commands, and the global options.

use std::ffi::OsString;

use accession::SetSpec;
use clap::builder::Resettable;
use clap::error::ContextKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory, FromArgMatches, Parser};

use super::command::Command;
use super::error::{Error, Exit, Result};
use super::input_file::InputFile;
use super::page::page;
use super::references::CitationText;
use super::session::{REGISTRY, RunOptions, Session};
use super::short_help::with_short_help;

/// The note on the options of every command. Only the help of the program describes them.
const GLOBAL_OPTIONS: &str =
    "Global options (see accession --help): --registry PATH, --json, --quiet, --verbose, --by NAME";

/// Record which files a dataset holds, and cite the exact set
///
/// Each change of a dataset gives its set of granules a new identifier, which every archive computes
/// alike. Nothing is ever erased, so that every identifier can always be resolved to its granules.
#[derive(Parser)]
#[command(name = "accession", version, max_term_width = 100, verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    pub options: RunOptions,

    #[command(subcommand)]
    pub command: Command,
}

/// The length of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelpLength {
    /// A summary that fits a screen, as `-h` prints it.
    Short,
    /// The complete help, as `--help` prints it.
    Long,
}

impl HelpLength {
    /// The length of the help that these arguments request.
    pub fn of(arguments: &[OsString]) -> Self {
        let is_long = arguments.iter().any(|argument| argument == "--help" || argument == "help");
        if is_long { HelpLength::Long } else { HelpLength::Short }
    }
}

impl Arguments {
    /// The program with all its commands, and their help.
    pub fn program(length: HelpLength) -> clap::Command {
        let program = unwrapped(Arguments::command());
        let globals: Vec<Arg> = program.get_arguments().map(|arg| arg.clone().hide(true)).collect();
        // clap adds the global options that a command lacks. These hidden ones prevent it.
        let with_globals = |command: clap::Command| refer_to_global_options(command.args(&globals));
        let program = program.mut_subcommands(with_globals);
        let program = match length {
            HelpLength::Short => with_short_help(program),
            HelpLength::Long => program,
        };
        program.override_help(page())
    }
}

/// Names the global options after the help of a command and of its subcommands.
fn refer_to_global_options(command: clap::Command) -> clap::Command {
    // clap only prints one of the two.
    let after_help = match command.get_after_help() {
        Some(after_help) => format!("{after_help}\n\n{GLOBAL_OPTIONS}"),
        None => GLOBAL_OPTIONS.to_owned(),
    };
    command.after_long_help(after_help).mut_subcommands(refer_to_global_options)
}

/// Removes line breaks from the description of a command and of its subcommands, so that the terminal wraps it.
/// Paragraphs with indented lines, such as examples and lists, are kept.
fn unwrapped(command: clap::Command) -> clap::Command {
    let about = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let paragraphs = about.split("\n\n").map(|paragraph| match paragraph.contains("\n  ") {
        true => paragraph.to_owned(),
        false => paragraph.replace('\n', " "),
    });
    let about = paragraphs.collect::<Vec<_>>().join("\n\n");
    let command = if about.is_empty() { command } else { command.long_about(about) };
    command.mut_subcommands(unwrapped)
}

/// Returns the number of a command's arguments that name standard input.
///
/// Arguments are counted by their types, so no command can forget to do it.
pub fn standard_input_uses(matches: &ArgMatches) -> usize {
    let here: usize = matches.ids().map(|id| uses_of(matches, id.as_str())).sum();
    let below = matches.subcommand().map_or(0, |(_, matches)| standard_input_uses(matches));
    here + below
}

/// The number of values of an argument that are standard input. 0 if the argument has another type.
fn uses_of(matches: &ArgMatches, id: &str) -> usize {
    if let Ok(Some(files)) = matches.try_get_many::<InputFile>(id) {
        return files.filter(|file| **file == InputFile::StandardInput).count();
    }
    if let Ok(Some(sets)) = matches.try_get_many::<SetSpec>(id) {
        return sets.filter(|set| set.is_standard_input()).count();
    }
    if let Ok(Some(texts)) = matches.try_get_many::<CitationText>(id) {
        return texts.filter(|text| **text == CitationText::StandardInput).count();
    }
    0
}

/// Parses the arguments. Also returns the number of arguments that name standard input.
pub fn parse(
    program: &mut clap::Command,
    arguments: &[OsString],
) -> std::result::Result<(Arguments, usize), clap::Error> {
    let matches = matches(program, arguments)?;
    let uses = standard_input_uses(&matches);
    let mut arguments = Arguments::from_arg_matches(&matches)?;
    // An empty variable means that it is not set.
    if matches.value_source("registry") == Some(ValueSource::EnvVariable)
        && arguments.options.registry.as_os_str().is_empty()
    {
        arguments.options.registry = REGISTRY.into();
    }
    Ok((arguments, uses))
}

/// Matches the arguments with clap.
///
/// clap does not enforce a requirement if the required argument conflicts with a given one. For example,
/// `--all` requires `--dry-run`: if `--json`, which conflicts with `--all`, also conflicted with `--dry-run`,
/// clap would accept `--all` alone. So the arguments are matched a second time, without conflicts.
pub fn matches(
    program: &mut clap::Command,
    arguments: &[OsString],
) -> std::result::Result<clap::ArgMatches, clap::Error> {
    fn without_conflicts(command: clap::Command) -> clap::Command {
        let command = command.mut_args(|argument| argument.conflicts_with(Resettable::Reset));
        command.mut_subcommands(without_conflicts)
    }
    let matches = program.try_get_matches_from_mut(arguments)?;
    *program = without_conflicts(std::mem::take(program));
    match program.try_get_matches_from_mut(arguments) {
        Ok(_) => Ok(matches),
        Err(mut error) => {
            // The usage would show the conflicting arguments together.
            error.remove(ContextKind::Usage);
            Err(error)
        }
    }
}

/// Runs a command without changing the state of the process.
pub fn run_command(
    command: Command,
    standard_input_uses: usize,
    session: &mut Session,
) -> Result<Exit> {
    if standard_input_uses > 1 {
        return Err(Error::usage("standard input is named more than once")
            .with_hint("it can be read only once: save one of the inputs in a file"));
    }
    command.run(session)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::page::HEADINGS;

    #[test]
    fn every_command_is_on_the_page_once() {
        let program = Arguments::command();
        let listed = || HEADINGS.iter().flat_map(|heading| heading.commands);
        let mut seen = BTreeSet::new();
        for (name, about) in listed() {
            assert!(seen.insert(*name), "{name} is listed twice");
            let command = program.find_subcommand(name);
            assert!(command.is_some(), "{name}");
            let begins = command.and_then(|command| command.get_about()).map(ToString::to_string);
            assert_eq!(begins.as_deref(), Some(*about), "{name}");
        }
        for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            assert!(seen.contains(name), "{name}");
        }
    }

    #[test]
    fn every_option_of_all_commands_is_on_the_page() {
        let page = page();
        let program = Arguments::command();
        for option in program.get_arguments() {
            let short = option.get_short().map_or("   ".to_owned(), |short| format!("-{short},"));
            let value = option.get_action().takes_values().then(|| option.get_value_names());
            let value = value.flatten().map_or(String::new(), |names| format!(" {}", names[0]));
            let name = format!("--{}{value}", option.get_long().unwrap());
            let help = option.get_help().unwrap();
            let line = format!("  {short} {name:<15}  {help}");
            assert!(page.contains(&line), "{line}");
        }
    }

    #[test]
    fn the_page_fits_100_columns() {
        assert!(page().lines().all(|line| line.chars().count() <= 100));
    }

    /// The name and the help of each command without subcommands.
    fn summaries(command: &clap::Command, path: &str, all: &mut Vec<(String, String)>) {
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            let path = format!("{path} {}", below.get_name());
            summaries(below, &path, all);
            let help = below.clone().render_help().to_string();
            all.push((path.trim().to_owned(), help));
        }
    }

    #[test]
    fn the_short_help_of_every_command_fits_30_lines_of_100_columns() {
        let mut all = Vec::new();
        let mut program = Arguments::program(HelpLength::Short);
        program.build();
        summaries(&program, "", &mut all);
        assert!(all.len() > 30, "{}", all.len());
        let too_long = all.iter().filter(|(_, help)| {
            help.lines().count() > 30 || help.lines().any(|line| line.chars().count() > 100)
        });
        let too_long: Vec<&str> = too_long.map(|(name, _)| name.as_str()).collect();
        assert_eq!(too_long, [""; 0], "too long");
    }
}
