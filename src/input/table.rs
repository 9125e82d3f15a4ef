//! A table: CSV or TSV. Its first row is a header, unless the options say that it is data. Columns are then
//! named by their numbers.

use std::collections::BTreeMap;
use std::io::{BufRead, Cursor, Read};
use std::sync::Arc;

use csv::ByteRecord;

use super::checksums;
use super::columns::{find_column, index_of};
use super::content::WrittenFile;
use super::csv_rows::{CsvRows, delimiter};
use super::error::granule_id;
use super::findings::{FileFindings, Skipped};
use super::format::{
    DELETED_COLUMN, INGESTED_COLUMNS, ListingOptions, PRODUCER_COLUMN, RowFilter, parse_time,
    selects,
};
use super::odd_rows::OddRows;
use super::pages::Totals;
use super::selection::Selection;
use super::{MAX_ROW_BYTES, Reader, Row, Rows};
use crate::error::{Error, ErrorDetail};
use crate::model::WrittenTime;

/// The ids in one column of a table, and the dates in two others.
pub(super) struct TableReader {
    rows: CsvRows,
    columns: usize,
    column: usize,
    /// The column of the producer's ids.
    producer: Option<usize>,
    ingested: Option<DateColumn>,
    deleted: Option<DateColumn>,
    /// The columns with the size, the checksum and the path of a file, in this order.
    file: [Option<usize>; 3],
    /// The algorithm in the name of the checksum column.
    algorithm: Option<String>,
    /// The character that separates the files within a cell.
    split: Option<char>,
    odd_rows: OddRows,
    /// Whether the current row is still to be returned, because it is the first row of a table without a
    /// header.
    is_pending: bool,
    selection: Selection,
    /// Whether the table is the response of a catalogue, which returns only one page.
    is_search: bool,
    count: u64,
}

/// A column of dates.
struct DateColumn {
    index: usize,
    /// The latest date with its spelling, because neighbouring rows mostly have the same date.
    last: Option<(Vec<u8>, WrittenTime)>,
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
        let mut rows = CsvRows::new(file, name.clone(), delimiter);
        (rows.lines_before, rows.skipped) = (lines_before, skipped);
        rows.advance()?;
        // Set after the header was read, which may begin like a comment.
        rows.comment = options.comment.as_ref().map(|prefix| prefix.clone().into_bytes());
        TableReader::of_header(rows, options).map_err(fail)
    }

    /// Finds the columns in the first row.
    fn of_header(rows: CsvRows, options: &ListingOptions) -> Result<Self, Error> {
        let header = &rows.row;
        let index = |column: &str| find_column(header, Some(column), options.no_header);
        let named = |column: &Option<String>, option: &str| {
            // The hint of the original error concerns the column of the ids, so it is dropped.
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
            selection.watch(header, &read, options.with_dates, &rows.location());
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
            odd_rows: OddRows::new((!options.no_header).then(|| header.clone()), column),
            is_pending: options.no_header,
            selection,
            is_search: is_search(header),
            count: 0,
            rows,
        })
    }

    /// The reason to skip the current row. `None` means that it is read.
    fn skipped(&mut self) -> Option<Skipped> {
        let row = &self.rows.row;
        if self.odd_rows.is_header(row) {
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
        for (index, watched) in watched {
            watched.add(cell(*index));
        }
        None
    }

    /// The files of the current row, whose granule has this id.
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
            let file = WrittenFile { path, size, algorithm, checksum, ..WrittenFile::default() };
            return Ok(vec![file]);
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
            ..WrittenFile::default()
        };
        Ok((0..number).map(file).collect())
    }

    /// The granule of the current row.
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

/// The reason to skip a line before the header.
struct Preamble;

impl Preamble {
    /// The reason to skip a line, which has `lines_before` lines before it. `None` means that it is the header.
    fn of(line: &[u8], lines_before: u64, options: &ListingOptions) -> Option<Skipped> {
        if lines_before < options.skip_lines && !line.is_empty() {
            return Some(Skipped::Preamble);
        }
        // PowerShell writes the type of the objects first.
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

/// Whether a header is that of a catalogue's response. CMR and ASF return one page of a search result.
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
        self.odd_rows.observe(&self.rows.row, || self.rows.location());
        self.granule().map(Some).map_err(|error| error.at(self.rows.location()))
    }

    fn findings(&self) -> FileFindings {
        FileFindings {
            skipped: self.rows.skipped.clone(),
            suspicious: self.odd_rows.findings(self.count),
            watched: self.selection.watched.iter().map(|(_, watched)| watched.clone()).collect(),
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

fn counted(cells: usize) -> String {
    if cells == 1 { "1 cell".to_owned() } else { format!("{cells} cells") }
}
