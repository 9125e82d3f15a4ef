//! A Product Delivery Record: the files that a producer delivers, in one group for each granule.
//!
//! It consists of lines `NAME = VALUE;`. An `OBJECT = FILE_GROUP` … `END_OBJECT = FILE_GROUP` contains
//! `FILE_SPEC`s. A group is a granule. Its id is the `FILE_ID` of its first data file, which is not metadata, a
//! browse image or the like. If the column `FILE_ID` is requested, each file is a granule.

use std::sync::Arc;

use super::content::WrittenFile;
use super::error::granule_id;
use super::file::NumberedLines;
use super::finding::{Finding, FindingKind};
use super::findings::FileFindings;
use super::format::ListingOptions;
use super::{MAX_ROW_BYTES, Reader, Row, Rows};
use crate::error::{Error, ErrorKind};
use crate::model::{SourceLocation, plural};

/// The greatest length of a line in bytes.
const MAX_LINE_BYTES: u64 = 64 * 1_024;

/// The `FILE_TYPE`s of files that accompany a granule's data.
const BESIDE_THE_DATA: [&str; 6] = ["METADATA", "BROWSE", "QA", "PH", "LINKAGE", "CHECKSUM"];

/// The granules of a delivery. Memory contains the files of one group, which has at most [`MAX_ROW_BYTES`].
pub(super) struct Pdr {
    lines: NumberedLines,
    every_file: bool,
    /// The open objects, outermost first.
    open: Vec<String>,
    /// The files of the group.
    group: Vec<Spec>,
    /// The total length of the lines of the group, in bytes.
    group_bytes: u64,
    /// The number of files that the record states, and the number that it contains.
    stated: Option<u64>,
    files: u64,
    /// The remaining granules of the previous group.
    rows: std::vec::IntoIter<Row>,
}

/// A file of a delivery. Its path is its `FILE_ID`, and its location is that of the line with the `FILE_ID`.
#[derive(Default)]
struct Spec {
    file_type: String,
    file: WrittenFile,
}

impl Pdr {
    pub(super) fn open(
        file: Reader,
        name: Arc<str>,
        options: &ListingOptions,
    ) -> Result<Self, Error> {
        let column = options.column.as_deref();
        if let Some(column) = column.filter(|column| *column != "FILE_ID") {
            return Err(Error::no_column(column, &["FILE_ID".to_owned()]).at_line(&name, 1));
        }
        Ok(Pdr {
            lines: NumberedLines::new(file, name, MAX_LINE_BYTES),
            every_file: column.is_some(),
            open: Vec::new(),
            group: Vec::new(),
            group_bytes: 0,
            stated: None,
            files: 0,
            rows: Vec::new().into_iter(),
        })
    }

    /// Reads a line `NAME = VALUE;`.
    fn take(&mut self) -> Result<(), Error> {
        self.group_bytes += self.lines.bytes().len() as u64;
        if self.group_bytes > MAX_ROW_BYTES && !self.group.is_empty() {
            let message = format!("the FILE_GROUP has more than {MAX_ROW_BYTES} bytes");
            return Err(Error::input(message));
        }
        let line = std::str::from_utf8(self.lines.bytes()).map_err(|_| Error::not_a_pdr())?.trim();
        if line.is_empty() {
            return Ok(());
        }
        let statement = line.strip_suffix(';').unwrap_or(line);
        let (name, value) = statement.split_once('=').ok_or_else(Error::not_a_pdr)?;
        let (name, value) = (name.trim(), unquoted(value.trim()));
        let within = self.open.last().map(String::as_str);
        match (name, within) {
            ("OBJECT", _) if self.open.len() == 8 => return Err(Error::not_a_pdr()),
            ("OBJECT", _) => {
                match value {
                    "FILE_GROUP" => self.group_bytes = 0,
                    "FILE_SPEC" => {
                        self.files += 1;
                        self.group.push(Spec::default());
                    }
                    _ => {}
                }
                self.open.push(value.to_owned());
            }
            ("END_OBJECT", Some(object)) if object == value => {
                if value == "FILE_GROUP" {
                    self.rows = self.rows_of_group()?.into_iter();
                }
                self.open.pop();
            }
            ("END_OBJECT", _) => return Err(Error::not_a_pdr()),
            (_, Some("FILE_SPEC")) => {
                let Some(Spec { file_type, file }) = self.group.last_mut() else { return Ok(()) };
                let value = value.to_owned();
                match name {
                    "FILE_ID" => {
                        file.path = Some(value);
                        file.location = Some(self.lines.location());
                    }
                    "FILE_SIZE" => file.size = Some(value),
                    "FILE_CKSUM_TYPE" => file.algorithm = Some(value),
                    "FILE_CKSUM_VALUE" => file.checksum = Some(value),
                    "FILE_TYPE" => *file_type = value,
                    _ => {}
                }
            }
            ("TOTAL_FILE_COUNT", None) => self.stated = value.parse().ok(),
            _ => {}
        }
        Ok(())
    }

