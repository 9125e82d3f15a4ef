//! A table with a header: CSV or TSV.

use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use csv::ByteRecord;

use super::content::{self, FileStatement};
use super::error::MAX_LISTED_COLUMNS;
use super::format::{DELETED_COLUMN, INGESTED_COLUMNS, Options, USUAL_COLUMNS, parse_time};
use super::{MAX_ROW_BYTES, Reader, Record};
use crate::error::{Error, ErrorKind};
use crate::model::{Algorithm, GranuleId, Moment, SourceLocation, quoted};

/// The ids in one column of a table, and the dates in two others.
pub(super) struct TableReader {
    rows: csv::Reader<Rationed>,
    /// The number of bytes that may still be read for the present row.
    ration: Arc<AtomicU64>,
    name: Arc<str>,
    column: usize,
    columns: usize,
    ingested: Option<DateColumn>,
    deleted: Option<DateColumn>,
    /// The columns with the size, the checksum and the path of a file.
    file: [Option<usize>; 3],
    algorithm: Option<Algorithm>,
    row: ByteRecord,
}

/// A column of dates.
struct DateColumn {
    index: usize,
    /// The last date that was read, and its spelling: neighbouring rows mostly have the same one.
    last: Option<(Vec<u8>, Moment)>,
}

/// Whether a first line is the header of a table: one of its cells is a usual name for granule ids,
/// in any case, or it has several cells, all quoted.
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

/// Whether the beginning of a file has several rows with the same number of cells, more than one.
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
        // Only the beginning of the last row may have been read.
        if cells.len() > 2 {
            cells.pop();
        }
        cells.len() > 1 && cells[0] > 1 && cells.iter().all(|count| *count == cells[0])
    })
}

/// The characters that may separate cells, with the most certain sign of a table first.
const SEPARATORS: [u8; 3] = [b'\t', b',', b';'];

/// The character that separates the cells of a header.
fn delimiter(header: &[u8]) -> u8 {
    SEPARATORS.into_iter().find(|separator| header.contains(separator)).unwrap_or(b',')
}

impl TableReader {
    pub(super) fn open(mut file: Reader, name: Arc<str>, options: &Options) -> Result<Self, Error> {
        let beginning =
            file.fill_buf().map_err(|cause| Error::unreadable(&cause).at_line(&name, 1))?;
        let header = beginning.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let delimiter = delimiter(header);
        let ration = Arc::new(AtomicU64::new(MAX_ROW_BYTES));
        let rows = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            // Rows end at LF only, and `next_row` removes a CR before it: with rows that end at CR,
            // the csv crate counts the line of the following row too low.
            .terminator(csv::Terminator::Any(b'\n'))
            .buffer_capacity(65_536)
            .from_reader(Rationed { file, left: ration.clone() });
        let mut table = TableReader {
            rows,
            ration,
            name,
            column: 0,
            columns: 0,
            ingested: None,
            deleted: None,
            file: [None; 3],
            algorithm: options.algorithm.clone(),
            row: ByteRecord::new(),
        };
        table.next_row()?;
        let header = &table.row;
        let fail = |error: Error| error.at_line(&table.name, 1);
        table.columns = header.len();
        table.column = find_column(header, options.column.as_deref()).map_err(fail)?;
        if !options.without_files {
            let columns = [&options.size_column, &options.checksum_column, &options.path_column];
            for (index, column) in table.file.iter_mut().zip(columns) {
                let found = column.as_deref().map(|column| find_column(header, Some(column)));
                *index = found.transpose().map_err(fail)?;
            }
        }
        if options.with_dates {
            let ingested = match options.ingested_column.as_deref() {
                Some(column) => find_column(header, Some(column)).map(Some),
                None => Ok(INGESTED_COLUMNS.into_iter().find_map(|name| index_of(header, name))),
            };
            let ingested = ingested.map_err(fail)?;
            let ingested = ingested.ok_or_else(|| fail(Error::no_dates()))?;
            table.ingested = Some(DateColumn { index: ingested, last: None });
            let deleted = match options.deleted_column.as_deref() {
                Some(column) => Some(find_column(header, Some(column)).map_err(fail)?),
                None => index_of(header, DELETED_COLUMN),
            };
            table.deleted = deleted.map(|index| DateColumn { index, last: None });
        }
        Ok(table)
    }

    /// The next granule.
    pub(super) fn record(&mut self) -> Result<Option<Record>, Error> {
        if !self.next_row()? {
            return Ok(None);
        }
        let line = self.row.position().map_or(0, csv::Position::line);
        if self.row.len() != self.columns {
            let message = format!(
                "the row has {} and the header has {}: the file is truncated, or not a table",
                counted(self.row.len()),
                counted(self.columns)
            );
            return Err(Error::new(ErrorKind::Cells, message).at_line(&self.name, line));
        }
        let cell = self.row.get(self.column).unwrap_or_default();
        let granule_id = GranuleId::from_bytes(cell).map_err(|cause| {
            let text = String::from_utf8_lossy(cell).into_owned();
            Error::not_an_id(&text, cause).at_line(&self.name, line)
        })?;
        let location = SourceLocation::Line { source: self.name.clone(), line };
        let time = |column: &mut Option<DateColumn>| match column {
            Some(column) => {
                column.time(&self.row).map_err(|error: Error| error.at_line(&self.name, line))
            }
            None => Ok(None),
        };
        let ingested = time(&mut self.ingested)?;
        if self.ingested.is_some() && ingested.is_none() {
            return Err(Error::no_ingest_date().at_line(&self.name, line));
        }
        let deleted = time(&mut self.deleted)?;
        let file =
            self.file(&granule_id).map_err(|error: Error| error.at_line(&self.name, line))?;
        let files = Vec::from_iter(file);
        Ok(Some(Record { ingested, deleted, files, ..Record::new(granule_id, location) }))
    }

