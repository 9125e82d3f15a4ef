mod compare;
mod pull;
mod status;

use crate::cli::error::{Exit, Result};
use crate::cli::session::Session;

/// Compare a mirror with its primary, and bring it up to date
#[derive(clap::Subcommand)]
pub enum Command {
    Compare(compare::Args),
    Pull(pull::Args),
    Status(status::Status),
    Forget(status::Forget),
}

impl Command {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Command::Compare(args) => args.run(session),
            Command::Pull(args) => args.run(session),
            Command::Status(args) => args.run(session),
            Command::Forget(args) => args.run(session),
        }
    }
}
