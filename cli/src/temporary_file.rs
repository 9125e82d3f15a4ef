//! Temporary files for output that must be complete before it is printed.

use std::fs::File;

use accession::ErrorKind;
use accession::text::quoted;

use super::error::{Error, Result};

/// Creates an empty temporary file, which is deleted when it is closed.
///
/// # Errors
///
/// [`ErrorKind::Temporary`]: the directory for temporary files does not exist, is not writable, or is full.
pub fn create() -> Result<File> {
    tempfile::tempfile().map_err(|error| {
        let directory = std::env::temp_dir();
        let message = format!(
            "cannot create a temporary file in the directory {} (the environment variable TMPDIR names another): {}",
            quoted(&directory.to_string_lossy()),
            // The name of the file is omitted, because the user did not choose it.
            error.kind()
        );
        Error::new(ErrorKind::Temporary, message)
            .with_hint("nothing was changed; set TMPDIR to a directory with enough space")
    })
}
