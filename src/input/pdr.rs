//! A Product Delivery Record: the files that a producer delivers, in groups of one granule each.
//!
//! Lines `NAME = VALUE;`, within `OBJECT = FILE_GROUP` … `END_OBJECT = FILE_GROUP` and, within
//! those, `FILE_SPEC`s. A group is a granule. Its id is the `FILE_ID` of its first file that holds
//! data, not metadata, a browse image or the like; `--column FILE_ID` takes each file for itself.

use std::collections::VecDeque;
use std::io::BufRead;
use std::sync::Arc;

use super::numbered_lines::NumberedLines;
use super::{Error, Fault, Read, Record};
use crate::model::{GranuleId, SourceLocation};

/// The longest line.
const MAX_LINE_BYTES: u64 = 64 * 1_024;

/// The `FILE_TYPE`s of what comes along with a granule's data.
const BESIDE_THE_DATA: [&str; 6] = ["METADATA", "BROWSE", "QA", "PH", "LINKAGE", "CHECKSUM"];

/// The granules of a delivery.
pub(super) struct Pdr<R> {
    lines: NumberedLines<R>,
    name: Arc<str>,
    every_file: bool,
    /// The objects that are open, outermost first.
    open: Vec<String>,
    spec: Spec,
    group: Vec<Spec>,
    ready: VecDeque<Record>,
}

/// A file of a delivery.
#[derive(Default)]
struct Spec {
    file_id: Option<(String, u64)>,
    file_type: String,
}

impl<R: BufRead> Pdr<R> {
    pub(super) fn open(file: R, name: Arc<str>, column: Option<&str>) -> Result<Self, Error> {
        let every_file = match column {
            None => false,
            Some("FILE_ID") => true,
            Some(column) => {
                let columns = vec!["FILE_ID".to_owned()];
                let fault = Fault::NoColumn { column: column.to_owned(), columns };
                return Err(Error::new(&name, 1, fault));
            }
        };
        Ok(Pdr {
            lines: NumberedLines::new(file, name.clone(), MAX_LINE_BYTES),
            name,
            every_file,
            open: Vec::new(),
            spec: Spec::default(),
            group: Vec::new(),
            ready: VecDeque::new(),
        })
    }

    fn fail<T>(&self, fault: Fault) -> Result<T, Error> {
        Err(self.lines.fail(fault))
    }

    /// Takes a line `NAME = VALUE`.
    fn take(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let within = self.open.last().map(String::as_str);
        match (name, within) {
            ("OBJECT", _) => {
                if self.open.len() == 8 {
                    return self.fail(Fault::NotAPdr);
                }
                self.open.push(value.to_owned());
            }
            ("END_OBJECT", Some(object)) if object == value => {
                self.open.pop();
                match value {
                    "FILE_SPEC" => self.group.push(std::mem::take(&mut self.spec)),
                    "FILE_GROUP" => self.end_group()?,
                    _ => {}
                }
            }
            ("END_OBJECT", _) => return self.fail(Fault::NotAPdr),
            ("FILE_ID", Some("FILE_SPEC")) => {
                self.spec.file_id = Some((value.to_owned(), self.lines.number()));
            }
            ("FILE_TYPE", Some("FILE_SPEC")) => value.clone_into(&mut self.spec.file_type),
            _ => {}
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), Error> {
        let files = std::mem::take(&mut self.group);
        let (every_file, line) = (self.every_file, self.lines.number());
        let is_data = |spec: &&Spec| !BESIDE_THE_DATA.contains(&spec.file_type.as_str());
        let chosen: Vec<&Spec> = if every_file {
            files.iter().collect()
        } else {
            files.iter().find(is_data).into_iter().collect()
        };
        if chosen.is_empty() {
            return self.fail(Fault::NoField { field: "FILE_ID".to_owned() });
        }
        for spec in chosen {
            let Some((text, line)) = &spec.file_id else {
                let fault = Fault::NoField { field: "FILE_ID".to_owned() };
                return Err(Error::new(&self.name, line, fault));
            };
            let granule_id = GranuleId::new(text.as_str()).map_err(|cause| {
                Error::new(&self.name, *line, Fault::GranuleId { text: text.clone(), cause })
            })?;
            let location = SourceLocation::Line { source: self.name.clone(), line: *line };
            self.ready.push_back(Record::new(granule_id, location));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Pdr<R> {
    fn record(&mut self) -> Result<Option<Record>, Error> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Ok(Some(record));
            }
            if !self.lines.advance()? {
                return match self.open.last() {
                    Some(_) => self.fail(Fault::Cut),
                    None => Ok(None),
                };
            }
            let Ok(line) = std::str::from_utf8(self.lines.bytes()) else {
                return self.fail(Fault::NotAPdr);
            };
            let line = line.trim().to_owned();
            if line.is_empty() {
                continue;
            }
            let statement = line.strip_suffix(';').unwrap_or(&line);
            let Some((name, value)) = statement.split_once('=') else {
                return self.fail(Fault::NotAPdr);
            };
            self.take(name.trim(), unquoted(value.trim()))?;
        }
    }
}

/// The value without the quotes that may stand around it: `'006'` keeps its zeros.
fn unquoted(value: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(value)
}
