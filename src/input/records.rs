//! Reads the granules of a file in any format, and their ingests and deletions.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::catalogues;
use super::checksums::{self, Checksums};
use super::content::{FileReading, StatedFile};
use super::detect;
use super::file::OpenedFile;
use super::finding::{Finding, FindingKind};
use super::findings::{FileFindings, Findings};
use super::format::{InputFormat, ListingOptions};
use super::inventory::Inventory;
use super::lines::{LineContent, LineReader};
use super::object_lines::ObjectLines;
use super::pdr::Pdr;
use super::response::Response;
use super::table::TableReader;
use super::warning::WarningCollector;
use super::{Record, Row, Rows};
use crate::error::{Error, ErrorDetail, ErrorKind};
use crate::model::{
    Day, Event, EventKind, GranuleId, Moment, SourceLocation, Timestamp, Warning, WarningKind,
    plural,
};

/// The granules of a file, in its order. The iterator ends after an error.
pub struct Records {
    rows: Box<dyn Rows + Send>,
    files: FileReading,
    warnings: WarningCollector,
    has_failed: bool,
    format: InputFormat,
    count: u64,
    /// The first and the last id.
    ends: (String, String),
    /// A finding about the name of the file, which contradicts its content.
    odd_name: Option<Finding>,
    /// The name of the file in messages.
    name: Arc<str>,
    /// The number of skipped granules that the file marks as deleted or replaced.
    deleted: u64,
}

crate::model::debug_fields!(Records: format, count);

impl Records {
    /// Opens a file. Messages call it `name`.
    ///
    /// # Errors
    ///
    /// - The file cannot be read, is UTF-16, or has a name that ends in `.gz` and is not gzip.
    /// - It is not in any of the formats.
    /// - The requested or usual column is missing, or occurs twice.
    ///
    /// # Examples
    ///
    /// ```
    /// use accession::ListingOptions;
    /// use accession::listing::Records;
    ///
    /// let records = Records::open(&b"name,granule_id\r\nx,A\r\ny,B\r\n"[..], "ids.csv", &ListingOptions::default())?;
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
}

impl OpenedFile {
    /// Begins to read the granules.
    ///
    /// # Errors
    ///
    /// As [`Records::open`].
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
            | InputFormat::S3Objects
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
        let is_in_a_row = || detect::has_items_in_a_row(self.beginning());
        let has_versions = || detect::has_versions(self.beginning());
        let (stac, umm_json, s3) = match format {
            InputFormat::Stac | InputFormat::UmmJson => (is_in_a_row(), is_in_a_row(), false),
            InputFormat::S3Objects => (false, false, has_versions()),
            _ => (false, false, false),
        };
        let odd_name = odd_name(format, &name, options);
        let source = name.clone();
        let file = self.into_reader();
        let lines = |file, content| LineReader::new(file, name.clone(), content, options);
        let response = |file, dialect| -> Result<Box<dyn Rows + Send>, Error> {
            Ok(Box::new(Response::open(file, name.clone(), dialect, options)?))
        };
        let values = |file, dialect| -> Result<Box<dyn Rows + Send>, Error> {
            Ok(Box::new(Response::of_values(file, name.clone(), dialect, options)?))
        };
        let rows: Box<dyn Rows + Send> = match format {
            InputFormat::Lines => Box::new(lines(file, LineContent::Id)),
            InputFormat::Ndjson => {
                Box::new(lines(file, LineContent::Object(Box::new(ObjectLines::new(options)))))
            }
            InputFormat::Checksums => Box::new(lines(
                file,
                LineContent::Checksum(Box::new(Checksums::of_file(&name, options))),
            )),
            InputFormat::Changes | InputFormat::Manifest => {
                Box::new(lines(file, LineContent::Change))
            }
            InputFormat::Csv => Box::new(TableReader::open(file, name, options)?),
            InputFormat::Pdr => Box::new(Pdr::open(file, name, options)?),
            InputFormat::UmmJson if umm_json => values(file, catalogues::UMM_JSON)?,
            InputFormat::Stac if stac => values(file, catalogues::STAC)?,
            InputFormat::S3Objects if s3 => response(file, catalogues::S3_VERSIONS)?,
            InputFormat::S3Objects => response(file, catalogues::S3_OBJECTS)?,
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
            // If a list is read as a table, its first line becomes a header.
            InputFormat::Csv => with_dates,
            _ => false,
        };
        let (files, mut warnings) = (FileReading::new(options), WarningCollector::new(is_of_lines));
        match format {
            InputFormat::Lines => warnings = warnings.with_shapes(),
            InputFormat::Csv | InputFormat::Ndjson => warnings = warnings.with_shapes_of_cells(),
            _ => {}
        }
        let (has_failed, count, ends) = (false, 0, Default::default());
        Ok(Records {
            rows,
            files,
            warnings,
            has_failed,
            format,
            count,
            ends,
            odd_name,
            name: source,
            deleted: 0,
        })
    }

    /// Begins to read the times at which granules were ingested and deleted.
    ///
    /// # Errors
    ///
    /// Those of [`Records::open`], and an error if the file has no dates.
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

