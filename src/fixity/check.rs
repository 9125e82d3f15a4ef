//! Files with their recorded metadata, and the problems that are found when they are read.

use std::io;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::model::{Algorithm, Checksum, FileContent, GranuleId};

/// A file of a granule, with its recorded size and checksums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFile {
    /// The granule that the file belongs to.
    pub granule_id: GranuleId,
    /// The path, relative to the root.
    pub path: String,
    /// The size in bytes. `None` means that no size is recorded.
    pub size: Option<u64>,
    /// The checksums, at most one for each algorithm.
    pub checksums: Vec<Checksum>,
}

impl RecordedFile {
    /// The file of a granule without records. Its path equals the id.
    pub fn unrecorded(granule_id: GranuleId) -> Self {
        let path = granule_id.as_str().to_owned();
        RecordedFile { granule_id, path, size: None, checksums: Vec::new() }
    }
}

/// How thoroughly files are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// Size, and all checksums that this program can compute.
    #[default]
    Content,
    /// Size only. No file is opened.
    Size,
}

/// Why files are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// To compare them with their records.
    Check(Depth),
    /// To compute the strongest of their recorded checksums, without comparing it. Of a file without one, only
    /// the metadata is read.
    Describe,
    /// To compute their checksums of an algorithm. A file that does not match its record, or is written
    /// meanwhile, gets none.
    Compute(Algorithm),
}

impl Purpose {
    /// The algorithms to compute. If there are none, the file is not opened, and only its metadata is read.
    /// `None` means that not even its metadata is read.
    pub(super) fn algorithms(&self, file: &RecordedFile) -> Option<Vec<Algorithm>> {
        let is_computed = |it: &&Checksum| !matches!(it.algorithm(), Algorithm::Other(_));
        let computed = file.checksums.iter().filter(is_computed);
        let mut algorithms: Vec<Algorithm> =
            computed.clone().map(|it| it.algorithm().clone()).collect();
        match self {
            Purpose::Describe => {
                let strongest = computed.min_by_key(|it| it.strength());
                Some(strongest.map(|it| it.algorithm().clone()).into_iter().collect())
            }
            Purpose::Compute(algorithm) => {
                // The recorded checksums are verified at the same time, so a damaged file gets no checksum.
                algorithms.retain(|recorded| recorded != algorithm);
                algorithms.insert(0, algorithm.clone());
                Some(algorithms)
            }
            // This detects a missing file even if its content cannot be checked.
            Purpose::Check(Depth::Content) if !file.checksums.is_empty() => Some(algorithms),
            Purpose::Check(_) => file.size.map(|_| Vec::new()),
        }
    }
}

/// The result of reading a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadFile {
    pub size: u64,
    /// The number of bytes that were read.
    pub bytes: u64,
    pub checksums: Vec<Checksum>,
    pub stability: Stability,
}

/// Whether a file changed while it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stability {
    /// Nothing about it changed.
    Same,
    /// Its metadata changed, but neither its size nor its modification time, which can be set.
    Touched,
    /// It was written or replaced.
    Written,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedFile {
    /// The file, with its record.
    pub file: RecordedFile,
    /// The number of bytes that were read.
    pub bytes: u64,
    /// Its size and the computed checksum, or the problem. `None` means that the file matches its record, and
    /// no checksum was requested.
    pub content: Result<Option<FileContent>, FileProblem>,
}

impl CheckedFile {
    /// The problem. `None` means that the file matches its record.
    pub fn problem(&self) -> Option<&FileProblem> {
        self.content.as_ref().err()
    }

    /// Evaluates the result of reading a file. `None` means that it was not read.
    pub(super) fn of(
        file: RecordedFile,
        purpose: &Purpose,
        read: Option<Result<ReadFile, FileProblem>>,
    ) -> Self {
        let bytes = read.iter().flatten().map(|read| read.bytes).sum();
        let content = match read {
            None => Err(FileProblem::NO_RECORD),
            Some(Err(problem)) => Err(problem),
            Some(Ok(read)) => match problem(&file, purpose, &read) {
                Some(problem) => Err(problem),
                None => computed(purpose, read),
            },
        };
        CheckedFile { file, bytes, content }
    }
}

/// Compares the result of reading a file with its record.
fn problem(file: &RecordedFile, purpose: &Purpose, read: &ReadFile) -> Option<FileProblem> {
    if *purpose == Purpose::Describe {
        return (read.stability == Stability::Written).then_some(FileProblem::CHANGING);
    }
    let wrong = FileProblem::of_sizes(file.size, Some(read.size));
    let wrong = wrong.or_else(|| FileProblem::of_checksums(&file.checksums, &read.checksums));
    let uncomputed = || {
        let expected = file.checksums.first().filter(|_| read.checksums.is_empty())?;
        let is_wanted = *purpose == Purpose::Check(Depth::Content);
        is_wanted.then(|| FileProblem::cannot_compute(expected))
    };
    match read.stability {
        Stability::Same => wrong.or_else(uncomputed),
        // If the content matches the record, a hard link or a permission was changed.
        Stability::Touched => wrong.map(|_| FileProblem::CHANGING),
        Stability::Written => Some(FileProblem::CHANGING),
    }
}

