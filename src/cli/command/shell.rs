//! `completions` and `man`, which are made from the arguments of the program.

use std::io::Write;

use clap_complete::Shell;

use crate::cli::error::{Error, Exit, Result};
use crate::cli::session::Session;

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
    /// `program` is the program with all its commands.
    pub fn run(self, session: &mut Session, mut program: clap::Command) -> Result<Exit> {
        // `generate` panics if it cannot write.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "accession", &mut script);
        session.out().write_all(&script)?;
        Ok(Exit::Done)
    }
}

/// Print the man page of a command
///
/// The page is made from the text that --help prints.
///
/// Examples:
///   accession man | man -l -
///   accession man mirror pull > /usr/local/share/man/man1/accession-mirror-pull.1
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Man {
    /// The command, such as `ingest` or `mirror pull` [default: accession itself]
    #[arg(value_name = "COMMAND")]
    names: Vec<String>,
}

impl Man {
    /// `program` is the program with all its commands.
    pub fn run(self, session: &mut Session, program: clap::Command) -> Result<Exit> {
        let mut program = program.disable_help_subcommand(true);
        program.build();
        let mut command = &program;
        for name in &self.names {
            command = command.find_subcommand(name).ok_or_else(|| {
                Error::usage(format!("accession has no command {}", self.names.join(" ")))
                    .with_hint("`accession --help` lists the commands")
            })?;
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(command.clone()).render(&mut page)?;
        session.out().write_all(&page)?;
        Ok(Exit::Done)
    }
}
