//! Compares a mirror with its primary.

use super::place::FoundHead;
use super::plan::{Reading, known, read_primary};
use super::primary::OpenPrimary;
use super::read::{annotations, read_beside};
use super::{FirstDifference, HistoryComparison, HistoryPosition, MirrorStatus};
use crate::error::Result;
use crate::model::{
    DatasetName, Digest, Identifier, Instance, LogChange, PrimaryOptions, Set, Withdrawal,
};
use crate::registry::{Claim, Differences, PrimaryAnnotations, Registry, Remembered, Snapshot};

/// A comparison of a mirror with its primary, after the primary's log was read.
pub struct Comparison {
    status: HistoryComparison,
    mirror: Registry,
    pub(super) reading: Box<Reading>,
    /// The source of the primary. `None` means that nothing is remembered about it.
    source: Option<String>,
    /// The options to remember with a pull.
    options: PrimaryOptions,
    /// The present name of the primary's dataset, if it was requested by a former name.
    pub(super) renamed: Option<DatasetName>,
    /// Whether the last pull left files whose content differs from the primary's.
    has_left: bool,
    /// The head that was read.
    pub(super) head: Box<FoundHead>,
}

crate::model::debug_fields!(Comparison: status, mirror);

/// The status text after a pull that kept this registry's records of some granules.
pub(super) const LEFT: &str =
    "the mirror has the same granules, but some of their files have different content";

/// The action that followed a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing.
    Compared,
    /// The mirror now holds the primary's set.
    Pulled,
    /// The mirror now holds the primary's granules, but some keep different content.
    Contradicted {
        /// Whether the pull changed the mirror.
        is_changed: bool,
    },
}

/// Compares a mirror with its primary. A dataset that does not exist, or has no history, counts as empty.
///
/// The log is read once, as a stream, and verified line by line; data that must be sorted is stored in
/// temporary files. Everything reported about the log is recomputed when the
/// [differences](Comparison::differences) are read.
///
/// # Errors
///
/// Those of [`Snapshot::select`] for the primary;
/// [`ErrorKind::PrimaryInvalid`](crate::ErrorKind::PrimaryInvalid): a line of the log is invalid.
pub fn compare(
    mirror: &Registry,
    dataset: &DatasetName,
    primary: &OpenPrimary,
) -> Result<Comparison> {
    let here = mirror.snapshot()?;
    let (latest, is_withdrawn) = match here.has_dataset(dataset)? {
        true => {
            let listed = here.dataset(dataset)?;
            let is_free = listed.gives_up(dataset);
            (listed.latest.filter(|_| !is_free), listed.withdrawn.is_some())
        }
        false => (None, false),
    };
    drop(here);
    let empty = (Identifier::EMPTY, Digest::EMPTY);
    let held = latest.as_ref().map_or(empty, |latest| (latest.identifier, latest.digest));
    let source = primary.place.source();
    let before = source.as_ref().map(|source| known(mirror, dataset, source));
    let before = before.transpose()?.flatten();
    let has_left = before.as_ref().is_some_and(|before| before.contradicts);
    let (reading, mut head) = read_primary(primary, mirror, dataset, held, before)?;
    // A withdrawal of the primary is reported each time, until the mirror is withdrawn, too.
    head.head.withdrawn = head.head.withdrawn.filter(|_| !is_withdrawn);
    let present = &head.head.record.name;
    let is_other = head.moved_to.is_some()
        || primary.options.primary_dataset.as_ref().is_some_and(|it| it != present);
    let renamed = is_other.then(|| present.clone());
    let instance = reading.primary(present).expect("a log without a change is refused");
    let status = status(mirror, latest, instance, reading.standing())?;
    let mut compared = Comparison {
        status,
        mirror: mirror.clone(),
        reading: Box::new(reading),
        source,
        options: primary.options.clone(),
        renamed,
        has_left,
        head,
    };
    compared.recall(dataset)?;
    compared.compare_contents()?;
    Ok(compared)
}

