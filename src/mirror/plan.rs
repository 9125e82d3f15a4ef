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

/// What is read of the log of a primary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    /// Nothing: the log ends with this change, since which the primary holds what the mirror holds.
    Unchanged(LogChange),
    /// What follows this change, since which the primary held what the mirror holds.
    From(LogChange),
    /// The whole log.
    Whole,
}

/// What is remembered of the log of a primary.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// The last change that was read.
    pub last: Option<LogChange>,
    /// The last change, within the times and the changes that matter, since which the primary held
    /// what the mirror holds, with what is known of the files.
    pub base: Option<LogChange>,
}

/// Decides what to read of a log, whose head is `None` if it is the one that the mirror agreed with.
pub(super) fn plan(head: Option<&Head>, memory: &Memory) -> Plan {
    let Memory { last, base } = memory;
    let Some(head) = head else {
        return last.clone().map_or(Plan::Whole, Plan::Unchanged);
    };
    // A head that contradicts what was read shows it at its end, or when its lines are read.
    let continues = |change: &&LogChange| {
        change.number < head.changes || change.number == head.changes && change.check == head.check
    };
    base.as_ref().filter(continues).cloned().map_or(Plan::Whole, Plan::From)
}

impl Plan {
    /// The change after which the log is read. `None` means from its start.
    pub fn after(&self) -> Option<&LogChange> {
        match self {
            Plan::Unchanged(change) | Plan::From(change) => Some(change),
            Plan::Whole => None,
        }
    }
}

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

/// A log, and what must be done to a mirror to hold the same.
pub(super) struct Reading {
    /// What the mirror holds.
    held: (Identifier, Digest),
    /// The last instant that matters. `None` means that the log is read to its end.
    up_to: Option<Timestamp>,
    /// What was planned; [`Plan::From`] as soon as the primary held what the mirror holds.
    pub plan: Plan,
    /// The events that lead from what the mirror holds, or with [`Plan::Whole`] from nothing, to the
    /// selected change.
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
    /// Begins to read a log for a mirror that holds `held`. `head`: where the change is stated after
    /// which it is read. `None` means that this is not known.
    pub fn begin(
        plan: Plan,
        head: Option<SourceLocation>,
        held: (Identifier, Digest),
        at: Option<Moment>,
        name: DatasetName,
    ) -> Self {
        let after = plan.after().cloned();
        Reading {
            held,
            up_to: at.map(Moment::last_instant),
            plan,
            replay: Replay::default(),
            last: after.as_ref().map_or(0, |after| after.number),
            since: after.clone(),
            selected: after.map(|after| (after, head)),
            after_selected: None,
            after_since: None,
            changes: LogChanges::default(),
            record: Dataset::named(name),
            withdrawn: None,
        }
    }

    /// Whether the staged events begin with what the mirror holds.
    pub fn begins_with_mirror(&self) -> bool {
        self.plan != Plan::Whole
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
        if is_held || self.plan == Plan::Whole && change.identifier == self.held.0 {
            (self.since, self.after_since) = (Some(change.clone()), None);
        }
        if is_held {
            // What came before does not matter: from here on, the mirror is brought up to date.
            self.plan = Plan::From(change.clone());
            self.replay = Replay::default();
        }
        self.selected = Some((change, Some(location)));
        Ok(())
    }

    /// Ends with the head of the log.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::PrimaryDatasetUnknown`](crate::ErrorKind::PrimaryDatasetUnknown): it is of another dataset than the one that was named;
    /// it has no history, or none then.
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

#[cfg(test)]
mod tests {
    use super::super::log::{LinesDigest, Segments};
    use super::*;
    use crate::model::LineCheck;

    fn identifier(of: u8) -> Identifier {
        Identifier::from_bytes([of; 16])
    }

    /// A change whose check is that of a log of the same history.
    fn change(number: u64) -> LogChange {
        let of = u8::try_from(number).unwrap();
        LogChange {
            number,
            timestamp: Timestamp::from_micros(i64::from(of)).unwrap(),
            identifier: identifier(of),
            digest: Digest::from_bytes([of; 32]),
            check: LineCheck::from_bytes([100 + of; 32]),
            bytes: 100 * number,
            granules: 1,
            ingested: 1,
            deleted: 0,
            described: 0,
            replaced: 0,
            note: None,
        }
    }

    /// The head of a log of so many changes.
    fn head(changes: u64) -> Head {
        let LogChange { timestamp, identifier, digest, check, granules, .. } = change(changes);
        Head {
            record: Dataset::named("US".parse().unwrap()),
            former_names: Vec::new(),
            withdrawn: None,
            changes,
            timestamp: Some(timestamp),
            identifier: Some(identifier),
            digest: Some(digest),
            granules,
            check,
            segments: Segments::default(),
            subsets: LinesDigest::default(),
            annotations: LinesDigest::default(),
        }
    }

    /// What is planned for a head of so many changes (0: the one that the mirror agreed with).
    fn planned(changes: u64, memory: &Memory) -> Plan {
        let head = (changes > 0).then(|| head(changes));
        plan(head.as_ref(), memory)
    }

    #[test]
    fn a_log_is_read_from_where_it_agrees_with_what_was_read_before() {
        let memory = |last: u64, base: u64| Memory {
            last: (last > 0).then(|| change(last)),
            base: (base > 0).then(|| change(base)),
        };
        let from = |number| Plan::From(change(number));
        for (what, planned, expected) in [
            ("nothing was read before", planned(3, &memory(0, 0)), Plan::Whole),
            ("the same head", planned(0, &memory(3, 0)), Plan::Unchanged(change(3))),
            ("the log grew", planned(5, &memory(3, 3)), from(3)),
            ("only the record differs", planned(3, &memory(3, 3)), from(3)),
            ("an earlier set of the primary", planned(5, &memory(3, 1)), from(1)),
            ("another set than any of the primary", planned(5, &memory(3, 0)), Plan::Whole),
            ("an older log that has the set", planned(2, &memory(3, 2)), from(2)),
        ] {
            assert_eq!(planned, expected, "{what}");
        }
    }

    #[test]
    fn a_log_that_contradicts_what_was_read_before_is_read_from_its_start() {
        let other = Some(LogChange { check: LineCheck::from_bytes([0; 32]), ..change(3) });
        let identical = Memory { last: other.clone(), base: other };
        assert_eq!(planned(3, &identical), Plan::Whole);
    }
}
