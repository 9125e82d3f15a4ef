use accession::{Change, DatasetName};
use anyhow::Result;

use crate::cli::apply::apply;
use crate::cli::args::{ChangeArgs, GranuleArgs};
use crate::cli::exit::Exit;
use crate::cli::session::Session;

/// Mark granules of a dataset deleted, in one change
///
/// Nothing is erased: the earlier states of the dataset can still be looked up. If one granule is
/// refused, nothing is changed.
///
/// Example:
///   accession delete US.FOOL2.002 --at 2001-03-01 --note 'corrupt' FOOL2.v2.10.533b2a95
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    #[command(flatten)]
    granules: GranuleArgs,

    #[command(flatten)]
    change: ChangeArgs,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let delete = self.granules.entries(session)?;
        apply(session, &self.dataset, self.change, Change { delete, ..Change::default() })
    }
}