/// Compares the histories. Behind takes precedence over ahead: if each side once held the other's set, the
/// history of the primary decides.
fn status(
    mirror: &Registry,
    latest: Option<Instance>,
    primary: Instance,
    behind: Option<HistoryPosition>,
) -> Result<HistoryComparison> {
    let held = latest.as_ref().map_or(Identifier::EMPTY, |latest| latest.identifier);
    let (status, standing) = if held == primary.identifier {
        (MirrorStatus::Identical, None)
    } else if behind.is_some() || latest.is_none() {
        (MirrorStatus::Behind, behind)
    } else {
        let here = mirror.snapshot()?;
        let ahead = latest.as_ref().map(|it| last_in_force(&here, (primary.identifier, None), it));
        match ahead.transpose()?.flatten() {
            Some(standing) => (MirrorStatus::Ahead, Some(standing)),
            None => (MirrorStatus::Diverged, None),
        }
    };
    Ok(HistoryComparison {
        status,
        mirror: latest,
        primary,
        standing,
        first_difference: None,
        contents: None,
    })
}

/// The last period, up to an instance, in which an identifier (and a digest) was in force in its dataset.
fn last_in_force(
    snapshot: &Snapshot,
    (identifier, digest): (Identifier, Option<Digest>),
    up_to: &Instance,
) -> Result<Option<HistoryPosition>> {
    let found = snapshot.history_with(&up_to.dataset, identifier)?;
    let is_it = |it: &Instance| {
        it.timestamp <= up_to.timestamp && digest.is_none_or(|digest| it.digest == digest)
    };
    let Some(last) = found.into_iter().rfind(is_it) else {
        return Ok(None);
    };
    let changes = |up_to| snapshot.count_history(&last.dataset, Some(up_to));
    let changes_ago = changes(up_to.timestamp)? - changes(last.timestamp)?;
    Ok(Some(HistoryPosition { since: last.timestamp, until: last.until, changes_ago }))
}

impl Comparison {
    /// Compares the records of files if the granules are equal and the digests are not. If contents differ, the
    /// digests decide which side is behind.
    fn compare_contents(&mut self) -> Result<()> {
        if self.status.status != MirrorStatus::Identical || self.status.is_digest_equal() {
            return Ok(());
        }
        let contents = self.differences()?.finish()?.contents;
        self.status.contents = Some(contents);
        let Some(latest) = self.status.mirror.as_ref().filter(|_| contents.other > 0) else {
            return Ok(());
        };
        let primary = &self.status.primary;
        (self.status.status, self.status.standing) = if self.reading.begins_with_mirror() {
            (MirrorStatus::Behind, self.reading.standing())
        } else {
            let here = self.mirror.snapshot()?;
            let of_primary = (primary.identifier, Some(primary.digest));
            match last_in_force(&here, of_primary, latest)? {
                Some(standing) => (MirrorStatus::Ahead, Some(standing)),
                None => (MirrorStatus::OtherContent, None),
            }
        };
        Ok(())
    }

    /// Whether both sides have the same records of files at the change from which the mirror is updated. If so,
    /// the digest is verified, too.
    pub(super) fn knows_the_same(&self) -> bool {
        self.reading.knows_the_same()
    }

    /// Reads the annotations of the primary, for a pull into the dataset.
    ///
    /// # Errors
    ///
    /// They cannot be read, or differ from those that the head announces.
    pub(super) fn annotations(
        &mut self,
        dataset: &DatasetName,
        primary: &OpenPrimary,
    ) -> Result<PrimaryAnnotations> {
        let (place, of) = (&*primary.place, &mut self.head);
        if of.head.annotations.is_empty() {
            return Ok(PrimaryAnnotations::default());
        }
        let until = of.head.timestamp;
        let read = read_beside(place, of, |of| annotations(place, of, until))?;
        let mut annotations = PrimaryAnnotations::of(read);
        self.each_change(dataset, |change| annotations.add_change(change))?;
        Ok(annotations)
    }

    /// Calls `show` for each change of the log: those read before, then those read now.
    fn each_change(&self, dataset: &DatasetName, mut show: impl FnMut(&LogChange)) -> Result<()> {
        let first = self.reading.first_read();
        if let Some(source) = self.source.as_ref().filter(|_| first > 1) {
            self.mirror.snapshot()?.each_change_read(dataset, source, 0, |change| {
                let is_before = change.number < first;
                if is_before {
                    show(&change);
                }
                is_before
            })?;
        }
        self.reading.changes.iter().try_for_each(|change| {
            show(&change?);
            Ok(())
        })
    }

