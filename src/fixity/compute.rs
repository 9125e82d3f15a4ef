//! Computes the checksums of files that have none.

use std::sync::Arc;

use super::problem::Problem;
use super::reader::{Reading, Stability};
use super::readings::{ReadOptions, Readings};
use super::recorded::{RecordedFile, Requests, Task};
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
    readings: Readings<Requests<I>, RecordedFile>,
}

impl<I: Iterator<Item = Result<RecordedFile>>> Compute<I> {
    /// Begins to compute the checksums of files below a root. A file that does not have its recorded size,
    /// or is written meanwhile, gets none. What it costs is as with [`Check`](super::Check).
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
        let requests = Requests { files, task: Task::Compute(algorithm) };
        Ok(Compute { readings: Readings::start(root, requests, options)? })
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
        Reading::Content(content) if content.stability == Stability::Written => {
            return Err(Problem::Changing);
        }
        Reading::Content(content) => content,
        Reading::Refused(refusal) => return Err(refusal.into()),
        Reading::Size(found) => {
            let expected = file.size.unwrap_or(found);
            return Err(Problem::Size { expected, found });
        }
        Reading::Nothing => return Err(Problem::NoRecord),
    };
    match content.checksums.into_iter().next() {
        Some(checksum) => Ok(FileContent::Checksum { checksum, size: Some(content.size) }),
        // The algorithm is one that this program does not compute.
        None => Ok(FileContent::Size(content.size)),
    }
}
