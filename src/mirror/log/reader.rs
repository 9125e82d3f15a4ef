//! Reads and verifies the lines of a log.

use std::sync::Arc;

use serde::Deserialize;

use super::line::{FIRST_LINE, LogLine, MAX_LINE_BYTES, VERSION, verified};
use crate::error::{Error, Result};
use crate::model::{Content, GranuleId, LineCheck, LogChange, SourceLocation, Timestamp};

/// A position in a log: the end of a change, or the beginning of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    /// The number of changes before it.
    pub changes: u64,
    /// The number of bytes of the log before it.
    pub bytes: u64,
    /// The number of granules held at this position.
    pub granules: u64,
    /// The last check before it. `None` means that this is the beginning of the log.
    pub check: Option<LineCheck>,
    /// The time of the last change before it. `None` means that there is no change before it.
    pub timestamp: Option<Timestamp>,
}

impl From<&LogChange> for Position {
    /// The position after a change.
    fn from(change: &LogChange) -> Self {
        Position {
            changes: change.number,
            bytes: change.bytes,
            granules: change.granules,
            check: Some(change.check),
            timestamp: Some(change.timestamp),
        }
    }
}

/// Verifies the lines of a log, one by one.
pub(crate) struct LogReader {
    source: Arc<str>,
    line: u64,
    not_after: Timestamp,
    /// The position of the next line. Its changes and granules are those before the change that contains this
    /// line.
    position: Position,
    open: Option<OpenChange>,
}

/// The first line of a log as it is read.
#[derive(Deserialize)]
struct FirstRead {
    #[serde(rename = "accession_log")]
    version: u64,
    #[serde(default)]
    rule: String,
}

/// A change whose last line has not been read yet.
#[derive(Default)]
struct OpenChange {
    timestamp: Option<Timestamp>,
    /// The number of ingested, deleted, described and replaced granules.
    counts: [u64; 4],
    /// The last granule, and the index of its side.
    last: Option<(usize, GranuleId)>,
}

impl LogReader {
    /// A reader that continues from a position in the log. `source` is the name of the log in messages, `line`
    /// the number of its lines before the position, `not_after` the latest time that a change may have.
    pub fn at(position: Position, source: Arc<str>, line: u64, not_after: Timestamp) -> Self {
        LogReader { source, line, not_after, position, open: None }
    }

    /// Continues in another file, after the first `line` lines of it.
    pub fn enter(&mut self, source: Arc<str>, line: u64) {
        (self.source, self.line) = (source, line);
    }

    /// Reads the previous line, which was wrong, again.
    pub fn repeat(&mut self) {
        self.line -= 1;
    }

    /// The number of bytes of the log that were read, including those before the reader's start.
    pub fn bytes(&self) -> u64 {
        self.position.bytes
    }

    /// The check of the last line. `None` means that no line was read.
    pub fn check(&self) -> Option<LineCheck> {
        self.position.check
    }

    /// The location of the last line that was read.
    pub fn location(&self) -> SourceLocation {
        SourceLocation::Line { source: Arc::clone(&self.source), line: self.line }
    }

    /// Checks the first line. A newer version may use other checks, so its version is checked first.
    fn check_first(&self, text: &str) -> Result<()> {
        match serde_json::from_str::<FirstRead>(text) {
            Ok(read) if read.version != VERSION => {
                let found = read.version;
                self.fail(&format!("it has version {found}, this program reads {VERSION}"))
            }
            Ok(read) if read.rule != "md5-chain" => {
                self.fail("its identifiers follow another rule than md5-chain")
            }
            Ok(_) if text == FIRST_LINE => Ok(()),
            _ => self.fail("its first line is not that of a log"),
        }
    }

    /// Checks a line against the earlier ones, and counts it.
    fn take(&mut self, log_line: &LogLine) -> Result<Option<LogChange>> {
        let at = log_line.timestamp;
        let mut open = self.open.take().unwrap_or_default();
        if open.timestamp.is_some_and(|open| open != at)
            || self.position.timestamp.is_some_and(|last| at <= last)
        {
            return self.fail("its time is not after that of the change before");
        }
        if at > self.not_after {
            return self.fail(&format!("its time {at} is in the future"));
        }
        open.timestamp = Some(at);
        for (side, entries) in log_line.sides.iter().enumerate() {
            open.counts[side] += entries.len() as u64;
            for entry in entries {
                let next = (side, entry.granule_id.clone());
                if open.last.as_ref().is_some_and(|last| *last >= next) {
                    return self.fail(&format!("{:?} is out of order", next.1));
                }
                open.last = Some(next);
            }
        }
        let [ingested, _, described, replaced] = &log_line.sides;
        if described.iter().chain(replaced).any(|entry| entry.content.is_none()) {
            return self.fail("it describes or replaces a granule without saying what is known");
        }
        if ingested.iter().any(|entry| entry.content.as_ref().is_some_and(Content::is_empty)) {
            return self.fail("it is not in canonical form");
        }
        let Some(end) = &log_line.end else {
            self.open = Some(open);
            return Ok(None);
        };
        if log_line.granules() == 0 {
            return self.fail("its change changes nothing");
        }
        let [ingested, deleted, described, replaced] = open.counts;
        let granules = self.position.granules + ingested;
        let Some(granules) = granules.checked_sub(deleted) else {
            return self.fail("its change deletes more granules than are held");
        };
        self.position.granules = granules;
        self.position.changes += 1;
        self.position.timestamp = Some(at);
        let Some(check) = self.position.check else {
            return self.fail("the line does not end with its checksum");
        };
        Ok(Some(LogChange {
            number: self.position.changes,
            timestamp: at,
            identifier: end.identifier,
            digest: end.digest,
            check,
            bytes: self.position.bytes,
            granules,
            ingested,
            deleted,
            described,
            replaced,
            note: end.note.clone(),
        }))
    }

    /// Whether the last line that was read ends a change.
    pub fn is_between_changes(&self) -> bool {
        self.open.is_none()
    }

    /// Fails because of the last line that was read.
    pub fn fail<T>(&self, what: &str) -> Result<T> {
        Err(Error::not_a_manifest(what).at(self.location()))
    }

    /// Verifies the next line, which ends with LF. A change is returned with its last line. `None` means that
    /// this was the first line of the log.
    ///
    /// # Errors
    ///
    /// What is wrong with the line, with its location.
    pub fn read(&mut self, line: &[u8]) -> Result<Option<(LogLine, Option<LogChange>)>> {
        self.line += 1;
        let is_first = self.position.bytes == 0;
        let Some(text) = line.strip_suffix(b"\n") else {
            return self.fail(match line.len() as u64 >= MAX_LINE_BYTES {
                true => "the line is longer than any line of a log",
                false => "the line is cut",
            });
        };
        let text = std::str::from_utf8(text).unwrap_or_default();
        if is_first {
            self.check_first(text)?;
        }
        let check = verified(self.position.check, line).or_else(|what| self.fail(what))?;
        self.position.check = Some(check);
        self.position.bytes += line.len() as u64;
        if is_first {
            return Ok(None);
        }
        let log_line = LogLine::parse(text).map_err(|error| error.at(self.location()))?;
        let change = self.take(&log_line)?;
        Ok(Some((log_line, change)))
    }
}
