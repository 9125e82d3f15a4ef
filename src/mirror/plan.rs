//! What a mirror reads of its primary's log: all of it, or what follows the last set that both held; and what
//! is found there.

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

/// What was read of a primary before. `None`: nothing.
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

/// Whether an error is one in what was read of a log, and not of the registry or of a request.
pub(super) fn is_of_log(error: &Error) -> bool {
    error.kind() == ErrorKind::PrimaryInvalid || error.detail() == Some(ErrorDetail::NotAGranuleId)
}

/// The last of the changes that were read before, after one (0 means from the first), for which `is_wanted`
/// returns `true`. It returns `None` to end the search.
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

/// How many of the last changes are searched first.
const RECENT_CHANGES: u64 = 256;

/// Reads the head and the log of a primary, from the mirror's last known change.
///
/// # Errors
///
/// Those of the place; a line is wrong, or contradicts those before;
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
        // What follows with the same digest states what that leaves out, which the mirror may lack. Whether
        // the first one follows such a change is not known.
        let was_held = Cell::new(after > 0);
        last_change_read(mirror, dataset, source, after, |change| {
            let is_held = (change.identifier, change.digest) == held;
            let is_base = !was_held.replace(is_held) && is_held;
            (change.number <= of.head.changes).then_some(is_base)
        })
    };
    // Most nights it is one of the last.
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
        // The log may not continue what was read before: it is read from the start, to find out where it
        // differs.
        Err(error) if is_of_log(&error) && base.is_some() => read_after(None)?,
        read => read?,
    };
    Ok((reading, of))
}

/// A log, and what must be done to a mirror to hold the same.
pub(super) struct Reading {
    /// What the mirror holds.
    held: (Identifier, Digest),
    /// The first change since which the primary held last what the mirror holds, with what the digest says of
    /// the files. `None` means that there is none yet: the log is read from its start.
    base: Option<LogChange>,
    /// The events that lead from the base, or from nothing, to the latest change.
    pub replay: Replay,
    /// The latest change, and where it was read.
    pub latest: Option<(LogChange, Option<SourceLocation>)>,
    /// The change since which the primary held the granules that the mirror holds, if what was known of their
    /// files was the same, or else it never was. `None` means that it never did, as far as the log was read.
    since: Option<LogChange>,
    /// The time of the change after that one.
    after_since: Option<Timestamp>,
    /// Every change that was read.
    pub changes: LogChanges,
}

impl Reading {
    /// Begins to read a log for a mirror that holds `held`, after a change since which the primary held that
    /// (`None`: from its start). `head`: where that change is stated; `None` means that this is not known.
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

    /// Whether the staged events begin with what the mirror holds.
    pub fn begins_with_mirror(&self) -> bool {
        self.base.is_some()
    }

    /// Whether what is known of files at the point from which the log is replayed is known here, too, and
    /// nothing else: the mirror holds what the primary held then, or nothing.
    pub fn knows_the_same(&self) -> bool {
        self.begins_with_mirror() || self.held == (Identifier::EMPTY, Digest::EMPTY)
    }

    /// Takes the next line of the log.
    ///
    /// # Errors
    ///
    /// its events contradict those before.
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
            // What came before does not matter: from here on, the mirror is brought up to date.
            self.base = Some(change.clone());
            self.replay = Replay::default();
        }
        self.latest = Some((change, Some(location)));
        Ok(())
    }

    /// The number of the first change that was read, or would be.
    pub fn first_read(&self) -> u64 {
        // Nothing may have been read after the change from which the log goes on.
        self.changes.first().map_or_else(|| self.last_read() + 1, |(first, _)| first)
    }

    /// The number of the last change of the log.
    pub fn last_read(&self) -> u64 {
        self.latest.as_ref().map_or(0, |(latest, _)| latest.number)
    }

    /// The instance of the primary, which is called so, that the mirror is compared with.
    pub fn primary(&self, name: &DatasetName) -> Option<Instance> {
        let (latest, _) = self.latest.as_ref()?;
        Some(latest.to_instance(name, None))
    }

    /// When the primary held what the mirror holds. `None` means that it never did.
    pub fn standing(&self) -> Option<HistoryPosition> {
        let since = self.since.as_ref()?;
        let changes_ago = self.last_read() - since.number;
        Some(HistoryPosition { since: since.timestamp, until: self.after_since, changes_ago })
    }
}
