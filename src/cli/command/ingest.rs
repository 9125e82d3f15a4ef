use accession::DatasetName;
use accession::minting::unique_granule::{CollectionId, HashLength};
use anyhow::Result;

use crate::cli::applied::apply;
use crate::cli::args::{ChangeArgs, GranuleArgs, refuse_older_name, stored_name};
use crate::cli::exit::Exit;
use crate::cli::reading::MissingPages;
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
    #[arg(value_parser = stored_name)]
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

    /// Accept a search result with missing pages
    #[arg(long)]
    partial: bool,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let uniquify = self.uniquify.map(|collection| {
            let (hash_length, hashes_time) = (self.hash_length, self.timestamp);
            Uniquify { collection, hash_length, hashes_time }
        });
        let mut change = self.change.change();
        if self.skip_existing {
            change.skip_existing();
        }
        if self.create {
            refuse_older_name(&self.dataset)?;
            change.create_dataset();
        }
        let now = session.now()?;
        let mut index = 0;
        let missing = MissingPages::when(self.partial);
        self.granules.each_entry_of_pages(missing, session, |entry| {
            let entry = match &uniquify {
                Some(uniquify) => uniquify.apply(entry, index, now)?,
                None => entry,
            };
            index += 1;
            Ok(change.ingest(entry)?)
        })?;
        let application = self.change.application(self.create);
        apply(session, &self.dataset, application, |registry, stamp| {
            registry.change(&self.dataset, &change, stamp)
        })
    }
}
