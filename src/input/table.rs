//! A table: CSV or TSV. Its first row is a header, unless the caller says that it has none; then columns are named by
//! their numbers.

use std::collections::BTreeMap;
use std::io::{BufRead, Cursor, Read};
use std::sync::Arc;

use csv::ByteRecord;

use super::checksums;
use super::content::WrittenFile;
use super::error::{MAX_LISTED_COLUMNS, granule_id};
use super::file::{Ration, Rationed};
use super::findings::{FileFindings, Finding, FindingKind, Skipped, Totals};
use super::format::{
    DELETED_COLUMN, INGESTED_COLUMNS, ListingOptions, PRODUCER_COLUMN, RowFilter, USUAL_COLUMNS,
    parse_time, selects,
};
use super::values::Values;
use super::{MAX_ROW_BYTES, Reader, Row, Rows};
use crate::error::{Error, ErrorDetail, ErrorKind};
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
    /// The algorithm that the name of the column with the checksum says.
    algorithm: Option<String>,
    /// The character that separates the files within a cell.
    split: Option<char>,
    /// The first row, which later ones may repeat. `None` means that it is data.
    header: Option<ByteRecord>,
    /// Whether the present row was not returned yet: it is the first one of a table without a header.
    is_pending: bool,
    selection: Selection,
    /// Whether it is the response of a catalogue, which returns one page.
    is_search: bool,
    count: u64,
}

/// Which rows are read, and the columns that may say that others should not be.
#[derive(Default)]
struct Selection {
    /// The columns of `--only`, with their names.
    only: Vec<(usize, String)>,
    filters: Vec<RowFilter>,
    /// The column with the status of a granule in an inventory of Cumulus.
    status: Option<usize>,
    /// The columns that are not read, and are named like a status or a collection.
    watched: Vec<Watched>,
}

/// A column that is not read, and its values.
struct Watched {
    index: usize,
    name: String,
    kind: &'static FindingKind,
    values: Values,
}

/// A column looks like a status, and its values differ.
static STATUS_COLUMN: FindingKind = FindingKind {
    name: "status-column",
    refused_as: ErrorKind::NotAList,
    heading: "Status columns",
    what: "is a status that is not read",
    hint: "--only COLUMN=VALUE reads the rows with this value, and --only 'COLUMN=*' all",
};

/// A column names collections, and its values differ.
static COLLECTION_COLUMN: FindingKind = FindingKind {
    name: "several-collections",
    refused_as: ErrorKind::NotAList,
    heading: "Several collections",
    what: "is of several collections",
    hint: "--only COLUMN=VALUE reads the rows of one collection, and --only 'COLUMN=*' all",
};

/// The names of columns with a status, in lower case without separators.
const STATUSES: [&str; 24] = [
    "active",
    "availability",
    "available",
    "deleted",
    "hidden",
    "isactive",
    "iscurrent",
    "isdeleted",
    "islatest",
    "ispublished",
    "isretracted",
    "iswithdrawn",
    "latest",
    "obsolete",
    "published",
    "publicationstate",
    "quarantined",
    "released",
    "replaced",
    "retracted",
    "state",
    "status",
    "superseded",
    "withdrawn",
];

/// The names of columns with a collection, written likewise.
const COLLECTIONS: [&str; 8] = [
    "collection",
    "collectionconceptid",
    "collectionid",
    "collectionname",
    "collectionshortname",
    "datasetid",
    "entrytitle",
    "parentcollection",
];

/// The name of a column in lower case, without separators.
fn bare(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    name.chars().filter(|it| it.is_alphanumeric()).collect::<String>().to_ascii_lowercase()
}

/// The rows of a file that are not empty, with one in memory at a time.
pub(super) struct CsvRows {
    reader: csv::Reader<Rationed>,
    ration: Ration,
    name: Arc<str>,
    /// How many lines of the file are before the rows.
    lines_before: u64,
    /// The beginning of the first cell of a comment.
    comment: Option<Vec<u8>>,
    /// What was left out.
    skipped: BTreeMap<Skipped, u64>,
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

