//! The directory of files, and what is printed of a check.

use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use accession::Monitor;
use accession::fixity::{CheckSummary, FilesOfSet, Mounted, ReadOptions, Root};

use crate::cli::error::{Error, Result};
use crate::cli::output::{Column, Progress, count};
use crate::cli::session::Session;

/// How the files of a directory are read.
#[derive(clap::Args)]
pub struct TreeArgs {
    /// Read this many files at a time [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// The directory is the right one, even if it is empty or has none of the files that are looked
    /// for first
    #[arg(long)]
    mounted: bool,
}

impl TreeArgs {
    /// Opens the directory.
    pub fn open(&self, root: &Path) -> Result<Arc<Root>> {
        let mounted = if self.mounted { Mounted::Yes } else { Mounted::Unknown };
        Ok(Arc::new(Root::open(root, mounted)?))
    }

    /// Begins to report the progress of reading these files. Files are read as the result says.
    /// No further file is begun after the duration; how many there will be is then not known.
    pub fn begin(
        &self,
        files: &FilesOfSet,
        duration: Option<Duration>,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<ReadOptions> {
        let began = Instant::now();
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let progress = Progress::new().stopping(interrupt);
        let total = match progress.is_shown() && duration.is_none() {
            true => Some(files.bytes()?).filter(|bytes| *bytes > 0),
            false => None,
        };
        let begin_until = duration.and_then(|duration| began.checked_add(duration));
        progress.begin("reading", "bytes", total);
        progress.ends_at(begin_until);
        Ok(ReadOptions {
            monitor: Some(Arc::new(progress)),
            begin_until,
            ..ReadOptions::new(self.jobs.unwrap_or(cores))
        })
    }
}

/// The error of a list that says nothing of files.
pub fn nothing_stated() -> Error {
    Error::usage("the input states no size and no checksum of a file")
        .with_hint("for a table, name the columns with --checksum-column and --size-column")
}

/// What is shown of each finding.
pub const FINDINGS: &[Column] = &[
    Column::text("granule"),
    // The path of a file that is its granule is not printed twice.
    Column::text("path").unless("granule"),
    Column::text("status"),
    Column::text("expected"),
    Column::prose("found"),
];

/// Prints what was read, after the findings; `verb` names what was done with the files.
pub fn print_summary(session: &mut Session, summary: &CheckSummary, verb: &str) -> Result<()> {
    if session.is_json() {
        return Ok(session.json(&BTreeMap::from([("summary", summary)]))?);
    }
    if session.is_quiet() && summary.findings == 0 {
        return Ok(());
    }
    let (files, bytes) = (count(summary.files, "file"), count(summary.bytes, "byte"));
    let part = if summary.complete { "" } else { " of a part of the set" };
    let result = match summary.findings {
        // What was not looked at is not good.
        0 if summary.files == 0 && !summary.complete => "nothing was checked".to_owned(),
        0 => "all good".to_owned(),
        findings => format!("NOT good, {}", count(findings, "finding")),
    };
    Ok(writeln!(session.out(), "{verb} {files}{part}, read {bytes}: {result}")?)
}
