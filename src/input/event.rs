//! What happened to granules, from any file that says when.

use std::io;
use std::sync::Arc;

use super::changes::Changes;
use super::source::Source;
use super::{Error, Event, EventKind, Format, Hits, Options, Read, Record, reader};

/// What happened to the granules of a file; after an error there is no more.
pub struct Events {
    from: From,
    /// The deletion that the last row told of.
    deletion: Option<Event>,
    has_failed: bool,
}

enum From {
    Changes(Changes<Box<dyn io::BufRead>>),
    Records(Box<dyn Read>),
}

/// Begins to read a file that says when granules came and went.
///
/// # Errors
///
/// As [`super::open`]; and a file that has no dates.
pub fn open_events(
    file: impl io::Read + 'static,
    name: &str,
    options: &Options,
) -> Result<Events, Error> {
    let options = Options { with_dates: true, ..options.clone() };
    let name: Arc<str> = name.into();
    let source = Source::open(file, &name)?;
    let format = source.format(&name, &options)?;
    let file = source.into_reader();
    let from = match format {
        Format::Changes => From::Changes(Changes::new(file, name)),
        format => From::Records(reader(file, name, format, &options)?),
    };
    Ok(Events { from, deletion: None, has_failed: false })
}

impl Events {
    /// As [`super::Records::hits`].
    pub fn hits(&self) -> Option<Hits> {
        match &self.from {
            From::Changes(_) => None,
            From::Records(reader) => reader.hits(),
        }
    }

    fn event(&mut self) -> Result<Option<Event>, Error> {
        if let Some(deletion) = self.deletion.take() {
            return Ok(Some(deletion));
        }
        let reader = match &mut self.from {
            From::Changes(changes) => return changes.event(),
            From::Records(reader) => reader,
        };
        let Some(record) = reader.record()? else { return Ok(None) };
        let Record { granule_id, location, ingested, deleted, .. } = record;
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
