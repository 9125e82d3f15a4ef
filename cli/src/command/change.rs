//! Commands that make one change of a dataset: `ingest`, `delete`, `change`, `sync`, `revert`.

use accession::{DatasetName, Listing, ListingBuilder, SetSpec};

use crate::applied::{Application, apply};
use crate::args::{
    ChangeArgs, ContentArgs, FileArgs, FormatArgs, GranuleArgs, LimitArgs, if_missing,
};
use crate::error::{Error, Exit, Result};
use crate::paths::{PathArgs, with_hint_of_paths};
use crate::reading::{Entries, InputFile, MissingPages};
use crate::session::Session;

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
#[command(mut_group("FormatArgs", |group| group.requires("from")))]
#[command(mut_group("FileArgs", |group| group.requires("from")))]
#[command(mut_group("InventoryArgs", |group| group.requires("from")))]
#[command(mut_group("FileColumns", |group| group.requires("from")))]
pub struct Ingest {
    /// The dataset
    dataset: DatasetName,

    #[command(flatten)]
    granules: GranuleArgs,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    files: FileArgs,

    #[command(flatten)]
    contradicting: ContentArgs,

    /// Skip granules that are already held or that are repeated in the input
    #[arg(long)]
    skip_existing: bool,

    /// Create the dataset and the registry if they do not exist
    #[arg(long)]
    create: bool,

    /// Accept a search result with missing pages
    #[arg(long, requires = "from")]
    partial: bool,
}

impl Ingest {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut change = accession::Change::new();
        change.options = self
            .change
            .options()
            .skip_existing(self.skip_existing)
            .max_replace(self.contradicting.max_replace)
            .if_missing(if_missing(self.create));
        let missing = MissingPages::when(self.partial);
        self.granules.refuse_patterns()?;
        for entry in self.granules.entries(session, Some(&self.files), missing)?.recorded() {
            change.ingest(entry?)?;
        }
        make(session, &self.change.application(&self.dataset, self.create), &change)
    }
}

/// Makes a change of granules that were read.
fn make(
    session: &mut Session,
    application: &Application<'_>,
    change: &accession::Change,
) -> Result<Exit> {
    let made =
        apply(session, application, None, |registry| registry.change(application.dataset, change));
    made.map_err(with_hint_of_paths)
}

/// Mark granules of a dataset deleted, in one change
///
/// Nothing is erased: the earlier states of the dataset can still be looked up. If one granule is
/// refused, nothing is changed.
///
/// Example:
///   accession delete US.FOOL2.002 --at 2001-03-01 --note 'corrupt' FOOL2.v2.10.533b2a95
#[derive(clap::Args)]
#[command(verbatim_doc_comment, mut_group("FormatArgs", |group| group.requires("from")))]
pub struct Delete {
    /// The dataset
    dataset: DatasetName,

    #[command(flatten)]
    granules: GranuleArgs,

    #[command(flatten)]
    change: ChangeArgs,

    /// Skip granules that are not held or that are repeated in the input
    #[arg(long)]
    skip_missing: bool,
}

impl Delete {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut change = accession::Change::new();
        change.options = self.change.options().skip_missing(self.skip_missing);
        let entries = self.granules.entries(session, None, MissingPages::Warn)?;
        for entry in entries.of_deletion() {
            change.delete(entry?)?;
        }
        make(session, &self.change.application(&self.dataset, false), &change)
    }
}

/// Add granules to a dataset and mark others deleted, in one change
///
/// If one granule is refused, nothing is changed. A granule cannot be in both files.
///
/// Example:
///   accession change US.FOOL2.002 --ingest new.txt --delete old.txt
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ChangeBoth {
    /// The dataset
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
    paths: PathArgs,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    files: FileArgs,

    #[command(flatten)]
    contradicting: ContentArgs,

    /// Skip granules to add that are already held or that are repeated in the input
    #[arg(long)]
    skip_existing: bool,

    /// Skip granules to mark deleted that are not held or that are repeated in the input
    #[arg(long)]
    skip_missing: bool,
}

