use std::io::Write;

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::session::Session;
use crate::cli::{Arguments, Exit};

/// Print completions for a shell
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
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        // Where it cannot write, it panics.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "accession", &mut script);
        session.out().write_all(&script)?;
        Ok(Exit::Done)
    }
}
