//! One JSON object a line.

use std::io::BufRead;
use std::sync::Arc;

use serde_json::Value;

use super::numbered_lines::NumberedLines;
use super::table::{DELETED_COLUMN, INGESTED_COLUMNS, USUAL_COLUMNS};
use super::{Error, Fault, MAX_ROW_BYTES, Options, Read, Record, time};
use crate::model::{GranuleId, Timestamp};

/// The ids in one field of each object: a name, or a JSON pointer (RFC 6901) that begins with `/`.
pub(super) struct Ndjson<R> {
    lines: NumberedLines<R>,
    column: Option<String>,
    with_dates: bool,
}

impl<R: BufRead> Ndjson<R> {
    pub(super) fn new(file: R, name: Arc<str>, options: &Options) -> Self {
        let (column, with_dates) = (options.column.clone(), options.with_dates);
        Ndjson { lines: NumberedLines::new(file, name, MAX_ROW_BYTES + 1), column, with_dates }
    }

    fn record_of(&self, object: &Value) -> Result<Record, Fault> {
        let text = match &self.column {
            Some(pointer) if pointer.starts_with('/') => object.pointer(pointer),
            Some(field) => object.get(field),
            None => USUAL_COLUMNS.into_iter().find_map(|field| object.get(field)),
        };
        let field = || self.column.clone().unwrap_or_else(|| USUAL_COLUMNS.join(", "));
        let text = text.and_then(Value::as_str).ok_or_else(|| Fault::NoField { field: field() })?;
        let granule_id = GranuleId::new(text)
            .map_err(|cause| Fault::GranuleId { text: text.to_owned(), cause })?;
        let mut record = Record::new(granule_id, self.lines.location());
        if self.with_dates {
            let ingested = INGESTED_COLUMNS.into_iter().find_map(|field| object.get(field));
            record.ingested = Some(date(ingested)?.ok_or(Fault::NoIngestDate)?);
            record.deleted = date(object.get(DELETED_COLUMN))?;
        }
        Ok(record)
    }
}

/// The time in a field; none if it is missing, null or empty.
fn date(value: Option<&Value>) -> Result<Option<Timestamp>, Fault> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => time::read(text).map(Some),
        Some(other) => time::read(&other.to_string()).map(Some),
    }
}

impl<R: BufRead> Read for Ndjson<R> {
    fn record(&mut self) -> Result<Option<Record>, Error> {
        while self.lines.advance()? {
            let lines = &self.lines;
            if lines.bytes().len() as u64 > MAX_ROW_BYTES {
                return Err(lines.fail(Fault::RowTooLong));
            }
            if lines.bytes().trim_ascii().is_empty() {
                continue;
            }
            let object =
                serde_json::from_slice(lines.bytes()).map_err(|_| lines.fail(Fault::NotJson))?;
            return self.record_of(&object).map(Some).map_err(|fault| lines.fail(fault));
        }
        Ok(None)
    }
}
