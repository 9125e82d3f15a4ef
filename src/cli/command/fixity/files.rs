//! The directory of files, what is known of them, and what is printed of a check.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use accession::error::Result as LibraryResult;
use accession::fixity::{Mounted, Problem, ReadOptions, RecordedFile, Root, Survey};
use accession::registry::{GranuleFiles, ListedFile};
use accession::{Monitor, Registry, Set};
use serde::Serialize;

use crate::cli::error::Result;
use crate::cli::output::{Column, Progress, Row, count};
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
    fn mounted(&self) -> Mounted {
        if self.mounted { Mounted::Yes } else { Mounted::Unknown }
    }

    /// Opens the directory.
    pub fn open(&self, root: &Path) -> Result<Arc<Root>> {
        Ok(Arc::new(Root::open(root, self.mounted())?))
    }

    /// Checks that the directory has some of the files, and begins to report the progress. `files` reads
    /// them from the first one. They are to be checked as the result says.
    /// No further file is begun after the duration; how many there will be is then not known.
    pub fn begin<F: Iterator<Item = LibraryResult<RecordedFile>>>(
        &self,
        root: &Root,
        files: impl Fn() -> Result<F>,
        duration: Option<Duration>,
    ) -> Result<ReadOptions> {
        let began = Instant::now();
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let progress = Progress::new();
        // Reading all records costs little beside reading all files, but is not needed if the first file
        // is there and nobody watches.
        let first = files()?.next().map(|file| file.map(|file| file.path));
        let is_mounted = self.mounted || root.require_any(first).is_ok();
        let mut total = None;
        if !is_mounted || progress.is_shown() && duration.is_none() {
            let survey = Survey::of(files()?)?;
            if !is_mounted {
                root.require_any(survey.sample.into_iter().map(Ok))?;
            }
            total = Some(survey.bytes).filter(|bytes| *bytes > 0 && duration.is_none());
        }
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

/// The files of a set, in canonical order of the granules.
pub fn of_set(
    registry: &Registry,
    set: &Set,
) -> Result<impl Iterator<Item = LibraryResult<RecordedFile>> + use<>> {
    Ok(of_granules(registry.snapshot()?.files(set)?))
}

/// The files of granules. A granule without records is one file, of which nothing is known.
pub fn of_granules(
    granules: impl Iterator<Item = LibraryResult<GranuleFiles>>,
) -> impl Iterator<Item = LibraryResult<RecordedFile>> {
    granules.flat_map(|granule| {
        let (files, error) = match granule {
            Ok(granule) => (recorded(granule), None),
            Err(error) => (Vec::new(), Some(Err(error))),
        };
        files.into_iter().map(Ok).chain(error)
    })
}

fn recorded(granule: GranuleFiles) -> Vec<RecordedFile> {
    let GranuleFiles { granule_id, files } = granule;
    if files.is_empty() {
        return vec![RecordedFile::unrecorded(granule_id)];
    }
    let recorded = files.into_iter().map(|ListedFile { path, size, checksums }| RecordedFile {
        granule_id: granule_id.clone(),
        path,
        size,
        checksums,
    });
    recorded.collect()
}

/// What is wrong with a file.
#[derive(Serialize)]
pub struct Found {
    granule: Option<String>,
    path: String,
    status: &'static str,
    expected: Option<String>,
    found: Option<String>,
}

impl Found {
    /// What is wrong with the file of a granule.
    pub fn of(file: RecordedFile, problem: &Problem) -> Self {
        Found { granule: Some(file.granule_id.to_string()), ..Found::at(file.path, problem) }
    }

    /// What is wrong with a file that no granule has.
    pub fn at(path: String, problem: &Problem) -> Self {
        let (expected, found) = (problem.expected(), problem.found());
        Found { granule: None, path, status: problem.status(), expected, found }
    }
}

impl Row for Found {
    const COLUMNS: &'static [Column] = &[
        Column::text("granule"),
        Column::text("path"),
        Column::text("status"),
        Column::text("expected"),
        Column::prose("found"),
    ];

    fn cells(&self) -> Vec<String> {
        // The path of a file that is its granule is not printed twice.
        let is_granule = self.granule.as_ref() == Some(&self.path);
        let path = if is_granule { String::new() } else { self.path.clone() };
        let cell = |text: &Option<String>| text.clone().unwrap_or_default();
        vec![
            cell(&self.granule),
            path,
            self.status.to_owned(),
            cell(&self.expected),
            cell(&self.found),
        ]
    }
}

/// What was read, and how much was wrong.
#[derive(Default, Serialize)]
pub struct Summary {
    pub files: u64,
    pub bytes: u64,
    pub findings: u64,
    pub complete: bool,
}

impl Summary {
    /// Prints it after the findings; `verb` names what was done with the files.
    pub fn print(&self, session: &mut Session, verb: &str) -> Result<()> {
        #[derive(Serialize)]
        struct Line<'a> {
            summary: &'a Summary,
        }
        if session.is_json() {
            return Ok(session.json(&Line { summary: self })?);
        }
        if session.is_quiet() && self.findings == 0 {
            return Ok(());
        }
        self.write(session.out(), verb).map_err(Into::into)
    }

    fn write(&self, out: &mut impl Write, verb: &str) -> io::Result<()> {
        let (files, bytes) = (count(self.files, "file"), count(self.bytes, "byte"));
        let part = if self.complete { "" } else { " of a part of the set" };
        match self.findings {
            0 => writeln!(out, "{verb} {files}{part}, read {bytes}: all good"),
            findings => {
                let findings = count(findings, "finding");
                writeln!(out, "{verb} {files}{part}, read {bytes}: NOT good, {findings}")
            }
        }
    }
}
