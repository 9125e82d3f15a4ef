//! Reads a file in any format, which is detected from its beginning: its granules, and their ingests and
//! deletions.

use std::io::Read;

use struson::reader::{JsonReader, JsonStreamReader, ReaderError};

use super::catalogues::{self, Response};
use super::checksums::{self, Checksums};
use super::content::{FileReading, StatedFile};
use super::error::refuse_foreign;
use super::file::OpenedFile;
use super::format::{InputFormat, ListingOptions, parse_time};
use super::inventory::Inventory;
use super::lines::{LineContent, LineReader};
use super::pdr::Pdr;
use super::table::{self, TableReader};
use super::warning::WarningCollector;
use super::{Hits, Record, Row, Rows};
use crate::error::{Error, ErrorDetail, ErrorKind};
use crate::model::{Day, Event, EventKind, Moment, Timestamp, Warning};

/// The granules of a file, in its order; nothing follows an error.
pub struct Records {
    rows: Box<dyn Rows + Send>,
    files: FileReading,
    warnings: WarningCollector,
    has_failed: bool,
}

crate::model::debug_fields!(Records);

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
/// use accession::ListingOptions;
/// use accession::listing;
///
/// let records = listing::open(&b"name,granule_id\r\nx,A\r\ny,B\r\n"[..], "ids.csv", &ListingOptions::default())?;
/// let granule_ids: Vec<String> =
///     records.map(|record| Ok(record?.granule_id.to_string())).collect::<Result<_, accession::Error>>()?;
/// assert_eq!(granule_ids, ["A", "B"]);
/// # Ok::<(), accession::Error>(())
/// ```
pub fn open(
    file: impl Read + Send + 'static,
    name: &str,
    options: &ListingOptions,
) -> Result<Records, Error> {
    OpenedFile::open(file, name)?.records(options)
}

impl OpenedFile {
    /// Begins to read the granules.
    ///
    /// # Errors
    ///
    /// As [`open`].
    pub fn records(self, options: &ListingOptions) -> Result<Records, Error> {
        let format = self.format(options)?;
        let name = self.name().clone();
        options.check_files(format).map_err(|error: Error| error.at_line(&name, 1))?;
        let with_dates = options.with_dates;
        match format {
            InputFormat::Lines | InputFormat::Checksums if options.column.is_some() => {
                return Err(Error::not_a_table().at_line(&name, 1));
            }
            InputFormat::Lines
            | InputFormat::Esgf
            | InputFormat::Rclone
            | InputFormat::S3Inventory
            | InputFormat::Pdr
            | InputFormat::Checksums
            | InputFormat::CmrDeleted
                if with_dates =>
            {
                return Err(Error::no_dates().at_line(&name, 1));
            }
            InputFormat::CmrDeleted if !options.of_deletion => {
                let message = "this is a list of deleted granules";
                return Err(Error::new(ErrorDetail::DeletedGranules, message).at_line(&name, 1));
            }
            InputFormat::Changes if with_dates => {}
            InputFormat::Changes | InputFormat::Manifest => {
                let message = "this is a history, not a list of granules";
                return Err(Error::new(ErrorDetail::IsAHistory, message).at_line(&name, 1));
            }
            _ => {}
        }
        let file = self.into_reader();
        let lines = |file, content| LineReader::new(file, name.clone(), content);
        let response = |file, dialect| -> Result<Box<dyn Rows + Send>, Error> {
            Ok(Box::new(Response::open(file, name.clone(), dialect, options)?))
        };
        let rows: Box<dyn Rows + Send> = match format {
            InputFormat::Lines => Box::new(lines(file, LineContent::Id)),
            InputFormat::Ndjson => {
                Box::new(lines(file, LineContent::Object(Box::new(options.clone()))))
            }
            InputFormat::Checksums => {
                Box::new(lines(file, LineContent::Checksum(Checksums::of_file(&name, options))))
            }
            InputFormat::Changes | InputFormat::Manifest => {
                Box::new(lines(file, LineContent::Change))
            }
            InputFormat::Csv => Box::new(TableReader::open(file, name, options)?),
            InputFormat::Pdr => Box::new(Pdr::open(file, name, options)?),
            InputFormat::UmmJson => response(file, catalogues::UMM_JSON)?,
            InputFormat::CmrJson => response(file, catalogues::CMR_JSON)?,
            InputFormat::Stac => response(file, catalogues::STAC)?,
            InputFormat::Esgf => response(file, catalogues::ESGF)?,
            InputFormat::Rclone => response(file, catalogues::RCLONE)?,
            InputFormat::CmrDeleted => response(file, catalogues::CMR_DELETED)?,
            InputFormat::S3Inventory => Box::new(Inventory::open(file, name, options)?),
        };
        let is_of_lines = match format {
            InputFormat::Lines | InputFormat::Changes => true,
            // A list that is read as a table has a header.
            InputFormat::Csv => with_dates,
            _ => false,
        };
        let (files, warnings) = (FileReading::new(options), WarningCollector::new(is_of_lines));
        Ok(Records { rows, files, warnings, has_failed: false })
    }

