//! Unnamed temporary files, for data that does not fit into memory, and temporary directories.
//!
//! They are created in the directory that the environment variable `TMPDIR` names, or else in the
//! system's directory for temporary files. Where the operating system allows it they have no name,
//! so nothing is left when the process ends, however it ends. A directory that a killed process left is
//! removed by [`remove_leftovers`].

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::SpooledTempFile;

use super::leftovers::{self, Lock};
use crate::error::{Error, ErrorKind, Result};
use crate::model::quoted;

/// Returns the directory in which temporary files are created.
pub fn directory() -> PathBuf {
    std::env::temp_dir()
}

/// Returns the directory in which SQLite creates its temporary files (`unixTempFileDir` in os_unix.c).
pub fn directory_of_sqlite() -> PathBuf {
    let named = ["SQLITE_TMPDIR", "TMPDIR"].into_iter().filter_map(std::env::var_os);
    let usual = ["/var/tmp", "/usr/tmp", "/tmp"].map(Into::into);
    let mut directories = named.chain(usual).map(PathBuf::from);
    directories.find(|candidate| candidate.is_dir()).unwrap_or_else(directory)
}

/// Creates an empty temporary file, which is deleted when it is closed.
///
/// # Errors
///
/// [`ErrorKind::Temporary`]: the directory does not exist, cannot be written, or is full.
pub fn file() -> Result<File> {
    file_in(&directory())
}

/// The data that a spool keeps in memory.
const SPOOL_BYTES: usize = 256 * 1_024;

/// A temporary file that is created when more than a little is written to it.
pub fn spool() -> SpooledTempFile {
    SpooledTempFile::new_in(SPOOL_BYTES, directory())
}

/// A temporary directory, which is removed when it is dropped.
pub struct Directory {
    path: PathBuf,
    // Dropped last, so that what could not be removed has an owner until then.
    _lock: Lock,
}

impl Directory {
    /// Creates an empty directory that only the owner of the process can read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`]: the directory for temporary files does not exist, cannot be written, or is
    /// full.
    pub fn new() -> Result<Self> {
        let create = || {
            let lock = Lock::new(&directory())?;
            Ok(Directory { path: lock.new_directory()?, _lock: lock })
        };
        create().map_err(|source: io::Error| created(&directory(), source))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Removes the temporary directories of processes that do not exist any more.
pub fn remove_leftovers() {
    leftovers::remove(&directory());
}

/// Returns the error for a temporary file that cannot be read or written; `verb` is `"read"` or
/// `"write"`.
pub fn unusable(verb: &'static str, source: io::Error) -> Error {
    cannot(verb, &directory(), source)
}

/// As [`file`], in a directory.
///
/// # Errors
///
/// Those of [`file`].
pub fn file_in(directory: &Path) -> Result<File> {
    tempfile::tempfile_in(directory).map_err(|source| created(directory, source))
}

fn created(directory: &Path, source: io::Error) -> Error {
    // The name of the temporary file is left out: the user did not choose it.
    cannot("create", directory, source.kind().into())
}

fn cannot(verb: &str, directory: &Path, source: io::Error) -> Error {
    let message = format!(
        "cannot {verb} a temporary file in the directory {} (the environment variable TMPDIR names another)",
        quoted(&directory.to_string_lossy())
    );
    Error::new(ErrorKind::Temporary, message).because(source)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use super::*;

    #[test]
    fn a_temporary_file_has_no_name_and_keeps_what_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = file_in(directory.path()).unwrap();
        file.write_all(b"spooled").unwrap();
        file.rewind().unwrap();
        let mut read = String::new();
        file.read_to_string(&mut read).unwrap();
        assert_eq!(read, "spooled");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_error_names_the_directory_and_the_variable() {
        let error = file_in(Path::new("/nowhere/tmp")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot create a temporary file in the directory \"/nowhere/tmp\" (the environment variable TMPDIR names another)"
        );
        let full = unusable("write", io::ErrorKind::StorageFull.into());
        assert!(full.to_string().starts_with("cannot write a temporary file in the directory"));
    }
}