fn computed(purpose: &Purpose, read: ReadFile) -> Result<Option<FileContent>, FileProblem> {
    let ReadFile { size, checksums, stability, .. } = read;
    if matches!(purpose, Purpose::Check(_)) {
        return Ok(None);
    }
    // No record proves that the content is what was read. It may have been written, and its modification time
    // reset.
    if *purpose != Purpose::Describe && stability != Stability::Same && checksums.len() < 2 {
        return Err(FileProblem::CHANGING);
    }
    // Without a checksum, the algorithm is one that this program cannot compute.
    let checksum = checksums.into_iter().next();
    Ok(Some(FileContent { size: Some(size), checksum }))
}

/// A file that does not match its record.
///
/// Its fields, in this order, are those of the rows of `fixity check` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileFinding {
    /// The granule. `None` means that the file belongs to no granule.
    pub granule: Option<String>,
    /// The path below the root.
    pub path: String,
    /// The problem: `missing`, `size`, `checksum`, `unreadable`, `changing`, `no-record`, `cannot-compute` or
    /// `unexpected`.
    pub status: &'static str,
    /// The recorded value. `None` means that there is none.
    pub expected: Option<String>,
    /// The value that was found. `None` means that there is none.
    pub found: Option<String>,
}

impl FileFinding {
    /// The finding for the file of a granule.
    pub(super) fn of(file: RecordedFile, problem: FileProblem) -> Self {
        let granule = Some(file.granule_id.to_string());
        FileFinding { granule, ..FileFinding::at(file.path, problem) }
    }

    pub(super) fn at(path: String, problem: FileProblem) -> Self {
        let FileProblem { status, expected, found } = problem;
        FileFinding { granule: None, path, status, expected, found }
    }
}

/// The amount of data read, and the number of findings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CheckSummary {
    /// The number of files of granules.
    pub files: u64,
    /// The number of bytes read.
    pub bytes: u64,
    /// The number of files that do not match their records.
    pub findings: u64,
    /// Whether the run read to the end of the set.
    pub complete: bool,
    /// The number of files with a checksum that were not checked, because only sizes are checked and no size is
    /// recorded.
    #[serde(skip)]
    pub sizes_unknown: u64,
}

/// A problem with a file, or why it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// Its name: `missing`, `size`, `checksum`, `unreadable`, `changing`, `no-record`, `cannot-compute` or
    /// `unexpected`.
    pub status: &'static str,
    /// The recorded value: a size in bytes, or `ALGORITHM:CHECKSUM`. `None` for problems without one.
    pub expected: Option<String>,
    /// The value of the file, or why it cannot be read. `None` for other problems.
    pub found: Option<String>,
}

impl FileProblem {
    /// The file does not exist.
    pub const MISSING: Self = FileProblem::of_status("missing");
    /// It was written while it was read, or its record changed meanwhile.
    pub const CHANGING: Self = FileProblem::of_status("changing");
    /// It has no record to check it against.
    pub const NO_RECORD: Self = FileProblem::of_status("no-record");
    /// It is in the directory, but belongs to no granule.
    pub const UNEXPECTED: Self = FileProblem::of_status("unexpected");

    const fn of_status(status: &'static str) -> Self {
        FileProblem { status, expected: None, found: None }
    }

    /// It cannot be read: because of permissions, a disk error, or because it is not a regular file below the
    /// root.
    pub(super) fn unreadable(reason: impl Into<String>) -> Self {
        FileProblem { found: Some(reason.into()), ..FileProblem::of_status("unreadable") }
    }

    /// The operating system cannot open or read it.
    pub(super) fn of_error(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileProblem::MISSING,
            _ => FileProblem::unreadable(Error::chain_of(error)),
        }
    }

    /// It has the recorded size, if any, but this program can compute none of its recorded checksums.
    /// `expected` is one of them.
    pub(super) fn cannot_compute(expected: &Checksum) -> Self {
        let expected = Some(format!("{expected:?}"));
        FileProblem { expected, ..FileProblem::of_status("cannot-compute") }
    }

    /// The problem that the sizes differ, if both are known.
    pub(super) fn of_sizes(expected: Option<u64>, found: Option<u64>) -> Option<Self> {
        let (expected, found) =
            expected.zip(found).filter(|(expected, found)| expected != found)?;
        let (expected, found) = (Some(expected.to_string()), Some(found.to_string()));
        Some(FileProblem { status: "size", expected, found })
    }

    /// The problem that checksums of the same algorithm differ. It names the strongest one.
    pub(super) fn of_checksums(expected: &[Checksum], found: &[Checksum]) -> Option<Self> {
        let pairs = expected.iter().flat_map(|expected| found.iter().map(move |it| (expected, it)));
        let wrong = pairs.filter(|(expected, found)| {
            expected.algorithm() == found.algorithm() && expected != found
        });
        let (expected, found) = wrong.min_by_key(|(it, _)| it.strength())?;
        let (expected, found) = (Some(format!("{expected:?}")), Some(format!("{found:?}")));
        Some(FileProblem { status: "checksum", expected, found })
    }
}
