//! Files with a granule per line: ids, lists of checksums, JSON objects, and events (a time, a sign and an id).

use std::sync::Arc;

use serde_json::Value;

use super::checksums::{self, Checksums};
use super::content::{self, FileReading};
use super::file::NumberedLines;
use super::format::{DELETED_COLUMN, INGESTED_COLUMNS, Options, USUAL_COLUMNS, parse_time};
use super::json::parse_strictly;
use super::{MAX_ROW_BYTES, Reader, Record};
use crate::error::Error;
use crate::model::{GranuleId, GranuleIdError, Moment, SourceLocation};

/// How many bytes of a line with an id are read: an id of the greatest length, CR, LF, and one more
/// byte.
const MAX_ID_LINE_BYTES: u64 = GranuleId::MAX_BYTES as u64 + 3;

/// The greatest length of a line of an event file: the longest id, and room for any spelling of a time.
const MAX_CHANGE_BYTES: u64 = GranuleId::MAX_BYTES as u64 + 128;

/// The granules of a file with one per line.
pub(super) struct LineReader {
    lines: NumberedLines,
    content: LineContent,
    pub files: FileReading,
}

/// What a line contains.
pub(super) enum LineContent {
    /// An id.
    Id,
    /// A JSON object with the id in one of its fields. The field is given by its name, or by a JSON
    /// pointer (RFC 6901), which begins with `/`.
    Object(Options),
    /// A checksum and a path, which is the id.
    Checksum(Checksums),
    /// A time, `+` or `-`, and an id, separated by TABs.
    Change,
}

impl LineReader {
    pub(super) fn new(
        file: Reader,
        name: Arc<str>,
        content: LineContent,
        options: &Options,
    ) -> Self {
        let max_bytes = match content {
            LineContent::Id => MAX_ID_LINE_BYTES,
            LineContent::Object(_) => MAX_ROW_BYTES,
            LineContent::Checksum(_) => checksums::MAX_LINE_BYTES,
            LineContent::Change => MAX_CHANGE_BYTES,
        };
        let lines = NumberedLines::new(file, name, max_bytes);
        LineReader { lines, content, files: FileReading::new(options) }
    }

    /// The next granule. A change has only one of the dates.
    pub(super) fn record(&mut self) -> Result<Option<Record>, Error> {
        let LineReader { lines, content, files } = self;
        while lines.advance()? {
            let is_empty = match content {
                LineContent::Object(_) => lines.bytes().trim_ascii().is_empty(),
                LineContent::Id | LineContent::Checksum(_) | LineContent::Change => {
                    lines.text().is_empty()
                }
            };
            if is_empty {
                continue;
            }
            let location = lines.location();
            let record = match content {
                LineContent::Id => id(lines.text(), location),
                _ if lines.is_cut() => return Err(lines.too_long()),
                LineContent::Object(options) => object(lines.bytes(), options, files, location),
                LineContent::Checksum(how) => how.record(lines.text(), files, location),
                LineContent::Change => change(lines.text(), location),
            };
            return record.map(Some).map_err(|error| lines.fail(error));
        }
        Ok(None)
    }
}

fn id(text: &[u8], location: SourceLocation) -> Result<Record, Error> {
    let granule_id = GranuleId::from_bytes(text).map_err(|cause| {
        // Only the beginning of a line that is too long was read.
        let is_cut = text.len() as u64 == MAX_ID_LINE_BYTES;
        let cause = if is_cut { GranuleIdError::TooLong { bytes: None } } else { cause };
        Error::not_an_id(&String::from_utf8_lossy(text), cause)
    })?;
    Ok(Record::new(granule_id, location))
}

fn object(
    line: &[u8],
    options: &Options,
    files: &mut FileReading,
    location: SourceLocation,
) -> Result<Record, Error> {
    let object = parse_strictly(line)?;
    let Options { column, ingested_column, deleted_column, .. } = options;
    let text = value_at(&object, column.as_deref(), &USUAL_COLUMNS);
    let field = || column.clone().unwrap_or_else(|| USUAL_COLUMNS.join(", "));
    let text = text.and_then(Value::as_str).ok_or_else(|| Error::no_field(&field()))?;
    let granule_id = GranuleId::new(text).map_err(|cause| Error::not_an_id(text, cause))?;
    let mut record = Record::new(granule_id, location);
    if !files.is_off {
        let stated = content::of_cumulus(&object, files.algorithm.as_ref());
        record.files = files.of_granule(stated, &record.location)?;
    }
    if options.with_dates {
        let ingested = value_at(&object, ingested_column.as_deref(), &INGESTED_COLUMNS);
        record.ingested = Some(date(ingested)?.ok_or_else(Error::no_ingest_date)?);
        let deleted = value_at(&object, deleted_column.as_deref(), &[DELETED_COLUMN]);
        record.deleted = date(deleted)?;
    }
    Ok(record)
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
fn date(value: Option<&Value>) -> Result<Option<Moment>, Error> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => parse_time(text).map(Some),
        Some(other) => parse_time(&other.to_string()).map(Some),
    }
}

fn change(line: &[u8], location: SourceLocation) -> Result<Record, Error> {
    let mut cells = line.splitn(3, |&byte| byte == b'\t');
    let (Some(at), Some(sign @ (b"+" | b"-")), Some(granule_id)) =
        (cells.next(), cells.next(), cells.next())
    else {
        let message = "a line of an event file is a time, a TAB, + or -, a TAB, and an id";
        return Err(Error::input(message));
    };
    let at = Some(parse_time(&String::from_utf8_lossy(at))?);
    let granule_id = GranuleId::from_bytes(granule_id).map_err(|cause| {
        let text = String::from_utf8_lossy(granule_id).into_owned();
        Error::not_an_id(&text, cause)
    })?;
    let (ingested, deleted) = if sign == b"+" { (at, None) } else { (None, at) };
    Ok(Record { ingested, deleted, ..Record::new(granule_id, location) })
}
