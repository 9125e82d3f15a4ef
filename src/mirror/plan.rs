//! Decides which part of its primary's log a mirror reads, and reads it: the whole log, or the changes after
//! the last set that both held.

use std::cell::Cell;

use super::HistoryPosition;
use super::log::{LogLine, events};
use super::place::FoundHead;
use super::primary::OpenPrimary;
use super::read::{read_head, read_log};
use crate::error::{Error, ErrorDetail, ErrorKind, Result};
use crate::model::{
    DatasetName, Digest, Identifier, Instance, LogChange, SourceLocation, Timestamp,
};
use crate::registry::{KnownPrimary, LogChanges, Registry, Replay, Work};

/// What was remembered about a primary. `None` means that nothing was.
pub(super) fn known(
    mirror: &Registry,
    dataset: &DatasetName,
    source: &str,
) -> Result<Option<KnownPrimary>> {
    let snapshot = mirror.snapshot()?;
    if !snapshot.has_dataset(dataset)? {
        return Ok(None);
    }
    let sources = snapshot.mirror_sources(dataset)?;
    Ok(sources.into_iter().find(|known| known.source == source))
}

/// Whether an error is about the content of a log, and not about the registry or a request.
pub(super) fn is_of_log(error: &Error) -> bool {
    error.kind() == ErrorKind::PrimaryInvalid || error.detail() == Some(ErrorDetail::NotAGranuleId)
}

/// The last remembered change after number `after` for which `is_wanted` returns `Some(true)`. `after` is 0 to
/// search from the first change. `is_wanted` returns `None` to end the search.
pub(super) fn last_change_read(
    mirror: &Registry,
    dataset: &DatasetName,
    source: &str,
    after: u64,
    is_wanted: impl Fn(&LogChange) -> Option<bool>,
) -> Result<Option<LogChange>> {
    let mut found = None;
    mirror.snapshot()?.each_change_read(dataset, source, after, |change| {
        let wanted = is_wanted(&change);
        if wanted == Some(true) {
            found = Some(change);
        }
        wanted.is_some()
    })?;
    Ok(found)
}

/// The number of latest changes that are searched first.
const RECENT_CHANGES: u64 = 256;

/// Reads the head and the log of a primary, from the mirror's last known change.
///
/// # Errors
///
/// Those of the location; a line is wrong, or contradicts earlier lines;
/// [`ErrorKind::PrimaryDatasetUnknown`](crate::ErrorKind::PrimaryDatasetUnknown); it has no history.
pub(super) fn read_primary(
    primary: &OpenPrimary,
    mirror: &Registry,
    dataset: &DatasetName,
    held: (Identifier, Digest),
    before: Option<KnownPrimary>,
) -> Result<(Reading, Box<FoundHead>)> {
    let (place, source) = (&*primary.place, primary.place.source());
    let of = read_head(place)?;
    let (name, named) = (&of.head.record.name, primary.options.primary_dataset.as_ref());
    if let Some(named) = named
        && named != name
        && !of.head.former_names.contains(named)
    {
        return Err(Error::primary_dataset_unknown(named, std::slice::from_ref(name)));
    }
    let base_after = |source: &str, after: u64| {
        // Consecutive changes with the same digest add metadata that the digest does not cover, and the mirror
        // may lack it. So the base is the first of them. For the first change after `after`, the previous one
        // is not known, so it cannot be the base.
        let was_held = Cell::new(after > 0);
        last_change_read(mirror, dataset, source, after, |change| {
            let is_held = (change.identifier, change.digest) == held;
            let is_base = !was_held.replace(is_held) && is_held;
            (change.number <= of.head.changes).then_some(is_base)
        })
    };
    // Usually, it is one of the latest.
    let last = before.and_then(|before| before.last);
    let recent = last.map_or(0, |last| last.number.saturating_sub(RECENT_CHANGES));
    let base = source.map(|source| match base_after(&source, recent) {
        Ok(None) if recent > 0 => base_after(&source, 0),
        found => found,
    });
    let base = base.transpose()?.flatten().filter(|base| of.head.may_have(base));
    let read_after = |base: Option<LogChange>| -> Result<Reading> {
        let location = (!place.is_one_file()).then(|| place.location_of_head(&of));
        let mut reading = Reading::begin(base.clone(), location.transpose()?, held);
        let read_before = base.as_ref().map_or(0, |base| base.bytes);
        let left = of.head.segments.bytes().saturating_sub(read_before);
        let mut work = mirror.begin(Work::ReadBytes, Some(left));
        read_log(place, &of, base.as_ref(), primary.not_after, &mut |log_line, change, at| {
            let (bytes, location) = at;
            work.advance_by(bytes)?;
            reading.take(log_line, change, location)
        })?;
        drop(work);
        match reading.latest {
            Some(_) => Ok(reading),
            None => Err(Error::primary_has_no_history(name)),
        }
    };
    let reading = match read_after(base.clone()) {
        // The log may not continue the one that was read before. It is read from the start to find where it
        // differs.
        Err(error) if is_of_log(&error) && base.is_some() => read_after(None)?,
        read => read?,
    };
    Ok((reading, of))
}

