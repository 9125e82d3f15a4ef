//! Checks of files against what is recorded of them.
//!
//! This layer reads files below a [`Root`]: what is recorded of the files comes in as an iterator, and what
//! is wrong with them goes out as values, in the same order. [`check`](check()) does that with the files of a
//! set of a registry, and records it; [`compute`] states the checksums of files that have none.
//!
//! # Examples
//!
//! ```
//! use std::num::NonZeroUsize;
//! use std::sync::Arc;
//!
//! use accession::Watcher;
//! use accession::fixity::{Depth, FileReader, MountCheck, Purpose, ReadOptions, RecordedFile, Root};
//! use accession::file::{Algorithm, Checksum};
//!
//! # let directory = tempfile::tempdir()?;
//! std::fs::write(directory.path().join("A.nc"), "abd")?;
//! let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // of "abc"
//! let mut file = RecordedFile::unrecorded("A.nc".parse()?);
//! file.checksums.push(Checksum::parse(Algorithm::Sha256, sha256)?);
//!
//! let root = Arc::new(Root::open(directory.path(), MountCheck::Unknown)?);
//! let files = [Ok(file)].into_iter();
//! let purpose = Purpose::Check(Depth::Content);
//! let options = ReadOptions::new(NonZeroUsize::MIN);
//! for checked in FileReader::start(&root, files, purpose, options, &Watcher::new())? {
//!     let problem = checked?.content.expect_err("the file was changed");
//!     assert_eq!(problem.status, "checksum");
//!     assert_eq!(problem.expected, Some(format!("sha-256:{sha256}")));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod described;
mod digest;
mod files_of_set;
mod found;
mod list;
mod reader;
mod root;
mod unexpected;

pub use check::{
    CheckSummary, CheckedFile, Depth, FileFinding, FileProblem, Purpose, RecordedFile,
};
pub use described::described;
pub use files_of_set::{CheckOptions, FileTree, FilesOfSet, FixityRun, check, compute, nearest};
pub use found::{ComparedFiles, FoundFiles};
pub use list::{ListStyle, ListedChecksums, each_checksum};
pub use reader::{FileReader, ReadOptions};
pub use root::{MountCheck, Root};
pub use unexpected::{DirectoryFiles, UnexpectedFiles};
