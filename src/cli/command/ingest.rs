use accession::minting::unique_granule::{CollectionId, HashLength};
use accession::{Change, DatasetName};
use anyhow::Result;

use crate::cli::apply::apply;
use crate::cli::args::{ChangeArgs, GranuleArgs};
use crate::cli::exit::Exit;
use crate::cli::session::Session;
use crate::cli::uniquify::Uniquify;

/// Add granules to a dataset, in one change
///
/// Granules are named as arguments, in files, or both. If one granule is refused, nothing is
/// changed.
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
    granules: GranuleArgs,

    #[command(flatten)]
    change: ChangeArgs,

    /// Skip granules that are already held or that are repeated in the input
    #[arg(long)]
    skip_existing: bool,

    /// Treat the ids as producer ids of this collection (name___version): register a unique id
    /// made from each, and keep both (see granule-id)
    #[arg(long, value_name = "COLLECTION")]
    uniquify: Option<CollectionId>,

    /// The number of hash characters in a unique id
    #[arg(long, value_name = "N", default_value = "8", requires = "uniquify")]
    hash_length: HashLength,

    /// Also hash the current time, so that every ingest makes different unique ids
    #[arg(long, requires = "uniquify")]
    timestamp: bool,

    /// Create the dataset and the registry if they do not exist
    #[arg(long)]
    create: bool,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut ingest = self.granules.entries(session)?;
        if let Some(collection) = self.uniquify {
            let (hash_length, hashes_time) = (self.hash_length, self.timestamp);
            let uniquify = Uniquify { collection, hash_length, hashes_time };
            ingest = uniquify.apply(ingest, session)?;
        }
        let change = Change {
            ingest,
            skip_existing: self.skip_existing,
            create: self.create,
            ..Change::default()
        };
        apply(session, &self.dataset, self.change, change)
    }
}
