//! Files with one granule per line: ids, lists of checksums, JSON objects, and events (a time, a sign, an id).

use std::sync::Arc;

use memchr::memchr;

use super::checksums::{self, Checksums};
use super::error::granule_id;
use super::file::NumberedLines;
use super::finding::{Finding, FindingKind};
use super::findings::{FileFindings, Skipped};
use super::format::{ListingOptions, parse_time};
use super::object_lines::ObjectLines;
use super::occurrences::Occurrences;
use super::{MAX_ROW_BYTES, Reader, Row, Rows};
use crate::error::{Error, ErrorKind};
use crate::model::{GranuleId, SourceLocation, id_too_long, quoted};

/// The number of bytes of a line with an id that are read: the longest id, CR, LF, and one more byte.
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
    /// The lines of a list of ids that contain a checksum.
    checksums: Occurrences,
}

/// The lines that the options skip.
struct Skipping {
    /// The prefix of comments.
    comment: Option<Vec<u8>>,
    /// The number of lines to skip at the beginning.
    lines: u64,
}

/// The directories in a list of paths.
#[derive(Default)]
struct Paths {
    /// The first directory, and its location.
    directory: Option<(SourceLocation, String)>,
    /// Whether the path of a file contains a directory.
    has_nested: bool,
    /// Whether the list begins with `.`, as that of `find` does, which prints each directory before its
    /// contents.
    is_of_find: bool,
    /// The latest path of a list of `find`. If the next path is below it, it is a directory.
    held_back: Option<(Vec<u8>, Row)>,
}

impl Paths {
    /// Stores a path of `find`. Returns the previous path, and whether it is a directory that contains this
    /// one.
    fn hold_back(&mut self, path: &[u8], row: Row) -> Option<(Row, bool)> {
        let before = self.held_back.replace((path.to_vec(), row));
        before.map(|(directory, row)| {
            let below = path.strip_prefix(directory.as_slice());
            (row, below.is_some_and(|below| below.starts_with(b"/")))
        })
    }
}

/// The content of a line.
pub(super) enum LineContent {
    /// An id.
    Id,
    /// A JSON object with the id in one of its fields.
    Object(Box<ObjectLines>),
    /// A checksum and a path, which is the id.
    Checksum(Box<Checksums>),
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
            checksums: Occurrences::default(),
        }
    }

    /// Counts a skipped line.
    fn skip(&mut self, kind: Skipped) {
        *self.found.skipped.entry(kind).or_default() += 1;
    }

    /// The reason to skip the current line, which is not empty. `None` means that it is read.
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

/// The reason to skip a path: it is a directory. `None` means that it is read.
fn directory(path: &[u8]) -> Option<Skipped> {
    match path.last() {
        Some(b'/') => Some(Skipped::Directory),
        Some(b'.') if matches!(path, b"." | b"..") => Some(Skipped::Directory),
        Some(b'$') if path.ends_with(FOLDER_MARKER) => Some(Skipped::FolderMarker),
        _ => None,
    }
}

/// The suffix of the names of empty objects that Hadoop writes for directories.
pub(super) const FOLDER_MARKER: &[u8] = b"_$folder$";

/// The list contains directories, but nothing in them.
pub(super) static NOT_RECURSIVE: FindingKind = FindingKind {
    name: "not-recursive",
    refused_as: ErrorKind::Incomplete,
    heading: "Directories",
    what: "is a directory, and nothing in a directory is listed",
    hint: "list with -R, as `rclone lsjson -R` and `rclone lsf -R` do",
};

/// A line in a list of ids is one of a checksum list.
static CHECKSUM_LINE: FindingKind = FindingKind {
    name: "checksum-line",
    refused_as: ErrorKind::NotAList,
    heading: "Checksum lists",
    what: "is a line of a checksum list, and the first line of the file is not",
    hint: "write a checksum, two blanks and the path in each line, as `sha256sum` does, or an id",
};

impl Rows for LineReader {
    /// Reads the next granule. A line of an event file has either a time of ingest or one of deletion.
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
            let LineReader { lines, content, paths, checksums, .. } = self;
            let location = lines.location();
            let row = match content {
                LineContent::Id => {
                    if memchr(b' ', lines.text()).is_some()
                        && checksums::is_checksum(lines.text(), None)
                    {
                        checksums.add(&String::from_utf8_lossy(lines.text()), &location);
                    }
                    id(lines.text(), location)
                }
                _ if lines.is_cut() => return Err(lines.too_long()),
                LineContent::Object(objects) => {
                    let Some(row) = objects.row(lines.bytes(), location).transpose() else {
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
        if let LineContent::Object(objects) = &self.content {
            objects.check_filters().map_err(|error| self.lines.fail(error))?;
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
        match &self.content {
            LineContent::Checksum(how) => found.suspicious.extend(how.findings()),
            LineContent::Object(objects) => found.watched = objects.watched(),
            LineContent::Id => found.suspicious.extend(self.checksums.finding(&CHECKSUM_LINE)),
            LineContent::Change => {}
        }
        found
    }
}

fn id(text: &[u8], location: SourceLocation) -> Result<Row, Error> {
    // Only the beginning of a long line was read.
    if text.len() as u64 == MAX_ID_LINE_BYTES {
        let cause = id_too_long(None);
        return Err(Error::not_an_id(&String::from_utf8_lossy(text), cause));
    }
    Ok(Row::new(granule_id(text)?, location))
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