    /// The granules of the group that ends on this line.
    fn rows_of_group(&mut self) -> Result<Vec<Row>, Error> {
        let group = std::mem::take(&mut self.group);
        let is_data = |spec: &Spec| !BESIDE_THE_DATA.contains(&spec.file_type.as_str());
        if !self.every_file {
            let data = group.iter().find(|spec| is_data(spec)).ok_or_else(no_file_id)?;
            let mut row = row_of(&data.file)?;
            row.files = group.into_iter().map(|spec| spec.file).collect();
            return Ok(vec![row]);
        }
        let row = |Spec { file, .. }| {
            let row = row_of(&file)?;
            Ok(Row { files: vec![file], ..row })
        };
        match group.is_empty() {
            true => Err(no_file_id()),
            false => group.into_iter().map(row).collect(),
        }
    }
}

impl Rows for Pdr {
    fn next_row(&mut self) -> Result<Option<Row>, Error> {
        loop {
            if let Some(row) = self.rows.next() {
                return Ok(Some(row));
            }
            if !self.lines.advance()? {
                let is_whole = self.open.is_empty();
                return if is_whole { Ok(None) } else { Err(self.lines.fail(Error::truncated())) };
            }
            if self.lines.is_cut() {
                return Err(self.lines.too_long());
            }
            self.take().map_err(|error| self.lines.fail(error))?;
        }
    }

    fn findings(&self) -> FileFindings {
        let mut found = FileFindings::default();
        if let Some(stated) = self.stated.filter(|stated| *stated > self.files) {
            let location = SourceLocation::Line { source: self.lines.name().clone(), line: 1 };
            let files = plural(self.files, "FILE_SPEC");
            let sentence = format!("TOTAL_FILE_COUNT is {stated}, and the record has {files}");
            found.suspicious.push(Finding::new(&CUT, location, sentence));
        }
        found
    }
}

/// A record contains fewer files than it states.
static CUT: FindingKind = FindingKind {
    name: "file-count",
    refused_as: ErrorKind::Incomplete,
    heading: "Incomplete search results",
    what: "has fewer files than it states",
    hint: "copy the whole record again; if a file was not delivered, ask the producer",
};

/// The granule that is named after a file.
fn row_of(file: &WrittenFile) -> Result<Row, Error> {
    let (Some(file_id), Some(location)) = (&file.path, &file.location) else {
        return Err(no_file_id());
    };
    let granule_id = granule_id(file_id.as_bytes());
    Ok(Row::new(granule_id.map_err(|error| error.at(location.clone()))?, location.clone()))
}

fn no_file_id() -> Error {
    Error::no_field("FILE_ID")
}

/// Removes quotes around a value: `'006'` keeps its zeros.
fn unquoted(value: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(value)
}
