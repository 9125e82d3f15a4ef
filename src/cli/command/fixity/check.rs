use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use accession::fixity::{
    Check, Checked, Depth, DirectoryFiles, FoundFiles, Problem, ReadOptions, RecordedFile, Root,
};
use accession::registry::{CheckMode, FileCheck, NewCheck};
use accession::{Access, DatasetName, ErrorKind, Registry, Set};
use clap::builder::NonEmptyStringValueParser;
use serde::Serialize;

use super::files::{Found, Summary, TreeArgs, of_granules, of_set};
use crate::cli::args::{FileColumns, FormatArgs, TypedSet, duration, named_path};
use crate::cli::error::{Commit, Error, Exit, Result};
use crate::cli::output::count;
use crate::cli::paths::PathArgs;
use crate::cli::program::Interrupt;
use crate::cli::reading::{Entries, InputFile, MissingPages};
use crate::cli::session::{List, Session};
use crate::cli::warning::WarningKind;

/// Check files against their recorded sizes and checksums
///
/// Each file is read once, for all its checksums; a row is printed for each that is not as recorded:
/// missing, size, checksum, unreadable (also what is not a regular file, and a link that leads out of
/// the directory), changing (it was written while it was read), no-record (nothing is recorded to
/// check it by), or cannot-compute (only checksums of unknown algorithms are). With --found, the
/// checksums that another program computed are compared instead, and no file is read. The exit
/// status is 1 if a row is printed.
///
/// What was checked and found is recorded, once a minute; `accession fixity status` lists it. With
/// --for, the check goes on where the last one of this root has ended, and stops after that time; at
/// the end of the set, the next one begins again. A file that was begun is finished. Nothing is
/// recorded with --found, or if the registry cannot be written.
///
/// Examples:
///   accession fixity check US.FOOL2.002 --root /data/fool2
///   accession fixity check US.FOOL2.002@2001-01-05 --root /data/fool2 --size-only --unexpected
///   accession fixity check US.FOOL2.002 --root /data/fool2 --for 2h
///   rclone hashsum sha256 bucket:fool2 | accession fixity check US.FOOL2.002 --found -
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The set: DATASET, DATASET@TIME, or an identifier, alone or in a citation or an address
    set: TypedSet,

    /// The directory that has the files; their paths are relative to it
    #[arg(long, value_name = "DIR", value_parser = named_path(), required_unless_present = "found")]
    root: Option<PathBuf>,

    #[command(flatten)]
    tree: TreeArgs,

    /// Compare the sizes only, without opening a file
    #[arg(long)]
    size_only: bool,

    /// Also list files of the directory that no granule of the set has, as unexpected
    #[arg(long)]
    unexpected: bool,

    /// Go on where the last check has ended, and begin no further file after this time: 90s, 30m, 2h or 1d
    #[arg(
        long = "for",
        value_name = "DURATION",
        value_parser = duration,
        conflicts_with = "unexpected"
    )]
    duration: Option<Duration>,

    /// The name under which checks of this directory are recorded [default: HOST:PATH]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    root_name: Option<String>,

    /// Compare with a list of checksums that another program computed; - is stdin (can be repeated)
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "root", "jobs", "mounted", "size_only", "unexpected", "duration", "root_name"
        ]
    )]
    found: Vec<InputFile>,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    columns: FileColumns,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut findings = Findings::new(session);
        match &self.root {
            Some(root) => self.check_directory(root, session, &mut findings)?,
            None => self.check_list(session, &mut findings)?,
        }
        findings.finish(session)
    }

    fn check_directory(
        &self,
        root: &Path,
        session: &mut Session,
        findings: &mut Findings,
    ) -> Result<()> {
        let root = self.tree.open(root)?;
        // Before the records are read, so that a file that is registered meanwhile is not unexpected.
        let mut directory = self.unexpected.then(|| DirectoryFiles::list(&root)).transpose()?;
        let (registry, unwritable) = match session.open(Access::Write) {
            Err(error) if is_unrecorded(&error) => (session.open(Access::Read)?, Some(error)),
            opened => (opened?, None),
        };
        let set = self.set_of(&registry, session)?;
        let options = self.tree.begin(&root, || of_set(&registry, &set), self.duration)?;
        let check = self.begin(&registry, &root, &set, unwritable, session)?;
        findings.is_recorded = check.is_recorded();
        let interrupt = Interrupt::watch()?;
        let read =
            self.read(&root, &check, options, directory.as_mut(), &interrupt, session, findings);
        let is_whole = read.is_ok() && !interrupt.is_requested();
        // What no granule of an earlier set or of a subset has may be of another granule.
        let is_latest = set.subset().is_none() && set.instance().until.is_none();
        for unexpected in directory
            .filter(|_| is_whole)
            .map(DirectoryFiles::unexpected)
            .transpose()?
            .into_iter()
            .flatten()
        {
            let (path, problem) = unexpected?;
            if is_latest {
                check.add_unexpected(&path, stated(&problem))?;
            }
            findings.print(session, &Found::at(path, &problem))?;
        }
        if self.unexpected && is_whole && is_latest {
            check.end_unexpected()?;
        }
        let is_idle = check.is_idle();
        let complete = check.finish();
        read?;
        findings.summary.complete = complete?;
        findings.is_stopped = interrupt.is_requested();
        if is_idle && !findings.summary.complete {
            session.warn(
                WarningKind::BeingChecked,
                "no file was checked: another command is checking them, or was until it was killed less than three minutes ago",
            );
        }
        Ok(())
    }

    /// Begins to record the check, if the registry can be written.
    fn begin(
        &self,
        registry: &Registry,
        root: &Root,
        set: &Set,
        unwritable: Option<Error>,
        session: &mut Session,
    ) -> Result<FileCheck> {
        let stamp = session.stamp(None)?;
        let begin = |is_recorded| -> Result<FileCheck> {
            let new = NewCheck {
                root: self.root_name.clone().unwrap_or_else(|| default_name(root.path())),
                mode: if self.size_only { CheckMode::Size } else { CheckMode::Checksums },
                is_rolling: self.duration.is_some(),
                is_recorded,
            };
            Ok(registry.check_files(set, new, &stamp)?)
        };
        let unwritable = match unwritable {
            Some(error) => error,
            None => match begin(true) {
                Err(error) if is_unrecorded(&error) => error,
                begun => {
                    session.note_commit(Commit::Check);
                    return begun;
                }
            },
        };
        let what = format!("{unwritable}: the check is not recorded");
        session.warn(WarningKind::CheckNotRecorded, &what);
        begin(false)
    }

    /// Checks the files until the end, or until it is stopped.
    #[expect(clippy::too_many_arguments, reason = "each is another part of one check")]
    fn read(
        &self,
        root: &Arc<Root>,
        check: &FileCheck,
        options: ReadOptions,
        mut directory: Option<&mut DirectoryFiles>,
        interrupt: &Interrupt,
        session: &mut Session,
        findings: &mut Findings,
    ) -> Result<()> {
        let progress = options.monitor.clone();
        let mut granules = check.granules().peekable();
        // All files of the first granule are checked in any case: a part of it is not recorded.
        let at_least = match granules.peek() {
            Some(Ok(granule)) => granule.files.len().max(1) as u64,
            _ => 1,
        };
        let depth = if self.size_only { Depth::Size } else { Depth::Content };
        let options = ReadOptions { at_least, ..options };
        let mut files = Check::start(root, of_granules(granules), depth, options)?;
        let (mut saved, mut sizes_unknown) = (Instant::now(), 0);
        while !interrupt.is_requested() {
            let is_ready = files.wait(TICK);
            if saved.elapsed() >= SAVED_EVERY || check.is_full() {
                // If it fails, it is tried again, and the last time counts.
                let _ = check.save();
                saved = Instant::now();
            }
            if !is_ready {
                continue;
            }
            let Some(checked) = files.next() else { break };
            let Checked { file, bytes, problem } = checked?;
            if let Some(directory) = &mut directory {
                directory.expect(&file.path)?;
            }
            let is_unknown = self.size_only && problem == Some(Problem::NoRecord);
            sizes_unknown += u64::from(is_unknown && !file.checksums.is_empty());
            check.add(&file.granule_id, &file.path, bytes, problem.as_ref().map(stated))?;
            findings.summary.bytes += bytes;
            findings.add(session, file, problem)?;
        }
        drop(files);
        if let Some(progress) = progress {
            progress.end();
        }
        if sizes_unknown > 0 {
            let files = count(sizes_unknown, "file");
            let what = format!(
                "no size is recorded of {files}, so --size-only has nothing to compare; without it, their checksums are compared"
            );
            session.warn(WarningKind::SizesUnknown, &what);
        }
        Ok(())
    }

    fn check_list(&self, session: &mut Session, findings: &mut Findings) -> Result<()> {
        let (mut found, mut stated) = (FoundFiles::new(), 0_u64);
        let options = self.columns.reading(self.format.options());
        // The ids are of no interest: what is compared are the paths.
        let paths = PathArgs::default();
        let mut entries =
            Entries::new(session, &[], &self.found, options, &paths, MissingPages::Warn);
        while let Some(entry) = entries.next() {
            for record in entries.take_files(&entry?) {
                found.add(record.path(), &record.content)?;
                stated += 1;
            }
        }
        drop(entries);
        if stated == 0 {
            return Err(Error::usage("the list states no size and no checksum of a file")
                .with_hint(
                    "for a table, name the columns with --checksum-column and --size-column",
                ));
        }
        let registry = session.open(Access::Read)?;
        let set = self.set_of(&registry, session)?;
        for file in of_set(&registry, &set)? {
            found.expect(&file?)?;
        }
        for compared in found.compare()? {
            let (file, problem) = compared?;
            findings.add(session, file, problem)?;
        }
        Ok(())
    }

    fn set_of(&self, registry: &Registry, session: &Session) -> Result<Set> {
        let snapshot = registry.snapshot()?;
        let selection = self.set.clone().into_selection(session.now()?, &snapshot)?;
        Ok(snapshot.select(&selection)?.set)
    }
}

