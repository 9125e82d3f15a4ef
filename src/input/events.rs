//! The ingests and deletions of granules, from any file that has their dates.

use std::io;
use std::sync::Arc;

use super::changes::Changes;
use super::error::{Error, InputErrorKind};
use super::format::InputFormat;
use super::input_file::InputFile;
use super::options::Options;
use super::record::{Hits, Record, RecordReader};
use super::records::open_reader;
use crate::model::{Event, EventKind};

/// The events of a file, in its order; nothing follows an error.
pub struct Events {
    reader: EventReader,
    /// The deletion of the granule whose ingest was returned last.
    deletion: Option<Event>,
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
    let file = file.into_reader();
    let reader = match format {
        InputFormat::Changes => EventReader::Changes(Changes::new(file, name)),
        format => EventReader::Records(open_reader(file, name, format, &options)?),
    };
    Ok(Events { reader, deletion: None, has_failed: false })
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

    fn event(&mut self) -> Result<Option<Event>, Error> {
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
            && deleted < ingested
        {
            let kind = InputErrorKind::DeletedBeforeIngested { ingested, deleted };
            return Err(Error { location, kind });
        }
        let event = |at, kind| Event {
            at,
            kind,
            granule_id: granule_id.clone(),
            producer_granule: None,
            location: Some(location.clone()),
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