    /// Begins to read when granules were ingested and deleted.
    ///
    /// # Errors
    ///
    /// As [`open`], and an error if the file has no dates.
    pub fn events(self, options: &ListingOptions) -> Result<Events, Error> {
        self.refuse_foreign()?;
        let format = self.format(options)?;
        let has_columns = matches!(format, InputFormat::Csv | InputFormat::Ndjson);
        let names_columns = options.ingested_column.is_some() || options.deleted_column.is_some();
        if names_columns && !has_columns {
            return Err(Error::not_a_table().at_line(self.name(), 1));
        }
        let format = Some(format);
        let records =
            self.records(&ListingOptions { format, with_dates: true, ..options.clone() })?;
        let unfinished_day = options.unfinished_day;
        Ok(Events { records, deletion: None, unfinished_day, left_out: 0, left_out_since: None })
    }
}

impl Records {
    fn record(&mut self) -> Result<Option<Record>, Error> {
        let Some(Row { mut record, files, is_taken_as_utc }) = self.rows.next_row()? else {
            return Ok(None);
        };
        if is_taken_as_utc {
            self.warnings.observe_time_as_utc(&record.location);
        }
        record.files = self.files.of_granule(&files, &record.location)?;
        let Record { granule_id, location, ingested, deleted, .. } = &record;
        match (ingested, deleted) {
            (Some(ingested), Some(deleted)) if deleted.of_change() < ingested.of_change() => {
                let (ingested, deleted) = (ingested.of_change(), deleted.of_change());
                let message = format!(
                    "the granule was deleted at {deleted}, before it was ingested at {ingested}"
                );
                return Err(Error::input(message).at(record.location));
            }
            // The id was observed when it was ingested.
            (None, Some(_)) => {}
            _ => self.warnings.observe(granule_id, location),
        }
        Ok(Some(record))
    }

    /// Returns the counts of a search response, once all records are read. `None` if the file is
    /// not a search response, or does not state how many granules the search found.
    pub(super) fn hits(&self) -> Option<Hits> {
        self.rows.hits()
    }

    /// How many granules the search found whose response this is, once all of it is read. `None` means that the
    /// file does not state it.
    pub fn search_total(&self) -> Option<u64> {
        self.hits().map(|hits| hits.hits)
    }

    /// Whether the file is a search response that names a next page, once all records are read.
    pub(super) fn has_next_page(&self) -> bool {
        self.rows.has_next_page()
    }

    /// Returns the warnings about what was read so far: at most one of each kind, with the first as an
    /// example.
    ///
    /// # Examples
    ///
    /// ```
    /// use accession::ListingOptions;
    /// use accession::listing;
    ///
    /// let mut records = listing::open(&b"# March\nA\nB\n"[..], "ids.txt", &ListingOptions::default())?;
    /// assert_eq!(records.by_ref().count(), 3);
    /// assert_eq!(
    ///     records.warnings()[0].to_string(),
    ///     "ids.txt:1: \"# March\" begins with #, which does not start a comment"
    /// );
    /// # Ok::<(), accession::Error>(())
    /// ```
    pub fn warnings(&self) -> Vec<Warning> {
        self.warnings.warnings().into_iter().chain(self.files.warnings()).collect()
    }
}

impl Iterator for Records {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Result<Record, Error>> {
        if self.has_failed {
            return None;
        }
        let record = self.record().transpose();
        self.has_failed = matches!(record, Some(Err(_)));
        record
    }
}

/// The number of granules that a search found, and how many of them its pages contain.
#[derive(Debug, Default)]
pub struct SearchPages {
    found: u64,
    /// How many granules the searches found together of which the first page was read.
    begun: u64,
    contained: u64,
    /// How many pages refer to a next one.
    next_pages: u64,
    pages: u64,
}

impl SearchPages {
    /// Adds a file, all of whose records are read.
    pub fn add(&mut self, records: &Records) {
        if let Some(page) = records.hits() {
            self.found = self.found.max(page.hits);
            self.begun += if page.is_first { page.hits } else { 0 };
            self.contained += page.items;
        }
        self.pages += 1;
        self.next_pages += u64::from(records.has_next_page());
    }

