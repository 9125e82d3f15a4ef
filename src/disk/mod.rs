//! Files: atomic creation, temporary files, and reserved names.
//!
//! This layer does not know what the files contain. The store and `export` write through it. A
//! temporary file that cannot be created, written or read is an error of kind
//! [`ErrorKind::Temporary`], wherever the library keeps what it cannot hold in memory.

mod atomic_file;
mod directory;
pub mod reserved;
pub mod scratch;
mod sort;

pub use atomic_file::AtomicFile;
pub(crate) use atomic_file::directory_of;
pub use directory::Directory;
pub use scratch::{Spool, SpooledRecords};
pub(crate) use sort::Merge;
pub use sort::{SortedEntries, Sorter};

use std::path::Path;

use crate::error::{Error, ErrorKind};
use crate::model::quoted;

impl Error {
    /// Creates the error of an operation on a file or directory, which `verb` names.
    pub fn cannot(verb: &str, path: &Path, source: std::io::Error) -> Self {
        let message = format!("cannot {verb} {}", quoted(&path.to_string_lossy()));
        Error::new(ErrorKind::Io, message).in_path(path).because(source)
    }
}