    fn skip(&mut self, kind: Skipped) {
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

    /// Where the present row begins.
    pub(super) fn location(&self) -> SourceLocation {
        let line = self.row.position().map_or(0, csv::Position::line) + self.lines_before;
        SourceLocation::Line { source: self.name.clone(), line }
    }
}

impl TableReader {
    pub(super) fn open(
        mut file: Reader,
        name: Arc<str>,
        options: &ListingOptions,
    ) -> Result<Self, Error> {
        let mut skipped = BTreeMap::new();
        let mut lines_before = 0;
        let header = loop {
            let mut line = Vec::new();
            let read = (&mut file).take(MAX_ROW_BYTES).read_until(b'\n', &mut line);
            let at = lines_before + 1;
            read.map_err(|cause| Error::unreadable(&cause).at_line(&name, at))?;
            let kind = match line.trim_ascii().is_empty() && !line.is_empty() {
                true => None,
                false => match Preamble::of(&line, lines_before, options) {
                    Some(kind) => Some(kind),
                    None => break line,
                },
            };
            lines_before += 1;
            if let Some(kind) = kind {
                *skipped.entry(kind).or_default() += 1;
            }
        };
        let fail = |error: Error| error.at_line(&name, lines_before + 1);
        let delimiter = delimiter(&header);
        let file = Box::new(Cursor::new(header).chain(file));
        let mut rows =
            CsvRows { lines_before, skipped, ..CsvRows::new(file, name.clone(), delimiter) };
        rows.advance()?;
        // The header may begin with what begins a comment.
        rows.comment = options.comment.as_ref().map(|prefix| prefix.clone().into_bytes());
        TableReader::of_header(rows, options).map_err(fail)
    }

    /// Finds the columns in the first row.
    fn of_header(rows: CsvRows, options: &ListingOptions) -> Result<Self, Error> {
        let header = &rows.row;
        let index = |column: &str| find_column(header, Some(column), options.no_header);
        let named = |column: &Option<String>, option: &str| {
            // The hint is that of the column of the ids.
            let names = |it: Error| Error::input(format!("{it}; --{option} must name one of them"));
            column.as_deref().map(index).transpose().map_err(names)
        };
        let column = find_column(header, options.column.as_deref(), options.no_header)?;
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
        let algorithm = options
            .checksum_column
            .as_deref()
            .filter(|_| options.algorithm.is_none())
            .and_then(checksums::of_column)
            .map(|algorithm| algorithm.to_string());
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
        let mut selection = Selection { filters: options.only.clone(), ..Selection::default() };
        for RowFilter { column, .. } in &options.only {
            let index = named(&Some(column.clone()), "only")?.unwrap_or_default();
            selection.only.push((index, column.clone()));
        }
        let dates = [&ingested, &deleted].into_iter().flatten().map(|date| date.index);
        let read: Vec<usize> = [Some(column), producer]
            .into_iter()
            .chain(file)
            .flatten()
            .chain(dates)
            .chain(selection.only.iter().map(|(index, _)| *index))
            .collect();
        if !options.no_header {
            selection.watch(header, &read);
        }
        Ok(TableReader {
            columns: header.len(),
            column,
            producer,
            ingested,
            deleted,
            file,
            algorithm,
            split: options.split,
            header: (!options.no_header).then(|| header.clone()),
            is_pending: options.no_header,
            selection,
            is_search: is_search(header),
            count: 0,
            rows,
        })
    }

    /// Why the present row is left out. `None` means that it is read.
    fn skipped(&mut self) -> Option<Skipped> {
        let row = &self.rows.row;
        if let Some(header) = &self.header
            && header.get(self.column) == row.get(self.column)
            && header.iter().eq(row.iter())
        {
            return Some(Skipped::Header);
        }
        let cell = |index: usize| row.get(index).unwrap_or_default();
        let Selection { only, filters, status, watched } = &mut self.selection;
        let is_selected = only.iter().all(|(index, name)| {
            selects(filters, name, &String::from_utf8_lossy(cell(*index))).unwrap_or(true)
        });
        if !is_selected {
            return Some(Skipped::NotSelected);
        }
        if status.is_some_and(|status| cell(status) != b"completed") {
            return Some(Skipped::NotCompleted);
        }
        for Watched { index, values, .. } in watched {
            values.add_bytes(cell(*index));
        }
        None
    }

