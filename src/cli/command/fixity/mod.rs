//! `fixity`: the files of granules, their sizes and checksums.

mod check;
mod compute;
mod files;

use crate::cli::error::{Exit, Result};
use crate::cli::session::Session;

/// Compute and check the sizes and checksums of files
#[derive(clap::Subcommand)]
pub enum Command {
    Compute(compute::Args),
    Check(check::Args),
}

impl Command {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Command::Compute(args) => args.run(session),
            Command::Check(args) => args.run(session),
        }
    }
}
