//! Commands that make one change of a dataset: `ingest`, `delete`, `sync`, `revert`.

use accession::listing::Findings;
use accession::status::StatusThresholds;
use accession::text::quoted;
use accession::{
    DatasetFilter, DatasetName, ErrorKind, Limits, Listing, ListingBuilder, Moment, Selection,
    SetSpec, Timestamp,
};

use super::dated_files::refuse_dated;
use crate::applied::{Application, apply};
use crate::args::{
    ChangeArgs, ChecksumArgs, FileArgs, IdArgs, ListingArgs, Reading, ReadingArgs, if_missing,
    refuse_missing,
};
use crate::error::{Error, Exit, Result};
use crate::input_file::InputFile;
use crate::listing_guard::ListingGuard;
use crate::paths::with_hint_of_paths;
use crate::reading::{MissingPages, Recording};
use crate::session::{ChangeTime, Session};

/// Add granules
///
/// The granules are those of listings, of --id, or both. If one granule is rejected, nothing is changed.
/// With --delete, granules are deleted in the same change.
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Tables, S3 and catalogues: accession ingest --help

  accession ingest FOO ids.txt --create --at 2001-01-02
  accession ingest FOO ./new/ --skip-existing
  accession ingest FOO new.txt --delete old.txt --note 'processed again'"
)]
#[command(mut_group("FormatArgs", |group| group.requires("granules")))]
#[command(mut_group("RowArgs", |group| group.requires("granules")))]
#[command(mut_group("FileArgs", |group| group.requires("listings")))]
#[command(mut_group("ChecksumArgs", |group| group.requires("listings")))]
#[command(mut_group("InventoryArgs", |group| group.requires("listings")))]
#[command(mut_group("FileColumns", |group| group.requires("listings")))]
#[command(group(clap::ArgGroup::new("granules").args(["listings", "delete"]).multiple(true)))]
pub struct Ingest {
    /// The dataset
    #[arg(value_name = "NAME")]
    dataset: DatasetName,

    #[command(flatten)]
    listings: ListingArgs,

    #[command(flatten)]
    ids: IdArgs,

    /// Also mark the granules of this listing as deleted (repeatable)
    #[arg(long, value_name = "LISTING")]
    delete: Vec<InputFile>,

    /// Skip granules that are already held or repeated
    #[arg(long)]
    skip_existing: bool,

    /// With --delete: skip granules that are not held or repeated
    #[arg(long, requires = "delete")]
    skip_missing: bool,

    /// Create the dataset if it does not exist
    #[arg(long)]
    create: bool,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    checksums: ChecksumArgs,

    #[command(flatten)]
    reading: ReadingArgs,

    #[command(flatten)]
    files: FileArgs,
}

impl Ingest {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let (listings, ids) = (&self.listings.listings, &self.ids.ids);
        if self.delete.is_empty() {
            refuse_nothing(listings, ids)?;
        }
        refuse_patterns(ids, session, &format!("ingest {}", self.dataset))?;
        let reading = ByName::new("ingest", "ingest", &self.dataset);
        refuse_missing(listings, session, reading.reading())?;
        let deleting = ByName::new("delete", "delete", &self.dataset);
        refuse_missing(&self.delete, session, deleting.reading())?;
        let mut change = accession::Change::new();
        let guard = ListingGuard::default();
        let missing = MissingPages::Guard(&guard);
        let files = Some((&self.files, &self.checksums));
        let entries = self.reading.entries(session, ids, listings, files, missing)?.recorded();
        let read = entries.read(|entry| Ok(change.ingest(entry)?))?;
        let recording = Recording { session, dataset: &self.dataset };
        let findings = read.accepted_for(recording, || change.refuse_directories())?;
        let missing = MissingPages::WarnAndGuard(&guard);
        let deleted = self.reading.entries(session, &[], &self.delete, None, missing)?;
        let deleted = deleted.of_deletion().without_total();
        deleted.read(|entry| Ok(change.delete(entry)?))?.accepted()?;
        let mut options = self
            .change
            .options()
            .limits(limits(listings.iter().chain(&self.delete).count()))
            .skip_existing(self.skip_existing)
            .skip_missing(self.skip_missing)
            .if_missing(if_missing(self.create));
        if let (None, Some(created)) = (self.change.at, findings.created()) {
            options = options.at(created);
        }
        change.options = guard.guarding(options);
        let application = self.change.application(&self.dataset, self.create);
        let made = make(session, &application.read(&findings), &change);
        made.map_err(|error| with_hint_of_time(error, self.change.at, &findings))
    }
}

