//! Numbered lines of a limited length.

use std::io::{BufRead, Read};
use std::sync::Arc;

use super::error::{Error, InputErrorKind};
use crate::model::SourceLocation;

/// The lines of a file, one in memory at a time.
pub(super) struct NumberedLines<R> {
    file: R,
    name: Arc<str>,
    number: u64,
    bytes: Vec<u8>,
    max_bytes: u64,
}

impl<R: BufRead> NumberedLines<R> {
    /// The lines of a file. No more than `max_bytes` bytes of each are read, line end included.
    pub fn new(file: R, name: Arc<str>, max_bytes: u64) -> Self {
        NumberedLines { file, name, number: 0, bytes: Vec::new(), max_bytes }
    }

    /// Reads the next line. Returns `false` at the end of the file.
    pub fn advance(&mut self) -> Result<bool, Error> {
        self.number += 1;
        self.bytes.clear();
        let read = (&mut self.file).take(self.max_bytes).read_until(b'\n', &mut self.bytes);
        match read {
            Ok(bytes) => Ok(bytes > 0),
            Err(cause) => Err(self.fail(InputErrorKind::of_io(cause))),
        }
    }

    /// Whether only a part of the line was read.
    pub fn is_cut(&self) -> bool {
        self.bytes.len() as u64 == self.max_bytes && !self.bytes.ends_with(b"\n")
    }

    /// The error that the line is too long.
    pub fn too_long(&self) -> Error {
        self.fail(InputErrorKind::LineTooLong { max_bytes: self.max_bytes })
    }

    /// The line with its end, as far as it was read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The line without its LF or CRLF, or a bare CR at the end of the file.
    pub fn text(&self) -> &[u8] {
        let line = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// Its number, counted from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Where it was read.
    pub fn location(&self) -> SourceLocation {
        SourceLocation::Line { source: self.name.clone(), line: self.number }
    }

    /// The error that something is wrong with the line.
    pub fn fail(&self, kind: InputErrorKind) -> Error {
        Error::new(&self.name, self.number, kind)
    }
}
