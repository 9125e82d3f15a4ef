use std::io::Write;

use anyhow::Result;
use clap_complete::Shell;

use crate::cli::exit::Exit;
use crate::cli::session::Session;

/// Print a completion script for a shell
///
/// Example:
///   accession completions bash > ~/.local/share/bash-completion/completions/accession
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    /// `program` is the program with all its commands.
    pub fn run(self, session: &mut Session, mut program: clap::Command) -> Result<Exit> {
        // `generate` panics if it cannot write.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "accession", &mut script);
        session.out().write_all(&script)?;
        Ok(Exit::Done)
    }
}
