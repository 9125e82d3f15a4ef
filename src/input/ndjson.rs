//! One JSON object per line.

use std::io::BufRead;
use std::sync::Arc;

use serde_json::Value;

use super::columns::{DELETED_COLUMN, INGESTED_COLUMNS, USUAL_COLUMNS};
use super::error::{Error, InputErrorKind};
use super::limits::MAX_ROW_BYTES;
use super::numbered_lines::NumberedLines;
use super::options::Options;
use super::record::{Record, RecordReader};
use super::{spelled_time, strict_json};
use crate::model::{GranuleId, Moment};

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
        Some(Value::String(text)) => spelled_time::parse(text).map(Some),
        Some(other) => spelled_time::parse(&other.to_string()).map(Some),
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
            let object = strict_json::parse(lines.bytes()).map_err(|kind| lines.fail(kind))?;
            return self.record_of(&object).map(Some).map_err(|kind| lines.fail(kind));
        }
        Ok(None)
    }
}
