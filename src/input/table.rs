//! A table with a header: CSV, or TSV.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use csv::ByteRecord;

use super::{Error, Fault, MAX_ROW_BYTES, Options, Read, Record, time};
use crate::model::{GranuleId, SourceLocation, Timestamp};

/// The columns that usually have the ids, the first of them first (cli.md).
pub(super) const USUAL_COLUMNS: [&str; 5] =
    ["granule_id", "granuleId", "granuleUr", "Granule UR", "id"];

/// The columns that have the time of ingest: ours, and that of Cumulus' granule inventory.
pub(super) const INGESTED_COLUMNS: [&str; 2] = ["ingested", "createdAt"];

/// The column that has the time of deletion; an empty cell: held still.
pub(super) const DELETED_COLUMN: &str = "deleted";

/// The ids in one column of a table, and the dates in two others.
pub(super) struct Table<R> {
    rows: csv::Reader<Rationed<R>>,
    ration: Rc<Cell<u64>>,
    name: Arc<str>,
    column: usize,
    columns: usize,
    ingested: Option<usize>,
    deleted: Option<usize>,
    row: ByteRecord,
}

/// Whether a first line is the header of a table: it has a column that usually has ids; or all its
/// cells are quoted, and there are several.
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
    is_read && header.iter().any(|cell| USUAL_COLUMNS.iter().any(|name| cell == name.as_bytes()))
}

/// Whether a file's beginning has the rows of a table: several, each with as many cells, and more
/// than one.
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
        // The last of many may be cut.
        if cells.len() > 2 {
            cells.pop();
        }
        cells.len() > 1 && cells[0] > 1 && cells.iter().all(|count| *count == cells[0])
    })
}

/// What may stand between the cells, the surest first.
const SEPARATORS: [u8; 3] = [b'\t', b',', b';'];

/// What stands between the cells of a header.
fn delimiter(header: &[u8]) -> u8 {
    SEPARATORS.into_iter().find(|separator| header.contains(separator)).unwrap_or(b',')
}

impl<R: io::Read> Table<R> {
    pub(super) fn open(file: R, name: Arc<str>, options: &Options) -> Result<Self, Error>
    where
        R: io::BufRead,
    {
        let mut file = file;
        let beginning =
            file.fill_buf().map_err(|cause| Error::new(&name, 1, Fault::Unreadable { cause }))?;
        let header = beginning.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let delimiter = delimiter(header);
        let ration = Rc::new(Cell::new(MAX_ROW_BYTES));
        let rows = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            // Rows end at LF alone, and a CR before it is taken off here: where the reader ends
            // them at CR, it counts the line of the row behind too low.
            .terminator(csv::Terminator::Any(b'\n'))
            .buffer_capacity(65_536)
            .from_reader(Rationed { file, left: ration.clone() });
        let mut table = Table {
            rows,
            ration,
            name,
            column: 0,
            columns: 0,
            ingested: None,
            deleted: None,
            row: ByteRecord::new(),
        };
        table.next_row()?;
        let header = &table.row;
        let fail = |fault| Error::new(&table.name, 1, fault);
        table.columns = header.len();
        table.column = find_column(header, options.column.as_deref()).map_err(fail)?;
        if options.with_dates {
            let ingested = INGESTED_COLUMNS.into_iter().find_map(|name| place_of(header, name));
            table.ingested = Some(ingested.ok_or_else(|| fail(Fault::NoDates))?);
            table.deleted = place_of(header, DELETED_COLUMN);
        }
        Ok(table)
    }

