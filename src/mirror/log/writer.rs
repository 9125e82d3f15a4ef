//! Writes the lines of a log.

use super::line::{
    FIRST_LINE, LINE_BYTES, LINE_GRANULES, LogEntry, LogLine, LogLineEnd, sealed, unsealed,
};
use super::reader::Position;
use super::segments::Segments;
use crate::model::{Content, Event, EventKind, Instance, Timestamp};
use crate::registry::Exported;

/// Makes the lines of a log from an exported history.
pub(crate) struct LogWriter {
    segments: Segments,
    position: Position,
    /// The granules of the next line, when its change took effect, and the length of its entries.
    next: LogLine,
    bytes: usize,
}

impl LogWriter {
    /// Begins a log, and returns its first line, with its line end.
    pub fn begin() -> (Self, String) {
        let mut writer = LogWriter::resume(Position::default(), Segments::default());
        let line = writer.end_line(unsealed(FIRST_LINE).map_or("", |(body, _)| body), None);
        (writer, line)
    }

    /// Continues a log that ends at this place.
    pub fn resume(position: Position, segments: Segments) -> Self {
        LogWriter { segments, position, next: empty_line(), bytes: 0 }
    }

    /// Adds the next element of the history, and returns the line that is complete with it, with its
    /// line end. `None` means that no line is complete yet.
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

    /// Ends a line, which is given without its closing brace. `timestamp` is the time that a segment has
    /// which begins with it.
    fn end_line(&mut self, body: &str, timestamp: Option<Timestamp>) -> String {
        let line = sealed(&mut self.position.check, body);
        self.position.bytes += line.len() as u64;
        if let Some(check) = self.position.check {
            self.segments.add(line.len() as u64, timestamp, check);
        }
        line
    }

    /// The place at which the log ends.
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
