//! Files, what is recorded of them, and what can be wrong with them once they were read.

use std::io;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::model::{Algorithm, Checksum, FileContent, GranuleId};

/// A file of a granule, with everything that is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFile {
    /// The granule that the file belongs to.
    pub granule_id: GranuleId,
    /// The path, relative to the root.
    pub path: String,
    /// The size in bytes. `None` means that it is not known.
    pub size: Option<u64>,
    /// The checksums, at most one of each algorithm.
    pub checksums: Vec<Checksum>,
}

impl RecordedFile {
    /// The file of a granule of which nothing is known: its path equals the id.
    pub fn unrecorded(granule_id: GranuleId) -> Self {
        let path = granule_id.as_str().to_owned();
        RecordedFile { granule_id, path, size: None, checksums: Vec::new() }
    }
}

/// How much of each file is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// Its size, and all checksums that this program computes.
    #[default]
    Content,
    /// Its size only. No file is opened.
    Size,
}

/// What files are read for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// To compare them with what is recorded.
    Check(Depth),
    /// To compute the strongest of their recorded checksums, without comparing it. A file without one is only
    /// looked at.
    Describe,
    /// To compute their checksums of an algorithm. A file that is not as it is recorded, or is written
    /// meanwhile, gets none.
    Compute(Algorithm),
}

impl Purpose {
    /// Of which algorithms a file is read, which is only looked at if there are none. `None` means that it is
    /// not looked at, either.
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
                // What is recorded is checked on the way: a damaged file gets no checksum.
                algorithms.retain(|recorded| recorded != algorithm);
                algorithms.insert(0, algorithm.clone());
                Some(algorithms)
            }
            // Whether the file exists can be found out, although its content cannot be checked.
            Purpose::Check(Depth::Content) if !file.checksums.is_empty() => Some(algorithms),
            Purpose::Check(_) => file.size.map(|_| Vec::new()),
        }
    }
}

/// What was found out about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadFile {
    pub size: u64,
    /// How many bytes were read of it.
    pub bytes: u64,
    pub checksums: Vec<Checksum>,
    pub stability: Stability,
}

/// Whether a file changed while it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stability {
    /// Nothing about it changed.
    Same,
    /// Its metadata changed, not its size or the time of its bytes, which can be set.
    Touched,
    /// It was written, or replaced.
    Written,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedFile {
    /// The file, and what is recorded of it.
    pub file: RecordedFile,
    /// The bytes that were read.
    pub bytes: u64,
    /// Its size and the checksum that was to be computed, or what is wrong. `None` means that it is as it is
    /// recorded, and none was to be.
    pub content: Result<Option<FileContent>, FileProblem>,
}

impl CheckedFile {
    /// What is wrong. `None` means that it is as it is recorded.
    pub fn problem(&self) -> Option<&FileProblem> {
        self.content.as_ref().err()
    }

    /// What was found out about a file. `None` means that it was not looked at.
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

/// Compares what was read of a file with what is recorded.
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
        // If it has the recorded bytes, a hard link or a permission was added.
        Stability::Touched => wrong.map(|_| FileProblem::CHANGING),
        Stability::Written => Some(FileProblem::CHANGING),
    }
}

fn computed(purpose: &Purpose, read: ReadFile) -> Result<Option<FileContent>, FileProblem> {
    let ReadFile { size, checksums, stability, .. } = read;
    if matches!(purpose, Purpose::Check(_)) {
        return Ok(None);
    }
    // Nothing that is recorded proves that its bytes are those that were read: they may have been written,
    // and the time of that set to the former one.
    if *purpose != Purpose::Describe && stability != Stability::Same && checksums.len() < 2 {
        return Err(FileProblem::CHANGING);
    }
    // Without a checksum, the algorithm is one that this program does not compute.
    let checksum = checksums.into_iter().next();
    Ok(Some(FileContent { size: Some(size), checksum }))
}

/// A file that is not as it is recorded.
///
/// Its fields, in this order, are those of the rows of `fixity check` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileFinding {
    /// The granule. `None` means that no granule has the file.
    pub granule: Option<String>,
    /// The path below the root.
    pub path: String,
    /// What is wrong: `missing`, `size`, `checksum`, `unreadable`, `changing`, `no-record`, `cannot-compute` or
    /// `unexpected`.
    pub status: &'static str,
    /// What is recorded. `None` means nothing.
    pub expected: Option<String>,
    /// What was found instead. `None` means nothing.
    pub found: Option<String>,
}

impl FileFinding {
    /// What is wrong with the file of a granule.
    pub(super) fn of(file: RecordedFile, problem: FileProblem) -> Self {
        let granule = Some(file.granule_id.to_string());
        FileFinding { granule, ..FileFinding::at(file.path, problem) }
    }

    pub(super) fn at(path: String, problem: FileProblem) -> Self {
        let FileProblem { status, expected, found } = problem;
        FileFinding { granule: None, path, status, expected, found }
    }
}

/// How much was read, and how much was wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CheckSummary {
    /// The files of granules.
    pub files: u64,
    /// The bytes that were read of them.
    pub bytes: u64,
    /// The files that are not as they are recorded.
    pub findings: u64,
    /// Whether all files up to the end of the set were read.
    pub complete: bool,
    /// The files with a checksum that were not checked, since only sizes are and theirs is unknown.
    #[serde(skip)]
    pub sizes_unknown: u64,
}

/// What is wrong with a file, or why it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// Its name: `missing`, `size`, `checksum`, `unreadable`, `changing`, `no-record`, `cannot-compute` or
    /// `unexpected`.
    pub status: &'static str,
    /// What is recorded: a size in bytes, or `ALGORITHM:CHECKSUM`. `None` for problems of neither.
    pub expected: Option<String>,
    /// What the file has instead, or why it cannot be read. `None` for the other problems.
    pub found: Option<String>,
}

impl FileProblem {
    /// The file does not exist.
    pub const MISSING: Self = FileProblem::of_status("missing");
    /// It was written while it was read, or something else became known of it meanwhile.
    pub const CHANGING: Self = FileProblem::of_status("changing");
    /// Nothing is recorded that it could be checked by.
    pub const NO_RECORD: Self = FileProblem::of_status("no-record");
    /// The directory has it, and no granule does.
    pub const UNEXPECTED: Self = FileProblem::of_status("unexpected");

    const fn of_status(status: &'static str) -> Self {
        FileProblem { status, expected: None, found: None }
    }

    /// It cannot be read: permissions, an error of the disk, or no regular file below the root.
    pub(super) fn unreadable(reason: impl Into<String>) -> Self {
        FileProblem { found: Some(reason.into()), ..FileProblem::of_status("unreadable") }
    }

    /// The operating system does not open or read it.
    pub(super) fn of_error(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileProblem::MISSING,
            _ => FileProblem::unreadable(Error::chain_of(error)),
        }
    }

    /// It has the recorded size, if any, and this program computes none of its recorded checksums, of which
    /// this is one.
    pub(super) fn cannot_compute(expected: &Checksum) -> Self {
        let expected = Some(format!("{expected:?}"));
        FileProblem { expected, ..FileProblem::of_status("cannot-compute") }
    }

    /// That the sizes differ, if both are known.
    pub(super) fn of_sizes(expected: Option<u64>, found: Option<u64>) -> Option<Self> {
        let (expected, found) =
            expected.zip(found).filter(|(expected, found)| expected != found)?;
        let (expected, found) = (Some(expected.to_string()), Some(found.to_string()));
        Some(FileProblem { status: "size", expected, found })
    }

    /// That the checksums of an algorithm differ: of the strongest such one.
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
