//! Other people's files: a stream of granules, or of what happened to them, each with its place.
//!
//! # Formats
//!
//! | [`Format`] | what | ids | dates, for an import |
//! |---|---|---|---|
//! | `lines` | one id a line | | |
//! | `csv` | a table with a header, cells parted by commas or, if the header holds a TAB, by TABs; quoted as RFC 4180 has it | the column named, or the first there is of `granule_id`, `granuleId`, `granuleUr`, `Granule UR`, `id` | `ingested` or `createdAt`, and `deleted` |
//! | `ndjson` | one JSON object a line | the field or JSON pointer named, or as above | as above |
//! | `umm-json` | CMR's `granules.umm_json` | `umm.GranuleUR`, or `producer` | `ProviderDates` of type Insert, else `meta.revision-date`; deleted at the latter if `meta.deleted` |
//! | `cmr-json` | CMR's `granules.json` | `title`, or `producer` | `updated` |
//! | `stac` | a STAC ItemCollection | `id` | `properties.created`, `datetime` or `updated` |
//! | `pdr` | a product delivery record | of each FILE_GROUP the `FILE_ID` of its data, or every `FILE_ID` | |
//! | `changes` | a change log: time TAB `+` or `-` TAB id | | its own; for an import only |
//! | `manifest` | a dataset's whole history ([`crate::mirror::manifest`]) | | its own; for an import and for mirrors only |
//!
//! Each of them may be compressed with gzip. A UTF-8 byte order mark and line ends (LF, CRLF, a last
//! bare CR) are taken off, and empty lines skipped. Nothing else is trimmed, and `#` starts no
//! comment (cli.md, Where granule ids come from). Which format it is shows in the content, never in
//! the file's name ([`Format::detect`]).
//!
//! # Memory
//!
//! A line, a row or an element at a time. A line of ids has at most as many bytes as an id may have,
//! anything else at most [`MAX_ROW_BYTES`]: a quote that never closes must not fill memory.

mod changes;
mod error;
mod event;
mod format;
mod json_items;
mod lines;
mod ndjson;
mod numbered_lines;
mod pdr;
mod responses;
mod source;
mod table;
mod time;

use std::io::{self, BufRead};
use std::sync::Arc;

pub use error::{Error, Fault};
pub use event::{Events, open_events};
pub use format::{Format, UnknownFormat};

use crate::model::{Event, EventKind, GranuleId, SourceLocation, Timestamp};
use source::Source;

/// The longest row of a table or element of a document, in bytes.
pub const MAX_ROW_BYTES: u64 = 16 * 1_024 * 1_024;

/// A granule as a file names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub granule_id: GranuleId,
    /// Where it stands.
    pub location: SourceLocation,
    /// When it came; only where dates were asked for.
    pub ingested: Option<Timestamp>,
    /// When it went; only where dates were asked for, and it did.
    pub deleted: Option<Timestamp>,
    /// Whether the file says that it is gone.
    pub is_deleted: bool,
}

impl Record {
    fn new(granule_id: GranuleId, location: SourceLocation) -> Self {
        Record { granule_id, location, ingested: None, deleted: None, is_deleted: false }
    }
}

/// How somebody wants a file to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Its format; none: by its content.
    pub format: Option<Format>,
    /// The column or field that has the ids; none: the usual one of the format.
    pub column: Option<String>,
    /// Whether its dates are wanted, and must be there.
    pub with_dates: bool,
}

/// What an answer says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hits {
    /// How many granules the search found.
    pub hits: u64,
    /// How many of them the answer holds.
    pub items: u64,
}

/// A reader of one format.
trait Read {
    /// The next granule.
    fn record(&mut self) -> Result<Option<Record>, Error>;

    /// What the answer says of itself, once it is read.
    fn hits(&self) -> Option<Hits> {
        None
    }
}

/// The granules of a file, in its order; after an error there are no more.
pub struct Records {
    reader: Box<dyn Read>,
    has_failed: bool,
}

impl Records {
    /// Where the file is one answer of a search: how many granules that found, and how many of
    /// them are here. A page is not a dataset. Known when all are read.
    pub fn hits(&self) -> Option<Hits> {
        self.reader.hits()
    }
}

impl Iterator for Records {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Result<Record, Error>> {
        if self.has_failed {
            return None;
        }
        let record = self.reader.record().transpose();
        self.has_failed = matches!(record, Some(Err(_)));
        record
    }
}

/// Begins to read a file; `name` is how messages call it.
///
/// # Errors
///
/// It cannot be read; it has no such column, none that usually has the ids, or the column twice; it
/// is in none of the formats; its name ends in `.gz`, and it is no gzip.
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
pub fn open(
    file: impl io::Read + 'static,
    name: &str,
    options: &Options,
) -> Result<Records, Error> {
    let name: Arc<str> = name.into();
    let source = Source::open_by_name(file, &name)?;
    let format = source.format(&name, options)?;
    let reader = reader(source.into_reader(), name, format, options)?;
    Ok(Records { reader, has_failed: false })
}

/// The bytes of a file, out of gzip if it is compressed, without a byte order mark.
///
/// # Errors
///
/// It cannot be read; its name ends in `.gz`, and it is no gzip.
pub fn unzipped(file: impl io::Read + 'static, name: &str) -> Result<Box<dyn BufRead>, Error> {
    Ok(Source::open_by_name(file, &name.into())?.into_reader())
}

fn reader(
    file: Box<dyn BufRead>,
    name: Arc<str>,
    format: Format,
    options: &Options,
) -> Result<Box<dyn Read>, Error> {
    use responses::{Dialect, Response};
    let column = options.column.as_deref();
    let dialect = match format {
        Format::Lines | Format::Pdr if options.with_dates => {
            return Err(Error::new(&name, 1, Fault::NoDates));
        }
        Format::Lines => return Ok(Box::new(lines::Lines::new(file, name))),
        Format::Csv => return Ok(Box::new(table::Table::open(file, name, options)?)),
        Format::Ndjson => return Ok(Box::new(ndjson::Ndjson::new(file, name, options))),
        Format::Pdr => return Ok(Box::new(pdr::Pdr::open(file, name, column)?)),
        Format::Changes | Format::Manifest => return Err(Error::new(&name, 1, Fault::IsAHistory)),
        Format::UmmJson => Dialect::UmmJson,
        Format::CmrJson => Dialect::CmrJson,
        Format::Stac => Dialect::Stac,
    };
    Ok(Box::new(Response::open(file, name, dialect, column, options.with_dates)?))
}
