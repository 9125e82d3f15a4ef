//! The program: all its commands, and the options that each of them takes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Arg, ArgMatches, CommandFactory, Parser};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag::{register, register_conditional_shutdown};

use super::command::Command;
use super::error::{Context, Result};
use super::reading::{CitationText, InputFile};
use super::session::RunOptions;

/// The options that every command takes. Only the help of the program describes them.
const GLOBAL_OPTIONS: &str =
    "Global options (see accession --help): --registry PATH, --json, --quiet, --verbose, --by NAME";

/// Record which granules a dataset holds, and identify the exact set held at any time
///
/// Each change of a dataset gives its set of granules a new identifier, which every archive computes
/// alike. Nothing is ever erased, so that every identifier can always be resolved to its granules.
///
/// Examples:
///   accession ingest US.FOOL2.002 ids.txt --create --at 2001-01-02
///   accession lookup US.FOOL2.002 --at 2001-01-05
#[derive(Parser)]
#[command(name = "accession", version, max_term_width = 100, verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    pub options: RunOptions,

    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// The program with all its commands.
    pub fn program() -> clap::Command {
        let program = unwrapped(Arguments::command());
        let globals: Vec<Arg> = program.get_arguments().map(|arg| arg.clone().hide(true)).collect();
        // clap gives a command the global options that it does not have: here hidden ones.
        program.mut_subcommands(|command| refer_to_global_options(command.args(&globals)))
    }
}

/// Names the global options after the help of a command, and of each below it.
fn refer_to_global_options(command: clap::Command) -> clap::Command {
    let after_help = match command.get_after_help() {
        Some(examples) => format!("{examples}\n\n{GLOBAL_OPTIONS}"),
        None => GLOBAL_OPTIONS.to_owned(),
    };
    command.after_help(after_help).mut_subcommands(refer_to_global_options)
}

/// Lets the terminal wrap the description of a command, and of each below it. Only the lines of examples
/// and lists, which are indented, are kept.
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

/// Returns how many arguments of a command name standard input.
///
/// The arguments are counted by their types, so that no command can forget to do so.
pub fn standard_input_uses(matches: &ArgMatches) -> usize {
    let here: usize = matches.ids().map(|id| uses_of(matches, id.as_str())).sum();
    let below = matches.subcommand().map_or(0, |(_, matches)| standard_input_uses(matches));
    here + below
}

/// How many values of one argument are standard input. 0 if they have another type.
fn uses_of(matches: &ArgMatches, id: &str) -> usize {
    if let Ok(Some(files)) = matches.try_get_many::<InputFile>(id) {
        return files.filter(|file| **file == InputFile::StandardInput).count();
    }
    if let Ok(Some(texts)) = matches.try_get_many::<CitationText>(id) {
        return texts.filter(|text| **text == CitationText::StandardInput).count();
    }
    0
}

/// Becomes true when the program is asked to end, from now on. A second request ends it at once.
pub fn watch_for_interrupt() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order, the first request is not yet a second one.
        register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .and_then(|_| register(signal, Arc::clone(&flag)))
            .with_context(|| "cannot watch for Ctrl-C".to_owned())?;
    }
    Ok(flag)
}

/// From now on a file that would be longer than `ulimit -f` allows is an error of whoever writes it, and does
/// not end the program without a word.
pub fn report_too_long_files() -> Result<()> {
    register(SIGXFSZ, Arc::default())
        .map(drop)
        .with_context(|| "cannot watch for files that are too long".to_owned())
}