    /// Refuses a search result of which pages are missing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::PagesMissing`].
    pub fn check(&self) -> Result<(), Error> {
        self.missing().map_or(Ok(()), |what| Err(Error::new(ErrorKind::PagesMissing, what)))
    }

    /// What is missing, in words. `None` means that nothing is known to be missing.
    pub fn missing(&self) -> Option<String> {
        let SearchPages { found, begun, contained, next_pages, pages } = *self;
        let found = found.max(begun);
        if found > contained {
            Some(format!(
                "the search found {found} granules, but the files contain only {contained} of them: other pages are missing"
            ))
        } else if found == 0 && next_pages > 0 && next_pages == pages {
            Some("the search result names a next page, which is missing".to_owned())
        } else {
            None
        }
    }
}

/// The ingests and deletions of a file's granules, in its order; nothing follows an error.
pub struct Events {
    records: Records,
    /// The deletion of the granule whose ingest was returned last.
    deletion: Option<(Event, Moment)>,
    unfinished_day: Option<Day>,
    left_out: u64,
    left_out_since: Option<Timestamp>,
}

crate::model::debug_fields!(Events: left_out);

impl Events {
    /// The granules that are read, with what is known of them so far.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// How many events were left out so far, because they are dated without a time on a day that
    /// is not over ([`ListingOptions::unfinished_day`]).
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The earliest time of the events that were left out so far. `None` means that none was.
    pub fn left_out_since(&self) -> Option<Timestamp> {
        self.left_out_since
    }

    /// The next event, and its time as it is written.
    fn event(&mut self) -> Option<Result<(Event, Moment), Error>> {
        if let Some(deletion) = self.deletion.take() {
            return Some(Ok(deletion));
        }
        let Record { granule_id, producer_granule, location, ingested, deleted, files, .. } =
            match self.records.next()? {
                Ok(record) => record,
                Err(error) => return Some(Err(error)),
            };
        let content = match StatedFile::content(files, &granule_id, &location) {
            Ok(content) => content,
            Err(error) => return Some(Err(error)),
        };
        let event = |granule_id, location, moment: Moment, kind| {
            let (at, content, location) = (moment.of_change(), None, Some(location));
            (Event { at, kind, granule_id, producer_granule: None, content, location }, moment)
        };
        let event = match (ingested, deleted) {
            (Some(ingested), deleted) => {
                // Most granules are held: only a deletion needs an id of its own.
                self.deletion = deleted.map(|deleted| {
                    event(granule_id.clone(), location.clone(), deleted, EventKind::Deleted)
                });
                let (event, moment) = event(granule_id, location, ingested, EventKind::Ingested);
                (Event { producer_granule, content, ..event }, moment)
            }
            (None, Some(deleted)) => event(granule_id, location, deleted, EventKind::Deleted),
            (None, None) => return None,
        };
        Some(Ok(event))
    }
}

impl Iterator for Events {
    type Item = Result<Event, Error>;

    fn next(&mut self) -> Option<Result<Event, Error>> {
        loop {
            match (self.event()?, self.unfinished_day) {
                (Ok((event, Moment::Day(day))), Some(unfinished)) if day >= unfinished => {
                    self.left_out += 1;
                    let since = self.left_out_since.unwrap_or(event.at);
                    self.left_out_since = Some(since.min(event.at));
                }
                (event, _) => return Some(event.map(|(event, _)| event)),
            }
        }
    }
}

