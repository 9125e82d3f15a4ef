//! Commands that take a whole history in and give it out: `import`, `export`.

use std::io::{self, BufWriter, Seek, Write};
use std::path::PathBuf;

use accession::ListingOptions;
use accession::mirror::{LogCopy, manifest};
use accession::{
    ChangeOptions, ChangeReport, DatasetName, ErrorKind, HistoryOptions, Import, Instance, Moment,
    Timestamp,
};
use accession::{Warning, WarningKind};

use super::history::INSTANCES;
use super::listings::ListingArgs;
use crate::applied::{Application, Created, sides, write_dry_run, write_kept};
use crate::args::{ClockArgs, DryRunArgs, if_missing};
use crate::args::{FileArgs, FormatArgs, HttpArgs};
use crate::error::{Context, Error, Exit, Result};
use crate::output::plural;
use crate::reading::{InputFile, MissingPages, import_events};
use crate::session::{Create, Session};
use crate::temporary_file;

/// Build a history from a file that says when granules were ingested and deleted
///
/// The file is a table with a column ingested and perhaps one named deleted, an event file (time,
/// TAB, + or -, TAB, id), a manifest, or a directory that `accession publish` wrote. Instead of a
/// file, the address of a published dataset can be given: its history is copied, with its metadata
/// and its cited subsets, and the next time only what is new. There is one change for each distinct
/// time, all in one transaction. Each must be later than the last change of the dataset. Events that
/// are already in the history are skipped, so that a file that has grown can be imported again. Rows
/// that are dated today without a time are left out: more of them may follow until the day is over.
///
/// With --listings, FILE is a directory of dated full listings, and the dataset is synced by each at
/// its date, with the guards of sync. A listing that a guard refuses is left out (exit status 1), and
/// cannot be added once a later one is: try it with --dry-run. The same command again goes on.
///
/// Examples:
///   accession import US.FOOL2.002 granules.csv --create
///   accession import US.FOOL2.002 changes.tsv.gz --format changes --create
///   accession import US.FOOL2.002 https://data.example.org/datasets/US.FOOL2.002/ --create
///   accession import US.FOOL2.002 nightly/ --listings --create --dry-run
#[derive(clap::Args)]
#[command(verbatim_doc_comment, mut_group("LimitArgs", |group| group.requires("listings")))]
#[command(mut_group("PathArgs", |group| group.requires("listings")))]
pub struct ImportArgs {
    /// The dataset
    dataset: DatasetName,

    /// The file, or a published directory, or the address of a published dataset; - is stdin
    file: InputFile,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    files: FileArgs,

    /// The column or field that has the time of ingest [default: ingested, else createdAt]
    #[arg(long, value_name = "COLUMN")]
    ingested: Option<String>,

    /// The column or field that has the time of deletion [default: deleted]
    #[arg(long, value_name = "COLUMN")]
    deleted: Option<String>,

    /// Accept a search result with missing pages
    #[arg(long)]
    partial: bool,

    #[command(flatten)]
    listings: ListingArgs,

    /// Create the dataset and the registry if they do not exist
    #[arg(long)]
    create: bool,

    #[command(flatten)]
    dry_run: DryRunArgs,

    #[command(flatten)]
    clock: ClockArgs,

    #[command(flatten)]
    http: HttpArgs,
}

/// More distinct times than this cause a warning: the cost of an import is proportional to granules
/// times distinct times.
const MANY_TIMES: u64 = 3_000;

