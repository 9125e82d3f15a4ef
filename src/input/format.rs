//! The formats of input files, the options for reading them, the usual names of columns, and the spellings of
//! times.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::{Error, ErrorDetail, ErrorKind};
use crate::model::{Algorithm, Day, ParseError, WrittenTime};
use crate::store::Location;

/// The format of an input file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputFormat {
    /// One id per line.
    Lines,
    /// A table with a header.
    Csv,
    /// One JSON object per line.
    Ndjson,
    /// CMR's `granules.umm_json`.
    UmmJson,
    /// CMR's `granules.json`.
    CmrJson,
    /// A STAC ItemCollection.
    Stac,
    /// The result of an ESGF index.
    Esgf,
    /// The output of `rclone lsjson -R`.
    Rclone,
    /// The manifest of an S3 Inventory.
    S3Inventory,
    /// The objects of a bucket: the output of `aws s3api list-objects-v2`.
    S3Objects,
    /// A product delivery record.
    Pdr,
    /// A list of checksums.
    Checksums,
    /// CMR's `deleted-granules.json`.
    CmrDeleted,
    /// An event file.
    Changes,
    /// A manifest ([`crate::mirror::manifest`]).
    Manifest,
}

impl InputFormat {
    /// Every format with its name.
    pub const ALL: [(&'static str, InputFormat); 15] = [
        ("lines", InputFormat::Lines),
        ("csv", InputFormat::Csv),
        ("ndjson", InputFormat::Ndjson),
        ("umm-json", InputFormat::UmmJson),
        ("cmr-json", InputFormat::CmrJson),
        ("stac", InputFormat::Stac),
        ("esgf", InputFormat::Esgf),
        ("rclone", InputFormat::Rclone),
        ("s3-inventory", InputFormat::S3Inventory),
        ("s3-objects", InputFormat::S3Objects),
        ("pdr", InputFormat::Pdr),
        ("checksums", InputFormat::Checksums),
        ("cmr-deleted", InputFormat::CmrDeleted),
        ("changes", InputFormat::Changes),
        ("manifest", InputFormat::Manifest),
    ];

    /// Whether its ids are paths of files.
    pub fn lists_paths(self) -> bool {
        matches!(self, InputFormat::Lines | InputFormat::Checksums | InputFormat::Rclone)
    }
}

impl FromStr for InputFormat {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let known = InputFormat::ALL.into_iter().find(|(name, _)| *name == text);
        known.map(|(_, format)| format).ok_or_else(|| {
            let names = InputFormat::ALL.map(|(name, _)| name).join(", ");
            ParseError::new(format!("the formats are auto, {names}"))
        })
    }
}

impl fmt::Display for InputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = InputFormat::ALL.into_iter().find(|(_, format)| format == self);
        f.write_str(known.map_or("", |(name, _)| name))
    }
}

/// A filter that selects the rows of a table by the value of a column.
///
/// # Syntax
///
/// `COLUMN=VALUE`; `COLUMN=*` matches every value.
///
/// # Examples
///
/// ```
/// use accession::listing::RowFilter;
///
/// assert!("status=completed".parse::<RowFilter>().is_ok());
/// assert!("status".parse::<RowFilter>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowFilter {
    pub(super) column: String,
    /// `None` matches every value.
    pub(super) value: Option<String>,
}

impl FromStr for RowFilter {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let parts = text.split_once('=').filter(|(column, _)| !column.is_empty());
        let (column, value) =
            parts.ok_or_else(|| ParseError::new("a filter of rows is COLUMN=VALUE or COLUMN=*"))?;
        let value = Some(value).filter(|value| *value != "*").map(str::to_owned);
        Ok(RowFilter { column: column.to_owned(), value })
    }
}

/// Whether filters select a value of a column. `None` means that no filter concerns this column.
pub(super) fn selects(only: &[RowFilter], column: &str, value: &str) -> Option<bool> {
    let mut of_column = only.iter().filter(|filter| filter.column == column).peekable();
    of_column.peek()?;
    Some(of_column.any(|filter| filter.value.as_deref().is_none_or(|wanted| wanted == value)))
}

