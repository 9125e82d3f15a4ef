//! `fixity`: the files of granules, their sizes and checksums.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use accession::WarningKind;
use accession::file::Algorithm;
use accession::fixity::{CheckOptions, CheckSummary, FileTree, FixityRun};
use accession::history::HeldContents;
use accession::{Change, DatasetName, ErrorKind, Registry, SetSpec, Snapshot};
use clap::builder::NonEmptyStringValueParser;
use serde_json::Value;

use crate::applied::apply;
use crate::args::{
    ChangeArgs, ClockArgs, FileColumns, FormatArgs, InventoryArgs, ListingArgs, Reading, Refusal,
    age, named_path, refuse_missing,
};
use crate::error::{Error, Exit, Result};
use crate::listing_guard::ListingGuard;
use crate::output::{Column, Object, Output, counted, in_words, plural};
use crate::paths::PathArgs;
use crate::reading::{Entries, MissingPages, Recording};
use crate::session::Session;

commands! {
    /// Record and check sizes and checksums
    enum Command {
        Add(AddFiles),
        Compute(ComputeChecksums),
        Check(CheckFiles),
        Forget(ForgetRoot),
    }
}

/// Record sizes and checksums of the files of granules
///
/// The granules must be held. The records apply from the time of the change. Earlier records of other files
/// of these granules are kept. A different size, or a different checksum of the same algorithm, is rejected
/// unless --expect or the dataset's --max-replace accepts it.
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Tables and other formats: accession fixity add --help

  sha256sum -- * | accession fixity add FOO -
  accession fixity add FOO granules.umm_json --skip-missing"
)]
#[command(mut_arg("listings", |listings| listings.required(true)))]
pub struct AddFiles {
    /// The dataset
    #[arg(value_name = "NAME")]
    dataset: DatasetName,

    #[command(flatten)]
    listings: ListingArgs,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    paths: PathArgs,

    #[command(flatten)]
    columns: FileColumns,

    #[command(flatten)]
    inventory: InventoryArgs,

    #[command(flatten)]
    change: ChangeArgs,

    /// Skip the files of granules that are not held
    #[arg(long)]
    skip_missing: bool,
}

/// The reason that nothing changed.
const KNOWN: &str = "all that the input states is known";

impl AddFiles {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let options = self.columns.reading(self.format.options());
        let options = options.root(self.inventory.root);
        let mut change = Change::of_some_files();
        change.options = self.change.options().skip_missing(self.skip_missing);
        let listings = &self.listings.listings;
        let command = format!("fixity add {}", self.dataset);
        refuse_missing(listings, session, Reading { command: &command, by_id: None })?;
        let guard = ListingGuard::default();
        let missing = MissingPages::WarnAndGuard(&guard);
        let entries = Entries::new(session, &[], listings, options, &self.paths, missing);
        let read = entries.read(|entry| {
            if entry.content.as_ref().is_some_and(|content| !content.is_empty()) {
                change.describe(entry)?;
            }
            Ok(())
        })?;
        let recording = Recording { session, dataset: &self.dataset };
        let findings = read.accepted_for(recording, || Ok(()))?;
        if change.count() == 0 {
            return Err(nothing_stated());
        }
        change.options = guard.guarding(change.options);
        let application = self.change.application(&self.dataset, false);
        apply(session, &application.read(&findings), Some(KNOWN), |registry| {
            registry.change(&self.dataset, &change)
        })
    }
}

/// Compute and state the checksums of files that have none
///
/// Each granule that the dataset holds is a file of that name below the directory, unless its files
/// are recorded. A file that cannot be read, is not as it is recorded, or is written while it is read
/// gets no checksum; a row is printed for it, and the exit status is 1. What was computed is stated once an
/// hour and at the end, each time as a change of now, so a command that was stopped can be run again.
///
/// Example:
///   accession fixity compute US.FOOL2.002 --root /data/fool2
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ComputeChecksums {
    /// The dataset
    dataset: DatasetName,

    /// The directory that has the files; their paths are relative to it
    #[arg(long, value_name = "DIR", value_parser = named_path())]
    root: PathBuf,

    #[command(flatten)]
    tree: TreeArgs,

    /// The algorithm: md5, sha-1, sha-256, sha-384, sha-512, crc32, cksum or adler32
    #[arg(long, value_name = "ALGORITHM", default_value = "sha-256", value_parser = computed)]
    algorithm: Algorithm,

    /// A note that is stored with the changes
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    #[command(flatten)]
    clock: ClockArgs,
}

