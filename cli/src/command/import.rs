//! `import`: builds the history of a dataset from the records of other systems.

use std::io::{self, Write};
use std::path::Path;

use accession::ListingOptions;
use accession::mirror::{LogCopy, Primary};
use accession::{
    ChangeOptions, ChangeReport, DatasetName, ErrorKind, HistoryOptions, Import, Instance,
    Timestamp,
};
use accession::{Warning, WarningKind};
use serde_json::Value;

use super::dates_in_names::times_of;
use super::history::INSTANCES;
use super::listings::DatedArgs;
use crate::applied::{
    Application, Created, counts_in_words, hint_of_dry_run, reading, write_contents, write_created,
    write_dry_run, write_identifier, write_kept, write_overruled, write_read, write_unchanged,
};
use crate::args::{DryRunArgs, ExpectArgs, if_missing};
use crate::args::{FileArgs, FormatArgs, HttpArgs};
use crate::error::{Context, Error, Exit, Result};
use crate::events::import_events;
use crate::input_file::InputFile;
use crate::listing_guard::ListingGuard;
use crate::output::{Object, Output, counted, in_words, one_line};
use crate::reading::MissingPages;
use crate::session::{Create, Session};

/// Build a history from dated listings, or a table of dates
///
/// A history is a table with a column ingested and perhaps one named deleted, an event file (time, TAB, +
/// or -, TAB, id), a manifest, a directory that `accession publish` wrote, or the address of a published
/// dataset. There is one change for each distinct time, all in one transaction. Each must be later than the
/// last change of the dataset. Events that are already in the history are skipped, so a file that has grown
/// can be imported again. Rows that are dated today without a time are left out, because more of them may
/// follow until the day is over. From an address, the metadata and the cited subsets are copied, too, and
/// the next time only what is new.
///
/// Dated listings are several files, or a directory of files, each with one date in its name (2016-04-05,
/// 20160405 or, in UTC, 2016-04-05T0200Z). In the order of their dates, the dataset is synced by each at its
/// date, with the guards of sync. The first listing that is refused ends the import (exit status 3); those before
/// it are kept. The error prints two commands that continue: with --skip, without this listing, or with --expect,
/// which records it.
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Tables and other formats: accession import --help

  accession import FOO granules.csv --create
  accession import FOO nightly/ --create --dry-run
  accession import FOO https://data.example.org/datasets/FOO/ --create"
)]
pub struct ImportArgs {
    /// The dataset
    #[arg(value_name = "NAME")]
    dataset: DatasetName,

    /// A table, an event file, a manifest, an address, a published directory; or dated
    /// listings, or a directory of them
    #[arg(value_name = "FILE", required = true)]
    files: Vec<InputFile>,

    /// Create the dataset if it does not exist
    #[arg(long)]
    create: bool,

    #[command(flatten)]
    dry_run: DryRunArgs,

    #[command(flatten)]
    expect: ExpectArgs,

    /// The column with the time of ingest [default: ingested, else createdAt]
    #[arg(long, value_name = "COLUMN")]
    ingested: Option<String>,

    /// The column with the time of deletion [default: deleted]
    #[arg(long, value_name = "COLUMN")]
    deleted: Option<String>,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    listings: DatedArgs,

    #[command(flatten)]
    content: FileArgs,

    #[command(flatten)]
    http: HttpArgs,
}

/// The number of distinct times above which an import warns. The cost of an import is proportional to granules
/// times distinct times.
const MANY_TIMES: u64 = 3_000;

