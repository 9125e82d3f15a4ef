//! What is known of the files of granules.
//!
//! Records are numbered in the order in which they are committed, and never erased. Those of one file
//! are read in that order: one that contradicts what is known of the file replaces all of it, every
//! other one adds to it ([`state`]).

mod listing;
mod state;

pub use listing::FileListing;
pub(in crate::registry) use listing::{Listed, Stated};
pub use state::FileCounts;
pub(in crate::registry) use state::{FileState, KnownFile, Says, known_files};
