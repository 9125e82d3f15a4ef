//! Temporary files, for lists that the library reads after Python's lock was released.

use std::fs::File;

use crate::error::Failure;

/// Creates an empty temporary file, which is deleted when it is closed.
///
/// # Errors
///
/// The directory for temporary files does not exist, cannot be written, or is full.
pub fn create() -> Result<File, Failure> {
    tempfile::tempfile().map_err(|error| {
        let directory = std::env::temp_dir();
        // Without the name of the file, which nobody chose.
        let (directory, cause) = (directory.to_string_lossy(), error.kind());
        let message = format!("cannot create a temporary file in {directory:?}: {cause}");
        Failure::Here("temporary", message, "set TMPDIR to a directory with enough space")
    })
}
