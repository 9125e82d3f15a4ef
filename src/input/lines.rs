//! Files with a granule per line: ids, lists of checksums, JSON objects, and events (a time, a sign, an id).

use std::sync::Arc;

use memchr::memchr;
use serde_json::Value;

use super::checksums::{self, Checksums};
use super::content;
use super::error::granule_id;
use super::file::NumberedLines;
use super::finding::{Finding, FindingKind};
use super::findings::{FileFindings, Skipped};
use super::format::{
    DELETED_COLUMN, INGESTED_COLUMNS, ListingOptions, RowFilter, USUAL_COLUMNS, parse_time, selects,
};
use super::json::parse_strictly;
use super::{MAX_ROW_BYTES, Reader, Row, Rows};
use crate::error::{Error, ErrorKind};
use crate::model::{GranuleId, SourceLocation, WrittenTime, id_too_long, quoted};

/// How many bytes of a line with an id are read: an id of the greatest length, CR, LF, and one more
/// byte.
const MAX_ID_LINE_BYTES: u64 = GranuleId::MAX_BYTES as u64 + 3;

/// The greatest length of a line of an event file: the longest id, and room for any spelling of a time.
const MAX_CHANGE_BYTES: u64 = GranuleId::MAX_BYTES as u64 + 128;

/// The granules of a file with one per line.
pub(super) struct LineReader {
    lines: NumberedLines,
    content: LineContent,
    skipping: Skipping,
    found: FileFindings,
    paths: Paths,
}

/// The lines that the caller skips.
struct Skipping {
    /// The prefix of comments.
    comment: Option<Vec<u8>>,
    /// How many lines at the beginning are not read.
    lines: u64,
}

/// The directories in a list of paths.
#[derive(Default)]
struct Paths {
    /// The first directory, and where it is.
    directory: Option<(SourceLocation, String)>,
    /// Whether a path of a file has a directory in it.
    has_nested: bool,
    /// Whether the list begins with `.`: `find` prints it, and each directory before what is in it.
    is_of_find: bool,
    /// In such a list, the path that was read last. It is a directory if the next one is in it.
    held_back: Option<(Vec<u8>, Row)>,
}

impl Paths {
    /// Holds a path of `find` back, and returns the one before it, and whether that is its directory.
    fn hold_back(&mut self, path: &[u8], row: Row) -> Option<(Row, bool)> {
        let before = self.held_back.replace((path.to_vec(), row));
        before.map(|(directory, row)| {
            let below = path.strip_prefix(directory.as_slice());
            (row, below.is_some_and(|below| below.starts_with(b"/")))
        })
    }
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
    pub(super) fn new(
        file: Reader,
        name: Arc<str>,
        content: LineContent,
        options: &ListingOptions,
    ) -> Self {
        let max_bytes = match content {
            LineContent::Id => MAX_ID_LINE_BYTES,
            LineContent::Object(_) => MAX_ROW_BYTES,
            LineContent::Checksum(_) => checksums::MAX_LINE_BYTES,
            LineContent::Change => MAX_CHANGE_BYTES,
        };
        let comment = options.comment.as_ref().map(|prefix| prefix.clone().into_bytes());
        LineReader {
            lines: NumberedLines::new(file, name, max_bytes),
            content,
            skipping: Skipping { comment, lines: options.skip_lines },
            found: FileFindings::default(),
            paths: Paths::default(),
        }
    }

    /// Counts a line that is left out.
    fn skip(&mut self, kind: Skipped) {
        *self.found.skipped.entry(kind).or_default() += 1;
    }

    /// Why the present line, which is not empty, is left out. `None` means that it is read.
    fn skipped(&mut self) -> Option<Skipped> {
        let text = self.lines.text();
        if let Some(prefix) = &self.skipping.comment
            && text.starts_with(prefix)
        {
            return Some(Skipped::Comment);
        }
        match &mut self.content {
            LineContent::Id => directory(text),
            LineContent::Checksum(how) => how.is_comment(text).then_some(Skipped::Comment),
            LineContent::Object(_) | LineContent::Change => None,
        }
    }
}

/// Why a path is left out: it is that of a directory. `None` means that it is read.
fn directory(path: &[u8]) -> Option<Skipped> {
    match path.last() {
        Some(b'/') => Some(Skipped::Directory),
        Some(b'.') if matches!(path, b"." | b"..") => Some(Skipped::Directory),
        Some(b'$') if path.ends_with(FOLDER_MARKER) => Some(Skipped::FolderMarker),
        _ => None,
    }
}