/// Adds a hint to the error if a listing states its own time, and that time is too early.
fn with_hint_of_time(error: Error, at: Option<ChangeTime>, findings: &Findings) -> Error {
    match findings.created().filter(|_| at.is_none() && error.kind() == ErrorKind::NotAfterLast) {
        Some(created) => error.with_hint(format!(
            "the inventory was made at {created}, and a later change is recorded: name a newer inventory"
        )),
        None => error,
    }
}

/// The guard of a change with this many listings: the limits of the dataset, or the default. Typed ids are not
/// guarded.
fn limits(listings: usize) -> Option<Limits> {
    (listings > 0).then(Limits::default)
}

/// The commands that hints name, each with the dataset.
struct ByName {
    command: String,
    by_id: String,
}

impl ByName {
    fn new(command: &str, by_id: &str, dataset: &DatasetName) -> Self {
        ByName { command: format!("{command} {dataset}"), by_id: format!("{by_id} {dataset}") }
    }

    fn reading(&self) -> Reading<'_> {
        Reading { command: &self.command, by_id: Some(&self.by_id) }
    }
}

/// Rejects a command that names no granules.
fn refuse_nothing(listings: &[InputFile], ids: &[String]) -> Result<()> {
    if !listings.is_empty() || !ids.is_empty() {
        return Ok(());
    }
    Err(Error::usage("no granules are named")
        .with_hint("name a file, a directory, or - for standard input; or a granule with --id ID"))
}

/// Rejects an id that is a pattern: shells pass a pattern as it is if no file matches it.
fn refuse_patterns(ids: &[String], session: &Session, command: &str) -> Result<()> {
    let Some(pattern) = ids.iter().find(|id| id.contains(['*', '?', '['])) else {
        return Ok(());
    };
    let message = format!("{} is a pattern, not an id", quoted(pattern));
    let program = session.program();
    Err(Error::usage(message)
        .with_hint(format!("list such an id: `echo ID | {program} {command} -`")))
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

/// Mark granules as deleted
///
/// Nothing is erased: the earlier states of the dataset can still be looked up. If one granule is
/// rejected, nothing is changed.
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Tables, S3 and catalogues: accession delete --help

  accession delete FOO --id FOOL2.v2.10.533b2a95 --note 'corrupt'
  accession delete FOO withdrawn.txt --at 2001-03-01"
)]
#[command(mut_group("FormatArgs", |group| group.requires("listings")))]
#[command(mut_group("RowArgs", |group| group.requires("listings")))]
pub struct Delete {
    /// The dataset
    #[arg(value_name = "NAME")]
    dataset: DatasetName,

    #[command(flatten)]
    listings: ListingArgs,

    #[command(flatten)]
    ids: IdArgs,

    /// Skip granules that are not held or repeated
    #[arg(long)]
    skip_missing: bool,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    reading: ReadingArgs,
}

impl Delete {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let (listings, ids) = (&self.listings.listings, &self.ids.ids);
        refuse_nothing(listings, ids)?;
        let reading = ByName::new("delete", "delete", &self.dataset);
        refuse_missing(listings, session, reading.reading())?;
        let mut change = accession::Change::new();
        let guard = ListingGuard::default();
        let missing = MissingPages::WarnAndGuard(&guard);
        let entries = self.reading.entries(session, ids, listings, None, missing)?;
        entries.of_deletion().read(|entry| Ok(change.delete(entry)?))?.accepted()?;
        let limits = limits(listings.len());
        let options = self.change.options().limits(limits).skip_missing(self.skip_missing);
        change.options = guard.guarding(options);
        make(session, &self.change.application(&self.dataset, false), &change)
    }
}