/// The name of a file is that of a checksum list, and its content is not.
static NOT_CHECKSUMS: FindingKind = FindingKind {
    name: "no-checksums",
    refused_as: ErrorKind::NotAList,
    heading: "Checksum lists",
    what: "is not a line of a checksum list, although the name of the file says that it is one",
    hint: "write a checksum, two blanks and the path in each line, as `sha256sum` does, or rename the file",
};

/// A finding about the name of a file, if it contradicts the content.
fn odd_name(format: InputFormat, name: &Arc<str>, options: &ListingOptions) -> Option<Finding> {
    let location = || SourceLocation::Line { source: name.clone(), line: 1 };
    if format == InputFormat::Lines && is_data(name) {
        let sentence = "the name of the file says that it has data, not a list";
        return Some(Finding::new(&DATA_FILE, location(), sentence));
    }
    let is_text = matches!(format, InputFormat::Lines | InputFormat::Csv);
    if !is_text || options.column.is_some() || checksums::of_name(name).is_none() {
        return None;
    }
    let sentence = "the name of the file says that it has checksums, and its lines have none";
    Some(Finding::new(&NOT_CHECKSUMS, location(), sentence))
}

/// The name of a file is that of a data file, and it was read as a list of ids.
static DATA_FILE: FindingKind = FindingKind {
    name: "data-file",
    refused_as: ErrorKind::NotAList,
    heading: "Text and data",
    what: "is a file of data, not a list",
    hint: "`--id ID` names one granule, and a directory in place of the listing its files",
};

/// Whether the name of a file is that of a data file.
fn is_data(name: &str) -> bool {
    const EXTENSIONS: [&str; 24] = [
        "bil", "bufr", "cdf", "cdl", "fit", "fits", "grb", "grb2", "grib", "grib2", "h5", "hdf",
        "hdf5", "he5", "hdr", "jp2", "nc", "nc4", "ncml", "npy", "png", "tif", "tiff", "zarr",
    ];
    let extension = Path::new(name).extension().and_then(|it| it.to_str()).unwrap_or_default();
    EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str())
}

