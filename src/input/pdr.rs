//! A Product Delivery Record: the files that a producer delivers, in groups of one granule each.
//!
//! It has lines `NAME = VALUE;` within `OBJECT = FILE_GROUP` … `END_OBJECT = FILE_GROUP`, and within
//! those within `FILE_SPEC`s. A group is a granule. Its id is the `FILE_ID` of its first file that
//! is data, rather than metadata, a browse image or the like; with the column `FILE_ID` each file is
//! a granule.

use std::sync::Arc;

use super::content::{self, FileReading, FileStatement, StatedFile};
use super::file::NumberedLines;
use super::format::Options;
use super::{MAX_ROW_BYTES, Reader, Record};
use crate::error::Error;
use crate::model::{Algorithm, GranuleId, SourceLocation};

/// The greatest length of a line in bytes.
const MAX_LINE_BYTES: u64 = 64 * 1_024;

/// The `FILE_TYPE`s of files that accompany a granule's data.
const BESIDE_THE_DATA: [&str; 6] = ["METADATA", "BROWSE", "QA", "PH", "LINKAGE", "CHECKSUM"];

/// The granules of a delivery. Memory: one line, and what is stated of the files of one group, which has
/// at most [`MAX_ROW_BYTES`].
pub(super) struct Pdr {
    lines: NumberedLines,
    name: Arc<str>,
    every_file: bool,
    /// The objects that are open, outermost first.
    open: Vec<String>,
    spec: Spec,
    /// The first file of the group that is data. `None` if there is none yet.
    data: Option<Spec>,
    /// Whether the group has a file that is a granule.
    has_granule: bool,
    /// What is stated of the files of the group.
    stated: Vec<StatedFile>,
    /// The bytes of the lines of the group.
    group_bytes: u64,
    pub files: FileReading,
}

/// A file of a delivery.
#[derive(Default)]
struct Spec {
    file_id: Option<(String, u64)>,
    file_type: String,
    size: Option<String>,
    algorithm: Option<String>,
    checksum: Option<String>,
}

impl Pdr {
    pub(super) fn open(file: Reader, name: Arc<str>, options: &Options) -> Result<Self, Error> {
        let every_file = match options.column.as_deref() {
            None => false,
            Some("FILE_ID") => true,
            Some(column) => {
                let columns = vec!["FILE_ID".to_owned()];
                return Err(Error::no_column(column, &columns).at_line(&name, 1));
            }
        };
        Ok(Pdr {
            lines: NumberedLines::new(file, name.clone(), MAX_LINE_BYTES),
            name,
            every_file,
            open: Vec::new(),
            spec: Spec::default(),
            data: None,
            has_granule: false,
            stated: Vec::new(),
            group_bytes: 0,
            files: FileReading::new(options),
        })
    }

    /// The next granule.
    pub(super) fn record(&mut self) -> Result<Option<Record>, Error> {
        loop {
            if !self.lines.advance()? {
                return match self.open.last() {
                    Some(_) => self.fail(Error::truncated()),
                    None => Ok(None),
                };
            }
            if self.lines.is_cut() {
                return Err(self.lines.too_long());
            }
            let Ok(line) = std::str::from_utf8(self.lines.bytes()) else {
                return self.fail(Error::not_a_pdr());
            };
            let line = line.trim().to_owned();
            self.group_bytes += self.lines.bytes().len() as u64;
            if self.group_bytes > MAX_ROW_BYTES && !self.stated.is_empty() {
                let message = format!("the FILE_GROUP has more than {MAX_ROW_BYTES} bytes");
                return self.fail(Error::input(message));
            }
            if line.is_empty() {
                continue;
            }
            let statement = line.strip_suffix(';').unwrap_or(&line);
            let Some((name, value)) = statement.split_once('=') else {
                return self.fail(Error::not_a_pdr());
            };
            let record = self.take(name.trim(), unquoted(value.trim()))?;
            if record.is_some() {
                return Ok(record);
            }
        }
    }
    fn fail<T>(&self, error: Error) -> Result<T, Error> {
        Err(self.lines.fail(error))
    }

