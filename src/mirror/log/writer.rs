//! Writes the lines of a log, and divides it into segments, each of which is a file.

use flate2::GzHeader;
use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};

use super::line::{
    FIRST_LINE, LINE_BYTES, LINE_GRANULES, LogEntry, LogLine, LogLineEnd, sealed, unsealed,
};
use super::reader::Position;
use crate::model::{Content, Event, EventKind, Instance, LineCheck, Timestamp};
use crate::registry::Exported;

/// Writes the lines of a log from an exported history.
pub(crate) struct LogWriter {
    segments: Segments,
    position: Position,
    /// The next line: its granules and the time of its change. `bytes` is the length of its entries.
    next: LogLine,
    bytes: usize,
}

impl LogWriter {
    /// Begins a log. Returns the writer, and the first line with its line end.
    pub fn begin() -> (Self, String) {
        let mut writer = LogWriter::resume(Position::default(), Segments::default());
        let line = writer.end_line(unsealed(FIRST_LINE).map_or("", |(body, _)| body), None);
        (writer, line)
    }

    /// Continues a log that ends at this position.
    pub fn resume(position: Position, segments: Segments) -> Self {
        LogWriter { segments, position, next: empty_line(), bytes: 0 }
    }

    /// Adds the next element of the history. If this completes a line, returns the line with its line end.
    /// `None` means that no line is complete yet.
    ///
    /// # Errors
    ///
    /// A value cannot be written as JSON.
    pub fn add(&mut self, exported: Exported) -> serde_json::Result<Option<String>> {
        match exported {
            Exported::Event(event) => {
                let is_full = self.next.granules() == LINE_GRANULES || self.bytes >= LINE_BYTES;
                let full = is_full.then(|| self.log_line(None)).transpose()?;
                self.push(event);
                Ok(full)
            }
            Exported::Change(instance) => self.log_line(Some(&instance)).map(Some),
        }
    }

    fn push(&mut self, event: Event) {
        let Event { at, kind, granule_id, producer_granule, content, .. } = event;
        let is_known = |content: &Content| kind != EventKind::Ingested || !content.is_empty();
        let entry = match kind {
            EventKind::Deleted => LogEntry { granule_id, producer_granule: None, content: None },
            _ => LogEntry { granule_id, producer_granule, content: content.filter(is_known) },
        };
        self.next.timestamp = at;
        self.bytes += entry.bytes();
        self.next.sides[kind.side()].push(entry);
    }

    fn log_line(&mut self, end: Option<&Instance>) -> serde_json::Result<String> {
        let mut log_line = std::mem::replace(&mut self.next, empty_line());
        self.bytes = 0;
        if let Some(end) = end {
            log_line.timestamp = end.timestamp;
            let (identifier, digest, note) = (end.identifier, end.digest, end.note.clone());
            log_line.end = Some(LogLineEnd { identifier, digest, note });
        }
        let line = self.end_line(&log_line.body()?, Some(log_line.timestamp));
        if let Some(end) = end {
            self.position.changes += 1;
            self.position.timestamp = Some(end.timestamp);
            self.position.granules = end.granules;
        }
        Ok(line)
    }

    /// Ends a line. `body` is the line without its closing brace. `timestamp` becomes the time of a segment
    /// that begins with this line.
    fn end_line(&mut self, body: &str, timestamp: Option<Timestamp>) -> String {
        let line = sealed(&mut self.position.check, body);
        self.position.bytes += line.len() as u64;
        if let Some(check) = self.position.check {
            self.segments.add(line.len() as u64, timestamp, check);
        }
        line
    }

    /// The position at the end of the log.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The segments so far.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }
}

fn empty_line() -> LogLine {
    LogLine { timestamp: Timestamp::EPOCH, sides: Default::default(), end: None }
}

/// A segment is complete with the line that exceeds this length, in bytes.
const SEGMENT_BYTES: u64 = 4 * 1_024 * 1_024;

/// One file of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Segment {
    /// Its length, in bytes.
    pub bytes: u64,
    /// The time of its first change. `None` means that it has no change yet.
    pub timestamp: Option<Timestamp>,
    /// The check of its last line.
    pub check: LineCheck,
}

impl Segment {
    /// Whether it is complete. No line is ever added to a complete segment.
    pub fn is_sealed(&self) -> bool {
        self.bytes > SEGMENT_BYTES
    }

    /// Whether the header of a compressed file names this segment: its comment is the check of the segment's
    /// last line.
    pub fn is_compressed_in<R>(&self, file: &GzDecoder<R>) -> bool {
        let comment = file.header().and_then(GzHeader::comment);
        comment.is_some_and(|comment| comment == self.check.to_string().as_bytes())
    }

    /// The name of the file of the segment with this zero-based number.
    pub fn file_name(index: usize) -> String {
        format!("{index:06}.jsonl")
    }
}

/// The segments of a log. They depend only on the lengths of its lines, so every archive divides a log at the
/// same lines.
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

    /// The length of all segments, in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|segment| segment.bytes).sum()
    }

    /// Whether these can be the segments of a log whose last line has this check. All but the last one must be
    /// complete.
    pub fn end_with(&self, check: LineCheck) -> bool {
        let are_sealed = self.0.iter().rev().skip(1).all(Segment::is_sealed);
        let total = self.0.iter().try_fold(0_u64, |sum, it| sum.checked_add(it.bytes));
        are_sealed && total.is_some() && self.0.last().is_some_and(|last| last.check == check)
    }
}
