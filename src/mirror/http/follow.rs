//! Reading a log over HTTP to compare a mirror with it, from the mirror's last known change.

use std::sync::Arc;

use super::divergence::Divergence;
use super::fetch::Take;
use super::remote::{Fetched, FetchedHead, Remote};
use crate::mirror::differences::{Held, read_ahead};
use crate::mirror::error::{Error, Result};
use crate::mirror::log::{LogReader, Position};
use crate::mirror::reading::{Asking, Base, Reading};
use crate::model::{DatasetName, Identifier, Instance, LogChange, Moment, Set, SourceLocation};
use crate::registry::{MirrorSource, Registry, Replay};

/// A log that was read, and the entity tag of its head.
pub(in crate::mirror) struct Followed {
    pub reading: Reading,
    pub etag: Option<String>,
}

/// A mirror that follows a primary at an address.
#[derive(Clone, Copy)]
pub(in crate::mirror) struct Follow<'a> {
    pub remote: &'a Remote,
    pub mirror: &'a Registry,
    pub dataset: &'a DatasetName,
    /// What the mirror holds. `None` means that nothing was ever ingested.
    pub latest: Option<&'a Instance>,
    /// The time as of which the primary is read. `None` means its latest change.
    pub at: Option<Moment>,
    /// The dataset that the primary must be. `None` means any.
    pub named: Option<&'a DatasetName>,
}

