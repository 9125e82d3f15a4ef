//! The rows of CSV or TSV, with one in memory at a time, and the signs by which a file is recognised as a
//! table.

use std::collections::BTreeMap;
use std::sync::Arc;

use csv::ByteRecord;

use super::Reader;
use super::file::{Ration, Rationed};
use super::findings::Skipped;
use super::format::USUAL_COLUMNS;
use crate::error::Error;
use crate::model::SourceLocation;

/// The non-empty rows of a file, with one in memory at a time.
pub(super) struct CsvRows {
    reader: csv::Reader<Rationed>,
    ration: Ration,
    pub name: Arc<str>,
    /// The number of lines before the rows.
    pub lines_before: u64,
    /// The prefix of the first cell of a comment.
    pub comment: Option<Vec<u8>>,
    /// The number of skipped rows of each kind.
    pub skipped: BTreeMap<Skipped, u64>,
    /// The current row.
    pub row: ByteRecord,
}

/// Whether a first line is the header of a table. One of its cells is a usual name for granule ids, in any
/// case, or it has several cells, all quoted.
pub(super) fn is_header(line: &[u8]) -> bool {
    let bare = line.trim_ascii_end();
    if bare.starts_with(b"\"")
        && bare.ends_with(b"\"")
        && bare.windows(3).any(|cut| cut == b"\",\"")
    {
        return true;
    }
    let mut header = ByteRecord::new();
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).delimiter(delimiter(line)).from_reader(line);
    let is_read = reader.read_byte_record(&mut header).unwrap_or(false);
    is_read
        && header
            .iter()
            .map(<[u8]>::trim_ascii_end)
            .any(|cell| USUAL_COLUMNS.iter().any(|name| cell.eq_ignore_ascii_case(name.as_bytes())))
}

/// Whether the beginning of a file has several rows, all with the same number of cells, at least two.
pub(super) fn has_rows(beginning: &[u8]) -> bool {
    SEPARATORS.into_iter().any(|separator| {
        if !beginning.contains(&separator) {
            return false;
        }
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(separator)
            .from_reader(beginning);
        let mut cells: Vec<usize> = reader.byte_records().flatten().map(|row| row.len()).collect();
        // The last row may be cut off.
        if cells.len() > 2 {
            cells.pop();
        }
        cells.len() > 1 && cells[0] > 1 && cells.iter().all(|count| *count == cells[0])
    })
}

/// The characters that may separate cells. The first is the most certain sign of a table.
const SEPARATORS: [u8; 3] = [b'\t', b',', b';'];

/// The character that separates the cells of a header.
pub(super) fn delimiter(header: &[u8]) -> u8 {
    SEPARATORS.into_iter().find(|separator| header.contains(separator)).unwrap_or(b',')
}

impl CsvRows {
    pub(super) fn new(file: Reader, name: Arc<str>, delimiter: u8) -> Self {
        let (file, ration) = Rationed::new(file);
        let reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            // Rows end at LF only, and `advance` removes a CR before it. If rows may also end at CR, the csv
            // crate counts the line of the following row too low.
            .terminator(csv::Terminator::Any(b'\n'))
            .buffer_capacity(65_536)
            .from_reader(file);
        CsvRows {
            reader,
            ration,
            name,
            lines_before: 0,
            comment: None,
            skipped: BTreeMap::new(),
            row: ByteRecord::new(),
        }
    }

    pub(super) fn skip(&mut self, kind: Skipped) {
        *self.skipped.entry(kind).or_default() += 1;
    }

    /// Reads the next row. Returns `false` at the end of the file.
    pub(super) fn advance(&mut self) -> Result<bool, Error> {
        loop {
            self.ration.renew();
            let is_read = self.reader.read_byte_record(&mut self.row).map_err(|error| {
                let line = self.reader.position().line() + self.lines_before;
                from_csv(&self.name, line, error)
            })?;
            if !is_read {
                return Ok(false);
            }
            if let Some(prefix) = &self.comment
                && self.row.get(0).is_some_and(|cell| cell.starts_with(prefix))
            {
                self.skip(Skipped::Comment);
                continue;
            }
            if self.row.iter().next_back().is_some_and(|cell| cell.ends_with(b"\r")) {
                self.row = without_last_byte(&self.row);
            }
            if self.row.len() > 1 || self.row.get(0).is_some_and(|cell| !cell.is_empty()) {
                return Ok(true);
            }
        }
    }

    /// The location of the beginning of the current row.
    pub(super) fn location(&self) -> SourceLocation {
        let line = self.row.position().map_or(0, csv::Position::line) + self.lines_before;
        SourceLocation::Line { source: self.name.clone(), line }
    }
}

/// The row without the last byte of its last cell, at the same position.
fn without_last_byte(row: &ByteRecord) -> ByteRecord {
    let last = row.len() - 1;
    let cells = row.iter().enumerate();
    let mut without: ByteRecord = cells
        .map(|(index, cell)| if index == last { &cell[..cell.len() - 1] } else { cell })
        .collect();
    without.set_position(row.position().cloned());
    without
}

fn from_csv(name: &Arc<str>, line: u64, error: csv::Error) -> Error {
    let error = match error.into_kind() {
        csv::ErrorKind::Io(cause) => Error::unreadable(&cause),
        // A byte reader that accepts rows of any length returns no other kind.
        other => Error::input(format!("the file cannot be read: {other:?}")),
    };
    error.at_line(name, line)
}
