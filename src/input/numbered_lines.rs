//! Lines with their numbers, none longer than it may be.

use std::io::{BufRead, Read};
use std::sync::Arc;

use super::{Error, Fault};
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
    /// The lines of a file, of each no more than so many bytes.
    pub fn new(file: R, name: Arc<str>, max_bytes: u64) -> Self {
        NumberedLines { file, name, number: 0, bytes: Vec::new(), max_bytes }
    }

    /// Goes to the next line; says whether there is one.
    pub fn advance(&mut self) -> Result<bool, Error> {
        self.number += 1;
        self.bytes.clear();
        let read = (&mut self.file).take(self.max_bytes).read_until(b'\n', &mut self.bytes);
        match read {
            Ok(bytes) => Ok(bytes > 0),
            Err(cause) => Err(self.fail(Fault::Unreadable { cause })),
        }
    }

    /// The line with its end, as far as it was read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The line without LF, CRLF, or a bare CR where the file ends.
    pub fn text(&self) -> &[u8] {
        let line = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// Its number, counted from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Where it stands.
    pub fn location(&self) -> SourceLocation {
        SourceLocation::Line { source: self.name.clone(), line: self.number }
    }

    /// That something is wrong with it.
    pub fn fail(&self, fault: Fault) -> Error {
        Error::new(&self.name, self.number, fault)
    }
}
