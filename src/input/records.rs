//! The granules of a file in any format, and their ingests and deletions.

use std::io;
use std::io::{BufRead, Read};
use std::sync::Arc;

use super::error::{Error, InputErrorKind};
use super::file::InputFile;
use super::format::{InputFormat, Options};
use super::lines::{Changes, Lines, Ndjson};
use super::pdr::Pdr;
use super::record::{Hits, Record, RecordReader};
use super::responses::{Dialect, Response};
use super::table::Table;
use super::warning::{InputWarning, WarningCollector};
use crate::model::{Day, Event, EventKind, Moment};

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

/// The events of a file, in its order; nothing follows an error.
pub struct Events {
    reader: EventReader,
    /// The deletion of the granule whose ingest was returned last.
    deletion: Option<(Event, Moment)>,
    unfinished_day: Option<Day>,
    left_out: u64,
    warnings: WarningCollector,
    /// Whether an id can be the trace of a comment, a header or another column: JSON cannot be taken
    /// for a list of ids.
    is_plain: bool,
    has_failed: bool,
}

enum EventReader {
    Changes(Changes<Box<dyn io::BufRead>>),
    Records(Box<dyn RecordReader>),
}

/// Opens a file that states when granules were ingested and deleted. Messages call it `name`.
///
/// # Errors
///
/// Those of [`super::open`], and an error if the file has no dates.
pub fn open_events(
    file: impl io::Read + 'static,
    name: &str,
    options: &Options,
) -> Result<Events, Error> {
    let options = Options { with_dates: true, ..options.clone() };
    let name: Arc<str> = name.into();
    let file = InputFile::open(file, &name)?;
    let format = file.format(&name, &options)?;
    let has_columns = matches!(format, InputFormat::Csv | InputFormat::Ndjson);
    let names_columns = options.ingested_column.is_some() || options.deleted_column.is_some();
    if names_columns && !has_columns {
        return Err(Error::new(&name, 1, InputErrorKind::NotATable));
    }
    let is_plain = matches!(format, InputFormat::Csv | InputFormat::Changes);
    let file = file.into_reader();
    let reader = match format {
        InputFormat::Changes => EventReader::Changes(Changes::new(file, name)),
        format => EventReader::Records(open_reader(file, name, format, &options)?),
    };
    let unfinished_day = options.unfinished_day;
    Ok(Events {
        reader,
        deletion: None,
        unfinished_day,
        left_out: 0,
        warnings: WarningCollector::default(),
        is_plain,
        has_failed: false,
    })
}

impl Events {
    /// As [`super::Records::hits`].
    pub fn hits(&self) -> Option<Hits> {
        match &self.reader {
            EventReader::Changes(_) => None,
            EventReader::Records(reader) => reader.hits(),
        }
    }

    /// As [`super::Records::has_next_page`].
    pub fn has_next_page(&self) -> bool {
        match &self.reader {
            EventReader::Changes(_) => false,
            EventReader::Records(reader) => reader.has_next_page(),
        }
    }

    /// How many events were left out so far, because they are dated without a time on a day that
    /// is not over ([`Options::unfinished_day`]).
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns the warnings about the ids of tables and change logs read so far, as
    /// [`super::Records::warnings`].
    pub fn warnings(&self) -> Vec<InputWarning> {
        self.warnings.warnings()
    }

    /// The next event that is not left out.
    fn event(&mut self) -> Result<Option<Event>, Error> {
        while let Some((event, moment)) = self.any_event()? {
            if let (true, EventKind::Ingested, Some(location)) =
                (self.is_plain, event.kind, &event.location)
            {
                self.warnings.observe(&event.granule_id, location);
            }
            match (moment, self.unfinished_day) {
                (Moment::Day(day), Some(unfinished)) if day >= unfinished => self.left_out += 1,
                _ => return Ok(Some(event)),
            }
        }
        Ok(None)
    }

    fn any_event(&mut self) -> Result<Option<(Event, Moment)>, Error> {
        if let Some(deletion) = self.deletion.take() {
            return Ok(Some(deletion));
        }
        let reader = match &mut self.reader {
            EventReader::Changes(changes) => return changes.event(),
            EventReader::Records(reader) => reader,
        };
        let Some(record) = reader.record()? else { return Ok(None) };
        let Record { granule_id, location, ingested, deleted, .. } = record;
        if let (Some(ingested), Some(deleted)) = (ingested, deleted)
            && deleted.of_change() < ingested.of_change()
        {
            let (ingested, deleted) = (ingested.of_change(), deleted.of_change());
            let kind = InputErrorKind::DeletedBeforeIngested { ingested, deleted };
            return Err(Error { location, kind });
        }
        let event = |moment: Moment, kind| {
            let event = Event {
                at: moment.of_change(),
                kind,
                granule_id: granule_id.clone(),
                producer_granule: None,
                location: Some(location.clone()),
            };
            (event, moment)
        };
        self.deletion = deleted.map(|at| event(at, EventKind::Deleted));
        Ok(ingested.map(|at| event(at, EventKind::Ingested)))
    }
}

impl Iterator for Events {
    type Item = Result<Event, Error>;

    fn next(&mut self) -> Option<Result<Event, Error>> {
        if self.has_failed {
            return None;
        }
        let event = self.event().transpose();
        self.has_failed = matches!(event, Some(Err(_)));
        event
    }
}
