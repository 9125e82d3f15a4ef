//! Names of files that no user chooses: the files beside a database, and temporary files.
//!
//! SQLite treats any file with such a name as its own: it deletes the file, or writes the file's content into
//! the database. Such names are rejected even if the database does not exist, since it may be created later.
//!
//! A temporary file is named `.accession-STEM.new`, and `.accession-STEM.lock` protects it. The stem of an
//! `AtomicFile` is random, so any number of processes can write into a directory. If nobody holds the lock, a
//! killed process left the file. The stem of a `Directory` is always the same, and its lock file stays. One
//! process at a time holds the lock and writes one file after the other; it overwrites what a killed process
//! left.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::model::quoted;

/// The endings that SQLite appends to the name of a database for the files beside it.
pub const ENDINGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The path of the file with that ending beside a database.
pub fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(ending);
    PathBuf::from(name)
}

/// Whether a listed path has the name of the file of an existing registry, or of a file beside it.
pub fn is_own(registry: &Path, listed: &Path) -> bool {
    has_name_of(registry, listed) && registry.is_file()
}

/// Whether a path has the name of the file of a registry, or of a file beside it.
pub fn has_name_of(registry: &Path, path: &Path) -> bool {
    // This is called for each listed id, and `Path::file_name` would parse the whole path.
    let name_of = |path| Path::to_str(path).and_then(|path| path.rsplit('/').next());
    let rest = name_of(registry).zip(name_of(path)).and_then(|(own, it)| it.strip_prefix(own));
    rest.is_some_and(|rest| rest.is_empty() || ENDINGS.contains(&rest))
}

/// Rejects a path whose name has one of the [`ENDINGS`].
///
/// The comparison ignores letter case, since a file system may do so too.
///
/// # Errors
///
/// [`ErrorKind::InvalidPath`]: `accession.db-wal`, `accession.db-SHM`, `manifest.jsonl-journal`.
pub fn check(path: &Path) -> Result<()> {
    let name = path.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default();
    let is_reserved = ENDINGS.iter().any(|ending| {
        let start = name.len().saturating_sub(ending.len());
        name[start..].eq_ignore_ascii_case(ending.as_bytes())
    });
    if !is_reserved {
        return Ok(());
    }
    let name = path.to_string_lossy();
    let message = format!(
        "{} is the name of a file that SQLite creates and deletes beside a registry",
        quoted(&name)
    );
    Err(Error::new(ErrorKind::InvalidPath, message).in_path(path))
}

pub(super) const PREFIX: &str = ".accession-";
pub(super) const LOCK: &str = ".lock";
const NEW: &str = ".new";

/// The number of characters of a random stem: letters and digits.
pub(super) const STEM_LENGTH: usize = 6;

/// The temporary file of a `Directory`, and its lock. Their stem is longer than a random one, so they are never
/// removed as leftovers.
pub(crate) const SHARED_NEW: &str = ".accession-publish.new";
pub(crate) const SHARED_LOCK: &str = ".accession-publish.lock";

/// The name of the lock file with a stem.
pub(super) fn lock_of(stem: &str) -> String {
    format!("{PREFIX}{stem}{LOCK}")
}

/// The temporary file that a lock file protects.
pub(super) fn new_of(lock_path: &Path) -> PathBuf {
    lock_path.with_extension(&NEW[1..])
}

/// The random stem in the name of a lock file, a temporary file, or a file beside one. `None` means that it is
/// another name.
pub(super) fn stem(name: &str) -> Option<&str> {
    let (stem, ending) = name.strip_prefix(PREFIX)?.split_once('.')?;
    let is_ours = match ending {
        "lock" | "new" => true,
        ending => ending.strip_prefix("new").is_some_and(|rest| ENDINGS.contains(&rest)),
    };
    let is_random = stem.len() == STEM_LENGTH && stem.bytes().all(|it| it.is_ascii_alphanumeric());
    (is_ours && is_random).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_sqlite_would_treat_as_its_own_is_refused() {
        for name in ["x.db-wal", "x.db-shm", "x.db-journal", "X.DB-WAL", "a/x-wal", "-wal"] {
            let error = check(Path::new(name)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidPath, "{name}");
        }
    }

    #[test]
    fn other_names_are_free() {
        for name in ["x.db", "wal", "x-wal.db", "x-wal/y", "journal", "", "..", "x-wal-"] {
            check(Path::new(name)).unwrap();
        }
    }

    #[test]
    fn only_names_of_temporary_files_have_a_stem() {
        for name in ["lock", "new", "new-wal", "new-shm", "new-journal"] {
            assert_eq!(stem(&format!(".accession-aB3dE6.{name}")), Some("aB3dE6"));
        }
        for name in ["accession.db", ".accession-aB3dE6", "aB3dE6.new"] {
            assert_eq!(stem(name), None, "{name}");
        }
        for ending in ["newer", "db"] {
            assert_eq!(stem(&format!(".accession-aB3dE6.{ending}")), None, "{ending}");
        }
        // The files of publishing.
        for name in [SHARED_NEW, SHARED_LOCK] {
            assert_eq!(stem(name), None, "{name}");
        }
    }
}
