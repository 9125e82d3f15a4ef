//! Files: atomic creation, temporary files, and reserved names.
//!
//! This layer does not know what the files contain. The store and `export` write through it.

mod atomic_file;
mod error;
mod leftovers;
pub mod reserved;
pub mod scratch;

pub use atomic_file::AtomicFile;
pub(crate) use atomic_file::{directory_of, sync_directory};
pub use error::Error;

type Result<T> = std::result::Result<T, Error>;
