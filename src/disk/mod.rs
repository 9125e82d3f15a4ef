//! Files: atomic creation, temporary files, and reserved names.
//!
//! This layer does not know what the files contain. The store and `dataset export` write through it. The
//! library puts data that does not fit into memory into temporary files. If one cannot be created, written or
//! read, the error has the kind [`ErrorKind::Temporary`].

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

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use crate::error::{Error, ErrorKind};
use crate::model::quoted;

/// Reads a whole small file.
///
/// # Errors
///
/// It is longer than `most_bytes` ([`io::ErrorKind::FileTooLarge`]), or cannot be read.
pub fn read_small(file: impl Read, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(most_bytes.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most_bytes {
        let what = format!("it is longer than {most_bytes} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(content)
}

/// Reads a whole small text file.
///
/// # Errors
///
/// The errors of [`read_small`]; it is not UTF-8 ([`io::ErrorKind::InvalidData`]).
pub fn read_small_text(file: impl Read, most_bytes: u64) -> io::Result<String> {
    let text = String::from_utf8(read_small(file, most_bytes)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Opens a regular file for reading. Anything else is rejected: a pipe would wait for its other end, and a
/// device can be endless.
///
/// # Errors
///
/// The file cannot be opened, or is not a regular file.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    check_is_regular(&file)?;
    Ok(file)
}

fn check_is_regular(file: &File) -> io::Result<()> {
    match file.metadata()?.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

impl Error {
    /// The error of an operation on a file or directory. `verb` names the operation.
    pub(crate) fn cannot(verb: &str, path: &Path, source: std::io::Error) -> Self {
        let message = format!("cannot {verb} {}", quoted(&path.to_string_lossy()));
        Error::new(ErrorKind::Io, message).in_path(path).because(source)
    }
}