    /// Takes a line `NAME = VALUE`. Returns the granule that ends there, if one does.
    fn take(&mut self, name: &str, value: &str) -> Result<Option<Record>, Error> {
        let within = self.open.last().map(String::as_str);
        match (name, within) {
            ("OBJECT", _) => {
                if self.open.len() == 8 {
                    return self.fail(Error::not_a_pdr());
                }
                if value == "FILE_GROUP" {
                    self.group_bytes = 0;
                }
                self.open.push(value.to_owned());
            }
            ("END_OBJECT", Some(object)) if object == value => {
                self.open.pop();
                match value {
                    "FILE_SPEC" => return self.end_file(),
                    "FILE_GROUP" => return self.end_group(),
                    _ => {}
                }
            }
            ("END_OBJECT", _) => return self.fail(Error::not_a_pdr()),
            ("FILE_ID", Some("FILE_SPEC")) => {
                self.spec.file_id = Some((value.to_owned(), self.lines.number()));
            }
            ("FILE_SIZE", Some("FILE_SPEC")) => self.spec.size = Some(value.to_owned()),
            ("FILE_CKSUM_TYPE", Some("FILE_SPEC")) => self.spec.algorithm = Some(value.to_owned()),
            ("FILE_CKSUM_VALUE", Some("FILE_SPEC")) => self.spec.checksum = Some(value.to_owned()),
            ("FILE_TYPE", Some("FILE_SPEC")) => value.clone_into(&mut self.spec.file_type),
            _ => {}
        }
        Ok(None)
    }

    fn end_file(&mut self) -> Result<Option<Record>, Error> {
        let spec = std::mem::take(&mut self.spec);
        if !self.files.is_off {
            let stated = stated(&spec, self.files.algorithm.as_ref());
            let stated = self.files.of_file(stated, &self.lines.location());
            self.stated.extend(stated.map_err(|error| self.lines.fail(error))?);
        }
        if self.every_file {
            self.has_granule = true;
            let stated = std::mem::take(&mut self.stated);
            return self.record_of(&spec, stated).map(Some);
        }
        let is_data = !BESIDE_THE_DATA.contains(&spec.file_type.as_str());
        if is_data && self.data.is_none() {
            self.data = Some(spec);
        }
        Ok(None)
    }

    fn end_group(&mut self) -> Result<Option<Record>, Error> {
        let has_granule = std::mem::take(&mut self.has_granule);
        let stated = std::mem::take(&mut self.stated).into_iter().map(|file| Ok(Some(file)));
        let stated = self.files.of_granule(stated.collect(), &self.lines.location());
        let stated = stated.map_err(|error| self.lines.fail(error))?;
        match self.data.take() {
            Some(spec) => self.record_of(&spec, stated).map(Some),
            None if has_granule => Ok(None),
            None => self.fail(no_file_id()),
        }
    }

    fn record_of(&self, spec: &Spec, files: Vec<StatedFile>) -> Result<Record, Error> {
        let Some((text, line)) = &spec.file_id else { return self.fail(no_file_id()) };
        let granule_id = GranuleId::new(text.as_str())
            .map_err(|cause| Error::not_an_id(text, cause).at_line(&self.name, *line))?;
        let location = SourceLocation::Line { source: self.name.clone(), line: *line };
        Ok(Record { files, ..Record::new(granule_id, location) })
    }
}

/// What is stated of a file. `None` means that nothing is.
fn stated(spec: &Spec, default: Option<&Algorithm>) -> FileStatement {
    let Spec { file_id: Some((path, _)), size, algorithm, checksum, .. } = spec else {
        return Ok(None);
    };
    let named = algorithm.as_deref().map(content::algorithm).transpose()?;
    let algorithm = named.as_ref().or(default);
    let checksum = checksum.as_deref().filter(|text| !text.is_empty());
    let checksum = checksum.map(|text| content::checksum(algorithm, text)).transpose()?;
    let size = size.as_deref().map(content::size).transpose()?;
    content::file_of(path, size, checksum)
}

fn no_file_id() -> Error {
    Error::no_field("FILE_ID")
}

/// The value without the quotes around it, if there are any: `'006'` keeps its zeros.
fn unquoted(value: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(value)
}