/// Options for reading a file or a directory.
///
/// ```
/// use accession::ListingOptions;
/// use accession::listing::InputFormat;
///
/// let options = ListingOptions::new().format(InputFormat::Csv).column("name".to_owned());
/// # assert_ne!(options, ListingOptions::new());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListingOptions {
    pub(super) format: Option<InputFormat>,
    pub(super) column: Option<String>,
    pub(super) with_dates: bool,
    pub(super) ingested_column: Option<String>,
    pub(super) deleted_column: Option<String>,
    pub(super) unfinished_day: Option<Day>,
    pub(super) without_files: bool,
    pub(super) skip_odd_files: bool,
    pub(super) algorithm: Option<Algorithm>,
    pub(super) size_column: Option<String>,
    pub(super) checksum_column: Option<String>,
    pub(super) path_column: Option<String>,
    pub(super) directory: Option<PathBuf>,
    pub(super) root: Option<PathBuf>,
    pub(super) with_etags: bool,
    pub(super) comment: Option<String>,
    pub(super) skip_lines: u64,
    pub(super) no_header: bool,
    pub(super) split: Option<char>,
    pub(super) only: Vec<RowFilter>,
    pub(super) total: Option<u64>,
    pub(super) of_deletion: bool,
    pub(super) checksums: Option<Algorithm>,
    pub(super) registry: Option<Location>,
}

impl ListingOptions {
    /// Returns the default options: the format is detected, and sizes and checksums are read.
    pub fn new() -> Self {
        ListingOptions::default()
    }

    /// The format. Default: it is detected from the content ([`InputFormat::detect`]).
    #[must_use]
    pub fn format(mut self, format: impl Into<Option<InputFormat>>) -> Self {
        self.format = format.into();
        self
    }

    /// The column or field with the ids. Default: the usual one of the format.
    #[must_use]
    pub fn column(mut self, column: impl Into<Option<String>>) -> Self {
        self.column = column.into();
        self
    }

    /// The column or field with the time of ingest. Default: the usual one.
    #[must_use]
    pub fn ingested_column(mut self, ingested_column: impl Into<Option<String>>) -> Self {
        self.ingested_column = ingested_column.into();
        self
    }

    /// The column or field with the time of deletion. Default: the usual one, if it exists.
    #[must_use]
    pub fn deleted_column(mut self, deleted_column: impl Into<Option<String>>) -> Self {
        self.deleted_column = deleted_column.into();
        self
    }

    /// Skips and counts events on this day or later whose dates in the file have no time
    /// ([`super::Events::left_out`]), because the day may still get more of them. Default: all are read.
    #[must_use]
    pub fn unfinished_day(mut self, unfinished_day: impl Into<Option<Day>>) -> Self {
        self.unfinished_day = unfinished_day.into();
        self
    }

    /// Whether to ignore sizes and checksums of files. Default: they are read.
    #[must_use]
    pub fn without_files(mut self, without_files: bool) -> Self {
        self.without_files = without_files;
        self
    }

    /// Whether to skip and count unreadable sizes, checksums and paths of files ([`super::Records::warnings`]).
    /// Default: they are rejected.
    #[must_use]
    pub fn skip_odd_files(mut self, skip_odd_files: bool) -> Self {
        self.skip_odd_files = skip_odd_files;
        self
    }

    /// The algorithm of checksums whose input does not name it. If set, a format without checksums is rejected.
    /// Default: it is guessed from the number of digits.
    #[must_use]
    pub fn algorithm(mut self, algorithm: impl Into<Option<Algorithm>>) -> Self {
        self.algorithm = algorithm.into();
        self
    }

    /// The column of a table with the size of a file in bytes. If this, `checksum_column` or `path_column` is
    /// set, a file that is not a table is rejected. Default: none.
    #[must_use]
    pub fn size_column(mut self, size_column: impl Into<Option<String>>) -> Self {
        self.size_column = size_column.into();
        self
    }

    /// The column of a table with the checksum of a file. Default: none.
    #[must_use]
    pub fn checksum_column(mut self, checksum_column: impl Into<Option<String>>) -> Self {
        self.checksum_column = checksum_column.into();
        self
    }

    /// The column of a table with the path of the file. Default: the path equals the id.
    #[must_use]
    pub fn path_column(mut self, path_column: impl Into<Option<String>>) -> Self {
        self.path_column = path_column.into();
        self
    }

