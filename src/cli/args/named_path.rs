//! Paths of files and directories that a command writes, or opens more than once.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};

/// A dash was given where a path is needed.
#[derive(Debug, thiserror::Error)]
#[error("this cannot be standard input or output; a file of this name is ./-")]
struct Dash;

/// Parses a path. `-` is refused: whoever writes it means a pipe, not a file of that name.
pub fn named_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new()
        .try_map(|text| if text == "-" { Err(Dash) } else { Ok(PathBuf::from(text)) })
}
