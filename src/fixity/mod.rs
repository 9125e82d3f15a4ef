//! Checks files against their records.
//!
//! [`Registry::check_fixity`] reads the files of a set below a directory. It returns the findings in the order
//! of the granules, and records them. [`Registry::compute_checksums`] computes and records the checksums of
//! files that have none.
//!
//! [`Registry::check_fixity`]: crate::Registry::check_fixity
//! [`Registry::compute_checksums`]: crate::Registry::compute_checksums
//!
//! # Examples
//!
//! ```
//! use accession::file::Algorithm;
//! use accession::fixity::{CheckOptions, FileTree};
//! use accession::{Clock, DatasetName, Listing, ListingOptions, Registry, Snapshot};
//! # use accession::{ChangeOptions, IfMissing, Limits};
//!
//! # let directory = tempfile::tempdir()?;
//! # let root = directory.path().to_owned();
//! # let path = root.join("A.nc");
//! # std::fs::write(&path, "abc")?;
//! let registry = Registry::temporary(Clock::system())?;
//! let name: DatasetName = "FOO".parse()?;
//! // Names and sizes.
//! let listing = Listing::read(&root, &ListingOptions::new())?;
//! let options = ChangeOptions::new().if_missing(IfMissing::Create);
//! registry.sync(&name, &listing, &options)?;
//!
//! let tree = FileTree::new(root);
//! let mut run = registry.compute_checksums(&name, &tree, Algorithm::Sha256, None)?;
//! assert!(run.next().is_none(), "every file can be read");
//! run.finish()?;
//!
//! std::fs::write(&path, "abd")?;
//! let select = |snapshot: &Snapshot| Ok(snapshot.select(&name.into())?.set);
//! let mut run = registry.check_fixity(select, &tree, CheckOptions::new())?;
//! let finding = run.next().expect("the file was changed")?;
//! assert_eq!((finding.path.as_str(), finding.status), ("A.nc", "checksum"));
//! assert_eq!(run.finish()?.findings, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod described;
mod digest;
mod files_of_set;
mod list;
mod reader;
mod root;
#[cfg(test)]
mod tests;
mod unexpected;

pub use check::{CheckSummary, FileFinding};
pub(crate) use check::{CheckedFile, Purpose, RecordedFile};
pub use files_of_set::{CheckOptions, FileTree, FixityRun};
pub use list::{ListStyle, ListedChecksums};
pub(crate) use reader::{FileReader, ReadOptions};
pub(crate) use root::{MountCheck, Root};
