use accession::DatasetName;
use anyhow::Result;

use crate::cli::applied::apply;
use crate::cli::args::{ChangeArgs, FormatArgs, stored_name};
use crate::cli::exit::Exit;
use crate::cli::reading::{InputFile, MissingPages, each_entry_of_files, each_entry_of_pages};
use crate::cli::session::Session;
use crate::cli::usage::UsageError;

/// Add granules to a dataset and mark others deleted, in one change
///
/// If one granule is refused, nothing is changed. A granule cannot be in both files.
///
/// Example:
///   accession change US.FOOL2.002 --ingest new.txt --delete old.txt
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    #[arg(value_parser = stored_name)]
    dataset: DatasetName,

    /// A file of granules to add; - is stdin (can be repeated)
    #[arg(long, value_name = "FILE")]
    ingest: Vec<InputFile>,

    /// A file of granules to mark deleted; - is stdin (can be repeated)
    #[arg(long, value_name = "FILE")]
    delete: Vec<InputFile>,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    change: ChangeArgs,

    /// Skip granules to add that are already held or that are repeated in the input
    #[arg(long)]
    skip_existing: bool,

    /// Skip granules to mark deleted that are not held or that are repeated in the input
    #[arg(long)]
    skip_missing: bool,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if self.ingest.is_empty() && self.delete.is_empty() {
            return Err(UsageError::new("no granules are named")
                .with_hint("name a file with --ingest, with --delete, or with both")
                .into());
        }
        let options = self.format.options();
        let mut change = self.change.change();
        if self.skip_existing {
            change.skip_existing();
        }
        if self.skip_missing {
            change.skip_missing();
        }
        let missing = MissingPages::Refuse;
        let ingest = |entry| Ok(change.ingest(entry)?);
        each_entry_of_pages(&self.ingest, &options, missing, session, ingest)?;
        each_entry_of_files(&self.delete, &options, session, |entry| Ok(change.delete(entry)?))?;
        let application = self.change.application(false);
        apply(session, &self.dataset, application, |registry, stamp| {
            registry.change(&self.dataset, &change, stamp)
        })
    }
}
