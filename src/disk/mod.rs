//! Files: atomic creation, temporary files, and reserved names.
//!
//! This layer does not know what the files contain. The store and `export` write through it.

mod atomic_file;
mod directory;
pub mod reserved;
pub mod scratch;

pub use atomic_file::AtomicFile;
pub(crate) use atomic_file::directory_of;
pub(crate) use directory::Directory;
pub(crate) use scratch::{Entry, Section, Sorted, Sorter};
pub use scratch::{Records, Spool};
