use accession::{Access, DatasetName, Instance};
use anyhow::Result;

use crate::cli::exit::Exit;
use crate::cli::output::{Column, one_line};
use crate::cli::session::Session;

/// List every identifier of a dataset, with the time from which it was in force
///
/// Example:
///   accession history US.FOOL2.002
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,
}

const COLUMNS: [Column; 5] = [
    Column::text("timestamp"),
    Column::text("identifier"),
    Column::number("granules"),
    Column::text("change"),
    Column::prose("note"),
];

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let history = session.open(Access::Read)?.snapshot()?.history(&self.dataset)?;
        let mut table = session.table(COLUMNS);
        for instance in history {
            let instance = instance?;
            if session.is_json() {
                session.json(&instance)?;
            } else {
                table.add_row(session.out(), cells(&instance))?;
            }
        }
        table.finish(session.out())?;
        Ok(Exit::Done)
    }
}

fn cells(instance: &Instance) -> [String; 5] {
    [
        instance.timestamp.to_string(),
        instance.identifier.to_string(),
        instance.granules.to_string(),
        format!("+{} -{}", instance.ingested, instance.deleted),
        instance.note.as_deref().map(|note| one_line(note).to_string()).unwrap_or_default(),
    ]
}
