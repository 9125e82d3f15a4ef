//! Compares files with what is recorded of them.

use std::sync::Arc;
use std::time::Duration;

use super::problem::Problem;
use super::reader::{Content, Reading, Stability};
use super::readings::{ReadOptions, Readings};
use super::recorded::{Depth, RecordedFile, Task};
use super::root::Root;
use crate::error::Result;

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
pub(super) fn problem(file: &RecordedFile, depth: Depth, reading: Reading) -> Option<Problem> {
    match reading {
        Reading::Nothing => Some(Problem::NoRecord),
        Reading::Refused(refusal) => Some(refusal.into()),
        Reading::Size(found) => wrong_size(file, found).or_else(|| uncomputed(file, depth)),
        Reading::Content(content) => problem_of_content(file, &content),
    }
}

/// Compares the content of a file with what is recorded.
pub(super) fn problem_of_content(file: &RecordedFile, content: &Content) -> Option<Problem> {
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
fn wrong_checksum(file: &RecordedFile, content: &Content) -> Option<Problem> {
    let found = |algorithm| content.checksums.iter().find(|it| it.algorithm() == algorithm);
    let compared = file.checksums.iter().filter_map(|it| Some((it, found(it.algorithm())?)));
    let wrong = compared.filter(|(expected, found)| expected != found);
    let (expected, found) = wrong.max_by_key(|(it, _)| it.algorithm().checksum_bytes())?;
    Some(Problem::Checksum { expected: expected.clone(), found: found.clone() })
}
