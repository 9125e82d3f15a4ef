//! The log of the file records of a dataset: what is known of the sizes and checksums of its files.
//!
//! It is written like the log of the changes: the first line is constant, each further one is a record,
//! in the order of their numbers, and every line ends with its `check`. docs/reference/manifest.md
//! specifies it.
//!
//! ```json
//! {"accession_files":1,"rule":"md5-chain","check":"3761feb3632801c97a9d1300ab617857"}
//! {"number":1,"granule":"A.nc","path":"A.nc","algorithm":"crc32","size":7,"checksum":"0000002a","recorded":"2026-01-01T00:00:00Z","note":null,"check":"…"}
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::chained::{ChainedReader, ChainedWriter, ReadLines, Segments};
use crate::error::Error;
use crate::model::{GranuleId, Identifier, LogChange, Timestamp};
use crate::registry::{LoggedRecord, StatedRecord};

/// How every log of file records begins, whatever its version.
pub(crate) const BEGINNING: &str = "{\"accession_files\":";

/// The first line of every log of this version, without its line end.
const FIRST_LINE: &str =
    "{\"accession_files\":1,\"rule\":\"md5-chain\",\"check\":\"3761feb3632801c97a9d1300ab617857\"}";

/// What the head announces of the log of file records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FilesHead {
    /// How many records it has.
    pub count: u64,
    /// The check of its last line.
    pub check: Identifier,
    /// The segments. The time of one is that of its first record.
    pub segments: Segments,
}

/// The line of a record, without its closing brace.
pub(crate) fn body(logged: &LoggedRecord) -> String {
    let mut text = serde_json::to_string(&StatedRecord::from(logged))
        .expect("strings and numbers are always JSON");
    // The check takes the place of the closing brace.
    text.pop();
    text
}

/// Makes the lines of the log of file records.
pub(crate) struct FileLogWriter {
    lines: ChainedWriter,
    count: u64,
}

impl FileLogWriter {
    /// Begins a log, and returns its first line, with its line end.
    pub fn begin() -> (Self, String) {
        let mut lines = ChainedWriter::after(None, Segments::default());
        let line = lines.first(FIRST_LINE);
        (FileLogWriter { lines, count: 0 }, line)
    }

    /// Continues a log.
    pub fn after(head: &FilesHead) -> Self {
        let FilesHead { count, check, ref segments } = *head;
        FileLogWriter { lines: ChainedWriter::after(Some(check), segments.clone()), count }
    }

    /// Makes the line of the next record, with its line end.
    pub fn line(&mut self, record: &LoggedRecord) -> String {
        self.count += 1;
        self.lines.line(&body(record), Some(record.recorded))
    }

    /// The segments so far.
    pub fn segments(&self) -> &Segments {
        &self.lines.segments
    }

    /// Whether the log ends here as a head announces it.
    pub fn is_at(&self, announced: Option<&FilesHead>) -> bool {
        let here = (self.count, self.lines.check());
        announced
            .is_some_and(|it| (it.count, it.check) == here && it.segments == self.lines.segments)
    }

    /// What the head announces of the log so far.
    pub fn head(&self) -> FilesHead {
        let (check, segments) = (self.lines.check(), self.lines.segments.clone());
        FilesHead { count: self.count, check, segments }
    }
}

/// The place after a record of the log, or its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct FilesPosition {
    /// How many records precede it.
    pub count: u64,
    /// How many bytes of the log precede it.
    pub bytes: u64,
    /// The last check before it. `None` means that the log begins here.
    pub check: Option<Identifier>,
}

/// Verifies the lines of the log of file records.
pub(crate) struct FileLogReader {
    lines: ChainedReader,
    count: u64,
    not_after: Timestamp,
    /// When the last record was entered.
    recorded: Timestamp,
}

impl FileLogReader {
    /// A reader that continues from a place. `source` is what messages call the log, `not_after` the
    /// latest time at which a record may have been entered.
    pub fn at(position: FilesPosition, source: Arc<str>, line: u64, not_after: Timestamp) -> Self {
        let FilesPosition { count, bytes, check } = position;
        let lines = ChainedReader::after(bytes, check, source, line);
        FileLogReader { lines, count, not_after, recorded: Timestamp::MIN }
    }

    /// How far the log was read.
    pub fn position(&self) -> FilesPosition {
        let (bytes, check) = (self.lines.bytes(), self.lines.check());
        FilesPosition { count: self.count, bytes, check }
    }

    /// Compares the end of the log with what the head announces (`None`: no log).
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub fn check_end(&self, announced: Option<&FilesHead>) -> Result<(), Error> {
        let expected = announced.map_or_else(FilesPosition::default, FilesHead::end);
        match self.position() == expected {
            true => Ok(()),
            false => self.lines.fail("the file records are not those that the head announces"),
        }
    }

    /// What a line says.
    fn parse(&self, text: &str) -> Result<LoggedRecord, Error> {
        let wrong = |what: &dyn ToString| {
            let what = format!("this line is not a file record: {}", what.to_string());
            self.lines.error(Error::not_a_manifest(&what))
        };
        let stated: StatedRecord = serde_json::from_str(text).map_err(|error| wrong(&error))?;
        GranuleId::new(stated.granule.as_str())
            .map_err(|cause| self.lines.error(Error::not_an_id(&stated.granule, cause)))?;
        let record = LoggedRecord::try_from(stated).map_err(|error| wrong(&error))?;
        let note = record.note.as_ref();
        if note.is_some_and(|note| note.len() > LogChange::MAX_NOTE_BYTES) {
            return Err(wrong(&"its note has more than 64 KiB"));
        }
        if note.is_some_and(|note| note.contains('\0')) {
            return Err(wrong(&"its note has a NUL character"));
        }
        Ok(record)
    }
}

impl FilesHead {
    /// The place after the last record.
    pub fn end(&self) -> FilesPosition {
        let (bytes, check) = (self.segments.bytes(), Some(self.check));
        FilesPosition { count: self.count, bytes, check }
    }

    /// Compares its members with one another.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        match self.count > 0 && self.segments.end_with(self.check) {
            true => Ok(()),
            false => Err("the head contradicts itself about the file records".to_owned()),
        }
    }
}

impl ReadLines for FileLogReader {
    /// A record, and the check of its line.
    type Line = (LoggedRecord, Identifier);

    fn lines(&mut self) -> &mut ChainedReader {
        &mut self.lines
    }

    fn read(&mut self, line: &[u8]) -> Result<Option<Self::Line>, Error> {
        let Some((text, as_written)) = self.lines.read(line, FIRST_LINE)? else { return Ok(None) };
        let logged = self.parse(text)?;
        if body(&logged) != as_written {
            return self.lines.fail("it is not in canonical form");
        }
        self.count += 1;
        if logged.number != self.count {
            return self.lines.fail("it is not the record that follows the one before");
        }
        if logged.recorded < self.recorded {
            return self.lines.fail("it was recorded before the record before it");
        }
        if logged.recorded > self.not_after {
            let recorded = logged.recorded;
            return self
                .lines
                .fail(&format!("it was recorded at {recorded}, which is in the future"));
        }
        self.recorded = logged.recorded;
        let check = self.lines.check().unwrap_or(Identifier::EMPTY);
        Ok(Some((logged, check)))
    }
}
