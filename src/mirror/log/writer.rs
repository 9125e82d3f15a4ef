//! Writes the lines of a log.

use super::chained::{ChainedWriter, Segments};
use super::line::{FIRST_LINE, LINE_GRANULES, LogLine, LogLineEnd};
use super::reader::Position;
use crate::model::{Event, EventKind, Identifier, Instance, Timestamp};
use crate::registry::Exported;

/// Makes the lines of a log from an exported history.
pub(crate) struct LogWriter {
    lines: ChainedWriter,
    position: Position,
    /// The events of the next line.
    events: Vec<Event>,
}

impl LogWriter {
    /// Begins a log, and returns its first line, with its line end.
    pub fn begin() -> (Self, String) {
        let mut writer = LogWriter::resume(Position::default(), Segments::default());
        let line = writer.lines.first(FIRST_LINE);
        writer.written(&line);
        (writer, line)
    }

    /// Continues a log that ends at this place.
    pub fn resume(position: Position, segments: Segments) -> Self {
        let lines = ChainedWriter::after(position.check, segments);
        LogWriter { lines, position, events: Vec::new() }
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
                let full = match self.events.len() == LINE_GRANULES {
                    true => Some(self.log_line(None)?),
                    false => None,
                };
                self.events.push(event);
                Ok(full)
            }
            Exported::Change(instance) => self.log_line(Some(&instance)).map(Some),
        }
    }

    fn log_line(&mut self, end: Option<&Instance>) -> serde_json::Result<String> {
        let events = std::mem::take(&mut self.events);
        let at = end.map(|end| end.timestamp).or_else(|| events.first().map(|event| event.at));
        let timestamp = at.unwrap_or(Timestamp::EPOCH);
        let end_of_change =
            end.map(|end| LogLineEnd { identifier: end.identifier, note: end.note.clone() });
        let (ingested, deleted) = (Vec::new(), Vec::new());
        let mut log_line = LogLine { timestamp, ingested, deleted, end: end_of_change };
        for Event { kind, granule_id, producer_granule, .. } in events {
            match kind {
                EventKind::Ingested => log_line.ingested.push((granule_id, producer_granule)),
                EventKind::Deleted => log_line.deleted.push(granule_id),
            }
        }
        let line = self.lines.line(&log_line.body()?, Some(timestamp));
        self.written(&line);
        if let Some(end) = end {
            self.position.changes += 1;
            self.position.timestamp = Some(end.timestamp);
            self.position.granules = end.granules;
        }
        Ok(line)
    }

    fn written(&mut self, line: &str) {
        self.position.bytes += line.len() as u64;
        self.position.check = Some(self.lines.check());
    }

    /// The place at which the log ends.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The last check.
    pub fn check(&self) -> Identifier {
        self.lines.check()
    }

    /// The segments so far.
    pub fn segments(&self) -> &Segments {
        &self.lines.segments
    }
}
