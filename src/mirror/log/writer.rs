//! Writes the lines of a log.

use super::line::{FIRST_LINE, LINE_GRANULES, Part, PartEnd, sealed};
use super::reader::Position;
use super::segments::Segments;
use crate::chain::Chain;
use crate::model::{Event, EventKind, Identifier, Instance, Timestamp};
use crate::registry::Exported;

/// Makes the lines of a log from an exported history.
pub(crate) struct LogWriter {
    chain: Chain,
    segments: Segments,
    position: Position,
    /// The events of the next line.
    part: Vec<Event>,
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
        LogWriter { chain, segments, position, part: Vec::new() }
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
                let full = match self.part.len() == LINE_GRANULES {
                    true => Some(self.part(None)?),
                    false => None,
                };
                let location = None;
                self.part.push(Event { at, kind, granule_id, producer_granule, location });
                Ok(full)
            }
            Exported::Change(instance) => self.part(Some(&instance)).map(Some),
        }
    }

    fn part(&mut self, end: Option<&Instance>) -> serde_json::Result<String> {
        let events = std::mem::take(&mut self.part);
        let at = end.map(|end| end.timestamp).or_else(|| events.first().map(|event| event.at));
        let timestamp = at.unwrap_or(Timestamp::EPOCH);
        let end_of_part =
            end.map(|end| PartEnd { identifier: end.identifier, note: end.note.clone() });
        let mut part =
            Part { timestamp, ingested: Vec::new(), deleted: Vec::new(), end: end_of_part };
        for Event { kind, granule_id, producer_granule, .. } in events {
            match kind {
                EventKind::Ingested => part.ingested.push((granule_id, producer_granule)),
                EventKind::Deleted => part.deleted.push(granule_id),
            }
        }
        let line = self.line(&part.body()?, Some(timestamp));
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
