//! Reads and verifies the lines of a log.

use std::borrow::Cow;
use std::sync::Arc;

use super::line::{FIRST_LINE, LINE_GRANULES};
use super::line::{FirstRead, LogLine, LogLineEnd, LogLineRead, MAX_LINE_BYTES, VERSION, unsealed};
use crate::chain::Chain;
use crate::input::{Error, InputErrorKind};
use crate::model::{GranuleId, Identifier, LogChange, SourceLocation, Timestamp};

type Result<T> = std::result::Result<T, Error>;

/// A place in a log at which a change ends, or its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    /// How many changes precede it.
    pub changes: u64,
    /// How many bytes of the log precede it.
    pub bytes: u64,
    /// How many granules are held there.
    pub granules: u64,
    /// The last check before it. `None` means that the log begins here.
    pub check: Option<Identifier>,
    /// The time of the last change before it. `None` means that there is none.
    pub timestamp: Option<Timestamp>,
}

impl From<&LogChange> for Position {
    /// The place after a change.
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

/// By how much a clock may be behind that of the primary, in microseconds.
const CLOCK_SKEW_MICROS: i64 = 5 * 60 * 1_000_000;

/// The latest time that a change may have: clocks differ a little.
pub(crate) fn latest_change(now: Timestamp) -> Timestamp {
    let latest = now.as_micros().saturating_add(CLOCK_SKEW_MICROS);
    Timestamp::from_micros(latest).unwrap_or(Timestamp::MAX)
}

/// Verifies the lines of a log, one after the other.
pub(crate) struct LogReader {
    source: Arc<str>,
    line: u64,
    not_after: Timestamp,
    chain: Chain,
    position: Position,
    open: Option<Open>,
}

/// A change whose last line has not been read yet.
#[derive(Default)]
struct Open {
    timestamp: Option<Timestamp>,
    ingested: u64,
    deleted: u64,
    last_ingested: Option<GranuleId>,
    last_deleted: Option<GranuleId>,
}

impl LogReader {
    /// A reader that continues from a position in the log. `source` is what messages call the log, `line`
    /// the number of lines of it before that place, `not_after` the latest time of a change.
    pub fn at(position: Position, source: Arc<str>, line: u64, not_after: Timestamp) -> Self {
        let chain = position.check.map_or_else(Chain::start, Chain::resume);
        LogReader { source, line, not_after, chain, position, open: None }
    }

    /// Continues in another file, after its first `line` lines.
    pub fn enter(&mut self, source: Arc<str>, line: u64) {
        (self.source, self.line) = (source, line);
    }

    /// Verifies the next line, which ends with LF. `None` means that it was the first line, which is not a
    /// change. The change is returned with its last line.
    ///
    /// # Errors
    ///
    /// What is wrong with the line, and which one it is.
    pub fn read(&mut self, line: &[u8]) -> Result<Option<(LogLine, Option<LogChange>)>> {
        self.line += 1;
        let Some(text) = line.strip_suffix(b"\n") else {
            return self.fail(match line.len() as u64 >= MAX_LINE_BYTES {
                true => "the line is longer than any line of a log",
                false => "the line is cut",
            });
        };
        let text = std::str::from_utf8(text).unwrap_or_default();
        if self.position.bytes == 0 {
            self.check_first(text)?;
        }
        let Some((body, check)) = unsealed(text) else {
            return self.fail("the line does not end with its check");
        };
        self.chain.push(body);
        if check != self.chain.identifier().to_string() {
            return self.fail("the line, or one before it, is not as it was written");
        }
        let is_first = self.position.bytes == 0;
        self.position.bytes += line.len() as u64;
        self.position.check = Some(self.chain.identifier());
        if is_first {
            return Ok(None);
        }
        let log_line = self.parse(text)?;
        if log_line.body().ok().as_deref() != Some(body) {
            return self.fail("it is not in canonical form");
        }
        let change = self.take(&log_line)?;
        Ok(Some((log_line, change)))
    }

    /// A newer version may use other checks, so the version is checked first.
    fn check_first(&self, text: &str) -> Result<()> {
        match serde_json::from_str::<FirstRead>(text) {
            Ok(first) if first.accession_log > VERSION => {
                let found = first.accession_log;
                self.fail(&format!("it has version {found}, this program reads {VERSION}"))
            }
            Ok(first) if first.rule != "md5-chain" => {
                self.fail("its identifiers follow another rule than md5-chain")
            }
            Ok(_) if text == FIRST_LINE => Ok(()),
            _ => self.fail("its first line is not that of a log"),
        }
    }

