//! Opens files.

use std::fs::File;
use std::io::{self, Read};

use accession::quoted;
use anyhow::{Context, Result};

use super::input_file::InputFile;

/// Opens a file to read it once, and returns it with the name that messages use.
pub fn open(file: &InputFile) -> Result<(Box<dyn Read>, String)> {
    let name = file.name();
    let Some(path) = file.path() else { return Ok((Box::new(io::stdin()), name)) };
    let opened = File::open(path).with_context(|| format!("cannot read {}", quoted(&name)))?;
    Ok((Box::new(opened), name))
}