/// The end of the names of empty objects that Hadoop writes for directories.
pub(super) const FOLDER_MARKER: &[u8] = b"_$folder$";

/// Directories are listed, and nothing in them.
pub(super) static NOT_RECURSIVE: FindingKind = FindingKind {
    name: "not-recursive",
    refused_as: ErrorKind::Incomplete,
    heading: "Directories",
    what: "is a directory, and nothing in a directory is listed",
    hint: "list with -R, as `rclone lsjson -R` and `rclone lsf -R` do",
};

impl Rows for LineReader {
    /// The next granule. A change has only one of the dates.
    fn next_row(&mut self) -> Result<Option<Row>, Error> {
        while self.lines.advance()? {
            if self.lines.number() <= self.skipping.lines {
                self.skip(Skipped::Preamble);
                continue;
            }
            let is_empty = match self.content {
                LineContent::Object(_) => self.lines.bytes().trim_ascii().is_empty(),
                LineContent::Id | LineContent::Checksum(_) | LineContent::Change => {
                    self.lines.text().is_empty()
                }
            };
            if is_empty {
                continue;
            }
            if let Some(kind) = self.skipped() {
                if kind == Skipped::Directory && self.paths.directory.is_none() {
                    self.paths.is_of_find = self.lines.number() == 1 && self.lines.text() == b".";
                    let path = String::from_utf8_lossy(self.lines.text()).into_owned();
                    self.paths.directory = Some((self.lines.location(), path));
                }
                self.skip(kind);
                continue;
            }
            let LineReader { lines, content, paths, .. } = self;
            let location = lines.location();
            let row = match content {
                LineContent::Id => id(lines.text(), location),
                _ if lines.is_cut() => return Err(lines.too_long()),
                LineContent::Object(options) => {
                    let Some(row) = object(lines.bytes(), options, location).transpose() else {
                        self.skip(Skipped::NotSelected);
                        continue;
                    };
                    row
                }
                LineContent::Checksum(how) => how.row(lines.text(), location),
                LineContent::Change => change(lines.text(), location),
            };
            if !paths.has_nested {
                let path = lines.text();
                let path = path.strip_prefix(b"./").unwrap_or(path);
                paths.has_nested = memchr(b'/', path).is_some();
            }
            let row = row.map_err(|error| lines.fail(error))?;
            if matches!(self.content, LineContent::Checksum(_))
                && let Some(kind) = directory(row.record.granule_id.as_str().as_bytes())
            {
                self.skip(kind);
                continue;
            }
            if !paths.is_of_find {
                return Ok(Some(row));
            }
            match paths.hold_back(lines.text(), row) {
                None => {}
                Some((_, true)) => self.skip(Skipped::Directory),
                Some((row, false)) => return Ok(Some(row)),
            }
        }
        Ok(self.paths.held_back.take().map(|(_, row)| row))
    }

    fn findings(&self) -> FileFindings {
        let is_of_paths = matches!(self.content, LineContent::Id | LineContent::Checksum(_));
        let mut found = FileFindings {
            skipped: self.found.skipped.clone(),
            has_nested_paths: is_of_paths && self.paths.has_nested,
            ..FileFindings::default()
        };
        if let Some((location, path)) = &self.paths.directory
            && !self.paths.has_nested
            && !matches!(path.as_str(), "." | ".." | "./")
        {
            let sentence = format!("{} {}", quoted(path), NOT_RECURSIVE.what);
            found.suspicious.push(Finding::new(&NOT_RECURSIVE, location.clone(), sentence));
        }
        if let LineContent::Checksum(how) = &self.content {
            found.suspicious.extend(how.finding());
        }
        found
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

fn object(
    line: &[u8],
    options: &ListingOptions,
    location: SourceLocation,
) -> Result<Option<Row>, Error> {
    let object = parse_strictly(line)?;
    if !is_selected(&object, &options.only)? {
        return Ok(None);
    }
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
    Ok(Some(row))
}

/// Whether the filters of rows select an object: by strings, or by numbers as they are written. Null is an empty
/// string. A field that is missing is an error, because the filter may have been mistyped.
fn is_selected(object: &Value, only: &[RowFilter]) -> Result<bool, Error> {
    for RowFilter { column, .. } in only {
        let value = value_at(object, Some(column), &[]).ok_or_else(|| Error::no_field(column))?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        if selects(only, column, &text) == Some(false) {
            return Ok(false);
        }
    }
    Ok(true)
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