/// How often what was checked is saved, and how often it is looked whether it should be.
const SAVED_EVERY: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(200);

/// Whether an error means that a check is made all the same, and not recorded.
fn is_unrecorded(error: &Error) -> bool {
    error.is_of_writing() || error.of_library() == Some(ErrorKind::ClockAhead)
}

/// What is recorded of a problem.
fn stated(problem: &Problem) -> (&'static str, Option<String>, Option<String>) {
    (problem.status(), problem.expected(), problem.found())
}

/// The name of a root that has none: that of the host, and the path.
fn default_name(root: &Path) -> String {
    let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = named.or_else(|| std::env::var("HOSTNAME").ok());
    let host = named.as_deref().map_or("localhost", str::trim);
    format!("{host}:{}", root.display())
}

/// What was found so far, which is printed at once.
struct Findings {
    list: List<Found>,
    summary: Summary,
    is_recorded: bool,
    is_stopped: bool,
}

impl Findings {
    fn new(session: &Session) -> Self {
        let summary = Summary { complete: true, ..Summary::default() };
        Findings { list: session.list(), summary, is_recorded: false, is_stopped: false }
    }

    /// Counts a file that was checked, and prints what is wrong with it.
    fn add(
        &mut self,
        session: &mut Session,
        file: RecordedFile,
        problem: Option<Problem>,
    ) -> Result<()> {
        self.summary.files += 1;
        problem.map_or(Ok(()), |problem| self.print(session, &Found::of(file, &problem)))
    }

