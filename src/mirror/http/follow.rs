//! Reading a log over HTTP to compare a mirror with it, from the mirror's last known change.

use std::sync::Arc;

use super::fetch::Take;
use super::remote::{Fetched, FetchedHead, Remote};
use crate::error::Result;
use crate::mirror::log::{LogReader, Position};
use crate::mirror::plan::{Memory, Plan, Reading, is_of_log, known, plan};
use crate::model::{DatasetName, Digest, Identifier, Instance, LogChange, Moment, SourceLocation};
use crate::registry::Registry;

/// A log that was read, and the entity tag of its head.
pub(in crate::mirror) struct Followed {
    pub reading: Reading,
    /// `None` means that it is the one that the mirror agreed with.
    pub head: Option<Box<FetchedHead>>,
    pub etag: Option<String>,
    /// The present name of the dataset, if the address is one of a former name, or it was asked for by
    /// a former name.
    pub renamed: Option<DatasetName>,
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
    pub fn read(self) -> Result<Followed> {
        let Follow { remote, at, .. } = self;
        let source = remote.address.to_string();
        let known = known(self.mirror, self.dataset, &source)?;
        let last = known.as_ref().and_then(|known| known.last.clone());
        // The tag is that of a head that the mirror agreed with. Only where it still holds that set,
        // nothing but the head is needed.
        let is_settled = at.is_none()
            && last.as_ref().is_some_and(|last| (last.identifier, last.digest) == self.held());
        let etag = known.and_then(|known| known.etag).filter(|_| is_settled);
        let of = match remote.head(etag.as_deref())? {
            Fetched::Head(of) => of,
            Fetched::NotModified(address) => {
                let plan = plan(None, &Memory { last, base: None });
                let name = remote.provisional_name();
                let reading =
                    Reading::begin(plan, Some(head_location(remote)), self.held(), at, name);
                let renamed = address.last_name().filter(|_| address != remote.address);
                return Ok(Followed { reading, head: None, etag, renamed });
            }
        };
        let up_to = at.map(Moment::last_instant);
        let base = last_change_read(self.mirror, self.dataset, &source, |change| {
            let is_in_time = up_to.is_none_or(|up_to| change.timestamp <= up_to);
            let is_base = (change.identifier, change.digest) == self.held();
            (change.number <= of.head.changes && is_in_time).then_some(is_base)
        })?;
        let plan = plan(Some(&of.head), &Memory { last, base });
        let reading = match self.read_from(&of, plan.clone()) {
            // The log may not continue what was read before: it is read from the start, to find out
            // where it differs.
            Err(error) if is_of_log(&error) && plan != Plan::Whole => {
                self.read_from(&of, Plan::Whole)?
            }
            read => read?,
        };
        let present = &of.head.record.name;
        let is_other = of.address != remote.address || self.named.is_some_and(|it| it != present);
        let renamed = is_other.then(|| present.clone());
        let etag = of.etag.clone();
        Ok(Followed { reading, head: Some(of), etag, renamed })
    }

    fn held(self) -> (Identifier, Digest) {
        let empty = (Identifier::EMPTY, Digest::EMPTY);
        self.latest.map_or(empty, |latest| (latest.identifier, latest.digest))
    }

    /// Reads a log from a change, or from its start, to its end.
    fn read_from(self, of: &FetchedHead, plan: Plan) -> Result<Reading> {
        let Follow { remote, at, .. } = self;
        let mut last = plan.after().cloned();
        let position = last.as_ref().map_or_else(Position::default, Position::from);
        let name = of.head.record.name.clone();
        let mut reading = Reading::begin(plan, Some(head_location(remote)), self.held(), at, name);
        let mut take = |log_line, change: Option<LogChange>, location| {
            if change.is_some() {
                last.clone_from(&change);
            }
            reading.take(log_line, change, location)
        };
        read_log(remote, self.mirror, of, position, &mut take)?;
        check_end(of, last.as_ref())?;
        reading.finish(&of.head, self.named, at)?;
        Ok(reading)
    }
}

/// Compares the head with the last change of its log.
pub(super) fn check_end(of: &FetchedHead, last: Option<&LogChange>) -> Result<()> {
    let number = last.map_or(0, |last| last.number);
    of.head.check_end(number, last).map_err(|what| Remote::contradiction(of, &what))
}

/// The last of the changes that were read before for which `is_wanted` returns `true`. It returns
/// `None` to end the search.
pub(super) fn last_change_read(
    mirror: &Registry,
    dataset: &DatasetName,
    source: &str,
    is_wanted: impl Fn(&LogChange) -> Option<bool>,
) -> Result<Option<LogChange>> {
    let mut found = None;
    mirror.snapshot()?.each_change_read(dataset, source, 0, |change| {
        let wanted = is_wanted(&change);
        if wanted == Some(true) {
            found = Some(change);
        }
        wanted.is_some()
    })?;
    Ok(found)
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
    remote.log(of, &mut reader, &mut |line, bytes, location| {
        work.advance_by(bytes)?;
        line.map_or(Ok(()), |(log_line, change)| take(log_line, change, location))
    })?;
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
