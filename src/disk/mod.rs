//! Files: atomic creation, temporary files, and reserved names.
//!
//! This layer does not know what the files contain. The store and `export` write through it.

mod atomic_file;
mod directory;
mod leftovers;
pub mod reserved;
pub mod scratch;
mod sorted;
mod spool;

pub use atomic_file::AtomicFile;
pub(crate) use atomic_file::directory_of;
pub(crate) use directory::Directory;
pub(crate) use sorted::{Entry, Sorted, Sorter};
pub(crate) use spool::Section;
pub use spool::{Records, Spool};
