use accession::{Change, DatasetName};
use anyhow::Result;

use super::When;
use crate::cli::Exit;
use crate::cli::session::Session;
use crate::cli::source::Source;

/// Add granules to a dataset, in one change
///
/// The granules are named as arguments, in files, or both. If one of them is refused, all are.
///
/// Examples:
///   accession ingest US.FOOL2.002 --create --at 2001-01-02 --from ids.txt
///   ls *.nc | accession ingest US.FOOL2.002 --from - --skip-existing
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    when: When,

    /// Pass over granules that are held already, or named twice
    #[arg(long)]
    skip_existing: bool,

    /// Make the dataset, and the registry, if it is not there
    #[arg(long)]
    create: bool,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let ingest = self.source.entries(session)?;
        let change = Change {
            ingest,
            skip_existing: self.skip_existing,
            create: self.create,
            ..Change::default()
        };
        super::apply(session, &self.dataset, self.when, change)
    }
}