impl ChangeBoth {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if self.ingest.is_empty() && self.delete.is_empty() {
            return Err(Error::usage("no granules are named")
                .with_hint("name a file with --ingest, with --delete, or with both"));
        }
        let options = self.format.options();
        let mut change = accession::Change::new();
        change.options = self
            .change
            .options()
            .skip_existing(self.skip_existing)
            .skip_missing(self.skip_missing)
            .max_replace(self.contradicting.max_replace);
        let entries = |files, options, missing| {
            Entries::new(session, &[], files, options, &self.paths, missing)
        };
        let reading = self.files.reading(options.clone());
        for entry in entries(&self.ingest, reading, MissingPages::Refuse).recorded() {
            change.ingest(entry?)?;
        }
        for entry in entries(&self.delete, options, MissingPages::Warn).of_deletion() {
            change.delete(entry?)?;
        }
        make(session, &self.change.application(&self.dataset, false), &change)
    }
}

/// Make a dataset hold exactly the listed granules, in one change
///
/// Granules that are listed but not held are ingested; granules that are held but not listed are
/// marked deleted. A listing that is empty, or that would delete or add too many granules, is
/// refused, since it is probably incomplete or of another dataset; `accession status` shows that until
/// one is accepted. A listing that changes nothing is recorded as confirmed.
///
/// Examples:
///   ls *.nc | accession sync US.FOOL2.002 --from -
///   accession sync US.FOOL2.002 --from catalogue.csv --column granule_ur --max-delete 20%
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
#[command(mut_group("FormatArgs", |group| group.requires("from")))]
#[command(mut_group("FileArgs", |group| group.requires("from")))]
#[command(mut_group("InventoryArgs", |group| group.requires("from")))]
#[command(mut_group("FileColumns", |group| group.requires("from")))]
pub struct Sync {
    /// The dataset
    dataset: DatasetName,

    #[command(flatten)]
    granules: GranuleArgs,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    files: FileArgs,

    #[command(flatten)]
    contradicting: ContentArgs,

    #[command(flatten)]
    limits: LimitArgs,

    /// Create the dataset and the registry if they do not exist
    #[arg(long)]
    create: bool,
}

/// Why a sync changed nothing.
const SAME: &str = "the dataset holds exactly the listed granules";

impl Sync {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let options = self
            .change
            .options()
            .if_missing(if_missing(self.create))
            .max_replace(self.contradicting.max_replace);
        self.granules.refuse_patterns()?;
        let entries =
            self.granules.entries(session, Some(&self.files), MissingPages::Refuse)?.recorded();
        let listing = self.listing(entries).inspect_err(|error| {
            if !options.is_dry_run() {
                self.note_refused(error, session);
            }
        })?;
        let application = self.change.application(&self.dataset, self.create).with_line();
        apply(session, &application, Some(SAME), |registry| {
            registry.sync(&self.dataset, &listing, self.limits.limits(), &options)
        })
    }

    fn listing(&self, entries: Entries<'_>) -> Result<Listing> {
        let mut builder = ListingBuilder::new();
        for entry in entries {
            builder.add(entry?)?;
        }
        let listing = builder.finish();
        self.granules.refuse_repeating(&listing)?;
        Ok(listing)
    }

    /// Notes that a listing could not be read. Where that cannot be noted, the error is still reported.
    fn note_refused(&self, error: &Error, session: &Session) {
        if let Ok(Some(registry)) = session.open_existing()
            && let Ok(registry) = session.recording(&registry, None)
        {
            let _ = registry.note_refused_listing(&self.dataset, &error.to_string());
        }
    }
}

/// Make a dataset hold an earlier set of granules again, in one new change
///
/// What was known of their files is known again, too. Nothing is erased: the history keeps all changes, and
/// the identifier and the digest are those of the earlier set.
///
/// Examples:
///   accession revert US.FOOL2.002 US.FOOL2.002@2001-02-03 --note 'the listing was incomplete'
///   accession revert US.FOOL2.002 DI:763122197bfb3ffbf0da14adbfb1b13b
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Revert {
    /// The dataset
    dataset: DatasetName,

    /// The earlier set: see `accession --help`
    #[arg(value_name = "SET")]
    to: SetSpec,

    #[command(flatten)]
    change: ChangeArgs,
}

impl Revert {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let snapshot = session.open()?.snapshot()?;
        let resolution = snapshot.resolve(&self.to)?;
        session.warn_all(resolution.warnings().to_vec());
        let to = resolution.in_dataset(&self.dataset)?;
        drop(resolution);
        drop(snapshot);
        let options = self.change.options();
        let application = self.change.application(&self.dataset, false);
        let unchanged = Some("the dataset holds the same granules as then");
        apply(session, &application, unchanged, |registry| {
            registry.revert(&self.dataset, &to, &options)
        })
    }
}