/// Make a dataset hold exactly what a listing or directory has
///
/// Granules that are listed but not held are added. Granules that are held but not listed are marked as
/// deleted. A listing is refused (exit status 3) if it is empty or incomplete, if it would delete or add too
/// many granules, or replace contents, or if none of the new ids looks like those held: it is probably cut, or
/// of another dataset. The refusal prints the command with the --expect that accepts exactly this result.
/// `accession status` shows the refusal until a listing is accepted. A listing that changes nothing is
/// recorded as confirmed.
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Too many deletions are refused; set a limit with `dataset edit --max-delete`.
Tables, S3 and catalogues: accession sync --help

  accession sync FOO ./data/ --create
  accession sync FOO inventory.csv --column granule_ur --dry-run"
)]
#[command(mut_arg("listings", |listings| listings.required(true).help(LISTINGS)))]
pub struct Sync {
    /// The dataset
    #[arg(value_name = "NAME")]
    dataset: DatasetName,

    #[command(flatten)]
    listings: ListingArgs,

    /// Create the dataset if it does not exist
    #[arg(long)]
    create: bool,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    checksums: ChecksumArgs,

    #[command(flatten)]
    reading: ReadingArgs,

    #[command(flatten)]
    files: FileArgs,
}

const LISTINGS: &str = "A file, a directory, or - for standard input. Several files are \
    parts of one listing; for a listing per night, use `import`";

/// Why a sync changed nothing.
const SAME: &str = "the dataset holds exactly the listed granules";

impl Sync {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut options = self.change.options().if_missing(if_missing(self.create));
        let guard = ListingGuard::default();
        let (listing, findings) = self.listing(session, &guard).inspect_err(|error| {
            // A wrong argument is not recorded as a refused listing.
            if !options.is_dry_run() && error.rejects_listing() {
                self.note_refused(error, session);
            }
        })?;
        if let (None, Some(created)) = (self.change.at, findings.created()) {
            self.refuse_older(created, session)?;
            options = options.at(created);
        }
        let options = guard.guarding(options);
        let application = self.change.application(&self.dataset, self.create).with_line();
        let synced = apply(session, &application.read(&findings), Some(SAME), |registry| {
            registry.sync(&self.dataset, &listing, &options)
        });
        synced.map_err(|error| with_hint_of_time(error, self.change.at, &findings))
    }

    /// Rejects an inventory that is older than the listing that last confirmed the dataset.
    fn refuse_older(&self, created: Timestamp, session: &Session) -> Result<()> {
        let Some(registry) = session.open_existing()? else { return Ok(()) };
        let only = DatasetFilter::Only(vec![self.dataset.clone()]);
        let status = match registry.status(&only, StatusThresholds::default()) {
            Ok(status) => status,
            Err(error) if error.kind() == ErrorKind::DatasetUnknown => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let confirmed = status.first().and_then(|status| status.confirmed.clone());
        match confirmed.map(|confirmed| confirmed.recorded).filter(|last| *last > created) {
            None => Ok(()),
            Some(last) => Err(Error::new(
                ErrorKind::NotAfterLast,
                format!("the inventory was made at {created}, and {} was confirmed by a listing of {last}", self.dataset),
            )
            .with_hint("name a newer inventory")),
        }
    }

    fn listing(&self, session: &Session, guard: &ListingGuard) -> Result<(Listing, Findings)> {
        let listings = &self.listings.listings;
        let reading = ByName::new("sync", "ingest", &self.dataset);
        refuse_missing(listings, session, reading.reading())?;
        refuse_dated(listings, &self.dataset, session)?;
        let files = Some((&self.files, &self.checksums));
        let missing = MissingPages::Guard(guard);
        let entries = self.reading.entries(session, &[], listings, files, missing)?;
        let mut builder = ListingBuilder::new();
        let read = entries.recorded().read(|entry| Ok(builder.add(entry)?))?;
        let listing = builder.finish();
        let recording = Recording { session, dataset: &self.dataset };
        let findings = read.accepted_for(recording, || listing.refuse_directories())?;
        self.reading.refuse_repeating(&listing)?;
        Ok((listing, findings))
    }

    /// Records that a listing was rejected. If that fails, only the original error is reported.
    fn note_refused(&self, error: &Error, session: &Session) {
        if let Ok(Some(registry)) = session.open_existing()
            && let Ok(registry) = session.recording(&registry, None)
        {
            let reason = session.shown(&error.to_string());
            let _ = registry.note_refused_listing(&self.dataset, &reason);
        }
    }
}