    /// What a row states of a file. `None` means that it states nothing.
    fn file(&self, granule_id: &GranuleId) -> FileStatement {
        if self.file == [None; 3] {
            return Ok(None);
        }
        let cell = |column: Option<usize>| {
            let cell = column.and_then(|column| self.row.get(column)).unwrap_or_default();
            let cell = cell.trim_ascii();
            (!cell.is_empty()).then(|| String::from_utf8_lossy(cell).into_owned())
        };
        let [size, checksum, path] = self.file.map(cell);
        let size = size.as_deref().map(content::size).transpose()?;
        let algorithm = self.algorithm.as_ref();
        let checksum = checksum.map(|text| content::checksum(algorithm, &text)).transpose()?;
        content::file_of(path.as_deref().unwrap_or(granule_id.as_str()), size, checksum)
    }

    /// Reads the next row that is not empty. Returns `false` at the end of the file.
    fn next_row(&mut self) -> Result<bool, Error> {
        loop {
            self.ration.store(MAX_ROW_BYTES, Ordering::Relaxed);
            let is_read = self
                .rows
                .read_byte_record(&mut self.row)
                .map_err(|error| from_csv(&self.name, self.rows.position().line(), error))?;
            if !is_read {
                return Ok(false);
            }
            if self.row.iter().next_back().is_some_and(|cell| cell.ends_with(b"\r")) {
                self.row = without_last_byte(&self.row);
            }
            if self.row.len() > 1 || self.row.get(0).is_some_and(|cell| !cell.is_empty()) {
                return Ok(true);
            }
        }
    }
}

impl DateColumn {
    /// The time in a cell of a row. `None` if the cell is empty.
    fn time(&mut self, row: &ByteRecord) -> Result<Option<Moment>, Error> {
        let cell = row.get(self.index).unwrap_or_default();
        match &mut self.last {
            _ if cell.is_empty() => Ok(None),
            Some((spelling, moment)) if spelling == cell => Ok(Some(*moment)),
            last => {
                let moment = parse_time(&String::from_utf8_lossy(cell))?;
                *last = Some((cell.to_vec(), moment));
                Ok(Some(moment))
            }
        }
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

/// The index of the first column of this name.
fn index_of(header: &ByteRecord, name: &str) -> Option<usize> {
    header.iter().position(|cell| cell == name.as_bytes())
}

/// The index of the requested column, or of the first of the usual ones. Its name must match
/// exactly or, if none does, in any case.
fn find_column(header: &ByteRecord, column: Option<&str>) -> Result<usize, Error> {
    type Comparison = fn(&[u8], &[u8]) -> bool;
    let exactly: Comparison = |cell, name| cell == name;
    let in_any_case: Comparison = <[u8]>::eq_ignore_ascii_case;
    let has =
        |name: &str, is_same: Comparison| header.iter().any(|cell| is_same(cell, name.as_bytes()));
    let usual = |is_same| {
        let name = USUAL_COLUMNS.into_iter().find(|name| has(name, is_same));
        name.map(|name| (name, is_same))
    };
    let columns = || -> Vec<String> {
        let first = header.iter().take(MAX_LISTED_COLUMNS + 1);
        first.map(|cell| String::from_utf8_lossy(cell).into_owned()).collect()
    };
    let (name, is_same) = match column {
        Some(name) if has(name, exactly) => (name, exactly),
        Some(name) => return Err(Error::no_column(name, &columns())),
        None => usual(exactly)
            .or_else(|| usual(in_any_case))
            .ok_or_else(|| Error::no_usual_column(&columns()))?,
    };
    let mut same = header.iter().enumerate().filter(|(_, cell)| is_same(cell, name.as_bytes()));
    match (same.next(), same.next()) {
        (Some((index, _)), None) => Ok(index),
        _ => Err(Error::input(format!("there are two columns named {}", quoted(name)))),
    }
}

fn counted(cells: usize) -> String {
    if cells == 1 { "1 cell".to_owned() } else { format!("{cells} cells") }
}

fn from_csv(name: &Arc<str>, line: u64, error: csv::Error) -> Error {
    let error = match error.into_kind() {
        csv::ErrorKind::Io(error)
            if error.get_ref().is_some_and(|inner| inner.is::<RationSpent>()) =>
        {
            Error::row_too_long()
        }
        csv::ErrorKind::Io(cause) => Error::unreadable(&cause),
        // A reader of bytes that takes rows of any length returns no other kind.
        other => Error::input(format!("the file cannot be read: {other:?}")),
    };
    error.at_line(name, line)
}

/// Reads no more than the present row may have, so that a quote that is never closed does not fill
/// memory.
struct Rationed {
    file: Reader,
    left: Arc<AtomicU64>,
}

/// The error for a row that is longer than [`MAX_ROW_BYTES`].
#[derive(Debug, thiserror::Error)]
#[error("the row is too long")]
struct RationSpent;

impl io::Read for Rationed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Err(io::Error::other(RationSpent));
        }
        let bytes = self.file.read(buffer)?;
        self.left.store(left.saturating_sub(bytes as u64), Ordering::Relaxed);
        Ok(bytes)
    }
}
