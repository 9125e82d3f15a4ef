//! Input of a command: files, or standard input, which is named `-`.

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

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

    /// The name of the file in messages.
    pub fn name(&self) -> String {
        match self {
            InputFile::StandardInput => "standard input".to_owned(),
            InputFile::Path(path) => path.to_string_lossy().into_owned(),
        }
    }
}

/// Citations to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CitationText {
    /// Standard input, which is named `-`.
    StandardInput,
    /// The citations themselves.
    Text(String),
}

impl FromStr for CitationText {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "-" => CitationText::StandardInput,
            text => CitationText::Text(text.to_owned()),
        })
    }
}
