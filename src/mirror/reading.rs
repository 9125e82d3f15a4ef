//! What is read of a log to compare a mirror with it, and what is found there.

use super::Standing;
use super::log::{Head, LogLine, events};
use crate::error::ErrorKind;
use crate::error::{Error, Result};
use crate::model::{
    Dataset, DatasetName, Digest, Identifier, Instance, LogChange, Moment, SourceLocation,
    Timestamp, Withdrawal,
};
use crate::registry::{LogChanges, MirrorSource, Registry, Replay};

/// What was read of a primary before. `None`: nothing.
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

/// Whether an error is one in what was read of a log, and not of the registry or of a request.
pub(super) fn is_of_log(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotPublished | ErrorKind::NotAGranuleId)
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

/// A log, and what must be done to a mirror to hold the same.
pub(super) struct Reading {
    /// What the mirror holds.
    held: (Identifier, Digest),
    /// The last instant that matters. `None` means that the log is read to its end.
    up_to: Option<Timestamp>,
    /// The last change since which the primary held what the mirror holds, with what is known of the files.
    /// `None` means that there is none yet: the log is read from its start.
    base: Option<LogChange>,
    /// The events that lead from the base, or from nothing, to the selected change.
    pub replay: Replay,
    /// The last change that matters, and where it was read.
    pub selected: Option<(LogChange, Option<SourceLocation>)>,
    /// The time of the change after the selected one.
    after_selected: Option<Timestamp>,
    /// The change since which the primary held the granules that the mirror holds, if what was known of their
    /// files was the same, or else it never was. `None` means that it never did, as far as the log was read.
    since: Option<LogChange>,
    /// The time of the change after that one.
    after_since: Option<Timestamp>,
    /// Every change that was read.
    pub changes: LogChanges,
    /// The number of the last change that was read, or before which nothing was.
    last: u64,
    pub record: Dataset,
    /// When and why the primary withdrew the dataset. `None`: it did not, or the head was not sent again.
    pub withdrawn: Option<Withdrawal>,
}

impl Reading {
    /// Begins to read a log for a mirror that holds `held`, after a change since which the primary held that
    /// (`None`: from its start). `head`: where that change is stated; `None` means that this is not known.
    pub fn begin(
        base: Option<LogChange>,
        head: Option<SourceLocation>,
        held: (Identifier, Digest),
        at: Option<Moment>,
        name: DatasetName,
    ) -> Self {
        Reading {
            held,
            up_to: at.map(Moment::last_instant),
            replay: Replay::default(),
            last: base.as_ref().map_or(0, |base| base.number),
            since: base.clone(),
            selected: base.clone().map(|base| (base, head)),
            base,
            after_selected: None,
            after_since: None,
            changes: LogChanges::default(),
            record: Dataset::named(name),
            withdrawn: None,
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
            self.last = change.number;
        }
        if self.since.as_ref().is_some_and(|since| since.timestamp < at) {
            self.after_since = self.after_since.or(Some(at));
        }
        if self.up_to.is_some_and(|up_to| at > up_to) {
            self.after_selected = self.after_selected.or(Some(at));
            return Ok(());
        }
        for event in events(log_line, &location) {
            self.replay.add(&event)?;
        }
        let Some(change) = change else { return Ok(()) };
        let is_held = (change.identifier, change.digest) == self.held;
        if is_held || self.base.is_none() && change.identifier == self.held.0 {
            (self.since, self.after_since) = (Some(change.clone()), None);
        }
        if is_held {
            // What came before does not matter: from here on, the mirror is brought up to date.
            self.base = Some(change.clone());
            self.replay = Replay::default();
        }
        self.selected = Some((change, Some(location)));
        Ok(())
    }

    /// Ends with the head of the log.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::PrimaryDatasetUnknown`](crate::ErrorKind::PrimaryDatasetUnknown): it is of another
    /// dataset than the one that was named; it has no history, or none then.
    pub fn finish(
        &mut self,
        head: &Head,
        named: Option<&DatasetName>,
        at: Option<Moment>,
    ) -> Result<()> {
        let name = &head.record.name;
        if let Some(named) = named
            && named != name
            && !head.former_names.contains(named)
        {
            return Err(Error::primary_dataset_unknown(named, std::slice::from_ref(name)));
        }
        self.record = head.record.clone();
        self.withdrawn.clone_from(&head.withdrawn);
        if self.selected.is_some() {
            return Ok(());
        }
        Err(match (self.changes.first(), at) {
            (Some((_, begins)), Some(at)) => Error::before_history(name, at, begins),
            _ => Error::no_history(name),
        })
    }

    /// The number of the first change that was read, or would be.
    pub fn first_read(&self) -> u64 {
        match (self.changes.first(), &self.selected) {
            (Some((first, _)), _) => first,
            // Nothing was read after the change from which the log goes on.
            (None, Some((selected, _))) => selected.number + 1,
            (None, None) => 1,
        }
    }

    /// The number of the last change of the log.
    pub fn last_read(&self) -> u64 {
        self.last
    }

    /// The primary's instance that the mirror is compared with.
    pub fn primary(&self) -> Option<Instance> {
        let (selected, _) = self.selected.as_ref()?;
        Some(selected.to_instance(&self.record.name, self.after_selected))
    }

    /// When the primary held what the mirror holds. `None` means that it never did.
    pub fn standing(&self) -> Option<Standing> {
        let (since, (selected, _)) = self.since.as_ref().zip(self.selected.as_ref())?;
        let changes_ago = selected.number - since.number;
        Some(Standing { since: since.timestamp, until: self.after_since, changes_ago })
    }
}
