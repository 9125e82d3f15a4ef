//! Reading the log of a primary to compare a mirror with it, from the mirror's last known change.

use super::place::{Found, FoundHead};
use super::plan::{Memory, Plan, Reading, is_of_log, known, plan};
use super::primary::Primary;
use super::read::{read_head, read_log};
use crate::error::Result;
use crate::model::{DatasetName, Digest, Identifier, Instance, LogChange, Moment};
use crate::registry::Registry;

/// A log that was read.
pub(super) struct Followed {
    pub reading: Reading,
    /// `None` means that it is the one that the mirror agreed with.
    pub head: Option<Box<FoundHead>>,
    /// The entity tag of the head.
    pub etag: Option<String>,
    /// The present name of the dataset, if the place is one of a former name, or it was asked for by
    /// a former name.
    pub renamed: Option<DatasetName>,
}

/// A mirror that follows a primary.
#[derive(Clone, Copy)]
pub(super) struct Follow<'a> {
    pub primary: &'a Primary,
    pub mirror: &'a Registry,
    pub dataset: &'a DatasetName,
    /// What the mirror holds. `None` means that nothing was ever ingested.
    pub latest: Option<&'a Instance>,
    /// The time as of which the primary is read. `None` means its latest change.
    pub at: Option<Moment>,
}

impl Follow<'_> {
    /// Reads the log of the primary.
    ///
    /// # Errors
    ///
    /// Those of the place; a line is wrong, or contradicts those before;
    /// [`ErrorKind::PrimaryDatasetUnknown`](crate::ErrorKind::PrimaryDatasetUnknown); it has no history then.
    pub fn read(self) -> Result<Followed> {
        let Follow { primary, mirror, dataset, at, .. } = self;
        let (place, source) = (&*primary.place, primary.place.source());
        let known = source.as_ref().map(|source| known(mirror, dataset, source)).transpose()?;
        let known = known.flatten();
        let last = known.as_ref().and_then(|known| known.last.clone());
        // The tag is that of a head that the mirror agreed with. Only where it still holds that set,
        // nothing but the head is needed.
        let is_settled = at.is_none()
            && last.as_ref().is_some_and(|last| (last.identifier, last.digest) == self.held());
        let etag = known.and_then(|known| known.etag).filter(|_| is_settled);
        let of = match read_head(place, etag.as_deref())? {
            Found::Head(of) => of,
            Found::Same(renamed) => {
                let plan = plan(None, &Memory { last, base: None });
                let (name, location) = (place.provisional_name(), place.location_of_head(None)?);
                let reading = Reading::begin(plan, Some(location), self.held(), at, name);
                return Ok(Followed { reading, head: None, etag, renamed });
            }
        };
        let up_to = at.map(Moment::last_instant);
        let is_base = |change: &LogChange| {
            let is_in_time = up_to.is_none_or(|up_to| change.timestamp <= up_to);
            let is_base = (change.identifier, change.digest) == self.held();
            (change.number <= of.head.changes && is_in_time).then_some(is_base)
        };
        let base = source.map(|source| last_change_read(mirror, dataset, &source, is_base));
        let plan = plan(Some(&of.head), &Memory { last, base: base.transpose()?.flatten() });
        let reading = match self.read_from(&of, plan.clone()) {
            // The log may not continue what was read before: it is read from the start, to find out
            // where it differs.
            Err(error) if is_of_log(&error) && plan != Plan::Whole => {
                self.read_from(&of, Plan::Whole)?
            }
            read => read?,
        };
        let present = &of.head.record.name;
        let is_other =
            of.moved_to.is_some() || primary.named.as_ref().is_some_and(|it| it != present);
        let renamed = is_other.then(|| present.clone());
        let etag = of.etag.clone();
        Ok(Followed { reading, head: Some(of), etag, renamed })
    }

    fn held(self) -> (Identifier, Digest) {
        let empty = (Identifier::EMPTY, Digest::EMPTY);
        self.latest.map_or(empty, |latest| (latest.identifier, latest.digest))
    }

    /// Reads a log from a change, or from its start, to its end.
    fn read_from(self, of: &FoundHead, plan: Plan) -> Result<Reading> {
        let Follow { primary, mirror, at, .. } = self;
        let place = &*primary.place;
        let after = plan.after().cloned();
        let location = (!place.is_one_file()).then(|| place.location_of_head(Some(of)));
        let (name, location) = (of.head.record.name.clone(), location.transpose()?);
        let mut reading = Reading::begin(plan, location, self.held(), at, name);
        let read_before = after.as_ref().map_or(0, |after| after.bytes);
        let left = of.head.segments.bytes().saturating_sub(read_before);
        let mut work = mirror.begin("reading", "bytes", Some(left));
        read_log(place, of, after.as_ref(), primary.not_after, &mut |log_line, change, at| {
            let (bytes, location) = at;
            work.advance_by(bytes)?;
            reading.take(log_line, change, location)
        })?;
        drop(work);
        reading.finish(&of.head, primary.named.as_ref(), at)?;
        Ok(reading)
    }
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
