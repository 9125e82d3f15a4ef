//! The effect of a change, an import or a pull on a dataset. It is counted, recorded in the history (one row
//! for each time at which something changes), and returned.

use super::annotate::KeptAnnotations;
use super::guard::MAX_EXAMPLES;
use super::target::Target;
use crate::error::{Error, Result};
use crate::model::{
    ChangeCounts, ContentConflict, Digest, EventKind, Expected, GranuleId, Identifier, Instance,
    Timestamp,
};
use crate::registry::handle::End;
use crate::registry::work_counts::WorkCounts;

/// The effect of a change, an import or a pull on a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ChangeReport {
    /// The new rows of the history, in order of time. A change has one. An import has any number, without
    /// annotations and notes ([`Import::note_at`](super::Import::note_at)), which may not all fit into memory.
    /// Empty if nothing changed.
    pub instances: Vec<Instance>,
    /// The instance in force afterwards. `None` means that the dataset has no history.
    pub in_force: Option<Instance>,
    /// The time of the previous change. `None` means that there was no history.
    pub last: Option<Timestamp>,
    /// The first granules of each kind of event.
    pub first: ChangeExamples,
    /// The number of skipped granules. For an import, of events that were already stored.
    pub skipped: Skipped,
    /// For computed file metadata: the skipped granules, whose records had changed meanwhile and contradict it,
    /// with the first difference of each.
    pub(crate) contradicted: Vec<ContentConflict>,
    /// Whether the dataset was added.
    pub created_dataset: bool,
    /// The number of microseconds by which the clock was behind the last change. `None` means less than a
    /// second, or not at all.
    pub clock_behind_micros: Option<i64>,
    /// Whether the first change took effect more than 48 hours before it was recorded, in a dataset with a
    /// prompt change: one recorded within an hour of its time. Another set may have been cited meanwhile.
    pub is_back_dated: bool,
    /// For a sync: granules that it added and that had been deleted within the 31 days before. `None` means
    /// that there are none.
    pub(crate) came_back: Option<ReturnedGranules>,
    /// For an import: the number of events that were left out, because their day is not over.
    pub left_out: u64,
    /// The number of new subsets that were cited elsewhere.
    pub subsets: u64,
    /// The number of new annotations that were written elsewhere.
    pub annotations: u64,
    /// The number of annotations of the primary that were left out: with them, the notes of their instances would
    /// exceed [`Annotation::MAX_BYTES`](crate::history::Annotation::MAX_BYTES).
    pub annotations_left_out: u64,
    /// Why a guard would have rejected the change, if the expected set overruled the guard. `None` means that
    /// no guard would.
    pub overruled: Option<String>,
    /// The work that it took.
    pub effort: WorkCounts,
    /// Whether a granule that comes back has different contents than it had last.
    pub(crate) replaces_former: bool,
}

impl ChangeReport {
    /// Records the result of storing annotations that were written elsewhere.
    pub(super) fn set_annotations(&mut self, kept: KeptAnnotations) {
        (self.annotations, self.annotations_left_out) = (kept.added, kept.left_out);
    }
}

impl AsRef<ChangeReport> for ChangeReport {
    fn as_ref(&self) -> &ChangeReport {
        self
    }
}

/// The first granules that a change ingests, deletes, describes and replaces: at most
/// [`ChangeExamples::MAX`] of each, or all of them with
/// [`ChangeOptions::all_examples`](super::ChangeOptions::all_examples).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ChangeExamples {
    /// Granules that are ingested.
    pub ingested: Vec<GranuleId>,
    /// Granules that are deleted.
    pub deleted: Vec<GranuleId>,
    /// Granules that stay held, and get more metadata of their files.
    pub described: Vec<GranuleId>,
    /// Granules that stay held, and get other files or other checksums.
    pub replaced: Vec<GranuleId>,
}

impl ChangeExamples {
    /// The greatest number of examples of each kind.
    pub const MAX: usize = MAX_EXAMPLES;

    /// The granules of one kind of event.
    pub(super) fn of(&mut self, kind: EventKind) -> &mut Vec<GranuleId> {
        match kind {
            EventKind::Ingested => &mut self.ingested,
            EventKind::Deleted => &mut self.deleted,
            EventKind::Described => &mut self.described,
            EventKind::Replaced => &mut self.replaced,
        }
    }
}

/// The numbers of skipped granules and events, so that callers can report them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[non_exhaustive]
pub struct Skipped {
    /// Granules to ingest that were already held; for an import, events that were already stored.
    pub held: u64,
    /// Granules that were listed more than once.
    pub repeated: u64,
    /// Granules to delete that were not held.
    pub missing: u64,
}

/// Granules that a sync added, and that had been deleted shortly before: the listing of that change was
/// probably incomplete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReturnedGranules {
    /// The number of these granules that one change had deleted.
    pub granules: u64,
    /// The instance of that change. If there are several, it is the change that deleted most of them, and then
    /// the latest.
    pub without: Instance,
    /// The last instance before that one with the set that the dataset has now. `None` means that no earlier
    /// instance had this set.
    pub earlier: Option<Instance>,
}