fn computed(text: &str) -> Result<Algorithm, String> {
    match text.parse() {
        Ok(Algorithm::Other(_)) | Err(_) => {
            let known = Algorithm::KNOWN.each_ref().map(Algorithm::as_str).join(", ");
            Err(format!("not an algorithm that is computed here: {known}"))
        }
        Ok(algorithm) => Ok(algorithm),
    }
}

impl ComputeChecksums {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let tree = self.tree.read(&self.root, None);
        let registry = watched(&tree, session.open_to_change(self.clock.time())?, session)?;
        let (dataset, algorithm) = (&self.dataset, self.algorithm);
        let run = registry.compute_checksums(dataset, &tree, algorithm, self.note)?;
        print_run(session, run, "computed", None)
    }
}

/// Check files against their recorded sizes and checksums
///
/// Each file is read once, for all its checksums; a row is printed for each that is not as recorded:
/// missing, size, checksum, unreadable (also what is not a regular file, and a link that leads out of
/// the directory), changing (it was written while it was read), no-record (nothing is recorded to
/// check it by), or cannot-compute (only checksums of unknown algorithms are). The exit status is 1 if a
/// row is printed. `accession compare SET LISTING` compares a list of checksums that another program computed.
///
/// A check of the checksums of all files that a dataset holds now is recorded, once a minute;
/// `accession status` lists what it found. With --for, it goes on where the last one of this root has
/// ended, and stops after that time; at the end of the set, the next one begins again. A file that was
/// begun is finished. Checks of earlier sets and of subsets, and with --size-only, are not recorded, nor is any
/// if the registry cannot be written. One check at a time is recorded of a root.
///
/// Examples:
///   accession fixity check US.FOOL2.002 --root /data/fool2
///   accession fixity check US.FOOL2.002@2001-01-05 --root /data/fool2 --size-only --unexpected
///   accession fixity check US.FOOL2.002 --root /data/fool2 --for 2h
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CheckFiles {
    /// The set: see `accession --help`
    set: SetSpec,

    /// The directory that has the files; their paths are relative to it
    #[arg(long, value_name = "DIR", value_parser = named_path())]
    root: PathBuf,

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
    #[arg(long, hide_short_help = true, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    root_name: Option<String>,
}

/// Parses the duration of a check. Rejects zero, because no file would be checked.
fn duration(text: &str) -> Result<Duration, Refusal> {
    let duration = age(text)?;
    match duration.is_zero() {
        true => Err("no file is checked in no time".into()),
        false => Ok(duration),
    }
}

impl CheckFiles {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let tree = self.tree.read(&self.root, self.duration);
        let options = CheckOptions::new()
            .sizes_only(self.size_only)
            .list_unexpected(self.unexpected)
            .root_name(self.root_name.clone());
        let registry = watched(&tree, session.open()?, session)?;
        let contents = self.contents(session, &registry.snapshot()?)?;
        let nearest = match contents.as_slice() {
            [_] => None,
            several => {
                let nearest = registry.nearest_to_files(several, &tree, &options)?;
                Some(&several[nearest])
            }
        };
        let select = |snapshot: &Snapshot| match nearest {
            Some(nearest) => Ok(nearest.set.clone()),
            None => snapshot.resolve(&self.set)?.contents(),
        };
        let run = registry.check_fixity(select, &tree, options)?;
        print_run(session, run, "checked", nearest)
    }

    fn contents(&self, session: &Session, snapshot: &Snapshot) -> Result<Vec<HeldContents>> {
        let resolution = snapshot.resolve(&self.set)?;
        session.warn_all(resolution.warnings().to_vec());
        Ok(resolution.candidates()?)
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
        let registry = session.open()?;
        let dataset = registry.snapshot()?.present_name(&self.dataset)?;
        let Some(findings) = registry.forget_root(&dataset, &self.root)? else {
            return Err(Error::usage(format!("{dataset} was never checked at {}", self.root))
                .with_hint("`accession status --json DATASET` lists where it was"));
        };
        let forgotten = object!({ "dataset": dataset, "root": self.root, "findings": findings });
        session.present_done(&forgotten, |out, done| {
            let [dataset, root] = ["dataset", "root"].map(|member| in_words(&done[member]));
            writeln!(out, "{dataset}: forgot {root} and {}", counted(&done["findings"], "finding"))
        })
    }
}

/// How the files of a directory are read.
#[derive(clap::Args)]
struct TreeArgs {
    /// Read this many files at a time [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// The directory is the right one, even if it is empty or has none of the files that are looked
    /// for first
    #[arg(long, hide_short_help = true)]
    mounted: bool,
}

impl TreeArgs {
    /// The files below a directory. After the duration, no further file is started.
    fn read(&self, root: &Path, duration: Option<Duration>) -> FileTree {
        let begin_until = duration.and_then(|duration| Instant::now().checked_add(duration));
        FileTree::new(root).mounted(self.mounted).jobs(self.jobs).begin_until(begin_until)
    }
}

