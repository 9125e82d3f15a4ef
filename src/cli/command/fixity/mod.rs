//! `fixity`: the files of granules, their sizes and checksums.

mod add;
mod check;
mod compute;
mod files;
mod list;

use crate::cli::error::{Exit, Result};
use crate::cli::session::Session;

/// Record, compute, check and list the sizes and checksums of files
#[derive(clap::Subcommand)]
pub enum Command {
    Add(add::Args),
    Compute(compute::Args),
    Check(check::Args),
    List(list::List),
    Forget(check::Forget),
}

impl Command {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Command::Add(args) => args.run(session),
            Command::Compute(args) => args.run(session),
            Command::Check(args) => args.run(session),
            Command::List(args) => args.run(session),
            Command::Forget(args) => args.run(session),
        }
    }
}