impl Follow<'_> {
    /// Reads the log of the primary.
    ///
    /// # Errors
    ///
    /// Those of [`Reading::of_manifest`], and those of requests.
    pub fn read(self, asking: Asking) -> Result<Followed> {
        let Follow { remote, at, latest, .. } = self;
        let source = remote.address.to_string();
        let known = known(self.mirror, self.dataset, &source)?;
        let last = known.as_ref().and_then(|known| known.last.clone());
        // The tag is that of a head that the mirror agreed with. Only where it still holds that set,
        // nothing but the head is needed.
        let is_settled = asking == Asking::IfChanged
            && at.is_none()
            && last.as_ref().is_some_and(|last| last.identifier == self.held());
        let etag = known.and_then(|known| known.etag).filter(|_| is_settled);
        let of = match (remote.head(etag.as_deref())?, &last) {
            (Fetched::Head(of), _) => of,
            (Fetched::NotModified, Some(last)) => {
                let mut reading = Reading::begin(self.held(), at, remote.provisional_name());
                reading.begin_after(last.clone(), head_location(remote));
                return Ok(Followed { reading, etag });
            }
            (Fetched::NotModified, None) => {
                let what = "the server says that nothing changed, but nothing was read before";
                return Err(Error::Response { url: source, what: what.to_owned() });
            }
        };
        let base = self.base(&of)?;
        if let (None, None, Some(latest), Some(last)) = (&base, at, latest, last)
            && let Some(reading) = self.read_end(&of, last, latest)?
        {
            return Ok(Followed { reading, etag: of.etag });
        }
        let is_from_start = base.is_none();
        let reading = match self.read_from(&of, base) {
            // The log may not continue what was read before: it is read from the start, to find out
            // where it differs.
            Err(Error::Input(_)) if !is_from_start => self.read_from(&of, None),
            read => read,
        };
        Ok(Followed { reading: reading?, etag: of.etag })
    }

    fn held(self) -> Identifier {
        self.latest.map_or(Identifier::EMPTY, |latest| latest.identifier)
    }

    /// The last change since which the primary held what the mirror holds, as far as is remembered.
    fn base(self, of: &FetchedHead) -> Result<Option<LogChange>> {
        let mut base = None;
        let up_to = self.at.map(Moment::last_instant);
        let source = self.remote.address.to_string();
        self.mirror.snapshot()?.each_change_read(self.dataset, &source, 0, |change| {
            let is_in_time = up_to.is_none_or(|up_to| change.timestamp <= up_to);
            let goes_on = change.number <= of.head.changes && is_in_time;
            if goes_on && change.identifier == self.held() {
                base = Some(change);
            }
            goes_on
        })?;
        // A head that contradicts what was read shows it at its end, or when its lines are read.
        Ok(base.filter(|base| base.number < of.head.changes || base.check == of.head.check))
    }

    /// Reads the end of a log of which all else was read before, when the primary did not hold what
    /// the mirror holds. If it did not since either, the mirror has diverged or is ahead: the blocks
    /// of the primary's set show where. `None` means that the whole log must be read.
    fn read_end(
        self,
        of: &FetchedHead,
        last: LogChange,
        latest: &Instance,
    ) -> Result<Option<Reading>> {
        let Follow { remote, mirror, .. } = self;
        if last.number > of.head.changes
            || (last.number == of.head.changes && last.check != of.head.check)
        {
            return Ok(None);
        }
        let position = Position::from(&last);
        let mut reading = Reading::begin(latest.identifier, None, of.head.record.name.clone());
        reading.begin_at_end(last.clone(), head_location(remote));
        let mut end = last;
        let mut take = |part, change: Option<LogChange>, location| {
            if let Some(change) = &change {
                end.clone_from(change);
            }
            reading.take(part, change, location)
        };
        match read_log(remote, mirror, of, position, &mut take) {
            Ok(()) => {}
            Err(Error::Input(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
        if of.head.check_end(end.number, Some(&end)).is_err() {
            return Ok(None);
        }
        reading.finish(&of.head, self.named, None)?;
        if reading.base != Base::NotYet {
            return Ok(Some(reading));
        }
        let held = || -> Result<Held> {
            Ok(read_ahead(mirror.snapshot()?.granules(&Set::Instance(latest.clone()))?))
        };
        let (identifier, since) = (end.identifier, end.timestamp);
        let mut work = mirror.begin("comparing", "granules", Some(of.head.granules));
        let mut replay = Replay::default();
        let divergence = Divergence { remote, of, identifier, since, held: &held };
        let progress = &mut |granules| Ok(work.advance_by(granules)?);
        if !divergence.events(progress, &mut |event| Ok(replay.add(event)?))? {
            return Ok(None);
        }
        (reading.replay, reading.base) = (replay, Base::Diverged);
        Ok(Some(reading))
    }

    /// Reads a log from a change, or from its start, to its end.
    fn read_from(self, of: &FetchedHead, base: Option<LogChange>) -> Result<Reading> {
        let Follow { remote, at, .. } = self;
        let mut reading = Reading::begin(self.held(), at, of.head.record.name.clone());
        let position = base.as_ref().map_or_else(Position::default, Position::from);
        let mut last = base.clone();
        if let Some(base) = base {
            reading.begin_after(base, head_location(remote));
        }
        let mut take = |part, change: Option<LogChange>, location| {
            if change.is_some() {
                last.clone_from(&change);
            }
            reading.take(part, change, location)
        };
        read_log(remote, self.mirror, of, position, &mut take)?;
        let number = last.as_ref().map_or(0, |last| last.number);
        if let Err(what) = of.head.check_end(number, last.as_ref()) {
            return Err(Remote::contradiction(of, &what));
        }
        reading.finish(&of.head, self.named, at)?;
        Ok(reading)
    }
}

/// What was read of a log before. `None`: nothing.
pub(super) fn known(
    mirror: &Registry,
    dataset: &DatasetName,
    source: &str,
) -> Result<Option<MirrorSource>> {
    let snapshot = mirror.snapshot()?;
    if !snapshot.has_dataset(dataset)? {
        return Ok(None);
    }
    let sources = snapshot.mirror_sources(dataset)?;
    Ok(sources.into_iter().find(|known| known.source == source))
}

/// Reads a log from a place to its end, and reports the bytes.
pub(super) fn read_log(
    remote: &Remote,
    reports_to: &Registry,
    of: &FetchedHead,
    position: Position,
    take: &mut Take<'_>,
) -> Result<()> {
    let left = of.head.segments.bytes().saturating_sub(position.bytes);
    let source: Arc<str> = remote.address.to_string().into();
    let mut reader = LogReader::at(position, source, 0, remote.not_after());
    let mut work = reports_to.begin("reading", "bytes", Some(left));
    remote.log(of, &mut reader, &mut |bytes| Ok(work.advance_by(bytes)?), take)?;
    drop(work);
    if reader.position().bytes != of.head.segments.bytes() || !reader.is_between_changes() {
        return Err(Remote::contradiction(of, "the log is not the one that the head announces"));
    }
    Ok(())
}

/// Where the last change is announced.
fn head_location(remote: &Remote) -> SourceLocation {
    let source: Arc<str> = remote.address.file("head.json").as_str().into();
    SourceLocation::Line { source, line: 1 }
}