    /// The files of the present row, whose granule has this id.
    fn files(&self, granule_id: &str) -> Result<Vec<WrittenFile>, Error> {
        let cell = |column: Option<usize>| {
            let cell = self.rows.row.get(column?)?.trim_ascii();
            (!cell.is_empty()).then(|| String::from_utf8_lossy(cell).into_owned())
        };
        let cells = self.file.map(cell);
        let Some(split) = self.split else {
            let [size, checksum, path] = cells;
            let path = path.or_else(|| Some(granule_id.to_owned()));
            let algorithm = self.algorithm.clone();
            return Ok(vec![WrittenFile { path, size, algorithm, checksum, location: None }]);
        };
        let parts = cells.each_ref().map(|cell| {
            let parts = cell.as_deref().map(|cell| cell.trim_end_matches(split).split(split));
            parts.map(|parts| parts.map(|part| part.trim().to_owned()).collect::<Vec<String>>())
        });
        let counts: Vec<usize> = parts.iter().flatten().map(Vec::len).collect();
        let number = counts.first().copied().unwrap_or(0);
        if counts.iter().any(|count| *count != number) {
            let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
            let message = format!(
                "the cells with the files, separated by {split:?}, have {} parts: they must have the same number",
                counts.join(" and ")
            );
            return Err(Error::new(ErrorDetail::CellCount, message));
        }
        if number > 1 && parts[2].is_none() {
            let message = "a cell has several files, and no column has their paths: name it with --path-column";
            return Err(Error::new(ErrorDetail::CellCount, message));
        }
        let [sizes, checksums, paths] = parts;
        let part = |parts: &Option<Vec<String>>, index: usize| {
            let part = parts.as_ref()?.get(index)?;
            (!part.is_empty()).then(|| part.clone())
        };
        let file = |index| WrittenFile {
            path: part(&paths, index).or_else(|| Some(granule_id.to_owned())),
            size: part(&sizes, index),
            algorithm: self.algorithm.clone(),
            checksum: part(&checksums, index),
            location: None,
        };
        Ok((0..number).map(file).collect())
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
            row.files = self.files(row.record.granule_id.as_str())?;
        }
        Ok(row)
    }
}

impl Selection {
    /// Watches the columns that are not read and are named like a status or a collection. In an inventory of
    /// Cumulus, the status is read.
    fn watch(&mut self, header: &ByteRecord, read: &[usize]) {
        let has = |name: &str| index_of(header, name).is_some();
        let is_cumulus = (has("granuleUr") || has("granuleId"))
            && ["collectionId", "createdAt", "status", "provider"].into_iter().all(has);
        let status = index_of(header, "status").filter(|status| !read.contains(status));
        self.status = status.filter(|_| is_cumulus);
        for (index, name) in header.iter().enumerate() {
            if read.contains(&index) || self.status == Some(index) {
                continue;
            }
            let bare = bare(name);
            let is_status = STATUSES.contains(&bare.as_str()) || bare.ends_with("status");
            let kind = match () {
                () if is_status => &STATUS_COLUMN,
                () if COLLECTIONS.contains(&bare.as_str()) => &COLLECTION_COLUMN,
                () => continue,
            };
            let name = String::from_utf8_lossy(name).into_owned();
            self.watched.push(Watched { index, name, kind, values: Values::default() });
        }
    }

    fn findings(&self, location: &SourceLocation) -> Vec<Finding> {
        let mut findings = Vec::new();
        for Watched { name, kind, values, .. } in &self.watched {
            let is_status = *kind == &STATUS_COLUMN;
            let is_suspicious = match values.distinct() {
                0 | 1 => false,
                distinct => !is_status || distinct <= MAX_STATUSES,
            };
            if is_suspicious {
                let sentence = format!("the column {} has several values: {values}", quoted(name));
                findings.push(Finding::new(kind, location.clone(), sentence));
            }
        }
        findings
    }
}

