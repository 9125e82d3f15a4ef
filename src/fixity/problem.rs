//! What can be wrong with a file.

use std::fmt;

use super::root::FileRefusal;
use crate::model::Checksum;

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileProblem {
    /// There is no such file.
    Missing,
    /// It has another size.
    Size {
        /// The recorded size in bytes.
        expected: u64,
        /// The size of the file.
        found: u64,
    },
    /// It has another checksum.
    Checksum {
        /// The recorded checksum, of the strongest algorithm of which they differ.
        expected: Checksum,
        /// That of the file.
        found: Checksum,
    },
    /// It cannot be read: permissions, an error of the disk, or no regular file below the root.
    Unreadable {
        /// Why.
        reason: String,
    },
    /// It was written while it was read.
    Changing,
    /// Nothing is recorded that it could be checked by.
    NoRecord,
    /// It has the recorded size, if any, and this program computes none of its recorded checksums.
    CannotCompute {
        /// One of the recorded checksums.
        expected: Checksum,
    },
    /// The directory has it, and no granule does.
    Unexpected,
}

impl FileProblem {
    /// That the sizes differ, if both are known.
    pub(super) fn of_sizes(expected: Option<u64>, found: Option<u64>) -> Option<Self> {
        let (expected, found) =
            expected.zip(found).filter(|(expected, found)| expected != found)?;
        Some(FileProblem::Size { expected, found })
    }

    /// That the checksums of an algorithm differ: of the strongest such one.
    pub(super) fn of_checksums(expected: &[Checksum], found: &[Checksum]) -> Option<Self> {
        let pairs = expected.iter().flat_map(|expected| found.iter().map(move |it| (expected, it)));
        let wrong = pairs.filter(|(expected, found)| {
            expected.algorithm() == found.algorithm() && expected != found
        });
        let (expected, found) = wrong.max_by_key(|(it, _)| it.algorithm().checksum_bytes())?;
        Some(FileProblem::Checksum { expected: expected.clone(), found: found.clone() })
    }

    /// Returns the name of the problem: `missing`, `size`, `checksum`, `unreadable`, `changing`,
    /// `no-record`, `cannot-compute` or `unexpected`.
    pub fn status(&self) -> &'static str {
        match self {
            FileProblem::Missing => "missing",
            FileProblem::Size { .. } => "size",
            FileProblem::Checksum { .. } => "checksum",
            FileProblem::Unreadable { .. } => "unreadable",
            FileProblem::Changing => "changing",
            FileProblem::NoRecord => "no-record",
            FileProblem::CannotCompute { .. } => "cannot-compute",
            FileProblem::Unexpected => "unexpected",
        }
    }

    /// Returns what is recorded: a size in bytes, or `ALGORITHM:CHECKSUM`. `None` for the other problems.
    pub fn expected(&self) -> Option<String> {
        match self {
            FileProblem::Size { expected, .. } => Some(expected.to_string()),
            FileProblem::Checksum { expected, .. } | FileProblem::CannotCompute { expected } => {
                Some(format!("{expected:?}"))
            }
            _ => None,
        }
    }

    /// Returns what the file has instead, or why it cannot be read. `None` for the other problems.
    pub fn found(&self) -> Option<String> {
        match self {
            FileProblem::Size { found, .. } => Some(found.to_string()),
            FileProblem::Checksum { found, .. } => Some(format!("{found:?}")),
            FileProblem::Unreadable { reason } => Some(reason.clone()),
            _ => None,
        }
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.status())
    }
}

impl From<FileRefusal> for FileProblem {
    fn from(refusal: FileRefusal) -> Self {
        match refusal {
            FileRefusal::Missing => FileProblem::Missing,
            FileRefusal::Unreadable(reason) => FileProblem::Unreadable { reason },
        }
    }
}