    /// Compares the log with the log that was read before. It can be an older state, or another history.
    fn recall(&mut self, dataset: &DatasetName) -> Result<()> {
        let Some(source) = &self.source else { return Ok(()) };
        let (changes, first) = (&self.reading.changes, self.reading.first_read());
        let (mut is_stale, mut first_difference) = (false, None);
        // Only the changes that were read now are compared. Earlier ones are the remembered ones.
        let (mut found, mut unreadable) = (changes.iter(), None);
        self.mirror.snapshot()?.each_change_read(dataset, source, first - 1, |known| {
            match found.next() {
                None => is_stale = true,
                Some(Err(error)) => unreadable = Some(error),
                Some(Ok(found)) if found.check == known.check => return true,
                Some(Ok(_)) => {
                    let (change, timestamp) = (known.number, known.timestamp);
                    first_difference = Some(FirstDifference { change, timestamp });
                }
            }
            false
        })?;
        if let Some(error) = unreadable {
            return Err(error);
        }
        if first_difference.is_some() {
            self.status.status = MirrorStatus::Rewritten;
            self.status.first_difference = first_difference;
        } else if is_stale {
            self.status.status = MirrorStatus::Stale;
        }
        Ok(())
    }

    /// The comparison of the histories.
    pub fn status(&self) -> &HistoryComparison {
        &self.status
    }

    pub(super) fn into_status(self) -> HistoryComparison {
        self.status
    }

    /// When and why the primary withdrew its dataset. `None` means that it did not.
    pub fn primary_withdrawn(&self) -> Option<&Withdrawal> {
        self.head.head.withdrawn.as_ref()
    }

    /// Whether the comparison can be remembered, because the primary can be read again.
    pub fn has_memory(&self) -> bool {
        self.source.is_some()
    }

    /// Remembers what was read of the primary, so that the next comparison detects an older state of its log,
    /// or another history. A log that contradicts the remembered one replaces it only if the mirror was pulled.
    ///
    /// # Errors
    ///
    /// The registry cannot be written.
    pub fn remember(
        &self,
        registry: &Registry,
        dataset: &DatasetName,
        outcome: Outcome,
    ) -> Result<()> {
        match self.remembered(outcome) {
            Some(remembered) => registry.remember(dataset, &remembered),
            None => Ok(()),
        }
    }

    /// Returns what to remember. `None` means that nothing is remembered about the primary.
    pub(super) fn remembered(&self, outcome: Outcome) -> Option<Remembered<'_>> {
        let source = self.source.as_deref()?;
        let is_pulled =
            matches!(outcome, Outcome::Pulled | Outcome::Contradicted { is_changed: true });
        let is_identical = match outcome {
            Outcome::Compared => self.status.status == MirrorStatus::Identical,
            Outcome::Pulled => true,
            Outcome::Contradicted { .. } => false,
        };
        let (changes, last_read) = (&self.reading.changes, self.reading.last_read());
        let first_difference = self.status.first_difference.map(|difference| difference.change);
        // Conflicts that a pull left stay unresolved.
        let contradicts = match outcome {
            Outcome::Compared => self.has_left && self.status.status == MirrorStatus::OtherContent,
            Outcome::Pulled => false,
            Outcome::Contradicted { .. } => true,
        };
        // The mirror now follows the log that was pulled, even if it is an older state.
        let forget_from = match self.status.status {
            MirrorStatus::Stale => Some(last_read + 1),
            _ => first_difference,
        };
        Some(Remembered {
            source,
            is_identical,
            pulled_with: is_pulled.then_some(&self.options),
            is_imported: false,
            refusal: match outcome {
                Outcome::Compared => self.status.status.refusal(),
                Outcome::Pulled | Outcome::Contradicted { .. } => None,
            }
            .or(contradicts.then_some(LEFT)),
            continues: is_pulled
                || !matches!(self.status.status, MirrorStatus::Stale | MirrorStatus::Rewritten),
            contradicts,
            forget_from: forget_from.filter(|_| is_pulled),
            changes: (first_difference.is_none() || is_pulled).then_some(changes),
        })
    }

    /// The granules that only one side has, or whose records of files differ. The left side is the mirror's.
    /// The status is verified when all of them were read.
    ///
    /// # Errors
    ///
    /// A registry or a temporary file cannot be read.
    pub fn differences(&self) -> Result<Differences> {
        let held = self.status.mirror.clone().map(Set::Instance);
        let (change, location) =
            self.reading.latest.as_ref().expect("a log without one is refused");
        let claim = Claim::Log(change.timestamp, change.identifier, location.clone());
        let outcomes = self.reading.replay.outcomes(self.reading.begins_with_mirror())?;
        Ok(self.mirror.compare_with_log(held.as_ref(), outcomes, claim))
    }
}
