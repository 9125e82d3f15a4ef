use accession::{Change, DatasetName};
use anyhow::Result;

use super::When;
use crate::cli::Exit;
use crate::cli::session::Session;
use crate::cli::source::Source;

/// Mark granules of a dataset deleted, in one change
///
/// Nothing is ever erased: the dataset as it was before stays there to be looked up.
///
/// Example:
///   accession delete US.FOOL2.002 --at 2001-03-01 --note 'corrupt' FOOL2.v2.10.533b2a95
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    when: When,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let delete = self.source.entries(session)?;
        super::apply(session, &self.dataset, self.when, Change { delete, ..Change::default() })
    }
}
