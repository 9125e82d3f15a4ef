//! Temporary files beside a target, and the removal of those that a killed process left there.
//!
//! # The protocol
//!
//! A temporary file or directory `.accession-STEM.new` belongs to the process that holds the exclusive lock on
//! `.accession-STEM.lock`. The operating system drops that lock when the process ends, however it
//! ends. The lock is on a file of its own because a lock on a database file would
//! exclude SQLite itself on Windows and on NFS.
//!
//! *Creating:* create the lock file, lock it, check that its path still exists, and only then
//! create the temporary file. *Finishing:* rename or remove the temporary file, then remove the
//! lock file, then unlock. *Removing:* lock the lock file, remove the temporary file and SQLite's
//! files beside it, then the lock file, then unlock.
//!
//! A process that removes leftovers may acquire the lock on a file that another process has created
//! but not locked yet. It then removes a lock file that has no temporary file; the creator, whose
//! lock fails or whose path no longer exists, chooses another name. If it opens the lock file of a
//! process that finishes at that moment, everything with this stem has already been removed. Stems
//! are random and are not reused. A temporary file without a lock file has no owner: the lock file
//! is created before it and removed after it.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempPath};

use super::reserved;

const PREFIX: &str = ".accession-";
const LOCK: &str = ".lock";
const NEW: &str = ".new";

/// The lock that protects the temporary file with the same stem. Dropping it removes the lock file.
pub(super) struct Lock {
    file: NamedTempFile,
}

/// Removes SQLite's files beside a temporary file when dropped.
pub(super) struct Companions {
    path: PathBuf,
}

impl Lock {
    /// Creates a lock file in a directory, and locks it.
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        loop {
            let file = lock_file(directory)?;
            match file.as_file().try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                // On a file system without locks no other process can lock it either, so none
                // removes it.
                Err(TryLockError::Error(_)) => return Ok(Lock { file }),
            }
            if file.path().try_exists()? {
                return Ok(Lock { file });
            }
        }
    }

    /// Creates the temporary file that this lock protects.
    pub(super) fn new_file(&self) -> io::Result<NamedTempFile> {
        let path = new_of(self.file.path());
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        Ok(NamedTempFile::from_parts(file, TempPath::try_from_path(path)?))
    }

    /// Creates the temporary directory that this lock protects, for its owner alone.
    pub(super) fn new_directory(&self) -> io::Result<PathBuf> {
        let path = new_of(self.file.path());
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map(|()| path)
    }
}

impl Companions {
    pub(super) fn of(path: &Path) -> Self {
        Companions { path: path.to_owned() }
    }
}

impl Drop for Companions {
    fn drop(&mut self) {
        for ending in reserved::ENDINGS {
            let _ = std::fs::remove_file(reserved::beside(&self.path, ending));
        }
    }
}

/// Removes the temporary files and directories in a directory that no process owns.
///
/// A file that cannot be listed, locked or removed belongs to another user and is not touched.
pub(super) fn remove(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let stems: BTreeSet<String> = names.filter_map(|name| stem(&name).map(str::to_owned)).collect();
    for stem in stems {
        remove_stem(&directory.join(format!("{PREFIX}{stem}{LOCK}")));
    }
}

/// Removes all files with the stem of a lock file, unless a process holds that lock.
fn remove_stem(lock_path: &Path) {
    let lock = match File::options().read(true).write(true).open(lock_path) {
        Ok(file) => match file.try_lock() {
            Ok(()) => Some(file),
            Err(_) => return,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => return,
    };
    let path = new_of(lock_path);
    drop(Companions::of(&path));
    // Of a link, the link itself is removed.
    if std::fs::remove_file(&path).is_err() {
        let _ = std::fs::remove_dir_all(&path);
    }
    if lock.is_some() {
        let _ = std::fs::remove_file(lock_path);
    }
}

/// The stem in the name of a lock file, a temporary file, or a file beside one. `None` for any
/// other name.
fn stem(name: &str) -> Option<&str> {
    let (stem, ending) = name.strip_prefix(PREFIX)?.split_once('.')?;
    let is_ours = match ending {
        "lock" | "new" => true,
        ending => ending.strip_prefix("new").is_some_and(|rest| reserved::ENDINGS.contains(&rest)),
    };
    is_ours.then_some(stem)
}

/// The temporary file that a lock file protects.
fn new_of(lock_path: &Path) -> PathBuf {
    lock_path.with_extension(&NEW[1..])
}

/// Creates an empty lock file with the permissions that the umask allows: anyone who may write to
/// the directory may remove what a killed process left there.
fn lock_file(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(LOCK);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_temporary_files_have_a_stem() {
        for name in ["lock", "new", "new-wal", "new-shm", "new-journal"] {
            assert_eq!(stem(&format!(".accession-aB3dE6.{name}")), Some("aB3dE6"));
        }
        for name in
            ["accession.db", ".accession-x", ".accession-x.newer", ".accession-x.db", "x.new"]
        {
            assert_eq!(stem(name), None, "{name}");
        }
    }
}
