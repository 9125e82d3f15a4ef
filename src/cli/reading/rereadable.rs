//! Files that can be read twice.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use accession::quoted;
use anyhow::{Context, Result};

use super::file::open;
use super::input_file::InputFile;

/// A file that can be read again from its beginning.
pub enum Rereadable {
    /// A file by its name, which is opened each time.
    Named(InputFile),
    /// A copy of what a pipe contained, in a temporary file without a name.
    Copied {
        /// The copy.
        file: File,
        /// What messages call it.
        name: String,
    },
}

impl Rereadable {
    /// Prepares `file` to be read twice: a regular file is left where it is, and anything else is
    /// copied to a temporary file in `directory`.
    pub fn copied_to(directory: &Path, file: InputFile) -> Result<Self> {
        let is_regular = |path: &Path| path.metadata().is_ok_and(|metadata| metadata.is_file());
        if file.path().is_some_and(is_regular) {
            return Ok(Rereadable::Named(file));
        }
        let (mut reader, name) = open(&file)?;
        let cannot =
            || format!("cannot copy {} to {}", quoted(&name), quoted(&directory.to_string_lossy()));
        let mut copy = tempfile::tempfile_in(directory).with_context(cannot)?;
        io::copy(&mut reader, &mut copy).with_context(cannot)?;
        Ok(Rereadable::Copied { file: copy, name })
    }

    /// Opens the file at its beginning; returns it with the name that messages use.
    pub fn open(&self) -> Result<(Box<dyn Read>, String)> {
        match self {
            Rereadable::Named(file) => open(file),
            Rereadable::Copied { file, name } => {
                let cannot = || format!("cannot read {} again", quoted(name));
                let mut file = file.try_clone().with_context(cannot)?;
                file.rewind().with_context(cannot)?;
                Ok((Box::new(file), name.clone()))
            }
        }
    }
}