impl ChangeReport {
    /// The last new row of the history. A change has only one. `None` means that nothing changed.
    pub fn instance(&self) -> Option<&Instance> {
        self.instances.last()
    }

    /// The number of granules that were ingested.
    pub fn added(&self) -> u64 {
        self.counts().ingested
    }

    /// The number of granules that were deleted.
    pub fn removed(&self) -> u64 {
        self.counts().deleted
    }

    /// The numbers of granules that were ingested, deleted, described and replaced.
    pub fn counts(&self) -> ChangeCounts {
        let mut counts = ChangeCounts::default();
        for instance in &self.instances {
            counts += instance.counts();
        }
        counts
    }

    /// The identifier and the digest of the set that the dataset holds afterwards.
    pub(super) fn result(&self) -> (Identifier, Digest) {
        let empty = (Identifier::EMPTY, Digest::EMPTY);
        self.in_force.as_ref().map_or(empty, |it| (it.identifier, it.digest))
    }

    /// The set that the dataset holds afterwards, in the form for
    /// [`ChangeOptions::expect`](super::ChangeOptions::expect). It is the digest if contents were replaced,
    /// because the identifier does not cover them.
    pub fn expect(&self) -> Expected {
        let (identifier, digest) = self.result();
        if self.counts().replaced > 0 || self.replaces_former {
            Expected::Digest(digest)
        } else {
            Expected::Identifier(identifier)
        }
    }

    /// Commits the change, unless nothing changed or it is a dry run.
    pub(super) fn ended(self, dry_run: bool) -> (Self, End) {
        let is_kept = !self.instances.is_empty() && !dry_run;
        (self, End::commit_if(is_kept))
    }
}

/// The size of notes, in bytes, above which the notes read from a file are stored.
const MAX_NOTE_BYTES: usize = 1_024 * 1_024;

/// The numbers of changes at one time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    /// The numbers of granules that are ingested, deleted, described and replaced.
    pub counts: ChangeCounts,
    /// Whether a granule that stays held gets a different line in the canonical list.
    pub relists: bool,
}

/// Adds the rows of the history.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the sets do not change as the tallies require.
pub(super) fn record(
    target: &Target<'_>,
    tallies: &[Tally],
    sets: &[(Identifier, Digest)],
) -> Result<Vec<Instance>> {
    let Target { times, name, transaction, .. } = target;
    let last = times.last().copied().unwrap_or(target.now);
    // Not before the change takes effect, nor before an earlier change was recorded, even if the clock was set
    // back.
    let latest = target.latest.as_ref();
    let recorded = latest.map(|latest| latest.recorded);
    let earliest = recorded.map_or(last, |recorded| recorded.max(last));
    let (recorded, recorded_by) = target.registry.record(transaction, recorded, earliest)?;
    let mut granules = target.held();
    let mut in_force = latest
        .map_or((Identifier::EMPTY, Digest::EMPTY), |latest| (latest.identifier, latest.digest));
    let mut instances: Vec<Instance> = Vec::with_capacity(times.len());
    let (mut stored, mut note_bytes) = (0, 0);
    let store = |instances: &mut [Instance]| -> Result<()> {
        transaction.insert(target.dataset, instances)?;
        if target.results.is_some() {
            instances.iter_mut().for_each(|instance| instance.note = None);
        }
        Ok(())
    };
    for ((&timestamp, tally), &(identifier, digest)) in times.iter().zip(tallies).zip(sets) {
        let Tally { counts, relists } = *tally;
        let ChangeCounts { ingested, deleted, described, replaced } = counts;
        granules = (granules + ingested).checked_sub(deleted).ok_or_else(|| {
            let what = format!("{name} has rows of more granules than its history counts");
            Error::damaged(what)
        })?;
        let (before, digest_before) = std::mem::replace(&mut in_force, (identifier, digest));
        // Only names change the identifier. The lines of the canonical list change the digest.
        let changes_names = ingested + deleted > 0;
        if changes_names != (before != identifier)
            || (changes_names || relists) != (digest_before != digest)
        {
            return Err(Error::damaged(format!(
                "the change of {name} at {timestamp} ingests {ingested}, deletes {deleted} and replaces {replaced} granules, but leads from {before} and {digest_before} to {identifier} and {digest}"
            )));
        }
        target.check_expected(timestamp, (identifier, digest))?;
        if counts == ChangeCounts::default() {
            continue;
        }
        if let Some(before) = instances.last_mut() {
            before.until = Some(timestamp);
        }
        instances.push(Instance {
            dataset: name.clone(),
            timestamp,
            until: None,
            identifier,
            digest,
            granules,
            ingested,
            deleted,
            described,
            replaced,
            recorded,
            recorded_by: recorded_by.clone(),
            note: target.note_at(timestamp)?,
            annotations: Vec::new(),
        });
        // Notes from a file are in memory only until they are stored.
        note_bytes += instances.last().and_then(|it| it.note.as_ref()).map_or(0, String::len);
        if target.results.is_some() && note_bytes > MAX_NOTE_BYTES {
            store(&mut instances[stored..])?;
            (stored, note_bytes) = (instances.len(), 0);
        }
    }
    store(&mut instances[stored..])?;
    Ok(instances)
}
