//! Computes the checksums of files that have none.

use std::sync::Arc;
use std::time::Duration;

use super::check::{problem, problem_of_content};
use super::problem::Problem;
use super::reader::{Reading, Stability};
use super::readings::{ReadOptions, Readings};
use super::recorded::{Depth, RecordedFile, Task};
use super::root::Root;
use crate::error::Result;
use crate::model::{Algorithm, FileContent};

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
    /// written meanwhile, gets none. What it costs is as with [`Check`](super::Check).
    ///
    /// # Errors
    ///
    /// Those of [`Check::start`](super::Check::start).
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
