use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use accession::fixity::{self, CheckOptions, Depth, FoundFiles, listed_set};
use accession::model::age;
use accession::{Access, DatasetName, Set, Snapshot, Timestamp};
use clap::builder::NonEmptyStringValueParser;

use super::files::{FINDINGS, TreeArgs, nothing_stated, print_run, print_summary};
use crate::cli::args::{FileColumns, FormatArgs, TypedSet, named_path};
use crate::cli::error::{Error, Exit, Result};
use crate::cli::output::count;
use crate::cli::paths::PathArgs;
use crate::cli::reading::{Entries, InputFile, MissingPages};
use crate::cli::session::Session;

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
        match &self.root {
            Some(root) => self.check_directory(root, session),
            None => self.check_list(session),
        }
    }

    fn check_directory(&self, root: &Path, session: &mut Session) -> Result<Exit> {
        let tree = self.tree.read(root, self.duration)?;
        let options = CheckOptions {
            depth: if self.size_only { Depth::Size } else { Depth::Content },
            lists_unexpected: self.unexpected,
            root_name: self.root_name.clone(),
        };
        let registry = session.open(Access::Read)?;
        let (stamp, now) = (session.stamp(None)?, session.now()?);
        let (writable, select) =
            (|| session.open(Access::Write), |snapshot: &Snapshot| self.select(now, snapshot));
        let run = fixity::check(&registry, writable, select, (tree, options), &stamp)?;
        print_run(session, run, "checked")
    }

    fn check_list(&self, session: &mut Session) -> Result<Exit> {
        let mut found = FoundFiles::new();
        let options = self.columns.reading(self.format.options());
        // The ids are of no interest: what is compared are the paths.
        let paths = PathArgs::default();
        let entries = Entries::new(session, &[], &self.found, options, &paths, MissingPages::Warn);
        for entry in entries {
            found.add(&entry?)?;
        }
        if found.is_empty() {
            return Err(nothing_stated());
        }
        let registry = session.open(Access::Read)?;
        let set = self.select(session.now()?, &registry.snapshot()?)?;
        let mut compared = found.compare_with(&registry, set, None)?;
        session.rows(FINDINGS, compared.by_ref())?;
        print_summary(session, &compared.summary(), "checked")
    }

    fn select(&self, now: Timestamp, snapshot: &Snapshot) -> accession::error::Result<Set> {
        let selection = self.set.clone().into_selection(now, snapshot)?;
        listed_set(snapshot, &selection)
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
