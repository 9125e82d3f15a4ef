use accession::{Access, DatasetName, Instance, Moment};
use anyhow::Result;
use serde::Serialize;

use crate::cli::applied::write_instance;
use crate::cli::args::{KnownAtArgs, dataset_at, stored_name};
use crate::cli::dataset_warnings::warn_of_dataset;
use crate::cli::exit::Exit;
use crate::cli::output::in_force;
use crate::cli::session::Session;
use crate::cli::warning::WarningKind;

/// Show the identifier of a dataset that was in force at a time
///
/// A date means the end of that day. If other identifiers were in force during the day, a warning
/// names them.
///
/// Example:
///   accession lookup US.FOOL2.002 --at 2001-01-05
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    #[arg(value_parser = stored_name)]
    dataset: DatasetName,

    /// The time: RFC 3339, or a date [default: now]
    #[arg(long, value_name = "T")]
    at: Option<Moment>,

    #[command(flatten)]
    known_at: KnownAtArgs,
}

#[derive(Serialize)]
struct Found<'a> {
    #[serde(flatten)]
    instance: &'a Instance,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    others: &'a [Instance],
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let name = self.dataset.clone();
        let selection = dataset_at(self.dataset, self.at, session.now()?)?;
        let snapshot = session.open(Access::Read)?.snapshot()?;
        let snapshot = self.known_at.apply(snapshot, session)?;
        let selected = snapshot.select(&selection)?;
        warn_of_dataset(session, &snapshot, &name)?;
        drop(snapshot);
        if session.is_json() {
            let found = Found { instance: selected.instance(), others: &selected.others };
            session.json(&found)?;
            return Ok(Exit::Done);
        }
        write_instance(session.out(), selected.instance())?;
        if let Some(at) = self.at {
            for other in &selected.others {
                let (identifier, in_force) = (other.identifier, in_force(other));
                session.warn(
                    WarningKind::OtherIdentifiers,
                    &format!("on {at}, {identifier} was also in force: {in_force}"),
                );
            }
        }
        Ok(Exit::Done)
    }
}
