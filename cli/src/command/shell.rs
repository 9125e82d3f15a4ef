//! `completions` and `man`, which are generated from the arguments of the program.

use std::io::Write;
use std::path::PathBuf;

use clap_complete::Shell;

use crate::error::{Context, Error, Exit, Result};
use crate::program::{Arguments, HelpLength};
use crate::session::Session;

/// Print a completion script for a shell
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
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        // `generate` panics if it cannot write.
        let mut script = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut Arguments::program(HelpLength::Long),
            "accession",
            &mut script,
        );
        session.document().write_all(&script)?;
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

/// The end of every man page.
const EXIT_STATUS: &str = "\
The exit status is 0 if the command did what it was asked to do, or if what it compared is the same; 1 if a
comparison or a check found a difference; and 2 for trouble: wrong arguments, an input that is refused, an
error of the disk or the network. With 2, nothing was changed unless the error says so.";

impl Man {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut program =
            with_end(Arguments::program(HelpLength::Long).disable_help_subcommand(true));
        if let Some(directory) = &self.all {
            std::fs::create_dir_all(directory)
                .with_context(|| format!("cannot create {}", directory.display()))?;
            clap_mangen::generate_to(program, directory)
                .with_context(|| format!("cannot write into {}", directory.display()))?;
            return Ok(Exit::Done);
        }
        program.build();
        let mut command = &program;
        for name in &self.names {
            command = command.find_subcommand(name).ok_or_else(|| {
                Error::usage(format!("accession has no command {}", self.names.join(" ")))
                    .with_hint("`accession --help` lists the commands")
            })?;
        }
        clap_mangen::Man::new(command.clone()).render(session.document())?;
        Ok(Exit::Done)
    }
}

/// Adds the end of the man page to the help of a command and of its subcommands.
fn with_end(command: clap::Command) -> clap::Command {
    let help = command.get_after_long_help().map(|help| format!("{help}\n")).unwrap_or_default();
    command.after_long_help(format!("{help}{EXIT_STATUS}")).mut_subcommands(with_end)
}