/// A log that was read, and the events that bring a mirror to its latest set.
pub(super) struct Reading {
    /// The identifier and the digest of the mirror's set.
    held: (Identifier, Digest),
    /// The last change with which the primary came to hold the mirror's set, with the same digest. `None` means
    /// that there is none yet: the log is read from its start.
    base: Option<LogChange>,
    /// The events from the base, or from nothing, to the latest change.
    pub replay: Replay,
    /// The latest change, and where it was read.
    pub latest: Option<(LogChange, Option<SourceLocation>)>,
    /// The last change after which the primary held the mirror's granules. If the digests were ever equal, too,
    /// only changes with that digest count. `None` means that there is none, as far as the log was read.
    since: Option<LogChange>,
    /// The time of the change after `since`.
    after_since: Option<Timestamp>,
    /// All changes that were read.
    pub changes: LogChanges,
}

impl Reading {
    /// Begins to read a log for a mirror that holds `held`. `base` is the change after which reading starts
    /// (`None`: from the start of the log), with which the primary came to hold that set. `head` is the
    /// location that contains `base`; `None` means that it is not known.
    pub fn begin(
        base: Option<LogChange>,
        head: Option<SourceLocation>,
        held: (Identifier, Digest),
    ) -> Self {
        Reading {
            held,
            replay: Replay::default(),
            since: base.clone(),
            latest: base.clone().map(|base| (base, head)),
            base,
            after_since: None,
            changes: LogChanges::default(),
        }
    }

    /// Whether the events start from the mirror's set and digest.
    pub fn begins_with_mirror(&self) -> bool {
        self.base.is_some()
    }

    /// Whether both sides have the same records of files at the change from which the events start: the mirror
    /// has the primary's digest of that time, or holds nothing.
    pub fn knows_the_same(&self) -> bool {
        self.begins_with_mirror() || self.held == (Identifier::EMPTY, Digest::EMPTY)
    }

    /// Processes the next line of the log.
    ///
    /// # Errors
    ///
    /// Its events contradict earlier ones.
    pub fn take(
        &mut self,
        log_line: LogLine,
        change: Option<LogChange>,
        location: SourceLocation,
    ) -> Result<()> {
        let at = log_line.timestamp;
        if let Some(change) = &change {
            self.changes.add(change)?;
        }
        if self.since.as_ref().is_some_and(|since| since.timestamp < at) {
            self.after_since = self.after_since.or(Some(at));
        }
        for event in events(log_line, &location) {
            self.replay.add(&event)?;
        }
        let Some(change) = change else { return Ok(()) };
        let is_held = (change.identifier, change.digest) == self.held;
        if is_held || self.base.is_none() && change.identifier == self.held.0 {
            (self.since, self.after_since) = (Some(change.clone()), None);
        }
        let was_held = |(last, _): &(LogChange, _)| (last.identifier, last.digest) == self.held;
        if is_held && !self.latest.as_ref().is_some_and(was_held) {
            // Earlier events are not needed: the mirror is updated from this change.
            self.base = Some(change.clone());
            self.replay = Replay::default();
        }
        self.latest = Some((change, Some(location)));
        Ok(())
    }

    /// The number of the first change that was read, or of the next one if none was.
    pub fn first_read(&self) -> u64 {
        // There may be no changes after the base.
        self.changes.first().map_or_else(|| self.last_read() + 1, |(first, _)| first)
    }

    /// The number of the last change of the log.
    pub fn last_read(&self) -> u64 {
        self.latest.as_ref().map_or(0, |(latest, _)| latest.number)
    }

    /// The instance of the primary to compare the mirror with. `name` is the name of its dataset.
    pub fn primary(&self, name: &DatasetName) -> Option<Instance> {
        let (latest, _) = self.latest.as_ref()?;
        Some(latest.to_instance(name, None))
    }

    /// The last period in which the primary held the mirror's set. `None` means that it never did.
    pub fn standing(&self) -> Option<HistoryPosition> {
        let since = self.since.as_ref()?;
        let changes_ago = self.last_read() - since.number;
        Some(HistoryPosition { since: since.timestamp, until: self.after_since, changes_ago })
    }
}
