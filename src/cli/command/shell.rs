//! `completions` and `man`, which are made from the arguments of the program.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap_complete::Shell;
use clap_mangen::roff::{Roff, bold, roman};

use super::complete::with_names;
use crate::cli::error::{Context, Error, Exit, Result};
use crate::cli::session::Session;

/// Print a completion script for a shell
///
/// The scripts for bash, zsh and fish also complete the names of the registry's datasets.
///
/// Example:
///   accession completions bash > ~/.local/share/bash-completion/completions/accession
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// `program` is the program with all its commands.
    pub fn run(self, session: &mut Session, mut program: clap::Command) -> Result<Exit> {
        // `generate` panics if it cannot write.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "accession", &mut script);
        let script = with_names(self.shell, &String::from_utf8_lossy(&script));
        session.out().write_all(script.as_bytes())?;
        Ok(Exit::Done)
    }
}

/// Print the man page of a command
///
/// The page is made from the text that --help prints. With --all, the pages of all commands are
/// written into a directory, as packages need them.
///
/// Examples:
///   accession man | man -l -
///   accession man mirror pull > /usr/local/share/man/man1/accession-mirror-pull.1
///   accession man --all /usr/local/share/man/man1
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Man {
    /// The command, such as `ingest` or `mirror pull` [default: accession itself]
    #[arg(value_name = "COMMAND")]
    names: Vec<String>,

    /// Write the page of every command into this directory, which is created if it does not exist
    #[arg(long, value_name = "DIR", conflicts_with = "names")]
    all: Option<PathBuf>,
}

/// What every page says about exit statuses.
const EXIT_STATUS: [(&str, &str); 3] = [
    ("0", "The command did what it was asked to do, or what it compared is the same."),
    ("1", "A comparison or a check found a difference."),
    (
        "2",
        "Trouble: wrong arguments, an input that is refused, an error of the disk or the network. Nothing was changed unless the error says so.",
    ),
];

/// What every page says about environment variables.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("ACCESSION_REGISTRY", "The registry, unless --registry names one."),
    (
        "ACCESSION_BY",
        "The name that is recorded with changes, unless --by gives one. Default: the name of the user.",
    ),
    ("NO_COLOR", "If it is not empty, no colours are used on a terminal."),
    (
        "PGPASSWORD, PGHOST, …",
        "The variables of libpq, for a registry on a PostgreSQL server. They are used for what its address does not say.",
    ),
];

/// What every page says about files.
const FILES: [(&str, &str); 2] = [
    (
        "accession.db",
        "The registry in the present directory, unless --registry or ACCESSION_REGISTRY names another.",
    ),
    (
        "accession.db-wal, accession.db-shm",
        "They belong to the registry while it is in use. Never copy, move or delete it without them: use accession-backup(1).",
    ),
];

impl Man {
    /// `program` is the program with all its commands.
    pub fn run(self, session: &mut Session, program: clap::Command) -> Result<Exit> {
        let mut program = program.disable_help_subcommand(true);
        program.build();
        if let Some(directory) = &self.all {
            std::fs::create_dir_all(directory)
                .with_context(|| format!("cannot create {}", directory.display()))?;
            write_all(&program, directory)?;
            return Ok(Exit::Done);
        }
        let mut command = &program;
        for name in &self.names {
            command = command.find_subcommand(name).ok_or_else(|| {
                Error::usage(format!("accession has no command {}", self.names.join(" ")))
                    .with_hint("`accession --help` lists the commands")
            })?;
        }
        session.out().write_all(&page(command)?)?;
        Ok(Exit::Done)
    }
}

/// Writes the page of a command, and of each below it.
fn write_all(command: &clap::Command, directory: &Path) -> Result<()> {
    let path = directory.join(format!("{}.1", name_of(command)));
    std::fs::write(&path, page(command)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    below.into_iter().try_for_each(|below| write_all(below, directory))
}

/// The name of a command's page: `accession-mirror-pull`.
fn name_of(command: &clap::Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// The page of a command.
fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    // The examples at the end of the description get a section of their own.
    let about = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let examples = ["\n\nExample:\n", "\n\nExamples:\n"];
    let (about, examples) =
        examples.iter().find_map(|heading| about.split_once(heading)).unwrap_or((&about, ""));
    let described = match about {
        "" => command.clone(),
        about => command.clone().long_about(about.to_owned()),
    };
    let man = clap_mangen::Man::new(described)
        .title(name_of(command).to_uppercase())
        .source(concat!("accession ", env!("CARGO_PKG_VERSION")))
        .manual("accession");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if let Some(globals) = command.get_after_help() {
        Roff::new().control("PP", []).text([roman(globals.to_string())]).to_writer(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::new();
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in examples.lines() {
            roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
        }
        roff.control("fi", []);
    }
    let sections: [(&str, &[(&str, &str)]); 3] =
        [("EXIT STATUS", &EXIT_STATUS), ("ENVIRONMENT", &ENVIRONMENT), ("FILES", &FILES)];
    for (heading, entries) in sections {
        roff.control("SH", [heading]);
        for (term, text) in entries {
            roff.control("TP", []).text([bold(*term)]).text([roman(*text)]);
        }
    }
    roff.to_writer(&mut page)?;
    Ok(page)
}