impl InputFormat {
    /// Returns the format of a file with this beginning. The first of these rules that applies
    /// decides:
    ///
    /// 1. It begins with `{`: a manifest or a known response if it has the keys of one, else
    ///    `ndjson`. It begins with `[` and an object with the keys of `rclone` or `cmr-deleted`: these.
    /// 2. A line is `OBJECT = FILE_GROUP`: `pdr`.
    /// 3. The first line is a time, a TAB, `+` or `-`, and a TAB: `changes`.
    /// 4. The first line is a checksum of 32 digits or more and a path, or one in the style of BSD, and
    ///    no column is asked for: `checksums`.
    /// 5. A column is asked for; or a cell of the first line is a usual name for granule ids, in
    ///    any case; or the first line has several cells, all quoted; or all lines have the same
    ///    number of commas, semicolons or TABs: `csv`.
    /// 6. Otherwise `lines`.
    ///
    /// # Errors
    ///
    /// Another JSON array, HTML, XML, Parquet, ORC or a canonical list: these are not among the formats, and
    /// each of their lines would be read as an id.
    pub fn detect(beginning: &[u8], column: Option<&str>) -> Result<Self, Error> {
        let first_line = beginning.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let text = beginning.trim_ascii_start();
        if text.starts_with(b"{") {
            return Ok(detect_json(text));
        }
        if let Some(rest) = text.strip_prefix(b"[")
            && matches!(rest.trim_ascii_start().first(), Some(b'{' | b'"' | b']'))
        {
            let keys = outer_keys(rest.trim_ascii_start());
            let has = |key: &str| keys.iter().any(|known| known == key);
            return match () {
                () if has("Path") && has("IsDir") => Ok(InputFormat::Rclone),
                () if has("granule-ur") => Ok(InputFormat::CmrDeleted),
                () => {
                    let message = "a JSON array is not one of the formats";
                    Err(Error::new(ErrorDetail::UnknownFormat, message))
                }
            };
        }
        refuse_foreign(text)?;
        Ok(if has_file_group(beginning) {
            InputFormat::Pdr
        } else if is_change(first_line) {
            InputFormat::Changes
        } else if column.is_none() && is_canonical(first_line) {
            let message = "this is the canonical list of a set with its files: its SHA-256 is the digest of the set, and `cut -f 1` prints the ids";
            return Err(Error::input(message));
        } else if column.is_none() && checksums::is_checksum(first_line) {
            InputFormat::Checksums
        } else if column.is_some() || table::is_header(first_line) || table::has_rows(beginning) {
            // A table without the column that was asked for, or a usual one, is an error. Read as
            // lines, each of its rows would become a granule.
            InputFormat::Csv
        } else {
            InputFormat::Lines
        })
    }
}

fn detect_json(text: &[u8]) -> InputFormat {
    let keys = outer_keys(text);
    if keys.first().is_some_and(|key| key == "accession_log") {
        return InputFormat::Manifest;
    }
    // One object per line: the first object ends at the end of its line, and another one follows.
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first_is_whole = lines.next().is_some_and(|line| line.ends_with(b"}"));
    if first_is_whole && lines.any(|line| line.starts_with(b"{")) {
        return InputFormat::Ndjson;
    }
    let has = |key: &str| keys.iter().any(|known| known == key);
    if has("fileSchema") && has("files") {
        InputFormat::S3Inventory
    } else if has("response") && (has("responseHeader") || has("facet_counts")) {
        InputFormat::Esgf
    } else if has("feed") {
        InputFormat::CmrJson
    } else if has("features") || text.windows(19).any(|window| window == b"\"FeatureCollection\"") {
        InputFormat::Stac
    } else if has("items") || (has("hits") && has("took")) {
        InputFormat::UmmJson
    } else {
        InputFormat::Ndjson
    }
}

/// The keys of the outermost object, as far as it was read.
fn outer_keys(text: &[u8]) -> Vec<String> {
    let mut json = JsonStreamReader::new(text);
    let mut keys = Vec::new();
    let mut next = || -> Result<bool, ReaderError> {
        if keys.is_empty() {
            json.begin_object()?;
        } else {
            json.skip_value()?;
        }
        let is_key = json.has_next()?;
        if is_key {
            keys.push(json.next_name_owned()?);
        }
        Ok(is_key)
    };
    // Where it was cut is an error, too.
    while next().unwrap_or(false) {}
    keys
}

fn has_file_group(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'\n').any(|line| {
        let bare: Vec<u8> =
            line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        bare.starts_with(b"OBJECT=FILE_GROUP")
    })
}

/// Whether a line is of a canonical list, and states a file of its granule. Without files, it is an id.
fn is_canonical(line: &[u8]) -> bool {
    const STATED: [&str; 6] = ["size:", "sha-512:", "sha-384:", "sha-256:", "sha-1:", "md5:"];
    let file = line.split(|&byte| byte == b'\t').nth(1).unwrap_or_default();
    let is_long_hash = || {
        let file = std::str::from_utf8(file).unwrap_or_default();
        let mut parts = file.splitn(3, ':');
        let value = parts.nth(1).unwrap_or_default();
        let is_hexadecimal = value.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
        is_hexadecimal && value.len() >= 56
    };
    STATED.iter().any(|stated| file.starts_with(stated.as_bytes())) || is_long_hash()
}

fn is_change(line: &[u8]) -> bool {
    let mut cells = line.splitn(3, |&byte| byte == b'\t');
    let (Some(at), Some(b"+" | b"-"), Some(_)) = (cells.next(), cells.next(), cells.next()) else {
        return false;
    };
    std::str::from_utf8(at).is_ok_and(|at| parse_time(at).is_ok())
}
