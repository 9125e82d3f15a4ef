//! Writes the lines of a log, and divides them into files.

use serde::{Deserialize, Serialize};

use super::line::{FIRST_LINE, LINE_GRANULES, LogLine, LogLineEnd, sealed};
use super::reader::Position;
use crate::chain::Chain;
use crate::model::{Event, EventKind, Identifier, Instance, Timestamp};
use crate::registry::Exported;

/// Makes the lines of a log from an exported history.
pub(crate) struct LogWriter {
    chain: Chain,
    segments: Segments,
    position: Position,
    /// The events of the next line.
    events: Vec<Event>,
}

impl LogWriter {
    /// Begins a log, and returns its first line, with its line end.
    pub fn begin() -> (Self, String) {
        let mut writer = LogWriter::resume(Position::default(), Segments::default());
        let body = super::line::unsealed(FIRST_LINE).map_or("", |(body, _)| body);
        let line = writer.line(body, None);
        (writer, line)
    }

    /// Continues a log that ends at this place.
    pub fn resume(position: Position, segments: Segments) -> Self {
        let chain = position.check.map_or_else(Chain::start, Chain::resume);
        LogWriter { chain, segments, position, events: Vec::new() }
    }

    /// Adds the next element of the history, and returns the line that is complete with it, with its
    /// line end. `None` means that no line is complete yet.
    ///
    /// # Errors
    ///
    /// A value cannot be written as JSON.
    pub fn add(&mut self, exported: Exported) -> serde_json::Result<Option<String>> {
        match exported {
            Exported::Event { at, kind, granule_id, producer_granule } => {
                let full = match self.events.len() == LINE_GRANULES {
                    true => Some(self.log_line(None)?),
                    false => None,
                };
                let location = None;
                self.events.push(Event { at, kind, granule_id, producer_granule, location });
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
        let line = self.line(&log_line.body()?, Some(timestamp));
        if let Some(end) = end {
            self.position.changes += 1;
            self.position.timestamp = Some(end.timestamp);
            self.position.granules = end.granules;
        }
        Ok(line)
    }

    fn line(&mut self, body: &str, timestamp: Option<Timestamp>) -> String {
        let line = sealed(&mut self.chain, body);
        let (bytes, check) = (line.len() as u64, self.chain.identifier());
        self.segments.add(bytes, timestamp, check);
        self.position.bytes += bytes;
        self.position.check = Some(check);
        line
    }

    /// The place at which the log ends.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The last check.
    pub fn check(&self) -> Identifier {
        self.chain.identifier()
    }

    /// The segments so far.
    pub fn segments(&self) -> &Segments {
        &self.segments
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
    pub check: Identifier,
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
    pub fn add(&mut self, bytes: u64, timestamp: Option<Timestamp>, check: Identifier) {
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
}