/// A column with more values than this is not a status.
const MAX_STATUSES: usize = 10;

/// Why a line before the header is left out.
struct Preamble;

impl Preamble {
    /// Why a line is left out, before which there are so many. `None` means that it is the header.
    fn of(line: &[u8], lines_before: u64, options: &ListingOptions) -> Option<Skipped> {
        if lines_before < options.skip_lines && !line.is_empty() {
            return Some(Skipped::Preamble);
        }
        // PowerShell begins a table with the type of its objects.
        if line.starts_with(b"#TYPE ") {
            return Some(Skipped::Comment);
        }
        let prefix = options.comment.as_ref()?;
        if !line.starts_with(prefix.as_bytes()) {
            return None;
        }
        // The header may begin like a comment.
        let separator = delimiter(line);
        let is_header = options.column.as_ref().is_some_and(|column| {
            let cells = line.trim_ascii_end().split(|byte| *byte == separator);
            cells.into_iter().any(|cell| cell == column.as_bytes())
        });
        (!is_header).then_some(Skipped::Comment)
    }
}

/// Whether a header is that of a response of a catalogue: CMR and ASF return one page of a search.
fn is_search(header: &ByteRecord) -> bool {
    let has = |name: &str| index_of(header, name).is_some();
    has("Granule UR") && has("Producer Granule ID") || has("Granule Name") && has("Platform")
}

impl Rows for TableReader {
    fn next_row(&mut self) -> Result<Option<Row>, Error> {
        loop {
            if !std::mem::take(&mut self.is_pending) && !self.rows.advance()? {
                return Ok(None);
            }
            match self.skipped() {
                Some(kind) => self.rows.skip(kind),
                None => break,
            }
        }
        self.count += 1;
        self.granule().map(Some).map_err(|error| error.at(self.rows.location()))
    }

    fn findings(&self) -> FileFindings {
        let line = self.rows.lines_before + 1;
        let location = SourceLocation::Line { source: self.rows.name.clone(), line };
        FileFindings {
            skipped: self.rows.skipped.clone(),
            suspicious: self.selection.findings(&location),
            totals: self.is_search.then(Totals::default),
            elements: self.count,
            ..FileFindings::default()
        }
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
fn find_column(header: &ByteRecord, column: Option<&str>, no_header: bool) -> Result<usize, Error> {
    if no_header {
        return column_number(header, column);
    }
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
        None if usual(exactly).or_else(|| usual(in_any_case)).is_some() => usual(exactly)
            .or_else(|| usual(in_any_case))
            .ok_or_else(|| Error::no_usual_column(&columns()))?,
        _ if header.iter().any(looks_like_data) => return Err(Error::no_header()),
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

/// The index of the column with this number, from 1.
fn column_number(row: &ByteRecord, column: Option<&str>) -> Result<usize, Error> {
    let columns = row.len();
    let number = column.and_then(|column| column.parse::<usize>().ok());
    match number.filter(|number| (1..=columns).contains(number)) {
        Some(number) => Ok(number - 1),
        None => {
            let named = column.map_or("no column is named".to_owned(), |column| {
                format!("{} is not the number of a column", quoted(column))
            });
            let message = format!("{named}: without a header, the columns are 1 to {columns}");
            Err(Error::new(ErrorDetail::NoColumn, message)
                .with_hint("name the column with the ids by its number, such as --column 1"))
        }
    }
}

/// Whether a cell of a first row is data, and not the name of a column.
fn looks_like_data(cell: &[u8]) -> bool {
    let is_number = !cell.is_empty()
        && cell.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b':'));
    let is_hash = cell.len() >= 32 && cell.iter().all(u8::is_ascii_hexdigit);
    let has_path = cell.contains(&b'/') && cell.iter().any(u8::is_ascii_digit);
    let is_address = cell.windows(3).any(|cut| cut == b"://") || cell.starts_with(b"urn:");
    is_number || is_hash || has_path || is_address
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
