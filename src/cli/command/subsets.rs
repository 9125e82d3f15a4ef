use accession::{Access, DatasetName, Subset};
use anyhow::Result;

use crate::cli::args::stored_name;
use crate::cli::exit::Exit;
use crate::cli::output::{Column, selected_by};
use crate::cli::session::Session;

/// List the subsets of a dataset that were cited
///
/// Example:
///   accession subsets US.FOOL2.002
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    #[arg(value_parser = stored_name)]
    dataset: DatasetName,
}

const COLUMNS: [Column; 5] = [
    Column::text("identifier"),
    Column::text("as of"),
    Column::number("granules"),
    Column::text("cited"),
    Column::prose("subset"),
];

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let subsets = session.open(Access::Read)?.snapshot()?.subsets(&self.dataset)?;
        let mut table = session.table(COLUMNS);
        for subset in &subsets {
            if session.is_json() {
                session.json(subset)?;
            } else {
                table.add_row(session.out(), cells(subset))?;
            }
        }
        table.finish(session.out())?;
        Ok(Exit::Done)
    }
}

fn cells(subset: &Subset) -> [String; 5] {
    [
        subset.identifier.to_string(),
        subset.timestamp.to_string(),
        subset.granules.to_string(),
        subset.cited.to_string(),
        selected_by(&subset.criteria),
    ]
}