impl ImportArgs {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if self.listings.listings {
            return self.import_listings(session);
        }
        self.import(session).inspect_err(|error| self.remember_failure(session, error))
    }

    /// `mirror status` and `status` report that a copy of an address failed.
    fn remember_failure(&self, session: &Session, error: &Error) {
        let remote = self.http.remote(&self.file, session).ok().flatten();
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

    fn import(&self, session: &mut Session) -> Result<Exit> {
        let mut import = Import::new();
        import.options = self.change_options().dry_run(self.dry_run.dry_run);
        let missing = MissingPages::when(self.partial);
        let now = session.now()?;
        import.not_after = Some(now);
        let options = self.options(now);
        let replica = self.replica(session, &options, &mut import)?;
        if replica.is_none() {
            import_events(&self.dataset, &self.file, &options, missing, session, &mut import)?;
        }
        let times = import.counts().times;
        if times > MANY_TIMES {
            session.warn(
                WarningKind::ManyTimes,
                &format!(
                    "the file has {times} distinct times, and each becomes a change: with dates instead of times, each day becomes one change, which is faster"
                ),
            );
        }
        let application = self.application();
        let (imported, created) = application.make(session, |registry| match &replica {
            Some(replica) => Ok(replica.import(registry, &self.dataset, &import)?),
            None => Ok(registry.import(&self.dataset, &import)?),
        })?;
        session.warn_all(imported.import_warnings(&self.dataset, now));
        if let (Some(replica), Some(in_force)) = (&replica, &imported.in_force)
            && replica.is_stale(&imported)
        {
            let (source, Instance { dataset, timestamp, .. }) = (replica.source(), in_force);
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
        let why_none = match &replica {
            Some(_) => "the primary has nothing new",
            None if import.counts().events > 0 => {
                "the events of the file leave everything as it was"
            }
            None => "the file contains no events",
        };
        let exit = application.report(session, &imported, created, None, |out| {
            write_imported(out, &imported, why_none)?;
            match self.dry_run.dry_run {
                true => write_dry_run(out, &imported),
                false => Ok(()),
            }
        })?;
        let ChangeReport { instances, annotations, .. } = imported;
        if session.is_json()
            && let (Some(first), Some(last)) = (instances.first(), instances.last())
            && annotations.added > 0
            && !self.dry_run.dry_run
        {
            // As they are annotated now.
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

    fn change_options(&self) -> ChangeOptions {
        ChangeOptions::new().if_missing(if_missing(self.create)).all_examples(self.dry_run.all)
    }

    fn application(&self) -> Application<'_> {
        Application {
            dataset: &self.dataset,
            at: self.clock.time(),
            create: self.create,
            dry_run: self.dry_run.dry_run,
            has_line: true,
            reads_history: true,
        }
    }

    fn import_listings(&self, session: &mut Session) -> Result<Exit> {
        let (now, change) = (session.now()?, self.change_options());
        let reading = (&self.format, self.files.reading(self.format.options()));
        let clock = (now, self.clock.time());
        let listings = self.listings.of(&self.file, &self.dataset, reading, change, clock)?;
        let is_new = session.new_registry(Create::when(self.create))?.is_some();
        let taken = match self.dry_run.dry_run {
            true => listings.try_out(session)?,
            false => listings.take(session)?,
        };
        let applied = &taken.applied;
        session.warn_all(applied.warnings(&self.dataset, now));
        session.warn_all(taken.warnings());
        session.warn_all(listings.warnings_of_left_out(&taken));
        let registry = is_new && !applied.instances.is_empty();
        let created = Created { registry, dataset: applied.created_dataset };
        self.application().report(session, applied, created, None, |out| {
            writeln!(out, "{}", listings.summary(&taken))?;
            if !applied.instances.is_empty() {
                write_imported(out, applied, "")?;
            }
            match self.dry_run.dry_run {
                true => write_dry_run(out, applied),
                false => Ok(()),
            }
        })?;
        if session.is_json() {
            applied.instances.iter().try_for_each(|instance| session.json(instance))?;
        }
        match taken.stopped {
            Some(error) => Err(error),
            None if taken.has_left_out() => Ok(Exit::Differs),
            None => Ok(Exit::Done),
        }
    }

    /// Reads what is new at an address. `None`: the history is in a file.
    fn replica(
        &self,
        session: &Session,
        options: &ListingOptions,
        import: &mut Import,
    ) -> Result<Option<LogCopy>> {
        let Some(remote) = self.http.remote(&self.file, session)? else { return Ok(None) };
        options.check_log().with_context(|| self.file.name())?;
        let (registry, now) = (session.open_existing()?, session.now()?);
        Ok(remote.read_replica(registry.as_ref(), &self.dataset, import, now)?)
    }

    fn options(&self, now: Timestamp) -> ListingOptions {
        self.files
            .reading(self.format.options())
            .ingested_column(self.ingested.clone())
            .deleted_column(self.deleted.clone())
            .unfinished_day(now.day())
    }
}

/// Writes what was imported. `why_none`: why there may be no events.
fn write_imported(out: &mut impl Write, imported: &ChangeReport, why_none: &str) -> io::Result<()> {
    let instances = &imported.instances;
    let skipped = imported.skipped.held;
    if imported.subsets > 0 {
        writeln!(out, "kept {}", plural(imported.subsets, "cited subset"))?;
    }
    write_kept(out, imported.annotations)?;
    let (Some(first), Some(last)) = (instances.first(), instances.last()) else {
        return match skipped {
            0 => writeln!(out, "no changes: {why_none}"),
            1 => writeln!(out, "no changes: the only event is already in the history"),
            _ => writeln!(out, "no changes: all {skipped} events are already in the history"),
        };
    };
    if skipped > 0 {
        writeln!(out, "skipped {} already in the history", plural(skipped, "event"))?;
    }
    let sides = sides(imported.counts());
    let changes = plural(instances.len() as u64, "change");
    writeln!(
        out,
        "{}: {changes} from {} to {}: {sides}, holds {}",
        last.dataset, first.timestamp, last.timestamp, last.granules
    )?;
    writeln!(out, "identifier {}", last.identifier)
}

/// Print the whole history of a dataset as a manifest, from which it can be rebuilt and verified
///
/// A manifest is JSON Lines: the log of the dataset, its cited subsets and its metadata. The same
/// history gives the same bytes. The file that --output names
/// appears only when it is complete. It may replace a manifest of the same dataset, but no other file.
///
/// With --until, the history ends there, as if the later changes had not been made; a dataset that
/// is imported from it takes the place of one whose later changes are wrong. The metadata is the
/// present one, without withdrawal and former names.
///
/// Examples:
///   accession export US.FOOL2.002 --output FOOL2.manifest.jsonl
///   accession export US.FOOL2.002 --until 2026-01-31 --output FOOL2.january.jsonl
///   accession export US.FOOL2.002 | gzip > FOOL2.manifest.jsonl.gz
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ExportArgs {
    /// The dataset
    dataset: DatasetName,

    /// The file to write; - means stdout [default: -]
    #[arg(long, value_name = "F")]
    output: Option<PathBuf>,

    /// The time of the last change: RFC 3339, or a date, which means the end of that day [default:
    /// all changes]
    #[arg(long, value_name = "T")]
    until: Option<Moment>,
}

impl ExportArgs {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open()?;
        let ExportArgs { dataset, output, until } = self;
        match output.filter(|path| path.as_os_str() != "-") {
            Some(path) => manifest::export(&registry, &dataset, until, &path)?,
            // It is written to a temporary file first: while the registry is read, the command must not
            // wait for a terminal or a pipe.
            None => {
                let mut spool = BufWriter::new(temporary_file::create()?);
                manifest::write(&registry, &dataset, until, &mut spool)?;
                let mut spool = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
                spool.rewind()?;
                io::copy(&mut spool, session.out())?;
            }
        }
        Ok(Exit::Done)
    }
}
