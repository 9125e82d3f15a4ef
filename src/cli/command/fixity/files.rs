//! The directory of files, and what is printed of a check.

use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use accession::fixity::{CheckSummary, FileRun, FileTree, Mounted, ReadOptions};
use accession::model::WarningKind;
use accession::{ErrorKind, Monitor};

use crate::cli::error::{Error, Exit, Result};
use crate::cli::output::{Column, Progress, count};
use crate::cli::program::watch_for_interrupt;
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
    /// Reads a directory. No further file is begun after the duration, or once the program is asked to end.
    pub fn read(&self, root: &Path, duration: Option<Duration>) -> Result<FileTree> {
        let begin_until = duration.and_then(|duration| Instant::now().checked_add(duration));
        let progress = Progress::new().stopping(&watch_for_interrupt()?).ending_at(begin_until);
        let monitor: Option<Arc<dyn Monitor>> = Some(Arc::new(progress));
        Ok(FileTree {
            root: root.to_owned(),
            mounted: if self.mounted { Mounted::Yes } else { Mounted::Unknown },
            reading: ReadOptions { monitor, begin_until, ..ReadOptions::new(self.jobs) },
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

/// Reads files, and prints what is found while they are read, and what became of all of them; `verb` names
/// what is done with them.
pub fn print_run(session: &mut Session, mut run: FileRun, verb: &str) -> Result<Exit> {
    session.warn_all(run.not_recorded());
    let (mut list, mut stopped) = (session.list(FINDINGS), None);
    for finding in run.by_ref() {
        match finding {
            Ok(finding) => list.add(session, &finding)?,
            Err(error) => {
                // What was not read is not taken for good.
                stopped = Some(error);
                break;
            }
        }
    }
    list.finish(session)?;
    let is_recorded = run.is_recorded();
    let finished = run.finish();
    match stopped {
        None => print_summary(session, &finished?, verb),
        Some(error) if error.kind() == ErrorKind::Interrupted => {
            print_summary(session, &finished?, verb)?;
            let what = match is_recorded {
                true => format!("stopped: what was {verb} so far is recorded"),
                false => "stopped: nothing is recorded".to_owned(),
            };
            Err(Error::new(ErrorKind::Interrupted, what))
        }
        Some(error) => Err(error.into()),
    }
}

/// Prints what was read, after the findings.
pub fn print_summary(session: &mut Session, summary: &CheckSummary, verb: &str) -> Result<Exit> {
    if summary.sizes_unknown > 0 {
        let files = count(summary.sizes_unknown, "file");
        let what = format!(
            "no size is recorded of {files}, so --size-only has nothing to compare; without it, their checksums are compared"
        );
        session.warn(WarningKind::SizesUnknown, &what);
    }
    let exit = if summary.findings == 0 { Exit::Done } else { Exit::Differs };
    if session.is_json() {
        session.json(&BTreeMap::from([("summary", summary)]))?;
        return Ok(exit);
    }
    if session.is_quiet() && summary.findings == 0 {
        return Ok(exit);
    }
    let (files, bytes) = (count(summary.files, "file"), count(summary.bytes, "byte"));
    let part = if summary.complete { "" } else { " of a part of the set" };
    let result = match summary.findings {
        // What was not looked at is not good.
        0 if summary.files == 0 && !summary.complete => "nothing was checked".to_owned(),
        0 => "all good".to_owned(),
        findings => format!("NOT good, {}", count(findings, "finding")),
    };
    writeln!(session.out(), "{verb} {files}{part}, read {bytes}: {result}")?;
    Ok(exit)
}
