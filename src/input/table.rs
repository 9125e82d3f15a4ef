//! A table with a header: CSV or TSV.

use std::io::BufRead;
use std::sync::Arc;

use csv::ByteRecord;

use super::content::WrittenFile;
use super::error::{MAX_LISTED_COLUMNS, granule_id};
use super::file::{Ration, Rationed};
use super::format::{
    DELETED_COLUMN, INGESTED_COLUMNS, ListingOptions, PRODUCER_COLUMN, USUAL_COLUMNS, parse_time,
};
use super::{Reader, Row, Rows};
use crate::error::{Error, ErrorDetail};
use crate::model::{SourceLocation, WrittenTime, quoted};

/// The ids in one column of a table, and the dates in two others.
pub(super) struct TableReader {
    rows: CsvRows,
    columns: usize,
    column: usize,
    /// The column of the producer's ids.
    producer: Option<usize>,
    ingested: Option<DateColumn>,
    deleted: Option<DateColumn>,
    /// The columns with the size, the checksum and the path of a file.
    file: [Option<usize>; 3],
}

/// The rows of a file that are not empty, with one in memory at a time.
pub(super) struct CsvRows {
    reader: csv::Reader<Rationed>,
    ration: Ration,
    name: Arc<str>,
    /// The present row.
    pub row: ByteRecord,
}

/// A column of dates.
struct DateColumn {
    index: usize,
    /// The last date that was read, and its spelling: neighbouring rows mostly have the same one.
    last: Option<(Vec<u8>, WrittenTime)>,
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

impl CsvRows {
    pub(super) fn new(file: Reader, name: Arc<str>, delimiter: u8) -> Self {
        let (file, ration) = Rationed::new(file);
        let reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            // Rows end at LF only, and `advance` removes a CR before it: with rows that end at CR,
            // the csv crate counts the line of the following row too low.
            .terminator(csv::Terminator::Any(b'\n'))
            .buffer_capacity(65_536)
            .from_reader(file);
        CsvRows { reader, ration, name, row: ByteRecord::new() }
    }

    /// Reads the next row. Returns `false` at the end of the file.
    pub(super) fn advance(&mut self) -> Result<bool, Error> {
        loop {
            self.ration.renew();
            let is_read = self
                .reader
                .read_byte_record(&mut self.row)
                .map_err(|error| from_csv(&self.name, self.reader.position().line(), error))?;
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

    /// Where the present row begins.
    pub(super) fn location(&self) -> SourceLocation {
        let line = self.row.position().map_or(0, csv::Position::line);
        SourceLocation::Line { source: self.name.clone(), line }
    }
}

impl TableReader {
    pub(super) fn open(
        mut file: Reader,
        name: Arc<str>,
        options: &ListingOptions,
    ) -> Result<Self, Error> {
        let fail = |error: Error| error.at_line(&name, 1);
        let beginning = file.fill_buf().map_err(|cause| fail(Error::unreadable(&cause)))?;
        let header = beginning.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let delimiter = delimiter(header);
        let mut rows = CsvRows::new(file, name.clone(), delimiter);
        rows.advance()?;
        TableReader::of_header(rows, options).map_err(fail)
    }

    /// Finds the columns in the first row.
    fn of_header(rows: CsvRows, options: &ListingOptions) -> Result<Self, Error> {
        let header = &rows.row;
        let named = |column: &Option<String>, option: &str| {
            let index = column.as_deref().map(|column| find_column(header, Some(column)));
            // The hint is that of the column of the ids.
            let names = |it: Error| Error::input(format!("{it}; --{option} must name one of them"));
            index.transpose().map_err(names)
        };
        let column = find_column(header, options.column.as_deref())?;
        let producer = index_of(header, PRODUCER_COLUMN).filter(|producer| *producer != column);
        let mut file = [None; 3];
        if !options.without_files {
            let ListingOptions { size_column, checksum_column, path_column, .. } = options;
            file = [
                named(size_column, "size-column")?,
                named(checksum_column, "checksum-column")?,
                named(path_column, "path-column")?,
            ];
        }
        let (mut ingested, mut deleted) = (None, None);
        if options.with_dates {
            let usual = || INGESTED_COLUMNS.into_iter().find_map(|name| index_of(header, name));
            let index = named(&options.ingested_column, "ingested")?.or_else(usual);
            let index = index.ok_or_else(Error::no_dates)?;
            ingested = Some(DateColumn { index, last: None });
            let index = named(&options.deleted_column, "deleted")?;
            let index = index.or_else(|| index_of(header, DELETED_COLUMN));
            deleted = index.map(|index| DateColumn { index, last: None });
        }
        Ok(TableReader { columns: header.len(), column, producer, ingested, deleted, file, rows })
    }

    /// The granule of the present row.
    fn granule(&mut self) -> Result<Row, Error> {
        let cells = &self.rows.row;
        if cells.len() != self.columns {
            let message = format!(
                "the row has {} and the header has {}: the file is truncated, or not a table",
                counted(cells.len()),
                counted(self.columns)
            );
            return Err(Error::new(ErrorDetail::CellCount, message));
        }
        let id = granule_id(cells.get(self.column).unwrap_or_default())?;
        let mut row = Row::new(id, self.rows.location());
        let producer = self.producer.and_then(|column| cells.get(column));
        let producer = producer.filter(|cell| !cell.is_empty());
        row.record.producer_granule = producer.map(granule_id).transpose()?;
        if let Some(column) = &mut self.ingested {
            row.ingested(column.time(cells)?.ok_or_else(Error::no_ingest_date)?);
        }
        if let Some(column) = &mut self.deleted
            && let Some(at) = column.time(cells)?
        {
            row.deleted(at);
        }
        if self.file != [None; 3] {
            let cell = |column: Option<usize>| {
                let cell = cells.get(column?)?.trim_ascii();
                (!cell.is_empty()).then(|| String::from_utf8_lossy(cell).into_owned())
            };
            let [size, checksum, path] = self.file.map(cell);
            let path = path.or_else(|| Some(row.record.granule_id.to_string()));
            row.files.push(WrittenFile { path, size, checksum, ..WrittenFile::default() });
        }
        Ok(row)
    }
}

impl Rows for TableReader {
    fn next_row(&mut self) -> Result<Option<Row>, Error> {
        if !self.rows.advance()? {
            return Ok(None);
        }
        self.granule().map(Some).map_err(|error| error.at(self.rows.location()))
    }
}

impl DateColumn {
    /// The time in a cell of a row. `None` if the cell is empty.
    fn time(&mut self, row: &ByteRecord) -> Result<Option<WrittenTime>, Error> {
        let cell = row.get(self.index).unwrap_or_default();
        match &mut self.last {
            _ if cell.is_empty() => Ok(None),
            Some((spelling, time)) if spelling == cell => Ok(Some(*time)),
            last => {
                let time = parse_time(&String::from_utf8_lossy(cell))?;
                *last = Some((cell.to_vec(), time));
                Ok(Some(time))
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
        csv::ErrorKind::Io(cause) => Error::unreadable(&cause),
        // A reader of bytes that takes rows of any length returns no other kind.
        other => Error::input(format!("the file cannot be read: {other:?}")),
    };
    error.at_line(name, line)
}
