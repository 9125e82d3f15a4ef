//! Files: those that appear whole or not at all, temporary ones, and names that are not free.
//!
//! Nothing here knows what the files contain. The store and `export` write through this layer.

mod atomic_file;
mod error;
mod leftovers;
pub mod reserved;
pub mod scratch;

pub use atomic_file::AtomicFile;
pub(crate) use atomic_file::{directory_of, sync_directory};
pub use error::Error;

type Result<T> = std::result::Result<T, Error>;
