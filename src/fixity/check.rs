//! Compares files with what is recorded of them, and computes the checksums of those that have none.

use std::sync::Arc;
use std::time::Duration;

use super::problem::Problem;
use super::reader::{HashedFile, ReadOptions, Reading, Readings, Stability};
use super::recorded::{Depth, RecordedFile, Task};
use super::root::Root;
use crate::error::Result;
use crate::model::{Algorithm, FileContent};

/// A file that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The file, and what is recorded of it.
    pub file: RecordedFile,
    /// The bytes that were read.
    pub bytes: u64,
    /// What is wrong. `None` means that it is as it is recorded.
    pub problem: Option<Problem>,
}

/// Files that are being checked, in the order of the input. Those that were returned are all those before
/// the next one.
pub struct Check<I: Iterator<Item = Result<RecordedFile>>> {
    readings: Readings<I>,
    depth: Depth,
}

impl<I: Iterator<Item = Result<RecordedFile>>> Check<I> {
    /// Begins to check files below a root. Every file is read once, for all its checksums.
    ///
    /// # Performance
    ///
    /// The memory does not depend on the number or the size of the files: about 3 MiB for each of the
    /// jobs, and 4,096 files of the input.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io): no thread can be started. The items of the iterator are
    /// those of the input; [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted) means that the monitor
    /// stopped the check.
    pub fn start(root: &Arc<Root>, files: I, depth: Depth, options: ReadOptions) -> Result<Self> {
        Ok(Check { readings: Readings::start(root, files, Task::Check(depth), options)?, depth })
    }

    /// Waits until the next file was read, at most for a time. Returns whether the next call of `next`
    /// returns at once.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        self.readings.wait(at_most)
    }
}

impl<I: Iterator<Item = Result<RecordedFile>>> Iterator for Check<I> {
    type Item = Result<Checked>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.readings.next()?;
        Some(next.map(|(file, reading)| {
            let bytes = match &reading {
                Reading::Content(content) => content.size,
                _ => 0,
            };
            let problem = problem(&file, self.depth, reading);
            Checked { file, bytes, problem }
        }))
    }
}

/// Compares what was read of a file with what is recorded.
fn problem(file: &RecordedFile, depth: Depth, reading: Reading) -> Option<Problem> {
    match reading {
        Reading::Nothing => Some(Problem::NoRecord),
        Reading::Refused(refusal) => Some(refusal.into()),
        Reading::Size(found) => wrong_size(file, found).or_else(|| uncomputed(file, depth)),
        Reading::Content(content) => problem_of_content(file, &content),
    }
}

/// Compares the content of a file with what is recorded.
fn problem_of_content(file: &RecordedFile, content: &HashedFile) -> Option<Problem> {
    let wrong = wrong_size(file, content.size).or_else(|| wrong_checksum(file, content));
    match content.stability {
        Stability::Same => wrong,
        // If it has the recorded bytes, a hard link or a permission was added.
        Stability::Touched => wrong.map(|_| Problem::Changing),
        Stability::Written => Some(Problem::Changing),
    }
}

fn wrong_size(file: &RecordedFile, found: u64) -> Option<Problem> {
    let expected = file.size.filter(|expected| *expected != found)?;
    Some(Problem::Size { expected, found })
}

/// A file that was not read although it has checksums.
fn uncomputed(file: &RecordedFile, depth: Depth) -> Option<Problem> {
    let expected = file.checksums.first().filter(|_| depth == Depth::Content)?;
    Some(Problem::CannotCompute { expected: expected.clone() })
}

/// The strongest algorithm of which the checksums differ.
fn wrong_checksum(file: &RecordedFile, content: &HashedFile) -> Option<Problem> {
    let found = |algorithm| content.checksums.iter().find(|it| it.algorithm() == algorithm);
    let compared = file.checksums.iter().filter_map(|it| Some((it, found(it.algorithm())?)));
    let wrong = compared.filter(|(expected, found)| expected != found);
    let (expected, found) = wrong.max_by_key(|(it, _)| it.algorithm().checksum_bytes())?;
    Some(Problem::Checksum { expected: expected.clone(), found: found.clone() })
}

/// A file whose checksum was to be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Computed {
    /// The file, and what is recorded of it.
    pub file: RecordedFile,
    /// Its size and its checksum, or why there is none.
    pub content: Result<FileContent, Problem>,
}

/// Files whose checksums are being computed, in the order of the input.
pub struct Compute<I: Iterator<Item = Result<RecordedFile>>> {
    readings: Readings<I>,
}

impl<I: Iterator<Item = Result<RecordedFile>>> Compute<I> {
    /// Begins to compute the checksums of files below a root. A file that is not as it is recorded, or is
    /// written meanwhile, gets none. What it costs is as with [`Check`].
    ///
    /// # Errors
    ///
    /// Those of [`Check::start`].
    pub fn start(
        root: &Arc<Root>,
        files: I,
        algorithm: Algorithm,
        options: ReadOptions,
    ) -> Result<Self> {
        Ok(Compute { readings: Readings::start(root, files, Task::Compute(algorithm), options)? })
    }

    /// Waits until the next file was read, at most for a time. Returns whether the next call of `next`
    /// returns at once.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        self.readings.wait(at_most)
    }
}

impl<I: Iterator<Item = Result<RecordedFile>>> Iterator for Compute<I> {
    type Item = Result<Computed>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.readings.next()?.map(|(file, reading)| {
            let content = content(&file, reading);
            Computed { file, content }
        }))
    }
}

fn content(file: &RecordedFile, reading: Reading) -> Result<FileContent, Problem> {
    let content = match reading {
        Reading::Content(content) => content,
        other => return Err(problem(file, Depth::Content, other).unwrap_or(Problem::NoRecord)),
    };
    if let Some(problem) = problem_of_content(file, &content) {
        return Err(problem);
    }
    // Nothing that is recorded proves that its bytes are those that were read: they may have been written,
    // and the time of that set to the former one.
    if content.stability != Stability::Same && content.checksums.len() < 2 {
        return Err(Problem::Changing);
    }
    match content.checksums.into_iter().next() {
        Some(checksum) => Ok(FileContent::Checksum { checksum, size: Some(content.size) }),
        // The algorithm is one that this program does not compute.
        None => Ok(FileContent::Size(content.size)),
    }
}