    /// Reads the next row that is not empty; says whether there is one.
    fn next_row(&mut self) -> Result<bool, Error> {
        loop {
            self.ration.set(MAX_ROW_BYTES);
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

    /// The time in a cell; none if it is empty.
    fn time(&self, column: Option<usize>, line: u64) -> Result<Option<Timestamp>, Error> {
        let cell = column.and_then(|column| self.row.get(column)).unwrap_or_default();
        if cell.is_empty() {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(cell);
        time::read(&text).map(Some).map_err(|fault| Error::new(&self.name, line, fault))
    }
}

impl<R: io::Read> Read for Table<R> {
    fn record(&mut self) -> Result<Option<Record>, Error> {
        if !self.next_row()? {
            return Ok(None);
        }
        let line = self.row.position().map_or(0, csv::Position::line);
        if self.row.len() != self.columns {
            let fault = Fault::Cells { cells: self.row.len(), columns: self.columns };
            return Err(Error::new(&self.name, line, fault));
        }
        let cell = self.row.get(self.column).unwrap_or_default();
        let granule_id = GranuleId::from_bytes(cell).map_err(|cause| {
            let text = String::from_utf8_lossy(cell).into_owned();
            Error::new(&self.name, line, Fault::GranuleId { text, cause })
        })?;
        let location = SourceLocation::Line { source: self.name.clone(), line };
        let ingested = self.time(self.ingested, line)?;
        if self.ingested.is_some() && ingested.is_none() {
            return Err(Error::new(&self.name, line, Fault::NoIngestDate));
        }
        let deleted = self.time(self.deleted, line)?;
        Ok(Some(Record { ingested, deleted, ..Record::new(granule_id, location) }))
    }
}

/// The row without the CR at the end of its last cell, in the same place.
fn without_last_byte(row: &ByteRecord) -> ByteRecord {
    let last = row.len() - 1;
    let cells = row.iter().enumerate();
    let mut without: ByteRecord = cells
        .map(|(index, cell)| if index == last { &cell[..cell.len() - 1] } else { cell })
        .collect();
    without.set_position(row.position().cloned());
    without
}

/// The first column of this name.
fn place_of(header: &ByteRecord, name: &str) -> Option<usize> {
    header.iter().position(|cell| cell == name.as_bytes())
}

fn find_column(header: &ByteRecord, column: Option<&str>) -> Result<usize, Fault> {
    let columns = || header.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
    let has = |name: &&str| header.iter().any(|cell| cell == name.as_bytes());
    let name = match column {
        Some(name) if has(&name) => name,
        Some(name) => return Err(Fault::NoColumn { column: name.to_owned(), columns: columns() }),
        None => USUAL_COLUMNS
            .into_iter()
            .find(has)
            .ok_or_else(|| Fault::NoUsualColumn { columns: columns() })?,
    };
    let mut places = header.iter().enumerate().filter(|(_, cell)| *cell == name.as_bytes());
    match (places.next(), places.next()) {
        (Some((index, _)), None) => Ok(index),
        _ => Err(Fault::TwoColumns { column: name.to_owned() }),
    }
}

fn from_csv(name: &Arc<str>, line: u64, error: csv::Error) -> Error {
    let fault = match error.into_kind() {
        csv::ErrorKind::Io(error)
            if error.get_ref().is_some_and(|inner| inner.is::<RationSpent>()) =>
        {
            Fault::RowTooLong
        }
        csv::ErrorKind::Io(cause) => Fault::Unreadable { cause },
        // Not met by a reader of bytes that takes rows of any length.
        other => Fault::Unreadable { cause: io::Error::other(format!("{other:?}")) },
    };
    Error::new(name, line, fault)
}

/// Reads no more than is left for the present row, so that a quote that never closes is noticed.
struct Rationed<R> {
    file: R,
    left: Rc<Cell<u64>>,
}

/// The row has had all it may have.
#[derive(Debug, thiserror::Error)]
#[error("the row is too long")]
struct RationSpent;

impl<R: io::Read> io::Read for Rationed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left.get() == 0 {
            return Err(io::Error::other(RationSpent));
        }
        let bytes = self.file.read(buffer)?;
        self.left.set(self.left.get().saturating_sub(bytes as u64));
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Options, open};

    fn read(bytes: &[u8], column: Option<&str>) -> Result<Vec<String>, String> {
        let options = Options { column: column.map(str::to_owned), ..Options::default() };
        let bytes = std::io::Cursor::new(bytes.to_vec());
        let records = open(bytes, "ids.csv", &options).map_err(|error| error.to_string())?;
        records
            .map(|record| record.map(|record| format!("{} {}", record.location, record.granule_id)))
            .collect::<Result<_, _>>()
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_column_is_found_by_name_wherever_it_stands() {
        let cases: [(&[u8], Option<&str>); 6] = [
            (b"granule_id\nA\nB C\n", None),
            (b"id,granule_id,x\n1,A,\n2,B C,\n", None),
            (b"\xef\xbb\xbfx,granuleUr\r\n1,A\r\n2,B C\r\n", None),
            (b"x\tGranule UR\n1\tA\n2\tB C\r", None),
            (b"x,name\n\"1,1\",A\n2,\"B C\"\n", Some("name")),
            (b"\"granule_id\",\"x\"\n\"A\",\"None\"\n\"B C\",\"None\"", None),
        ];
        for (bytes, column) in cases {
            assert_eq!(read(bytes, column).unwrap(), ["ids.csv:2 A", "ids.csv:3 B C"]);
        }
    }

    #[test]
    fn lines_are_counted_through_quoted_line_ends() {
        let bytes = b"id,title\nA,\"two\r\nlines\"\nB,\"one\"\n";
        assert_eq!(read(bytes, None).unwrap(), ["ids.csv:2 A", "ids.csv:4 B"]);
    }

    #[test]
    fn refused_tables_say_why() {
        let cases: [(&[u8], Option<&str>, &str); 6] = [
            (b"id,x\nA,1\n", Some("name"), "ids.csv:1: \"id,x\" stands"),
            (
                b"id,x\nA,1\nB\n",
                None,
                "ids.csv:3: a row of 1 cells, where the header has 2: the file is cut, or not a table",
            ),
            (b"id,x\nA,1\n,2\n", None, "ids.csv:3: \"\" is refused: a granule id may not be empty"),
            (
                b"id,x\n\"A\nB\",1\n",
                None,
                "ids.csv:2: \"A\\nB\" is refused: a granule id has no control characters, this one holds U+000A",
            ),
            (b"id,x,id\nA,1,B\n", None, "ids.csv:1: there are two columns \"id\""),
            (
                b"id,x\nA\xff,1\n",
                None,
                "ids.csv:2: \"A\u{fffd}\" is refused: a granule id is UTF-8, this one is not from its byte 2 on",
            ),
        ];
        for (bytes, column, message) in &cases[1..] {
            assert_eq!(read(bytes, *column), Err((*message).to_owned()));
        }
        // Asked for as a table, a file without the column lists those there are.
        let options = Options {
            format: Some(super::super::Format::Csv),
            column: Some("name".to_owned()),
            ..Options::default()
        };
        let error = open(cases[0].0.to_vec().leak() as &[u8], "ids.csv", &options).err().unwrap();
        assert_eq!(
            error.to_string(),
            "ids.csv:1: there is no column \"name\"; there are \"id\", \"x\""
        );
        let options = Options { column: None, ..options };
        let error = open(&b"a,b\n1,2\n"[..], "ids.csv", &options).err().unwrap();
        assert_eq!(
            error.to_string(),
            "ids.csv:1: no column has a name that granule ids usually have; there are \"a\", \"b\""
        );
    }

    #[test]
    fn a_quote_that_never_closes_does_not_fill_memory() {
        let mut bytes = b"id,x\nA,\"".to_vec();
        bytes.resize(20 * 1_024 * 1_024, b'y');
        let error = read(&bytes, None).unwrap_err();
        assert!(error.contains("a row of more than 16777216 bytes"), "{error}");
    }
}
