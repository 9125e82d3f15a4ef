//! Files, what is recorded of them, and what is to be read of them.

use crate::model::{Algorithm, Checksum, GranuleId};

/// A file of a granule, with everything that is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone)]
pub(super) enum Task {
    /// To compare them with what is recorded.
    Check(Depth),
    /// To compute their checksums of an algorithm.
    Compute(Algorithm),
}

/// What is to be found out about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Nothing: the file is not looked at.
    Nothing,
    /// Its size. It is not opened.
    Size,
    /// Its size and its checksums of these algorithms.
    Checksums {
        algorithms: Vec<Algorithm>,
        /// The size that it should have. A file of another size is not read.
        size: Option<u64>,
    },
}

impl Task {
    /// What is to be found out about a file.
    pub fn wanted(&self, file: &RecordedFile) -> Wanted {
        let size = file.size;
        let computed = file.checksums.iter().map(Checksum::algorithm);
        let computed = computed.filter(|it| !matches!(it, Algorithm::Other(_)));
        let algorithms: Vec<Algorithm> = computed.cloned().collect();
        match self {
            Task::Compute(algorithm) => {
                // What is recorded is checked on the way: a damaged file gets no checksum.
                let mut algorithms = algorithms;
                algorithms.retain(|recorded| recorded != algorithm);
                algorithms.insert(0, algorithm.clone());
                Wanted::Checksums { algorithms, size }
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
