//! Lines that are chained by their checks and divided into segments.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::line::{Checks, MAX_LINE_BYTES, VERSION, sealed, unsealed};
use crate::error::{Error, Result};
use crate::model::{LineCheck, SourceLocation, Timestamp};

/// Writes chained lines.
pub(super) struct ChainedWriter {
    check: Option<LineCheck>,
    pub segments: Segments,
}

impl ChainedWriter {
    /// Continues after a line with this check (`None`: there is none), which ends these segments.
    pub fn after(check: Option<LineCheck>, segments: Segments) -> Self {
        ChainedWriter { check, segments }
    }

    /// Makes the first line of a log, with its line end.
    pub fn first(&mut self, text: &str) -> String {
        self.line(unsealed(text).map_or("", |(body, _)| body), None)
    }

    /// Ends a line, which is given without its closing brace. `timestamp` is the time that a segment
    /// has which begins with it.
    pub fn line(&mut self, body: &str, timestamp: Option<Timestamp>) -> String {
        let line = sealed(&mut self.check, body);
        if let Some(check) = self.check {
            self.segments.add(line.len() as u64, timestamp, check);
        }
        line
    }

    /// The last check. `None` means that there is no line yet.
    pub fn check(&self) -> Option<LineCheck> {
        self.check
    }
}

/// Verifies chained lines, one after the other.
pub(crate) struct ChainedReader {
    source: Arc<str>,
    line: u64,
    checks: Checks,
    bytes: u64,
    check: Option<LineCheck>,
}

/// The first line of a log, as it is read.
#[derive(Deserialize)]
struct FirstRead {
    #[serde(rename = "accession_log")]
    version: u64,
    #[serde(default)]
    rule: String,
}

impl ChainedReader {
    /// A reader that continues after so many bytes and a line with this check (`None`: the log begins
    /// here). `source` is what messages call the log, `line` the number of lines of it before.
    pub fn after(bytes: u64, check: Option<LineCheck>, source: Arc<str>, line: u64) -> Self {
        ChainedReader { source, line, checks: Checks::after(check), bytes, check }
    }

    /// Continues in another file, after its first `line` lines.
    pub fn enter(&mut self, source: Arc<str>, line: u64) {
        (self.source, self.line) = (source, line);
    }

    /// Verifies the next line, which ends with LF. Returns its text without its line end, and without its
    /// check. `None` means that it was the first line, which is `first`.
    ///
    /// # Errors
    ///
    /// What is wrong with the line, and which one it is.
    pub fn read<'line>(
        &mut self,
        line: &'line [u8],
        first: &str,
    ) -> Result<Option<(&'line str, &'line str)>> {
        self.line += 1;
        let is_first = self.bytes == 0;
        let Some(text) = line.strip_suffix(b"\n") else {
            return self.fail(match line.len() as u64 >= MAX_LINE_BYTES {
                true => "the line is longer than any line of a log",
                false => "the line is cut",
            });
        };
        let text = std::str::from_utf8(text).unwrap_or_default();
        if is_first {
            self.check_first(text, first)?;
        }
        match self.checks.verify(line) {
            Ok(check) => self.check = Some(check),
            Err(what) => return self.fail(what),
        }
        self.bytes += line.len() as u64;
        Ok(unsealed(text).filter(|_| !is_first).map(|(body, _)| (text, body)))
    }

    /// A newer version may use other checks, so the version is checked first.
    fn check_first(&self, text: &str, first: &str) -> Result<()> {
        match serde_json::from_str::<FirstRead>(text) {
            Ok(read) if read.version != VERSION => {
                let found = read.version;
                self.fail(&format!("it has version {found}, this program reads {VERSION}"))
            }
            Ok(read) if read.rule != "md5-chain" => {
                self.fail("its identifiers follow another rule than md5-chain")
            }
            Ok(_) if text == first => Ok(()),
            _ => self.fail("its first line is not that of a log"),
        }
    }

    /// How many bytes were read, and those before.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The check of the last line. `None` means that the log begins here.
    pub fn check(&self) -> Option<LineCheck> {
        self.check
    }

    /// The last line that was read.
    pub fn location(&self) -> SourceLocation {
        SourceLocation::Line { source: Arc::clone(&self.source), line: self.line }
    }

    /// The error because of the last line that was read.
    pub fn error(&self, error: Error) -> Error {
        error.at_line(&self.source, self.line)
    }

    /// Fails because of the last line that was read.
    pub fn fail<T>(&self, what: &str) -> Result<T> {
        Err(self.error(Error::not_a_manifest(what)))
    }
}

/// A segment is complete with the line that takes it past this length.
const SEGMENT_BYTES: u64 = 4 * 1_024 * 1_024;

/// One file of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Segment {
    /// Its length.
    pub bytes: u64,
    /// The time of its first change. `None` means that it has none yet.
    pub timestamp: Option<Timestamp>,
    /// The check of its last line.
    pub check: LineCheck,
}

impl Segment {
    /// Whether it is complete: no line is ever added to it again.
    pub fn is_sealed(&self) -> bool {
        self.bytes > SEGMENT_BYTES
    }

    /// The name of the file of the segment with this zero-based number.
    pub fn file_name(index: usize) -> String {
        format!("{index:06}.jsonl")
    }
}

/// The segments of a log: a function of the lengths of its lines, so that everyone divides a log at
/// the same places.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Segments(pub Vec<Segment>);

impl Segments {
    /// Adds a line.
    pub fn add(&mut self, bytes: u64, timestamp: Option<Timestamp>, check: LineCheck) {
        match self.0.last_mut().filter(|last| !last.is_sealed()) {
            Some(last) => {
                last.bytes += bytes;
                last.timestamp = last.timestamp.or(timestamp);
                last.check = check;
            }
            None => self.0.push(Segment { bytes, timestamp, check }),
        }
    }

    /// The length of all of them.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|segment| segment.bytes).sum()
    }

    /// Whether they can be those of a log whose last line has this check: all but the last one are
    /// complete.
    pub fn end_with(&self, check: LineCheck) -> bool {
        let are_sealed = self.0.iter().rev().skip(1).all(Segment::is_sealed);
        let total = self.0.iter().try_fold(0_u64, |sum, it| sum.checked_add(it.bytes));
        are_sealed && total.is_some() && self.0.last().is_some_and(|last| last.check == check)
    }
}