/// Undo the last change, or return to an earlier set
///
/// The dataset holds the earlier set again, in one new change, with the sizes and checksums that were known
/// then. Nothing is erased: the history keeps all changes. The identifier and the digest are those of the
/// earlier set.
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
An identifier, a digest and a citation name a set, too.

  accession revert FOO --note 'the listing was incomplete'
  accession revert FOO FOO@2001-02-03
  accession revert FOO DI:763122197bfb3ffbf0da14adbfb1b13b"
)]
pub struct Revert {
    /// The dataset
    #[arg(value_name = "NAME")]
    dataset: DatasetName,

    /// The earlier set, such as NAME@TIME [default: the set before the last change]
    #[arg(value_name = "SET")]
    set: Option<SetSpec>,

    #[command(flatten)]
    change: ChangeArgs,
}

impl Revert {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let to = self.set.as_ref().map(|set| self.earlier(set, session)).transpose()?;
        let options = self.change.options();
        let application = self.change.application(&self.dataset, false);
        let unchanged = Some("the dataset holds the same granules as then");
        let reverted = apply(session, &application, unchanged, |registry| {
            registry.revert(&self.dataset, to.as_ref(), &options)
        });
        reverted.map_err(|error| match error.kind() == ErrorKind::Ambiguous {
            true if self.set.is_none() => self.with_hint_of_sets(error, session),
            _ => error,
        })
    }

    /// Resolves `set` to an earlier set of the dataset. Rejects its present set.
    fn earlier(&self, set: &SetSpec, session: &Session) -> Result<Selection> {
        let snapshot = session.open()?.snapshot()?;
        let resolution =
            snapshot.resolve(set).map_err(|error| self.with_hint_of_time(error, set, session))?;
        session.warn_all(resolution.warnings().to_vec());
        let (own, program) = (&self.dataset, session.program());
        if let Selection::Dataset { name, .. } = resolution.selection()
            && snapshot.present_name(name)? != snapshot.present_name(own)?
        {
            return Err(Error::usage(format!("{set} is not a set of {own}"))
                .with_hint(format!("`{program} history {own}` lists its sets")));
        }
        if set.is_dataset() {
            return Err(Error::usage(format!("{set} is the present set, not an earlier one"))
                .with_hint(format!("`{program} revert {own}` takes back the last change")));
        }
        Ok(resolution.in_dataset(own)?)
    }

    /// Adds a hint to the error if the argument is only a time, which is read as the name of a dataset.
    fn with_hint_of_time(
        &self,
        error: accession::Error,
        set: &SetSpec,
        session: &Session,
    ) -> Error {
        let (own, program) = (&self.dataset, session.program());
        match set.as_str().parse::<Moment>() {
            Ok(_) => Error::from(error).with_hint(format!(
                "`{program} revert {own} {own}@{set}` names the set of this time"
            )),
            Err(_) => error.into(),
        }
    }

    /// Adds to the error a command that names the set before the last change.
    fn with_hint_of_sets(&self, error: Error, session: &Session) -> Error {
        let (dataset, program) = (&self.dataset, session.program());
        // The command has failed already, so an error here only loses the suggestion.
        let registry = session.open_existing().ok().flatten();
        let snapshot = registry.and_then(|registry| registry.snapshot().ok());
        let before = snapshot.and_then(|snapshot| snapshot.change_before_last(dataset).ok());
        match before.flatten() {
            Some(before) => error.with_hint(format!(
                "name a set: `{} {dataset}@{}` takes back the last change, too",
                session.again(&[]),
                before.timestamp
            )),
            None => error.with_hint(format!("`{program} history {dataset}` lists its sets")),
        }
    }
}
