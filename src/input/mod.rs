//! Other people's files: a stream of granule ids, each with the place where it stands.
//!
//! # Formats
//!
//! - [`Format::Lines`]: one id a line.
//! - [`Format::Csv`]: a table with a header, its cells parted by commas or, if the header holds a
//!   TAB, by TABs; quoted as RFC 4180 has it. The column is named, or the first there is of
//!   `granule_id`, `granuleId`, `granuleUr`, `Granule UR`, `id`.
//!
//! A UTF-8 byte order mark and line ends (LF, CRLF, a last bare CR) are taken off, and empty lines
//! skipped. Nothing else is trimmed, and `#` starts no comment (cli.md, Where granule ids come from).
//!
//! # Which format it is
//!
//! By content, never by file name: a first line that has a cell with one of those column names, or
//! with the one asked for, is the header of a table. Everything else is lines.
//!
//! # Memory
//!
//! A line or a row at a time. A line has at most as many bytes as an id may have, a row at most
//! [`MAX_ROW_BYTES`]: a quote that never closes must not fill memory.

mod error;
mod lines;
mod table;

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::str::FromStr;
use std::sync::Arc;

pub use error::{Error, Fault};

use crate::model::{GranuleId, Place};
use lines::Lines;
use table::Table;

/// The longest row of a table, in bytes.
pub const MAX_ROW_BYTES: u64 = 16 * 1_024 * 1_024;

/// The longest first line that is looked at to tell the format, in bytes.
const MAX_FIRST_LINE_BYTES: u64 = 1_024 * 1_024;

/// A granule as a file names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub granule_id: GranuleId,
    /// Where it stands.
    pub place: Place,
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One id a line.
    Lines,
    /// A table with a header.
    Csv,
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        match text {
            "lines" => Ok(Format::Lines),
            "csv" => Ok(Format::Csv),
            _ => Err(UnknownFormat),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Lines => "lines",
            Format::Csv => "csv",
        })
    }
}

/// A name that no [`Format`] has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a format is lines or csv")]
pub struct UnknownFormat;

/// How somebody wants a file to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Its format; none: by its content.
    pub format: Option<Format>,
    /// The column of a table that has the ids; none: the first of those that usually do.
    pub column: Option<String>,
}

/// The granules of a file, in its order.
pub struct Records(Kind);

enum Kind {
    Lines(Lines<Source>),
    Table(Table<Source>),
}

/// The first line, which was looked at, and then the rest.
type Source = BufReader<io::Chain<io::Cursor<Vec<u8>>, Box<dyn Read>>>;

/// Begins to read a file; `name` is how messages call it.
///
/// # Errors
///
/// It cannot be read; or it is a table without the column, without any that usually has the ids, or
/// with the column twice.
///
/// # Examples
///
/// ```
/// use accession::input::{self, Options};
///
/// let records = input::open(&b"name,granule_id\r\nx,A\r\ny,B\r\n"[..], "ids.csv", &Options::default())?;
/// let granule_ids: Vec<String> =
///     records.map(|record| Ok(record?.granule_id.to_string())).collect::<Result<_, input::Error>>()?;
/// assert_eq!(granule_ids, ["A", "B"]);
/// # Ok::<(), input::Error>(())
/// ```
pub fn open(file: impl Read + 'static, name: &str, options: &Options) -> Result<Records, Error> {
    let name: Arc<str> = name.into();
    let (first_line, rest) = look_at_first_line(file)
        .map_err(|cause| Error::new(&name, 1, Fault::Unreadable { cause }))?;
    let format = options.format.unwrap_or_else(|| {
        let column = options.column.as_deref();
        if table::is_header(&first_line, column) { Format::Csv } else { Format::Lines }
    });
    let delimiter = if first_line.contains(&b'\t') { b'\t' } else { b',' };
    let source = BufReader::with_capacity(65_536, io::Cursor::new(first_line).chain(rest));
    Ok(Records(match format {
        Format::Lines => Kind::Lines(Lines::new(source, name)),
        Format::Csv => {
            Kind::Table(Table::open(source, name, delimiter, options.column.as_deref())?)
        }
    }))
}

/// The first line, without a byte order mark, and what follows it.
fn look_at_first_line(file: impl Read + 'static) -> io::Result<(Vec<u8>, Box<dyn Read>)> {
    let mut file = BufReader::with_capacity(65_536, file);
    let mut first_line = Vec::new();
    (&mut file).take(MAX_FIRST_LINE_BYTES).read_until(b'\n', &mut first_line)?;
    if first_line.starts_with(b"\xef\xbb\xbf") {
        first_line.drain(..3);
    }
    Ok((first_line, Box::new(file)))
}

impl Iterator for Records {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Result<Record, Error>> {
        match &mut self.0 {
            Kind::Lines(lines) => lines.next(),
            Kind::Table(table) => table.next(),
        }
    }
}
