//! Files with a granule per line: ids, lists of checksums, JSON objects, and events (a time, a sign, an id).

use std::sync::Arc;

use serde_json::Value;

use super::checksums::{self, Checksums};
use super::content;
use super::error::granule_id;
use super::file::NumberedLines;
use super::format::{DELETED_COLUMN, INGESTED_COLUMNS, ListingOptions, USUAL_COLUMNS, parse_time};
use super::json::parse_strictly;
use super::{MAX_ROW_BYTES, Reader, Row, Rows};
use crate::error::Error;
use crate::model::{GranuleId, SourceLocation, WrittenTime, id_too_long};

/// How many bytes of a line with an id are read: an id of the greatest length, CR, LF, and one more
/// byte.
const MAX_ID_LINE_BYTES: u64 = GranuleId::MAX_BYTES as u64 + 3;

/// The greatest length of a line of an event file: the longest id, and room for any spelling of a time.
const MAX_CHANGE_BYTES: u64 = GranuleId::MAX_BYTES as u64 + 128;

/// The granules of a file with one per line.
pub(super) struct LineReader {
    lines: NumberedLines,
    content: LineContent,
}

/// What a line contains.
pub(super) enum LineContent {
    /// An id.
    Id,
    /// A JSON object with the id in one of its fields. The field is given by its name, or by a JSON
    /// pointer (RFC 6901), which begins with `/`.
    Object(Box<ListingOptions>),
    /// A checksum and a path, which is the id.
    Checksum(Checksums),
    /// A time, `+` or `-`, and an id, separated by TABs.
    Change,
}

impl LineReader {
    pub(super) fn new(file: Reader, name: Arc<str>, content: LineContent) -> Self {
        let max_bytes = match content {
            LineContent::Id => MAX_ID_LINE_BYTES,
            LineContent::Object(_) => MAX_ROW_BYTES,
            LineContent::Checksum(_) => checksums::MAX_LINE_BYTES,
            LineContent::Change => MAX_CHANGE_BYTES,
        };
        LineReader { lines: NumberedLines::new(file, name, max_bytes), content }
    }
}

impl Rows for LineReader {
    /// The next granule. A change has only one of the dates.
    fn next_row(&mut self) -> Result<Option<Row>, Error> {
        let LineReader { lines, content } = self;
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
            let row = match content {
                LineContent::Id => id(lines.text(), location),
                _ if lines.is_cut() => return Err(lines.too_long()),
                LineContent::Object(options) => object(lines.bytes(), options, location),
                LineContent::Checksum(how) => how.row(lines.text(), location),
                LineContent::Change => change(lines.text(), location),
            };
            return row.map(Some).map_err(|error| lines.fail(error));
        }
        Ok(None)
    }
}

fn id(text: &[u8], location: SourceLocation) -> Result<Row, Error> {
    // Only the beginning of a line that is too long was read.
    if text.len() as u64 == MAX_ID_LINE_BYTES {
        let cause = id_too_long(None);
        return Err(Error::not_an_id(&String::from_utf8_lossy(text), cause));
    }
    Ok(Row::new(granule_id(text)?, location))
}

fn object(line: &[u8], options: &ListingOptions, location: SourceLocation) -> Result<Row, Error> {
    let object = parse_strictly(line)?;
    let ListingOptions { column, ingested_column, deleted_column, .. } = options;
    let text = value_at(&object, column.as_deref(), &USUAL_COLUMNS);
    let field = || column.clone().unwrap_or_else(|| USUAL_COLUMNS.join(", "));
    let text = text.and_then(Value::as_str).ok_or_else(|| Error::no_field(&field()))?;
    let mut row = Row::new(granule_id(text.as_bytes())?, location);
    row.files = content::of_cumulus(&object);
    if options.with_dates {
        let ingested = value_at(&object, ingested_column.as_deref(), &INGESTED_COLUMNS);
        row.ingested(date(ingested)?.ok_or_else(Error::no_ingest_date)?);
        let deleted = value_at(&object, deleted_column.as_deref(), &[DELETED_COLUMN]);
        if let Some(at) = date(deleted)? {
            row.deleted(at);
        }
    }
    Ok(row)
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
fn date(value: Option<&Value>) -> Result<Option<WrittenTime>, Error> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => parse_time(text).map(Some),
        Some(other) => parse_time(&other.to_string()).map(Some),
    }
}

fn change(line: &[u8], location: SourceLocation) -> Result<Row, Error> {
    let mut cells = line.splitn(3, |&byte| byte == b'\t');
    let (Some(at), Some(sign @ (b"+" | b"-")), Some(id)) =
        (cells.next(), cells.next(), cells.next())
    else {
        let message = "a line of an event file is a time, a TAB, + or -, a TAB, and an id";
        return Err(Error::input(message));
    };
    let at = parse_time(&String::from_utf8_lossy(at))?;
    let mut row = Row::new(granule_id(id)?, location);
    if sign == b"+" {
        row.ingested(at);
    } else {
        row.deleted(at);
    }
    Ok(row)
}
