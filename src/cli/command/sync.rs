use accession::{DatasetName, Listing, MaxDelete, Sync};
use anyhow::Result;

use crate::cli::applied::{Application, apply};
use crate::cli::args::{ChangeArgs, GranuleArgs, refuse_older_name, stored_name};
use crate::cli::exit::Exit;
use crate::cli::reading::MissingPages;
use crate::cli::session::Session;

/// Make a dataset hold exactly the listed granules, in one change
///
/// Granules that are listed but not held are ingested; granules that are held but not listed are
/// marked deleted. A listing that is empty, or that would delete too many granules, is refused,
/// since it is probably incomplete.
///
/// Examples:
///   ls *.nc | accession sync US.FOOL2.002 --from -
///   accession sync US.FOOL2.002 --from catalogue.csv --column granule_ur --max-delete 20%
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

    /// How many granules may be deleted: a number, or a percentage of those held [default: the
    /// larger of 10 granules and 10%, and never more than half]
    #[arg(long, value_name = "N|P%")]
    max_delete: Option<MaxDelete>,

    /// Create the dataset and the registry if they do not exist
    #[arg(long)]
    create: bool,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut sync = Sync::new();
        sync.note(self.change.note.clone());
        sync.max_delete(self.max_delete.unwrap_or_default());
        if self.create {
            refuse_older_name(&self.dataset)?;
            sync.create_dataset();
        }
        if self.change.dry_run {
            sync.dry_run();
        }
        let mut listing = Listing::new();
        let missing = MissingPages::Refuse;
        self.granules.each_entry_of_pages(missing, session, |entry| Ok(listing.add(entry)?))?;
        let application = Application {
            unchanged: Some("the dataset holds exactly the listed granules"),
            ..self.change.application(self.create)
        };
        apply(session, &self.dataset, application, |registry, stamp| {
            registry.sync(&self.dataset, &listing, &sync, stamp)
        })
    }
}
