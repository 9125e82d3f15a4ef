use accession::{Change, DatasetName};
use anyhow::Result;

use super::When;
use crate::cli::Exit;
use crate::cli::report::Usage;
use crate::cli::session::Session;
use crate::cli::source::{Reading, entries_of_files};

/// Add some granules to a dataset and mark others deleted, in one change
///
/// Example:
///   accession change US.FOOL2.002 --ingest new.txt --delete old.txt
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    /// A file of granules to add; - is stdin (can be repeated)
    #[arg(long, value_name = "FILE")]
    ingest: Vec<std::path::PathBuf>,

    /// A file of granules to mark deleted; - is stdin (can be repeated)
    #[arg(long, value_name = "FILE")]
    delete: Vec<std::path::PathBuf>,

    #[command(flatten)]
    reading: Reading,

    #[command(flatten)]
    when: When,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if self.ingest.is_empty() && self.delete.is_empty() {
            let usage = Usage::new("no granules are named");
            return Err(usage.with_hint("name a file with --ingest, --delete, or both").into());
        }
        let change = Change {
            ingest: entries_of_files(&self.ingest, &self.reading, session)?,
            delete: entries_of_files(&self.delete, &self.reading, session)?,
            ..Change::default()
        };
        super::apply(session, &self.dataset, self.when, change)
    }
}
