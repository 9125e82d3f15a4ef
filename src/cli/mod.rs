//! Everything a terminal needs: arguments, output, exit status. The library knows none of it.

mod command;
mod exit;
mod json;
mod output;
mod progress;
mod report;
mod seen;
mod selection;
mod session;
mod source;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub use exit::Exit;
use session::Session;

/// Behind the options that are a command's own.
const LAST: usize = 1_000;

/// The register in which an archive enters its data granules.
///
/// It says which exact set of granules a dataset held at any time, gives that set an identifier
/// that every archive computes alike, and never forgets either.
#[derive(Parser)]
#[command(name = "accession", version, max_term_width = 100)]
struct Arguments {
    /// The registry file
    #[arg(
        long,
        global = true,
        display_order = LAST,
        value_name = "PATH",
        env = "ACCESSION_REGISTRY",
        default_value = "accession.db",
        hide_env_values = true
    )]
    registry: PathBuf,

    /// Print JSON on stdout, and errors as JSON on stderr
    #[arg(long, global = true, display_order = LAST)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(subcommand)]
    Dataset(command::dataset::Command),
    Ingest(command::ingest::Args),
    Delete(command::delete::Args),
    Change(command::change::Args),
    Import(command::import::Args),
    History(command::history::Args),
    Lookup(command::lookup::Args),
    Granules(command::granules::Args),
    Resolve(command::resolve::Args),
    Compare(command::compare::Args),
    Cite(command::cite::Args),
    Check(command::check::Args),
    Verify(command::verify::Args),
    Backup(command::backup::Args),
    Export(command::export::Args),
    #[command(subcommand)]
    Mirror(command::mirror::Command),
    #[command(subcommand)]
    GranuleId(command::granule_id::Command),
    #[command(subcommand)]
    PaymentId(command::payment_id::Command),
    Completions(command::completions::Args),
}

/// Runs the command that the arguments name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    let is_plain = arguments.iter().all(|argument| report::is_plain(argument));
    let parsed = match Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => return report::usage(&error, is_plain, wants_json),
    };
    if let Err(error) = accession::store::limit_memory() {
        return report::trouble(&error.into(), parsed.json);
    }
    let mut session = Session::new(parsed.registry, parsed.json);
    let result = match parsed.command {
        Command::Dataset(command) => command.run(&mut session),
        Command::Ingest(args) => args.run(&mut session),
        Command::Delete(args) => args.run(&mut session),
        Command::Change(args) => args.run(&mut session),
        Command::Import(args) => args.run(&mut session),
        Command::History(args) => args.run(&mut session),
        Command::Lookup(args) => args.run(&mut session),
        Command::Granules(args) => args.run(&mut session),
        Command::Resolve(args) => args.run(&mut session),
        Command::Compare(args) => args.run(&mut session),
        Command::Cite(args) => args.run(&mut session),
        Command::Check(args) => args.run(&mut session),
        Command::Verify(args) => args.run(&mut session),
        Command::Backup(args) => args.run(&mut session),
        Command::Export(args) => args.run(&mut session),
        Command::Mirror(command) => command.run(&mut session),
        Command::GranuleId(command) => command.run(&mut session),
        Command::PaymentId(command) => command.run(&mut session),
        Command::Completions(args) => args.run(&mut session),
    };
    let result = result.and_then(|exit| session.finish().map(|()| exit));
    result.unwrap_or_else(|error| report::trouble(&error, parsed.json))
}