    fn print(&mut self, session: &mut Session, found: &Found) -> Result<()> {
        self.summary.findings += 1;
        Ok(self.list.add(session, found)?)
    }

    fn finish(self, session: &mut Session) -> Result<Exit> {
        self.list.finish(session)?;
        self.summary.print(session, "checked")?;
        if self.is_stopped {
            return Err(Error::interrupted(match self.is_recorded {
                true => "stopped: what was checked so far is recorded",
                false => "stopped: nothing is recorded",
            }));
        }
        Ok(if self.summary.findings == 0 { Exit::Done } else { Exit::Differs })
    }
}

/// Forget a directory in which files were checked, and is no longer used
///
/// It is no longer listed by `fixity status`, and what was found there is closed. The checks stay in
/// the registry.
///
/// Example:
///   accession fixity forget US.FOOL2.002 old-host:/data/fool2
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Forget {
    /// The dataset
    dataset: DatasetName,

    /// The directory, as `accession fixity status` lists it
    root: String,
}

/// The result, as JSON.
#[derive(Serialize)]
struct Forgotten<'a> {
    dataset: &'a DatasetName,
    root: &'a str,
    /// How many findings were closed.
    findings: u64,
}

impl Forget {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open(Access::Write)?;
        let dataset = registry.snapshot()?.dataset(&self.dataset)?.dataset.name;
        let stamp = session.stamp(None)?;
        let Some(findings) = registry.forget_root(&dataset, &self.root, &stamp)? else {
            return Err(Error::usage(format!("{dataset} was never checked at {}", self.root))
                .with_hint("`accession fixity status DATASET` lists where it was"));
        };
        let forgotten = Forgotten { dataset: &dataset, root: &self.root, findings };
        session.confirm(&forgotten, |out| {
            let findings = count(findings, "finding");
            writeln!(out, "{dataset}: forgot {}, closed {findings}", self.root)
        })
    }
}