    fn parse(&self, text: &str) -> Result<LogLine> {
        let Ok(read) = serde_json::from_str::<LogLineRead<'_>>(text) else {
            return self.fail("this line is not a change");
        };
        let granules = read.ingested.elements.len() + read.deleted.elements.len();
        if granules > LINE_GRANULES || read.ingested.has_more || read.deleted.has_more {
            return self.fail("it has more than 1,000 granules");
        }
        let note = read.note.map(|note| note.0);
        if note.as_ref().is_some_and(|note| note.len() > LogChange::MAX_NOTE_BYTES) {
            return self.fail("its note has more than 64 KiB");
        }
        let ingested = read.ingested.elements.into_iter().map(|ingested| {
            let producer =
                ingested.producer_granule.map(|text| self.granule_id(&text)).transpose()?;
            Ok((self.granule_id(&ingested.granule)?, producer))
        });
        let deleted = read.deleted.elements.iter().map(|text| self.granule_id(&text.0));
        let end = match read.identifier {
            None => None,
            Some(text) => {
                let identifier = self.parse_as(&text.0, "identifier")?;
                Some(LogLineEnd { identifier, note: note.map(Cow::into_owned) })
            }
        };
        // Each line but the last one of a change is full.
        if end.is_none() && granules < LINE_GRANULES {
            return self.fail("its change is divided elsewhere than after 1,000 granules");
        }
        Ok(LogLine {
            timestamp: self.parse_as(&read.timestamp.0, "timestamp")?,
            ingested: ingested.collect::<Result<_>>()?,
            deleted: deleted.collect::<Result<_>>()?,
            end,
        })
    }

    /// Checks a line against those before it, and counts it.
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
        for (granule_id, _) in &log_line.ingested {
            if open.last_ingested.as_ref().is_some_and(|last| last >= granule_id)
                || open.last_deleted.is_some()
            {
                return self.fail(&format!("{granule_id:?} is out of order"));
            }
            open.last_ingested = Some(granule_id.clone());
        }
        for granule_id in &log_line.deleted {
            if open.last_deleted.as_ref().is_some_and(|last| last >= granule_id) {
                return self.fail(&format!("{granule_id:?} is out of order"));
            }
            open.last_deleted = Some(granule_id.clone());
        }
        open.ingested += log_line.ingested.len() as u64;
        open.deleted += log_line.deleted.len() as u64;
        let Some(end) = &log_line.end else {
            self.open = Some(open);
            return Ok(None);
        };
        if log_line.ingested.is_empty() && log_line.deleted.is_empty() {
            return self.fail("its change ingests nothing and deletes nothing");
        }
        let granules = self.position.granules + open.ingested;
        let Some(granules) = granules.checked_sub(open.deleted) else {
            return self.fail("its change deletes more granules than are held");
        };
        self.position.granules = granules;
        self.position.changes += 1;
        self.position.timestamp = Some(at);
        Ok(Some(LogChange {
            number: self.position.changes,
            timestamp: at,
            identifier: end.identifier,
            check: self.chain.identifier(),
            bytes: self.position.bytes,
            granules,
            ingested: open.ingested,
            deleted: open.deleted,
            note: end.note.clone(),
        }))
    }

    fn granule_id(&self, text: &str) -> Result<GranuleId> {
        GranuleId::new(text).map_err(|cause| {
            let text = text.to_owned();
            Error::new(&self.source, self.line, InputErrorKind::GranuleId { text, cause })
        })
    }

    fn parse_as<T: std::str::FromStr>(&self, text: &str, what: &str) -> Result<T> {
        text.parse().or_else(|_| self.fail(&format!("{text:?} is not a valid {what}")))
    }

    /// How far the log was read: up to the last line.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether the last line that was read ends a change.
    pub fn is_between_changes(&self) -> bool {
        self.open.is_none()
    }

    /// The last line that was read.
    pub fn location(&self) -> SourceLocation {
        SourceLocation::Line { source: Arc::clone(&self.source), line: self.line }
    }

    /// Fails because of the last line that was read.
    pub fn fail<T>(&self, what: &str) -> Result<T> {
        let kind = InputErrorKind::Manifest { what: what.to_owned() };
        Err(Error::new(&self.source, self.line, kind))
    }
}