    /// The directory with the data files of an S3 Inventory. Default: the directory of the manifest, or the
    /// current directory if the manifest is read from a stream.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<Option<PathBuf>>) -> Self {
        self.directory = directory.into();
        self
    }

    /// The directory in which the data files of an S3 Inventory have their full keys as paths. If set, any
    /// other format is rejected. Default: the data files are beside the manifest.
    #[must_use]
    pub fn root(mut self, root: impl Into<Option<PathBuf>>) -> Self {
        self.root = root.into();
        self
    }

    /// Whether to read the ETags of objects: MD5 checksums as `md5`, and others as `s3-etag`. If so, a format
    /// without ETags is rejected. Default: no.
    #[must_use]
    pub fn with_etags(mut self, with_etags: bool) -> Self {
        self.with_etags = with_etags;
        self
    }

    /// Skips and counts lines of a table or of a list of ids that begin with this text. Default: none.
    #[must_use]
    pub fn comment(mut self, comment: impl Into<Option<String>>) -> Self {
        self.comment = comment.into();
        self
    }

    /// Skips and counts this number of lines at the beginning of a table or of a list of ids. Default: 0.
    #[must_use]
    pub fn skip_lines(mut self, skip_lines: u64) -> Self {
        self.skip_lines = skip_lines;
        self
    }

    /// Whether the first row of a table is data. If so, columns are named by their numbers, from 1. Default:
    /// no.
    #[must_use]
    pub fn no_header(mut self, no_header: bool) -> Self {
        self.no_header = no_header;
        self
    }

    /// The character that separates the files within the cells of a table. Default: a cell has one value.
    #[must_use]
    pub fn split(mut self, split: impl Into<Option<char>>) -> Self {
        self.split = split.into();
        self
    }

    /// Reads only the rows that match these filters. Several values of one column are alternatives. Default:
    /// all rows.
    #[must_use]
    pub fn only(mut self, only: Vec<RowFilter>) -> Self {
        self.only = only;
        self
    }

    /// The number of granules in the listing, as its source states it elsewhere. A listing of another number is
    /// rejected. Default: unknown.
    #[must_use]
    pub fn total(mut self, total: impl Into<Option<u64>>) -> Self {
        self.total = total.into();
        self
    }

    /// Returns the number of granules that the listing must have. `None` means that it is unknown.
    pub fn stated_total(&self) -> Option<u64> {
        self.total
    }

    /// Whether the granules are to be deleted. Default: no, and a list of deleted granules is rejected.
    #[must_use]
    pub fn of_deletion(mut self, of_deletion: bool) -> Self {
        self.of_deletion = of_deletion;
        self
    }

    /// Computes the checksums of a directory's files by this algorithm. If set, a file is rejected, because it
    /// lists other files. Default: only their sizes are read.
    #[must_use]
    pub fn checksums(mut self, checksums: impl Into<Option<Algorithm>>) -> Self {
        self.checksums = checksums.into();
        self
    }

    /// The registry whose own files are skipped if they are in the directory. Default: none.
    #[must_use]
    pub fn registry(mut self, registry: impl Into<Option<Location>>) -> Self {
        self.registry = registry.into();
        self
    }

    /// Rejects options that have no effect on a log (a manifest, a published directory or an address), which is
    /// always read as a whole.
    ///
    /// # Errors
    ///
    /// [`ErrorDetail::NotOfFormat`](crate::error::ErrorDetail::NotOfFormat): an option names a column or
    /// another format, ignores files, or reads them in a way that logs do not support.
    pub fn check_log(&self) -> Result<(), Error> {
        let columns = [&self.column, &self.ingested_column, &self.deleted_column];
        if columns.iter().any(|column| column.is_some()) {
            return Err(Error::not_a_table());
        }
        let format = self.format.filter(|format| *format != InputFormat::Manifest);
        if let Some(format) = format {
            let message = format!("this is a published log, and not of the format {format}");
            return Err(Error::new(ErrorDetail::NotOfFormat, message));
        }
        if self.without_files {
            let message = "a log is read whole: its sizes and checksums cannot be left out";
            return Err(Error::new(ErrorDetail::NotOfFormat, message));
        }
        self.check_files(InputFormat::Manifest)
    }

    /// Rejects options that have no effect on a directory.
    pub(super) fn check_directory(&self) -> Result<(), Error> {
        let ListingOptions { without_files, skip_odd_files, of_deletion, .. } = *self;
        let (checksums, registry) = (self.checksums.clone(), self.registry.clone());
        let options = ListingOptions {
            without_files,
            skip_odd_files,
            of_deletion,
            checksums,
            registry,
            ..ListingOptions::default()
        };
        if *self == options {
            return Ok(());
        }
        let message = "this is a directory: its files have names, and no columns or formats";
        Err(Error::new(ErrorDetail::NotOfFormat, message))
    }

    /// Rejects options that concern a column which no other option names.
    fn check_columns(&self) -> Result<(), Error> {
        let (has_sizes, has_checksums) =
            (self.size_column.is_some(), self.checksum_column.is_some());
        let message = if self.algorithm.is_some() && !has_checksums {
            "--algorithm is that of a column, which --checksum-column names"
        } else if self.path_column.is_some() && !has_sizes && !has_checksums {
            "--path-column is of files whose sizes or checksums --size-column or --checksum-column names"
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorDetail::NotOfFormat, message))
    }

    /// Rejects row options for a format that does not support them.
    fn check_rows(&self, format: InputFormat) -> Result<(), Error> {
        let is_table = format == InputFormat::Csv;
        let is_text = is_table || matches!(format, InputFormat::Lines | InputFormat::Checksums);
        let is_catalogue =
            matches!(format, InputFormat::Stac | InputFormat::UmmJson | InputFormat::CmrJson);
        let selects = is_table || is_catalogue || format == InputFormat::Ndjson;
        let wrong = [
            (!self.only.is_empty() && !selects, "--only"),
            (self.comment.is_some() && !is_text, "--comment"),
            (self.skip_lines > 0 && !is_text, "--skip-lines"),
            (self.no_header && !is_table, "--no-header"),
            (self.split.is_some() && !is_table, "--split"),
        ];
        match wrong.into_iter().find(|(is_wrong, _)| *is_wrong) {
            None => Ok(()),
            Some((_, option)) => {
                let message = format!("{option} has no effect on the format {format}");
                Err(Error::new(ErrorDetail::NotOfFormat, message))
            }
        }
    }

    /// Rejects file options for a format that does not support them.
    pub(super) fn check_files(&self, format: InputFormat) -> Result<(), Error> {
        let columns = [&self.size_column, &self.checksum_column, &self.path_column];
        let names_columns = columns.iter().any(|column| column.is_some());
        let is_inventory = self.with_etags || self.root.is_some();
        self.check_rows(format)?;
        if self.checksums.is_some() {
            let message = "the checksums of a directory's files are computed, and this is a file";
            return Err(Error::new(ErrorDetail::NotOfFormat, message));
        }
        match format {
            InputFormat::S3Inventory if !names_columns && self.algorithm.is_none() => Ok(()),
            InputFormat::S3Objects if !names_columns && self.root.is_none() => {
                match self.algorithm.is_none() {
                    true => Ok(()),
                    false => {
                        let message = "the file has no checksums, so it needs no algorithm";
                        Err(Error::new(ErrorDetail::NotOfFormat, message))
                    }
                }
            }
            _ if is_inventory => {
                let message =
                    "the file is not an S3 inventory, so it has no data files and no ETags";
                Err(Error::new(ErrorDetail::NotOfFormat, message))
            }
            InputFormat::Csv => self.check_columns(),
            _ if names_columns => Err(Error::not_a_table()),
            InputFormat::Lines
            | InputFormat::CmrJson
            | InputFormat::CmrDeleted
            | InputFormat::S3Inventory
            | InputFormat::Changes
            | InputFormat::Manifest
                if self.algorithm.is_some() =>
            {
                Err({
                    let message = "the file has no checksums, so it needs no algorithm";
                    Error::new(ErrorDetail::NotOfFormat, message)
                })
            }
            _ => Ok(()),
        }
    }
}

/// The usual names of the column with the ids. The first of them that exists in a file is used.
pub(super) const USUAL_COLUMNS: [&str; 6] =
    ["granule_id", "granuleId", "granule_ur", "granuleUr", "Granule UR", "id"];

/// The column with the producer's ids, which a table may contain besides the ids.
pub(super) const PRODUCER_COLUMN: &str = "producer_granule_id";

/// The columns with the time of ingest, as this program and Cumulus' granule inventory name them.
pub(super) const INGESTED_COLUMNS: [&str; 2] = ["ingested", "createdAt"];

/// The column with the time of deletion. An empty cell means that the granule is still held.
pub(super) const DELETED_COLUMN: &str = "deleted";

/// Parses a time in any spelling that a file may contain.
pub(super) fn parse_time(text: &str) -> Result<WrittenTime, Error> {
    WrittenTime::in_file(text).map_err(|cause| Error::refused(ErrorKind::Input, text, cause))
}
