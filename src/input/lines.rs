//! Files with a granule per line: lists, JSON objects, and change logs.

use std::io::BufRead;
use std::sync::Arc;

use serde_json::Value;

use super::MAX_ROW_BYTES;
use super::error::{Error, InputErrorKind};
use super::file::NumberedLines;
use super::format::{DELETED_COLUMN, INGESTED_COLUMNS, Options, USUAL_COLUMNS};
use super::json::parse_strictly;
use super::record::{Record, RecordReader, parse_time};
use super::warning::{InputWarning, WarningCollector};
use crate::model::{Event, EventKind, GranuleId, GranuleIdError, Moment};

/// How many bytes of a line are read: an id of the greatest length, CR, LF, and one more byte.
const MAX_LINE_BYTES: u64 = GranuleId::MAX_BYTES as u64 + 3;

/// The ids of a file with one id per line.
pub(super) struct Lines<R> {
    lines: NumberedLines<R>,
    warnings: WarningCollector,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(file: R, name: Arc<str>) -> Self {
        let lines = NumberedLines::new(file, name, MAX_LINE_BYTES);
        Lines { lines, warnings: WarningCollector::default() }
    }
}

impl<R: BufRead> RecordReader for Lines<R> {
    fn record(&mut self) -> Result<Option<Record>, Error> {
        let Lines { lines, warnings } = self;
        while lines.advance()? {
            let text = lines.text();
            if text.is_empty() {
                continue;
            }
            let granule_id = GranuleId::from_bytes(text).map_err(|cause| {
                // Only the beginning of a line that is too long was read.
                let cause = match cause {
                    _ if text.len() as u64 == MAX_LINE_BYTES => {
                        GranuleIdError::TooLong { bytes: None }
                    }
                    cause => cause,
                };
                let text = String::from_utf8_lossy(text).into_owned();
                lines.fail(InputErrorKind::GranuleId { text, cause })
            })?;
            let location = lines.location();
            warnings.observe(&granule_id, &location);
            return Ok(Some(Record::new(granule_id, location)));
        }
        Ok(None)
    }

    fn warnings(&self) -> Vec<InputWarning> {
        self.warnings.warnings()
    }
}

/// The ids in one field of each object. The field is given by its name, or by a JSON pointer
/// (RFC 6901), which begins with `/`.
pub(super) struct Ndjson<R> {
    lines: NumberedLines<R>,
    options: Options,
}

impl<R: BufRead> Ndjson<R> {
    pub(super) fn new(file: R, name: Arc<str>, options: &Options) -> Self {
        Ndjson { lines: NumberedLines::new(file, name, MAX_ROW_BYTES), options: options.clone() }
    }

    fn record_of(&self, object: &Value) -> Result<Record, InputErrorKind> {
        let Options { column, ingested_column, deleted_column, .. } = &self.options;
        let text = value_at(object, column.as_deref(), &USUAL_COLUMNS);
        let field = || column.clone().unwrap_or_else(|| USUAL_COLUMNS.join(", "));
        let text = text
            .and_then(Value::as_str)
            .ok_or_else(|| InputErrorKind::NoField { field: field() })?;
        let granule_id = GranuleId::new(text)
            .map_err(|cause| InputErrorKind::GranuleId { text: text.to_owned(), cause })?;
        let mut record = Record::new(granule_id, self.lines.location());
        if self.options.with_dates {
            let ingested = value_at(object, ingested_column.as_deref(), &INGESTED_COLUMNS);
            record.ingested = Some(date(ingested)?.ok_or(InputErrorKind::NoIngestDate)?);
            let deleted = value_at(object, deleted_column.as_deref(), &[DELETED_COLUMN]);
            record.deleted = date(deleted)?;
        }
        Ok(record)
    }
}

/// The value of the requested field, or of the first usual one that exists.
fn value_at<'object>(
    object: &'object Value,
    field: Option<&str>,
    usual: &[&str],
) -> Option<&'object Value> {
    match field {
        Some(pointer) if pointer.starts_with('/') => object.pointer(pointer),
        Some(field) => object.get(field),
        None => usual.iter().find_map(|field| object.get(field)),
    }
}

/// The time in a field. `None` if the field is missing, null or empty.
fn date(value: Option<&Value>) -> Result<Option<Moment>, InputErrorKind> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => parse_time(text).map(Some),
        Some(other) => parse_time(&other.to_string()).map(Some),
    }
}

impl<R: BufRead> RecordReader for Ndjson<R> {
    fn record(&mut self) -> Result<Option<Record>, Error> {
        while self.lines.advance()? {
            let lines = &self.lines;
            if lines.is_cut() {
                return Err(lines.too_long());
            }
            if lines.bytes().trim_ascii().is_empty() {
                continue;
            }
            let object = parse_strictly(lines.bytes()).map_err(|kind| lines.fail(kind))?;
            return self.record_of(&object).map(Some).map_err(|kind| lines.fail(kind));
        }
        Ok(None)
    }
}

/// The greatest length of a line: the longest id, and room for any spelling of a time.
const MAX_CHANGE_BYTES: u64 = GranuleId::MAX_BYTES as u64 + 128;

/// The events of a change log.
pub(super) struct Changes<R>(NumberedLines<R>);

impl<R: BufRead> Changes<R> {
    pub(super) fn new(file: R, name: Arc<str>) -> Self {
        Changes(NumberedLines::new(file, name, MAX_CHANGE_BYTES))
    }

    /// The next event, and its time as it is written.
    pub(super) fn event(&mut self) -> Result<Option<(Event, Moment)>, Error> {
        let Changes(lines) = self;
        while lines.advance()? {
            let line = lines.text();
            if line.is_empty() {
                continue;
            }
            if lines.is_cut() {
                return Err(lines.too_long());
            }
            let mut cells = line.splitn(3, |&byte| byte == b'\t');
            let (Some(at), Some(sign), Some(granule_id)) =
                (cells.next(), cells.next(), cells.next())
            else {
                return Err(lines.fail(InputErrorKind::NotAChange));
            };
            let kind = match sign {
                b"+" => EventKind::Ingested,
                b"-" => EventKind::Deleted,
                _ => return Err(lines.fail(InputErrorKind::NotAChange)),
            };
            let moment =
                parse_time(&String::from_utf8_lossy(at)).map_err(|kind| lines.fail(kind))?;
            let granule_id = GranuleId::from_bytes(granule_id).map_err(|cause| {
                let text = String::from_utf8_lossy(granule_id).into_owned();
                lines.fail(InputErrorKind::GranuleId { text, cause })
            })?;
            let location = Some(lines.location());
            let at = moment.of_change();
            let event = Event { at, kind, granule_id, producer_granule: None, location };
            return Ok(Some((event, moment)));
        }
        Ok(None)
    }
}
