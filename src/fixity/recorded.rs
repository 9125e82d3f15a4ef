//! Files, what is recorded of them, and what is to be read of them.

use super::reader::Wanted;
use super::readings::Request;
use crate::error::Result;
use crate::model::{Algorithm, Checksum, FilePath, FileRecord, GranuleId};

/// A file of a granule, with everything that is recorded of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFile {
    /// The granule that the file belongs to.
    pub granule_id: GranuleId,
    /// The path. `None` means that it equals the id.
    pub path: Option<FilePath>,
    /// The size in bytes. `None` means that none is recorded.
    pub size: Option<u64>,
    /// The checksums, at most one of each algorithm.
    pub checksums: Vec<Checksum>,
}

impl RecordedFile {
    /// A granule of which nothing is recorded.
    pub fn unrecorded(granule_id: GranuleId) -> Self {
        RecordedFile { granule_id, path: None, size: None, checksums: Vec::new() }
    }

    /// Returns the path as a string, also where it equals the id.
    pub fn path(&self) -> &str {
        self.path.as_ref().map_or(self.granule_id.as_str(), FilePath::as_str)
    }

    /// Adds a further record of the same file. Returns it if it is one of another file.
    ///
    /// # Errors
    ///
    /// The record, if its granule or its path is another one.
    pub fn add(&mut self, record: FileRecord) -> Result<(), FileRecord> {
        if record.granule_id != self.granule_id || record.path != self.path {
            return Err(record);
        }
        self.size = record.content.size().or(self.size);
        if let Some(checksum) = record.content.checksum() {
            self.checksums.retain(|known| known.algorithm() != checksum.algorithm());
            self.checksums.push(checksum.clone());
        }
        Ok(())
    }
}

impl From<FileRecord> for RecordedFile {
    fn from(record: FileRecord) -> Self {
        let size = record.content.size();
        let checksums = record.content.checksum().cloned().into_iter().collect();
        RecordedFile { granule_id: record.granule_id, path: record.path, size, checksums }
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
#[derive(Debug, Clone)]
pub(super) enum Task {
    /// To compare them with what is recorded.
    Check(Depth),
    /// To compute their checksums of an algorithm.
    Compute(Algorithm),
}

impl Task {
    fn wanted(&self, file: &RecordedFile) -> Wanted {
        let size = file.size;
        let computed = file.checksums.iter().map(Checksum::algorithm);
        let computed = computed.filter(|it| !matches!(it, Algorithm::Other(_)));
        let algorithms: Vec<Algorithm> = computed.cloned().collect();
        match self {
            Task::Compute(algorithm) => {
                Wanted::Checksums { algorithms: vec![algorithm.clone()], size }
            }
            Task::Check(Depth::Content) if !algorithms.is_empty() => {
                Wanted::Checksums { algorithms, size }
            }
            // Whether the file exists can be found out, although its content cannot be checked.
            Task::Check(Depth::Content) if !file.checksums.is_empty() => Wanted::Size,
            Task::Check(_) if size.is_some() => Wanted::Size,
            Task::Check(_) => Wanted::Nothing,
        }
    }
}

/// What is to be read of files.
pub(super) struct Requests<I> {
    pub files: I,
    pub task: Task,
}

impl<I: Iterator<Item = Result<RecordedFile>>> Iterator for Requests<I> {
    type Item = Result<Request<RecordedFile>>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.files.next()?.map(|file| {
            let wanted = self.task.wanted(&file);
            Request { path: file.path().to_owned(), wanted, tag: file }
        }))
    }
}
