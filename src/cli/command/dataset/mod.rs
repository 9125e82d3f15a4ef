//! Datasets: their records, their names, and whether they accept changes.

mod edit;
mod show;

use crate::cli::error::{Exit, Result};
use crate::cli::session::Session;

/// Add datasets, and show and change their metadata
#[derive(clap::Subcommand)]
pub enum Command {
    Add(edit::Add),
    Edit(edit::Edit),
    List(show::List),
    Show(show::Show),
    Rename(edit::Rename),
    Withdraw(edit::Withdraw),
    Reinstate(edit::Reinstate),
}

impl Command {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Command::Add(add) => add.run(session)?,
            Command::Edit(edit) => edit.run(session)?,
            Command::List(list) => list.run(session)?,
            Command::Show(show) => show.run(session)?,
            Command::Rename(rename) => rename.run(session)?,
            Command::Withdraw(withdraw) => withdraw.run(session)?,
            Command::Reinstate(reinstate) => reinstate.run(session)?,
        }
        Ok(Exit::Done)
    }
}
