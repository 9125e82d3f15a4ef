use accession::minting::unique_granule::{CollectionId, HashLength};
use accession::{Change, DatasetName};
use anyhow::Result;

use super::When;
use crate::cli::Exit;
use crate::cli::session::Session;
use crate::cli::source::{Source, Uniquify};

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

    /// Register these producer's ids under unique ids for this collection, name___version, and keep
    /// both (see granule-id)
    #[arg(long, value_name = "COLLECTION")]
    uniquify: Option<CollectionId>,

    /// How many characters of the hash a unique id has
    #[arg(long, value_name = "N", default_value = "8", requires = "uniquify")]
    hash_length: HashLength,

    /// Hash the time as well, so that each ingest gives another unique id
    #[arg(long, requires = "uniquify")]
    timestamp: bool,

    /// Make the dataset, and the registry, if it is not there
    #[arg(long)]
    create: bool,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut ingest = self.source.entries(session)?;
        if let Some(collection) = self.uniquify {
            let uniquify = Uniquify::new(collection, self.hash_length, self.timestamp);
            ingest = uniquify.apply(ingest, session)?;
        }
        let change = Change {
            ingest,
            skip_existing: self.skip_existing,
            create: self.create,
            ..Change::default()
        };
        super::apply(session, &self.dataset, self.when, change)
    }
}