impl ImportArgs {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        self.import_files(session).map_err(|error| {
            match error.kind() == ErrorKind::DatasetUnknown {
                true => error.with_hint("add --create if it is a new dataset"),
                false => error,
            }
        })
    }

    fn import_files(&self, session: &mut Session) -> Result<Exit> {
        let [file] = self.files.as_slice() else { return self.import_listings(session) };
        let is_published = |path: &Path| {
            Ok::<_, Error>(Primary::of_directory(path, &self.dataset, session.now()?)?.is_some())
        };
        if let Some(directory) = file.path().filter(|path| path.is_dir())
            && !is_published(directory)?
        {
            return self.import_listings(session);
        }
        match self.import(file, session) {
            Err(error) if error.lacks_dates() && self.has_date(file) => {
                self.import_listings(session)
            }
            imported => imported.inspect_err(|error| self.remember_failure(file, session, error)),
        }
    }

    /// Whether a file without dates in it may be a dated listing: its name has a date, and no columns of times
    /// are named.
    fn has_date(&self, file: &InputFile) -> bool {
        let names_columns = self.ingested.is_some() || self.deleted.is_some();
        !names_columns
            && file.path().is_some_and(|path| times_of(path).map_or(true, |it| !it.is_empty()))
    }

    /// Records that copying from an address failed, for `status`.
    fn remember_failure(&self, file: &InputFile, session: &Session, error: &Error) {
        let remote = self.http.remote(file, session).ok().flatten();
        if let Some(source) = remote.and_then(|remote| remote.source())
            && let Ok(registry) = session.open_to_change(None)
            && !self.dry_run.dry_run
            && error.kind() != ErrorKind::Interrupted
            && error.kind().as_str() != "usage"
        {
            let what = error.to_string();
            let _ = registry.remember_failed_attempt(&self.dataset, &source, &what);
        }
    }

    fn import(&self, file: &InputFile, session: &mut Session) -> Result<Exit> {
        let mut import = Import::new();
        let options = self.change_options().expect(self.expect.set());
        import.options = options.dry_run(self.dry_run.dry_run);
        let guard = ListingGuard::default();
        let missing = MissingPages::Guard(&guard);
        let now = session.now()?;
        import.not_after = Some(now);
        let options = self.options(now);
        let replica = self.replica(file, session, &options, &mut import)?;
        let findings = match replica {
            Some(_) => None,
            None => import_events(&self.dataset, file, &options, missing, session, &mut import)?,
        };
        self.listings.refuse_for_history()?;
        import.options = guard.guarding(import.options);
        let times = import.count_times();
        if times > MANY_TIMES {
            session.warn(
                WarningKind::ManyTimes,
                &format!(
                    "the file has {times} distinct times, and each becomes a change: with dates instead of times, each day becomes one change, which is faster"
                ),
            );
        }
        let application = Application { findings: findings.as_ref(), ..self.application() };
        let made = application.make(session, |registry| match &replica {
            Some(replica) => Ok(replica.import(registry, &self.dataset, &import)?),
            None => Ok(registry.import(&self.dataset, &import)?),
        });
        let (imported, created) =
            made.map_err(|error| self.with_hint_of_other_history(error, &import, session))?;
        session.warn_all(imported.import_warnings(&self.dataset, now));
        if let Some(Instance { dataset, timestamp, .. }) = &imported.in_force
            && import.is_stale(&imported)
        {
            let source = match &replica {
                Some(replica) => replica.source().to_owned(),
                None => one_line(&file.name()).to_string(),
            };
            session.warn(
                WarningKind::Stale,
                &format!(
                    "{source} is stale: its log ends before the last change of {dataset}, at {timestamp}"
                ),
            );
        }
        if let Some(withdrawal) = &import.withdrawn {
            session.warn_all([Warning::of_withdrawn_primary(&self.dataset, withdrawal)]);
        }
        let why_none = match (imported.skipped.held, &replica) {
            (1, _) => "the only event is already in the history".to_owned(),
            (skipped @ 2.., _) => format!("all {skipped} events are already in the history"),
            (0, Some(_)) => "the primary has nothing new".to_owned(),
            (0, None) if import.count() > 0 => {
                "the events of the file leave everything as it was".to_owned()
            }
            (0, None) => "the file contains no events".to_owned(),
        };
        let also = changes_of(&imported);
        let exit = application.report(
            session,
            &imported,
            created,
            Some(&why_none),
            also,
            |out, done| {
                write_read(out, done)?;
                write_created(out, done)?;
                write_imported(out, done)?;
                write_contents(out, done)?;
                write_unchanged(out, done)?;
                write_dry_run(out, done)
            },
        )?;
        hint_of_dry_run(session, &imported, self.dry_run.dry_run);
        let ChangeReport { instances, annotations, .. } = imported;
        if session.is_json()
            && let (Some(first), Some(last)) = (instances.first(), instances.last())
            && annotations > 0
            && !self.dry_run.dry_run
        {
            // Read them again, with their present annotations.
            let options = HistoryOptions::new().since(first.timestamp).until(last.timestamp);
            let history = session.open()?.history(&self.dataset, &options);
            session.rows(INSTANCES, history)?;
        } else if session.is_json() {
            for instance in instances {
                let note = import.note_at(instance.timestamp)?;
                session.json(&Instance { note, ..instance })?;
            }
        }
        Ok(exit)
    }

    /// Adds a hint to the error of a log that does not continue the history of the dataset. The hint is the
    /// command that removes the changes that the log lacks: the primary may have removed them, too.
    fn with_hint_of_other_history(
        &self,
        error: Error,
        import: &Import,
        session: &Session,
    ) -> Error {
        let of_history = [ErrorKind::NotAsExpected, ErrorKind::NotAfterLast, ErrorKind::Input];
        let registry = || session.open_existing().ok().flatten();
        if of_history.iter().any(|kind| error.kind() == *kind)
            && let Some(registry) = registry()
            && let Ok(Some(at)) = import.last_in_common(&registry, &self.dataset)
        {
            let (dataset, program) = (&self.dataset, session.program());
            return error.with_hint(format!(
                "nothing was changed; {dataset} has had other changes than the log since {at}: if the primary corrected its history, `{program} dataset correct {dataset} --after {at}` takes them out here, too; then repeat the import"
            ));
        }
        error
    }

    fn change_options(&self) -> ChangeOptions {
        ChangeOptions::new().if_missing(if_missing(self.create)).all_examples(self.dry_run.all)
    }

    fn application(&self) -> Application<'_> {
        Application {
            dataset: &self.dataset,
            create: self.create,
            dry_run: self.dry_run.dry_run,
            has_line: true,
            reads_history: true,
            findings: None,
        }
    }

    fn import_listings(&self, session: &mut Session) -> Result<Exit> {
        self.refuse_for_listings()?;
        let (now, change) = (session.now()?, self.change_options());
        let how = (&self.format, self.content.reading(self.format.options()));
        let change = (change, self.expect.set());
        let listings = self.listings.of(&self.files, &self.dataset, how, change, now)?;
        let is_new = session.new_registry(Create::when(self.create))?.is_some();
        let taken = match self.dry_run.dry_run {
            true => listings.try_out(session)?,
            false => listings.take(session)?,
        };
        let applied = &taken.applied;
        session.warn_all(applied.warnings(&self.dataset, now));
        session.warn_all(taken.warnings());
        let registry = is_new && !applied.instances.is_empty();
        let created = Created { registry, dataset: applied.created_dataset };
        let mut also = changes_of(applied);
        also.0.push(("listings", listings.summary(&taken).into()));
        also.0.extend(reading(&taken.findings, true).0);
        self.application().report(session, applied, created, None, also, |out, done| {
            write_read(out, done)?;
            write_created(out, done)?;
            writeln!(out, "{}", in_words(&done["listings"]))?;
            write_imported(out, done)?;
            write_contents(out, done)?;
            write_dry_run(out, done)
        })?;
        if session.is_json() {
            applied.instances.iter().try_for_each(|instance| session.json(instance))?;
        }
        match taken.stopped {
            Some(error) => Err(error),
            None => {
                hint_of_dry_run(session, &taken.applied, self.dry_run.dry_run);
                Ok(Exit::Done)
            }
        }
    }

    /// Rejects options of histories for dated listings.
    fn refuse_for_listings(&self) -> Result<()> {
        let given = [
            (self.ingested.is_some(), "--ingested"),
            (self.deleted.is_some(), "--deleted"),
            (self.http.are_given(), "an option for addresses"),
        ];
        match given.into_iter().find(|(is_given, _)| *is_given) {
            None => Ok(()),
            Some((_, option)) => {
                Err(Error::usage(format!("dated listings are imported without {option}"))
                    .with_hint("omit the option; it is for one file or address with a history"))
            }
        }
    }

    /// Reads the new changes at an address. `None` means that the history is in a file.
    fn replica(
        &self,
        file: &InputFile,
        session: &Session,
        options: &ListingOptions,
        import: &mut Import,
    ) -> Result<Option<LogCopy>> {
        let Some(remote) = self.http.remote(file, session)? else { return Ok(None) };
        options.check_log().with_context(|| file.name())?;
        let (registry, now) = (session.open_existing()?, session.now()?);
        Ok(remote.read_replica(registry.as_ref(), &self.dataset, import, now)?)
    }

    fn options(&self, now: Timestamp) -> ListingOptions {
        self.content
            .reading(self.format.options())
            .ingested_column(self.ingested.clone())
            .deleted_column(self.deleted.clone())
            .unfinished_day(now.day())
    }
}

/// The number of changes that an import made, and the time of the first.
fn changes_of(imported: &ChangeReport) -> Object {
    let first = imported.instances.first();
    object!({
        "changes": imported.instances.len(),
        "first_change": first.map(|first| first.timestamp),
    })
}

/// Writes what was imported, unless nothing was.
fn write_imported(out: &mut Output, done: &Value) -> io::Result<()> {
    if done["kept"]["subsets"] != 0 {
        writeln!(out, "kept {}", counted(&done["kept"]["subsets"], "cited subset"))?;
    }
    write_kept(out, done)?;
    if done["changed"] != true {
        return Ok(());
    }
    if done["skipped"]["held"] != 0 {
        let skipped = counted(&done["skipped"]["held"], "event");
        writeln!(out, "skipped {skipped} already in the history")?;
    }
    let [dataset, first, last, granules] =
        ["dataset", "first_change", "timestamp", "granules"].map(|member| in_words(&done[member]));
    let (changes, counts) = (counted(&done["changes"], "change"), counts_in_words(&done["counts"]));
    writeln!(out, "{dataset}: {changes} from {first} to {last}: {counts}, holds {granules}")?;
    write_overruled(out, done)?;
    write_identifier(out, done)
}
