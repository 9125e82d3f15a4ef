//! Files that commands read, and small files that are read as a whole.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use accession::text::{quoted, read_small_text};
use accession::{ErrorKind, ParseError};

use super::error::{Context, Error, Result};

/// An input file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputFile {
    /// Standard input, which is named `-`.
    StandardInput,
    /// A file by its path.
    Path(PathBuf),
}

impl From<OsString> for InputFile {
    fn from(argument: OsString) -> Self {
        if argument == "-" { InputFile::StandardInput } else { InputFile::Path(argument.into()) }
    }
}

impl InputFile {
    /// The path. `None` means standard input.
    pub fn path(&self) -> Option<&Path> {
        match self {
            InputFile::StandardInput => None,
            InputFile::Path(path) => Some(path),
        }
    }

    /// Whether it is a directory. Its files are then listed.
    pub fn is_directory(&self) -> bool {
        self.path().is_some_and(Path::is_dir)
    }

    /// The name of the file in messages.
    pub fn name(&self) -> String {
        match self {
            InputFile::StandardInput => "standard input".to_owned(),
            InputFile::Path(path) => path.to_string_lossy().into_owned(),
        }
    }
}

/// Opens a file to read it once. Also returns its name in messages.
pub fn open(file: &InputFile) -> Result<(Box<dyn Read + Send>, String)> {
    let name = file.name();
    let Some(path) = file.path() else { return Ok((Box::new(io::stdin()), name)) };
    if path.is_dir() {
        let message = format!("{} is a directory, not a file", quoted(&name));
        return Err(Error::new(ErrorKind::Io, message).with_hint("name a file in it"));
    }
    let opened = File::open(path).with_context(|| format!("cannot read {}", quoted(&name)))?;
    Ok((Box::new(opened), name))
}

/// Parses the text of a file. An error names the file.
pub fn parsed<T: FromStr<Err = ParseError>>(text: &str, file: &InputFile) -> Result<T> {
    text.parse().map_err(|error| Error::usage(format!("{}: {error}", file.name())))
}

/// Reads a small file as a whole, as text.
///
/// # Errors
///
/// The file cannot be read, or is longer than `most_bytes`.
pub fn read_text(file: &InputFile, most_bytes: u64) -> Result<String> {
    let (reader, name) = open(file)?;
    let text = read_small_text(reader, most_bytes);
    text.with_context(|| format!("cannot read {}", quoted(&name)))
}
