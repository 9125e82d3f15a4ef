//! A log that is read to compare a mirror with it.

use super::error::{Error, Result};
use super::log::{Head, Part};
use super::manifest::{Item, events};
use super::primary::Manifest;
use super::status::Standing;
use crate::model::{
    Dataset, DatasetName, Identifier, Instance, LogChange, Moment, SourceLocation, Timestamp,
};
use crate::registry::{self, LogChanges, Replay};

/// When the head at an address is requested with the entity tag of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// Never: whatever was agreed with before is not relied on.
    Always,
    /// If the mirror agreed with that head, and still holds its set.
    IfChanged,
}

/// From which set the staged events lead to the primary's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Base {
    /// From the empty set: the whole log is staged.
    Nothing,
    /// From what the mirror holds: the primary held it after this change.
    Mirror(LogChange),
    /// From what the mirror holds, which the primary never held: they are from blocks.
    #[cfg(feature = "http")]
    Diverged,
    /// Only the end of the log is read, and no change of it has been found yet after which the
    /// primary held what the mirror holds: nothing is staged.
    #[cfg(feature = "http")]
    NotYet,
}

/// A log, and what must be done to a mirror to hold the same.
pub(super) struct Reading {
    /// What the mirror holds.
    held: Identifier,
    /// The last instant that matters. `None` means that the log is read to its end.
    up_to: Option<Timestamp>,
    pub base: Base,
    /// The events from the base to the selected change.
    pub replay: Replay,
    /// The last change that matters, and where it was read.
    pub selected: Option<(LogChange, SourceLocation)>,
    /// The time of the change after the selected one, and after the base.
    after_selected: Option<Timestamp>,
    after_base: Option<Timestamp>,
    /// Every change that was read.
    pub changes: LogChanges,
    /// The number of the last change that was read, or before which nothing was.
    last: u64,
    pub record: Dataset,
}

impl Reading {
    /// Begins to read a log for a mirror that holds `held`.
    pub fn begin(held: Identifier, at: Option<Moment>, name: DatasetName) -> Self {
        Reading {
            held,
            up_to: at.map(Moment::last_instant),
            base: Base::Nothing,
            replay: Replay::default(),
            selected: None,
            after_selected: None,
            after_base: None,
            changes: LogChanges::default(),
            last: 0,
            record: Dataset::named(name),
        }
    }

    /// Reads a manifest.
    ///
    /// # Errors
    ///
    /// [`Error::Input`]: a line is wrong; [`Error::Registry`]: its events contradict each other, or
    /// it has no history then; [`Error::NoPrimaryDataset`].
    pub fn of_manifest(
        manifest: &Manifest,
        held: Identifier,
        at: Option<Moment>,
        mut read: impl FnMut(u64) -> Result<()>,
    ) -> Result<Self> {
        let placeholder = "unread".parse().expect("it has letters only");
        let mut reading = Reading::begin(held, at, placeholder);
        let mut reader = manifest.reader()?;
        while let Some(item) = reader.item()? {
            match item {
                Item::Part(part, change) => {
                    read((part.ingested.len() + part.deleted.len()) as u64)?;
                    reading.take(part, change, reader.location())?;
                }
                Item::Subset(_) => {}
                Item::Head(head) => reading.finish(&head, manifest.named.as_ref(), at)?,
            }
        }
        Ok(reading)
    }

    /// Goes on after a change since which the primary held what the mirror holds.
    #[cfg(feature = "http")]
    pub fn begin_after(&mut self, change: LogChange, location: SourceLocation) {
        self.base = Base::Mirror(change.clone());
        self.last = change.number;
        self.selected = Some((change, location));
    }

    /// Goes on after the last change that was read before, to look for what the mirror holds.
    #[cfg(feature = "http")]
    pub fn begin_at_end(&mut self, last: LogChange, location: SourceLocation) {
        self.base = Base::NotYet;
        self.last = last.number;
        self.selected = Some((last, location));
    }

    /// Whether the staged events begin with what the mirror holds.
    pub fn begins_with_mirror(&self) -> bool {
        match self.base {
            Base::Nothing => false,
            Base::Mirror(_) => true,
            #[cfg(feature = "http")]
            Base::Diverged => true,
            #[cfg(feature = "http")]
            Base::NotYet => false,
        }
    }

    fn is_staging(&self) -> bool {
        #[cfg(feature = "http")]
        return self.base != Base::NotYet;
        #[cfg(not(feature = "http"))]
        true
    }

    /// Takes the next line of the log.
    ///
    /// # Errors
    ///
    /// [`Error::Registry`]: its events contradict those before.
    pub fn take(
        &mut self,
        part: Part,
        change: Option<LogChange>,
        location: SourceLocation,
    ) -> Result<()> {
        let at = part.timestamp;
        if let Some(change) = &change {
            self.changes.add(change)?;
            self.last = change.number;
        }
        if let Base::Mirror(base) = &self.base
            && base.timestamp < at
        {
            self.after_base = self.after_base.or(Some(at));
        }
        if self.up_to.is_some_and(|up_to| at > up_to) {
            self.after_selected = self.after_selected.or(Some(at));
            return Ok(());
        }
        if self.is_staging() {
            for event in events(part, &location) {
                self.replay.add(event)?;
            }
        }
        let Some(change) = change else { return Ok(()) };
        if change.identifier == self.held {
            // What came before does not matter: from here on, the mirror is brought up to date.
            (self.base, self.after_base) = (Base::Mirror(change.clone()), None);
            self.replay = Replay::default();
        }
        self.selected = Some((change, location));
        Ok(())
    }

    /// Ends with the head of the log.
    ///
    /// # Errors
    ///
    /// [`Error::NoPrimaryDataset`]: it is of another dataset than the one that was named;
    /// [`Error::Registry`]: it has no history, or none then.
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
            return Err(Error::NoPrimaryDataset { name: named.clone(), names: vec![name.clone()] });
        }
        self.record = head.record.clone();
        if self.selected.is_some() {
            return Ok(());
        }
        let name = name.clone();
        Err(Error::Registry(match (self.changes.first(), at) {
            (Some((_, begins)), Some(at)) => registry::Error::BeforeHistory { name, at, begins },
            _ => registry::Error::NoHistory { name },
        }))
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
        let (Base::Mirror(base), Some((selected, _))) = (&self.base, &self.selected) else {
            return None;
        };
        let changes_ago = selected.number - base.number;
        Some(Standing { since: base.timestamp, until: self.after_base, changes_ago })
    }
}