/// Returns the registry for reading a directory. The work shows its progress, and ends when the program is
/// asked to end.
pub fn watched(tree: &FileTree, registry: Registry, session: &Session) -> Result<Registry> {
    let progress = session.progress().ending_at(tree.deadline());
    let token = session.interrupt()?;
    Ok(registry.observed_by(Arc::new(progress)).cancelled_by(&token))
}

/// The error that an input has no metadata of files.
fn nothing_stated() -> Error {
    Error::usage("the input states no size and no checksum of a file")
        .with_hint("for a table, name the columns with --checksum-column and --size-column")
}

/// The columns of findings.
pub const FINDINGS: &[Column] = &[
    Column::text("granule"),
    // If a path equals the granule, it is not printed twice.
    Column::text("path").unless("granule"),
    Column::text("status"),
    Column::text("expected"),
    Column::prose("found"),
];

/// Reads files, and prints each finding as it is found, and then a summary. `verb` says what is done with the
/// files.
fn print_run(
    session: &mut Session,
    mut run: FixityRun,
    verb: &str,
    contents: Option<&HeldContents>,
) -> Result<Exit> {
    session.warn_all(run.not_recorded());
    let (mut list, mut stopped) = (session.list(FINDINGS), None);
    for finding in run.by_ref() {
        match finding {
            Ok(finding) => list.add(session, &finding)?,
            Err(error) => {
                // Files that were not read are not counted as good.
                stopped = Some(error);
                break;
            }
        }
    }
    list.finish(session)?;
    let is_recorded = run.is_recorded();
    let finished = run.finish();
    match stopped {
        None => print_summary(session, finished?, verb, contents),
        Some(error) if error.kind() == ErrorKind::Interrupted => {
            print_summary(session, finished?, verb, contents)?;
            let what = match is_recorded {
                true => format!("stopped: what was {verb} so far is recorded"),
                false => "stopped: nothing is recorded".to_owned(),
            };
            Err(Error::new(ErrorKind::Interrupted, what))
        }
        Some(error) => Err(error.into()),
    }
}

/// The summary of a check as JSON. If the identifier had several contents, it has the period of those that were
/// compared.
#[derive(serde::Serialize)]
struct FilesRead<'a> {
    #[serde(flatten)]
    summary: CheckSummary,
    /// The work on the files: they were checked, or their checksums were computed.
    #[serde(rename = "did")]
    verb: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<Object>,
}

/// Prints the summary after the findings. If the identifier had several contents, also prints which were
/// compared.
fn print_summary(
    session: &mut Session,
    summary: CheckSummary,
    verb: &str,
    contents: Option<&HeldContents>,
) -> Result<Exit> {
    if summary.sizes_unknown > 0 {
        let files = plural(summary.sizes_unknown, "file");
        let what = format!(
            "no size is recorded of {files}, so --size-only has nothing to compare; without it, their checksums are compared"
        );
        session.warn(WarningKind::SizesUnknown, &what);
    }
    let exit = if summary.findings == 0 { Exit::Done } else { Exit::Differs };
    let held = contents.map(|HeldContents { set, from, until, .. }| {
        object!({ "from": from, "until": until, "digest": set.digest() })
    });
    let is_good = summary.findings == 0;
    let read = BTreeMap::from([("summary", FilesRead { summary, verb, held })]);
    match is_good {
        true => session.present_done(&read, write_summary)?,
        false => session.present(&read, write_summary)?,
    };
    Ok(exit)
}

/// Writes the summary of a check.
fn write_summary(out: &mut Output, read: &Value) -> io::Result<()> {
    let summary = &read["summary"];
    let (files, bytes) = (counted(&summary["files"], "file"), counted(&summary["bytes"], "byte"));
    let is_complete = summary["complete"] == true;
    let part = if is_complete { "" } else { " of a part of the set" };
    let result = match &summary["findings"] {
        // Files that were not checked are not good.
        none if none == 0 && summary["files"] == 0 && !is_complete => {
            "nothing was checked".to_owned()
        }
        none if none == 0 => "all good".to_owned(),
        findings => format!("NOT good, {}", counted(findings, "finding")),
    };
    let verb = in_words(&summary["did"]);
    writeln!(out, "{verb} {files}{part}, read {bytes}: {result}")?;
    let held = &summary["held"];
    if held.is_null() {
        return Ok(());
    }
    let until = held["until"].as_str().unwrap_or("now");
    writeln!(out, "compared with the contents held {} to {until}", in_words(&held["from"]))
}
