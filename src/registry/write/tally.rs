//! What a change does, counted: the rows of the history that it adds, one for each time at which something
//! changes, proved by what it changes.

use super::target::Target;
use crate::error::{Error, Result};
use crate::model::{Digest, Identifier, Instance};

/// The bytes of notes that are read from a file before they are stored.
const MAX_NOTE_BYTES: usize = 1_024 * 1_024;

/// What changes at one time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub ingested: u64,
    pub deleted: u64,
    pub described: u64,
    pub replaced: u64,
    /// Whether a granule that stays held gets another line in the canonical list.
    pub relists: bool,
}

impl Tally {
    fn is_empty(&self) -> bool {
        self.ingested + self.deleted + self.described + self.replaced == 0
    }
}

/// Adds the rows of the history.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the sets do not change as the tallies say.
pub(super) fn record(
    target: &Target<'_>,
    tallies: &[Tally],
    sets: &[(Identifier, Digest)],
) -> Result<Vec<Instance>> {
    let Target { times, name, transaction, .. } = target;
    let last = times.last().copied().unwrap_or(target.now);
    // Not before the change took effect, nor before an earlier change was recorded, even if the
    // clock was set back.
    let latest = target.latest.as_ref();
    let recorded = latest.map(|latest| latest.recorded);
    let earliest = recorded.map_or(last, |recorded| recorded.max(last));
    let (recorded, recorded_by) = target.stamp.record(transaction, recorded, earliest)?;
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
        granules = (granules + tally.ingested).checked_sub(tally.deleted).ok_or_else(|| {
            let what = format!("{name} has rows of more granules than its history counts");
            Error::damaged(what)
        })?;
        let (before, digest_before) = std::mem::replace(&mut in_force, (identifier, digest));
        let Tally { ingested, deleted, described, replaced, relists } = *tally;
        // Names change the identifier, and only they; what is listed of files changes the digest.
        let changes_names = ingested + deleted > 0;
        if changes_names != (before != identifier)
            || (changes_names || relists) != (digest_before != digest)
        {
            return Err(Error::damaged(format!(
                "the change of {name} at {timestamp} ingests {ingested}, deletes {deleted} and replaces {replaced} granules, but leads from {before} and {digest_before} to {identifier} and {digest}"
            )));
        }
        target.check_expected(timestamp, (identifier, digest))?;
        if tally.is_empty() {
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
        // Notes that are in a file are in memory only until they are stored.
        note_bytes += instances.last().and_then(|it| it.note.as_ref()).map_or(0, String::len);
        if target.results.is_some() && note_bytes > MAX_NOTE_BYTES {
            store(&mut instances[stored..])?;
            (stored, note_bytes) = (instances.len(), 0);
        }
    }
    store(&mut instances[stored..])?;
    Ok(instances)
}
