//! What is known of the files of granules.
//!
//! Records are numbered in the order in which they are committed, and never erased. Those of one file
//! are read in that order: one that contradicts what is known of the file replaces all of it, every
//! other one adds to it ([`state`]).

mod coverage;
mod listing;
mod logged;
mod memory;
mod merge;
mod state;

pub(in crate::registry) use coverage::{Coverage, first_gap};
pub use listing::FileListing;
pub(crate) use logged::{LoggedInOrder, LoggedRecord, LoggedRecords, StatedRecord, logged_records};
pub(crate) use memory::FilesRead;
pub(crate) use merge::RecordMerge;
pub(in crate::registry) use merge::Taken;
pub use state::FileCounts;
pub(in crate::registry) use state::{FileState, KnownFile, Says, known_files};
