use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use accession::fixity::{
    CheckSummary, Depth, DirectoryFiles, FileFinding, FilesOfSet, FoundFiles, SetCheck, listed_set,
    root_name,
};
use accession::model::{WarningKind, age};
use accession::registry::NewCheck;
use accession::{Access, DatasetName, Entry, ErrorKind, Registry, Set};
use clap::builder::NonEmptyStringValueParser;

use super::files::{FINDINGS, TreeArgs, nothing_stated, print_summary};
use crate::cli::args::{FileColumns, FormatArgs, TypedSet, named_path};
use crate::cli::error::{Error, Exit, Result};
use crate::cli::output::count;
use crate::cli::paths::PathArgs;
use crate::cli::program::watch_for_interrupt;
use crate::cli::reading::{Entries, InputFile, MissingPages};
use crate::cli::session::{PrintedList, Session};

/// Check files against their recorded sizes and checksums
///
/// Each file is read once, for all its checksums; a row is printed for each that is not as recorded:
/// missing, size, checksum, unreadable (also what is not a regular file, and a link that leads out of
/// the directory), changing (it was written while it was read), no-record (nothing is recorded to
/// check it by), or cannot-compute (only checksums of unknown algorithms are). With --found, the
/// checksums that another program computed are compared instead, and no file is read. The exit
/// status is 1 if a row is printed.
///
/// A check of the checksums of all files that a dataset holds now is recorded, once a minute;
/// `accession status` lists what it found. With --for, it goes on where the last one of this root has
/// ended, and stops after that time; at the end of the set, the next one begins again. A file that was
/// begun is finished. Checks of earlier sets and of subsets, with --size-only and with --found are not
/// recorded, nor is any if the registry cannot be written. One check at a time is recorded of a root.
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
        value_parser = age,
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
        let directory = self.unexpected.then(|| DirectoryFiles::list(&root)).transpose()?;
        let (registry, unwritable) = match session.open(Access::Write) {
            Err(error) if error.kind().is_of_recording() => {
                (session.open(Access::Read)?, Some(error))
            }
            opened => (opened?, None),
        };
        let set = self.set_of(&registry, session)?;
        let files = FilesOfSet::new(&registry, set.clone());
        files.require_any(&root)?;
        let interrupt = watch_for_interrupt()?;
        let options = self.tree.begin(&files, self.duration, &interrupt)?;
        let progress = options.monitor.clone();
        let stamp = session.stamp(None)?;
        let new = NewCheck {
            root: self.root_name.clone().unwrap_or_else(|| root_name(root.path())),
            is_rolling: self.duration.is_some(),
            is_recorded: unwritable.is_none(),
        };
        let depth = if self.size_only { Depth::Size } else { Depth::Content };
        let (registered, new) = ((&registry, &set), (new, depth));
        let mut check = SetCheck::start(registered, &root, new, directory, options, &stamp)?;
        if let Some(error) = unwritable.or_else(|| check.why_not_recorded()) {
            session.warn(
                WarningKind::CheckNotRecorded,
                &format!("{error}: the check is not recorded"),
            );
        }
        let mut stopped = Ok(());
        for finding in check.by_ref() {
            match finding {
                Ok(finding) => findings.print(session, &finding)?,
                Err(error) => stopped = Err(error),
            }
        }
        if let Some(progress) = progress {
            progress.end();
        }
        if check.sizes_unknown() > 0 {
            let files = count(check.sizes_unknown(), "file");
            let what = format!(
                "no size is recorded of {files}, so --size-only has nothing to compare; without it, their checksums are compared"
            );
            session.warn(WarningKind::SizesUnknown, &what);
        }
        let is_recorded = check.is_recorded();
        let finished = check.finish();
        match stopped {
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                findings.stopped = Some(match is_recorded {
                    true => "stopped: what was checked so far is recorded",
                    false => "stopped: nothing is recorded",
                });
            }
            stopped => stopped?,
        }
        findings.summary = finished?;
        Ok(())
    }

    fn check_list(&self, session: &mut Session, findings: &mut Findings) -> Result<()> {
        let (mut found, mut stated) = (FoundFiles::new(), 0_u64);
        let options = self.columns.reading(self.format.options());
        // The ids are of no interest: what is compared are the paths.
        let paths = PathArgs::default();
        let entries = Entries::new(session, &[], &self.found, options, &paths, MissingPages::Warn);
        for entry in entries {
            let Entry { granule_id, content, .. } = entry?;
            for file in content.unwrap_or_default().files() {
                found.add(&granule_id, &file)?;
                stated += 1;
            }
        }
        if stated == 0 {
            return Err(nothing_stated());
        }
        let registry = session.open(Access::Read)?;
        let set = self.set_of(&registry, session)?;
        for file in FilesOfSet::new(&registry, set).read()? {
            found.expect(&file?)?;
        }
        for compared in found.compare()? {
            let (file, problem) = compared?;
            findings.summary.files += 1;
            if let Some(problem) = problem {
                findings.summary.findings += 1;
                findings.print(session, &FileFinding::of(file, &problem))?;
            }
        }
        Ok(())
    }

    fn set_of(&self, registry: &Registry, session: &Session) -> Result<Set> {
        let snapshot = registry.snapshot()?;
        let selection = self.set.clone().into_selection(session.now()?, &snapshot)?;
        Ok(listed_set(&snapshot, &selection)?)
    }
}

/// What was found so far, which is printed at once.
struct Findings {
    list: PrintedList,
    summary: CheckSummary,
    /// What became of a check that was stopped.
    stopped: Option<&'static str>,
}

impl Findings {
    fn new(session: &Session) -> Self {
        let summary = CheckSummary { complete: true, ..CheckSummary::default() };
        Findings { list: session.list(FINDINGS), summary, stopped: None }
    }

    fn print(&mut self, session: &mut Session, found: &FileFinding) -> Result<()> {
        Ok(self.list.add(session, found)?)
    }

    fn finish(self, session: &mut Session) -> Result<Exit> {
        self.list.finish(session)?;
        print_summary(session, &self.summary, "checked")?;
        match self.stopped {
            Some(what) => Err(Error::new(ErrorKind::Interrupted, what)),
            None if self.summary.findings == 0 => Ok(Exit::Done),
            None => Ok(Exit::Differs),
        }
    }
}

/// Forget a directory in which files were checked, and is no longer used
///
/// `accession status` lists it and what was found there no longer. A run that is still checking files
/// there ends.
///
/// Example:
///   accession fixity forget US.FOOL2.002 old-host:/data/fool2
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ForgetRoot {
    /// The dataset
    dataset: DatasetName,

    /// The directory, as `accession status --json` lists it
    root: String,
}

impl ForgetRoot {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open(Access::Write)?;
        let dataset = registry.snapshot()?.dataset(&self.dataset)?.dataset.name;
        let Some(findings) = registry.forget_root(&dataset, &self.root)? else {
            return Err(Error::usage(format!("{dataset} was never checked at {}", self.root))
                .with_hint("`accession status --json DATASET` lists where it was"));
        };
        let forgotten = object!({ "dataset": dataset, "root": self.root, "findings": findings });
        session.confirm(&forgotten, |out| {
            let findings = count(findings, "finding");
            writeln!(out, "{dataset}: forgot {} and {findings}", self.root)
        })
    }
}