impl Records {
    fn record(&mut self) -> Result<Option<Record>, Error> {
        let row = self.rows.next_row().map_err(|error| self.explained(error))?;
        let Some(Row { mut record, files, is_taken_as_utc }) = row else {
            return Ok(None);
        };
        self.observe_end(&record.granule_id);
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
            // The id was already observed at its ingest.
            (None, Some(_)) => {}
            _ => self.warnings.observe(granule_id, location),
        }
        Ok(Some(record))
    }

    /// Replaces the error for an invalid id by the reason why the file is not a list of ids, if one was found.
    fn explained(&mut self, error: Error) -> Error {
        if error.detail() != Some(ErrorDetail::NotAGranuleId) {
            return error;
        }
        let is_data = self.odd_name.as_ref().filter(|odd_name| odd_name.kind == &DATA_FILE);
        let shape = is_data.cloned().or_else(|| self.warnings.shape());
        shape.map_or(error, |finding| finding.error())
    }

    fn observe_end(&mut self, granule_id: &GranuleId) {
        self.count += 1;
        let (first, last) = &mut self.ends;
        if self.count == 1 {
            granule_id.as_str().clone_into(first);
        }
        granule_id.as_str().clone_into(last);
    }

    /// Returns the next granule that the file does not mark as deleted or replaced. Counts the others.
    ///
    /// # Errors
    ///
    /// Those of the iterator.
    pub fn next_listed(&mut self) -> Result<Option<Record>, Error> {
        loop {
            match self.next().transpose()? {
                Some(record) if record.is_deleted => self.deleted += 1,
                record => return Ok(record),
            }
        }
    }

    /// Returns the format.
    pub fn format(&self) -> InputFormat {
        self.format
    }

    /// Returns the number of granules that were read.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the first and the last id that were read. `None` means that no id was read.
    pub fn ends(&self) -> Option<(String, String)> {
        (self.count > 0).then(|| self.ends.clone())
    }

    /// The time when the listing was made. `None` means that the file does not state it.
    pub fn created(&self) -> Option<Timestamp> {
        self.rows.created()
    }

    /// Adds the findings of this file to those of a listing, after all granules were read. Messages call it
    /// `name`.
    pub fn add_to(&self, findings: &mut Findings, name: &str) {
        findings.add(name, self.findings());
    }

    /// The findings besides the granules. Call it after the last granule.
    pub(super) fn findings(&self) -> FileFindings {
        let mut found = self.rows.findings();
        if let Some(shape) = self.warnings.shape() {
            found.suspicious.insert(0, shape);
        }
        if matches!(
            self.format,
            InputFormat::Lines | InputFormat::Csv | InputFormat::Changes | InputFormat::Checksums
        ) {
            found.suspicious.extend(self.warnings.edge_blanks());
        }
        if let Some(odd_name) = self.odd_name.clone() {
            // The name of a data file is a better reason than the shape of its lines.
            let index = if odd_name.kind == &DATA_FILE { 0 } else { found.suspicious.len() };
            found.suspicious.insert(index, odd_name);
        }
        found.format = Some(self.format);
        found.ids = self.count;
        found.ends = self.ends();
        found.guessed = self.files.guessed().clone();
        found.other_etags = self.files.other_etags();
        found.created = self.rows.created();
        found
    }

    /// Returns the warnings about the lines read so far: at most one of each kind, with the first line as an
    /// example.
    ///
    /// # Examples
    ///
    /// ```
    /// use accession::ListingOptions;
    /// use accession::listing::Records;
    ///
    /// let file = "A\n#B\nC\n#D\n".as_bytes();
    /// let mut records = Records::open(file, "list.txt", &ListingOptions::default())?;
    /// assert!(records.by_ref().all(|record| record.is_ok()));
    /// let [warning] = &records.warnings()[..] else { panic!("one kind of warning") };
    /// assert_eq!(warning.kind.name(), "comment-lines");
    /// assert_eq!(
    ///     warning.message,
    ///     "list.txt:2: \"#B\" begins with #, which does not start a comment, and so does 1 more line"
    /// );
    /// # Ok::<(), accession::Error>(())
    /// ```
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.warnings.warnings();
        warnings.extend(self.files.warning());
        if self.deleted > 0 {
            let skipped = plural(self.deleted, "granule");
            let message = format!(
                "{}: skipped {skipped} that the file marks as deleted or replaced",
                self.name
            );
            warnings.push(Warning::new(WarningKind::DeletedInFile, message));
        }
        warnings
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

/// The ingests and deletions of a file's granules, in its order. The iterator ends after an error.
pub struct Events {
    records: Records,
    /// The deletion of the granule whose ingest was returned just before.
    deletion: Option<(Event, Moment)>,
    unfinished_day: Option<Day>,
    left_out: u64,
    left_out_since: Option<Timestamp>,
}

crate::model::debug_fields!(Events: left_out);

impl Events {
    /// The underlying reader, with its counts and warnings so far.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// The number of events skipped so far, because the file dates them without a time, on a day that is not
    /// over ([`ListingOptions::unfinished_day`]).
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The earliest time of the skipped events so far. `None` means that none was skipped.
    pub fn left_out_since(&self) -> Option<Timestamp> {
        self.left_out_since
    }

    /// Reads the next event, with its time as it is written.
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
                // Most granules were not deleted, so the id is copied only for a deletion.
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
