//! Names that SQLite gives to files beside a database.
//!
//! SQLite treats any file with such a name as its own: it deletes the file, or writes its content
//! into the database. Such names are refused even if the database does not exist, since it may be
//! created later.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::model::quoted;

/// The endings that SQLite appends to the name of a database for the files beside it.
pub const ENDINGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Returns the path of the file with that ending beside a database.
pub fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(ending);
    PathBuf::from(name)
}

/// Refuses a path whose name has one of the [`ENDINGS`].
///
/// The comparison ignores case, since a file system may do so too.
///
/// # Errors
///
/// [`ErrorKind::ReservedName`]: `accession.db-wal`, `accession.db-SHM`, `manifest.jsonl-journal`.
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
    Err(Error::new(ErrorKind::ReservedName, message).in_path(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_sqlite_would_treat_as_its_own_is_refused() {
        for name in ["x.db-wal", "x.db-shm", "x.db-journal", "X.DB-WAL", "a/x-wal", "-wal"] {
            let error = check(Path::new(name)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ReservedName, "{name}");
        }
    }

    #[test]
    fn other_names_are_free() {
        for name in ["x.db", "wal", "x-wal.db", "x-wal/y", "journal", "", "..", "x-wal-"] {
            check(Path::new(name)).unwrap();
        }
    }
}
