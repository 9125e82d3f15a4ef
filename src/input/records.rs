//! The granules of a file in any format.

use std::io::{BufRead, Read};
use std::sync::Arc;

use super::error::{Error, InputErrorKind};
use super::format::InputFormat;
use super::input_file::InputFile;
use super::lines::Lines;
use super::ndjson::Ndjson;
use super::options::Options;
use super::pdr::Pdr;
use super::record::{Hits, Record, RecordReader};
use super::responses::{Dialect, Response};
use super::table::Table;
use super::warning::InputWarning;

/// The granules of a file, in its order; nothing follows an error.
pub struct Records {
    reader: Box<dyn RecordReader>,
    has_failed: bool,
}

impl Records {
    /// Returns the counts of a search response, once all records are read. `None` if the file is
    /// not a search response, or does not state how many granules the search found.
    pub fn hits(&self) -> Option<Hits> {
        self.reader.hits()
    }

    /// Whether the file is a search response that names a next page, once all records are read.
    pub fn has_next_page(&self) -> bool {
        self.reader.has_next_page()
    }

    /// Returns the warnings about the ids read so far: at most one of each kind, with the first id
    /// as an example.
    ///
    /// # Examples
    ///
    /// ```
    /// use accession::input::{self, Options};
    ///
    /// let mut records = input::open(&b"# March\nA\nB\n"[..], "ids.txt", &Options::default())?;
    /// assert_eq!(records.by_ref().count(), 3);
    /// assert_eq!(
    ///     records.warnings()[0].to_string(),
    ///     "ids.txt:1: \"# March\" begins with #, which does not start a comment"
    /// );
    /// # Ok::<(), input::Error>(())
    /// ```
    pub fn warnings(&self) -> Vec<InputWarning> {
        self.reader.warnings()
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

/// Opens a file. Messages call it `name`.
///
/// # Errors
///
/// - The file cannot be read, is UTF-16, or has a name that ends in `.gz` and is not gzip.
/// - It does not have any of the formats.
/// - It does not have the requested column or a usual one, or has it twice.
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
    let file = InputFile::open_by_name(file, &name)?;
    let format = file.format(&name, options)?;
    let reader = open_reader(file.into_reader(), name, format, options)?;
    Ok(Records { reader, has_failed: false })
}

/// Returns the bytes of a file, decompressed if it is gzip, without a byte order mark.
///
/// # Errors
///
/// The file cannot be read, is UTF-16, HTML or XML, or has a name that ends in `.gz` and is not
/// gzip.
pub fn unzipped(file: impl Read + 'static, name: &str) -> Result<Box<dyn BufRead>, Error> {
    let name: Arc<str> = name.into();
    let file = InputFile::open_by_name(file, &name)?;
    file.refuse_markup(&name)?;
    Ok(file.into_reader())
}

/// Begins to read the records of a file whose format is known.
pub(super) fn open_reader(
    file: Box<dyn BufRead>,
    name: Arc<str>,
    format: InputFormat,
    options: &Options,
) -> Result<Box<dyn RecordReader>, Error> {
    let column = options.column.as_deref();
    let dialect = match format {
        InputFormat::Lines | InputFormat::Pdr if options.with_dates => {
            return Err(Error::new(&name, 1, InputErrorKind::NoDates));
        }
        InputFormat::Changes | InputFormat::Manifest => {
            return Err(Error::new(&name, 1, InputErrorKind::IsAHistory));
        }
        InputFormat::Lines => return Ok(Box::new(Lines::new(file, name))),
        InputFormat::Csv => return Ok(Box::new(Table::open(file, name, options)?)),
        InputFormat::Ndjson => return Ok(Box::new(Ndjson::new(file, name, options))),
        InputFormat::Pdr => return Ok(Box::new(Pdr::open(file, name, column)?)),
        InputFormat::UmmJson => Dialect::UmmJson,
        InputFormat::CmrJson => Dialect::CmrJson,
        InputFormat::Stac => Dialect::Stac,
    };
    Ok(Box::new(Response::open(file, name, dialect, column, options.with_dates)?))
}
