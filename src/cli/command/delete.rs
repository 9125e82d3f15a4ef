use accession::DatasetName;
use anyhow::Result;

use crate::cli::applied::apply;
use crate::cli::args::{ChangeArgs, GranuleArgs, stored_name};
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
    #[arg(value_parser = stored_name)]
    dataset: DatasetName,

    #[command(flatten)]
    granules: GranuleArgs,

    #[command(flatten)]
    change: ChangeArgs,

    /// Skip granules that are not held or that are repeated in the input
    #[arg(long)]
    skip_missing: bool,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut change = self.change.change();
        if self.skip_missing {
            change.skip_missing();
        }
        self.granules.each_entry(session, |entry| Ok(change.delete(entry)?))?;
        let application = self.change.application(false);
        apply(session, &self.dataset, application, |registry, stamp| {
            registry.change(&self.dataset, &change, stamp)
        })
    }
}
