//! An earlier state of the registry.

use accession::{Moment, Selection, Snapshot};
use anyhow::Result;

use super::time::refuse_future;
use crate::cli::session::Session;
use crate::cli::usage::UsageError;

/// The time as of which the registry is read.
#[derive(Default, clap::Args)]
pub struct KnownAtArgs {
    /// Use only the changes that were recorded by this time: RFC 3339, or a date, which means the
    /// end of that day
    #[arg(long, value_name = "T")]
    known_at: Option<Moment>,
}

impl KnownAtArgs {
    /// Refuses the option for a set that does not depend on the state of the registry.
    ///
    /// # Errors
    ///
    /// The set is named by an identifier.
    pub fn refuse_for_identifier(&self, selection: &Selection) -> Result<()> {
        match (self.known_at, selection) {
            (Some(_), Selection::Identifier { .. }) => Err(UsageError::new(
                "--known-at needs a dataset: the set of an identifier never changes",
            )
            .into()),
            _ => Ok(()),
        }
    }

    /// Restricts the snapshot to the state of the registry at that time.
    ///
    /// # Errors
    ///
    /// The time is in the future.
    pub fn apply(&self, snapshot: Snapshot, session: &Session) -> Result<Snapshot> {
        let Some(at) = self.known_at else { return Ok(snapshot) };
        refuse_future(at, session.now()?)?;
        Ok(snapshot.known_at(at.last_instant()))
    }
}
