//! Writes the lines of a log.

use super::line::{Came, EndWritten, FIRST_LINE, LINE_GRANULES, PartWritten, sealed};
use super::reader::Position;
use super::segments::Segments;
use crate::chain::Chain;
use crate::model::{Event, EventKind, GranuleId, Identifier, Instance, LogChange};
use crate::registry::Exported;

/// Makes the lines of a log from an exported history.
pub(crate) struct LogWriter {
    chain: Chain,
    segments: Segments,
    position: Position,
    /// The events of the next line.
    part: Vec<Event>,
    /// The granules of the change so far that are in lines already.
    ingested: u64,
    deleted: u64,
}

/// A line of a log, with its line end.
pub(crate) struct Line {
    /// The line.
    pub text: String,
    /// Whether it is the last one of its segment.
    pub ends_segment: bool,
    /// The change that it completes.
    pub change: Option<LogChange>,
}

impl LogWriter {
    /// Begins a log, and returns its first line.
    pub fn begin() -> (Self, Line) {
        let mut writer = LogWriter::resume(Position::default(), Segments::default());
        let body = super::line::unsealed(FIRST_LINE).map_or("", |(body, _)| body);
        let line = writer.line(body, None);
        (writer, line)
    }

    /// Continues a log that ends at this place.
    pub fn resume(position: Position, segments: Segments) -> Self {
        let chain = position.check.map_or_else(Chain::start, Chain::resume);
        LogWriter { chain, segments, position, part: Vec::new(), ingested: 0, deleted: 0 }
    }

    /// Adds the next element of the history. `None` means that its line is not complete yet.
    ///
    /// # Errors
    ///
    /// A value cannot be written as JSON.
    pub fn add(&mut self, exported: Exported) -> serde_json::Result<Option<Line>> {
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

    fn part(&mut self, end: Option<&Instance>) -> serde_json::Result<Line> {
        let part = std::mem::take(&mut self.part);
        let of = |kind| part.iter().filter(move |event| event.kind == kind);
        let timestamp = end.map(|end| end.timestamp).or_else(|| part.first().map(|event| event.at));
        let timestamp = timestamp.unwrap_or(crate::model::Timestamp::EPOCH);
        let came = of(EventKind::Ingested).map(|event| match &event.producer_granule {
            None => Came::Id(&event.granule_id),
            Some(producer_granule) => {
                Came::WithProducer { granule: &event.granule_id, producer_granule }
            }
        });
        let (ingested, deleted): (Vec<Came<'_>>, Vec<&GranuleId>) =
            (came.collect(), of(EventKind::Deleted).map(|event| &event.granule_id).collect());
        self.ingested += ingested.len() as u64;
        self.deleted += deleted.len() as u64;
        let text = serde_json::to_string(&PartWritten {
            timestamp,
            ingested,
            deleted,
            end: end.map(|end| EndWritten { note: &end.note, identifier: end.identifier }),
        })?;
        let mut line = self.line(text.strip_suffix('}').unwrap_or(&text), Some(timestamp));
        if let Some(end) = end {
            line.change = Some(self.change(end));
        }
        Ok(line)
    }

    fn line(&mut self, body: &str, timestamp: Option<crate::model::Timestamp>) -> Line {
        let text = sealed(&mut self.chain, body);
        let (bytes, check) = (text.len() as u64, self.chain.identifier());
        let ends_segment = self.segments.add(bytes, timestamp, check);
        self.position.bytes += bytes;
        self.position.check = Some(check);
        Line { text, ends_segment, change: None }
    }

    fn change(&mut self, end: &Instance) -> LogChange {
        self.position.changes += 1;
        self.position.timestamp = Some(end.timestamp);
        self.position.granules = end.granules;
        LogChange {
            number: self.position.changes,
            timestamp: end.timestamp,
            identifier: end.identifier,
            check: self.chain.identifier(),
            bytes: self.position.bytes,
            granules: end.granules,
            ingested: std::mem::take(&mut self.ingested),
            deleted: std::mem::take(&mut self.deleted),
            note: end.note.clone(),
        }
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
