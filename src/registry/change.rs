//! One change: granules come and go, all at once or not at all.

use std::cmp::Ordering;

use super::resume::{Resume, resume_before};
use super::{ChangeError, End, Monitor, Registry, Stamp, dataset_to_change};
use crate::chain::{Hashing, Sweep};
use crate::model::{DatasetName, GranuleId, Identifier, Instance, SourceLocation, Timestamp};
use crate::store::{DatasetKey, Write};
use crate::{Error, Result};

/// A granule in a change, and where in somebody's input it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The granule's id.
    pub granule_id: GranuleId,
    /// The id its producer gave it, where that is another.
    pub producer_granule: Option<GranuleId>,
    /// Where it was read, for messages.
    pub location: Option<SourceLocation>,
}

impl From<GranuleId> for Entry {
    fn from(granule_id: GranuleId) -> Self {
        Entry { granule_id, producer_granule: None, location: None }
    }
}

/// What a change brings and takes.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// The granules that come: none of them held, each once.
    pub ingest: Vec<Entry>,
    /// The granules that go: all of them held, each once.
    pub delete: Vec<Entry>,
    /// What the archivist wants to be remembered with it.
    pub note: Option<String>,
    /// Passes over granules to ingest that are held already or named twice, and counts them.
    pub skip_existing: bool,
    /// Adds the dataset, with a record that has only its name, if it is not there.
    pub create: bool,
    /// Does everything, and then undoes it.
    pub dry_run: bool,
}

/// What a change did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// The new row of the history; none if everything was passed over.
    pub instance: Option<Instance>,
    /// How many granules were passed over since they are held already.
    pub skipped_held: u64,
    /// How many were passed over since the change named them before.
    pub skipped_repeated: u64,
    /// By how many microseconds the clock was behind the last change, if by more than a second.
    pub clock_behind_micros: Option<i64>,
    /// What it cost.
    pub work: Work,
}

/// What a change cost: counted, so that tests can hold it to its promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Steps of the chain that were hashed.
    pub steps: u64,
    /// Granule rows that were read for it.
    pub rows: u64,
    /// Checkpoints that were set.
    pub checkpoints: u64,
}

impl Registry {
    /// Applies a change to a dataset, whole or not at all.
    ///
    /// Costs a look-up and a row for each granule of the change, and one chain step for each
    /// granule held after the last checkpoint before the first of them; at the end of the canonical
    /// order, exactly a step for each granule that comes. Memory: that of the change.
    ///
    /// # Errors
    ///
    /// [`Error::Change`] says why it is refused; [`Error::NoDataset`]; [`Error::Store`].
    pub fn change(
        &mut self,
        dataset: &DatasetName,
        change: Change,
        stamp: Stamp,
    ) -> Result<Applied> {
        let mut change = change;
        let skipped_repeated = change.put_in_order()?;
        self.writing(|write, monitor| {
            let mut applied = apply(write, dataset, &change, stamp, monitor)?;
            applied.skipped_repeated = skipped_repeated;
            let end = match applied.instance {
                Some(_) if !change.dry_run => End::Commit,
                _ => End::RollBack,
            };
            Ok((applied, end))
        })
    }
}

impl Change {
    /// Sorts both sides into canonical order; returns how many repetitions were passed over.
    fn put_in_order(&mut self) -> Result<u64, ChangeError> {
        if self.ingest.is_empty() && self.delete.is_empty() && !self.skip_existing {
            return Err(ChangeError::Empty);
        }
        // Stable: of two with one id, the first in the input stays first.
        self.ingest.sort_by(|a, b| a.granule_id.cmp(&b.granule_id));
        self.delete.sort_by(|a, b| a.granule_id.cmp(&b.granule_id));
        let named = self.ingest.len();
        if self.skip_existing {
            self.ingest.dedup_by(|b, a| a.granule_id == b.granule_id);
        }
        refuse_repetition(&self.ingest)?;
        refuse_repetition(&self.delete)?;
        refuse_common(&self.ingest, &self.delete)?;
        Ok((named - self.ingest.len()) as u64)
    }
}

pub(super) fn refuse_repetition(entries: &[Entry]) -> Result<(), ChangeError> {
    match entries.windows(2).find(|pair| pair[0].granule_id == pair[1].granule_id) {
        None => Ok(()),
        Some(pair) => Err(ChangeError::Twice {
            granule_id: pair[1].granule_id.clone(),
            location: pair[1].location.clone(),
            first: pair[0].location.clone(),
            producers: Box::new([1, 0].map(|index| pair[index].producer_granule.clone())),
        }),
    }
}

fn refuse_common(ingest: &[Entry], delete: &[Entry]) -> Result<(), ChangeError> {
    let (mut ingest, mut delete) = (ingest.iter().peekable(), delete.iter().peekable());
    while let (Some(comes), Some(goes)) = (ingest.peek(), delete.peek()) {
        match comes.granule_id.cmp(&goes.granule_id) {
            Ordering::Less => drop(ingest.next()),
            Ordering::Greater => drop(delete.next()),
            Ordering::Equal => {
                return Err(ChangeError::Both {
                    granule_id: goes.granule_id.clone(),
                    location: goes.location.clone(),
                    first: comes.location.clone(),
                });
            }
        }
    }
    Ok(())
}

/// Rows after which the monitor is told.
const MONITORED_ROWS: u64 = 65_536;

/// The change itself, within a transaction: rows, rewind, checkpoints, history row.
fn apply(
    write: &Write<'_>,
    name: &DatasetName,
    change: &Change,
    stamp: Stamp,
    monitor: &mut dyn Monitor,
) -> Result<Applied> {
    let dataset = dataset_to_change(write, name, change.create)?;
    let (ingest, skipped_held) = new_entries(write, dataset, change)?;
    let mut applied = Applied { skipped_held, ..Applied::default() };
    let firsts = ingest.first().copied().into_iter().chain(change.delete.first());
    let Some(divergence) = firsts.map(|entry| &entry.granule_id).min() else {
        return Ok(applied);
    };
    let latest = write.latest_instance(dataset)?;
    let last = latest.as_ref().map(|latest| latest.timestamp);
    let timestamp;
    (timestamp, applied.clock_behind_micros) = stamp.after(last)?;
    let resume = resume_before(write, dataset, divergence, latest.as_ref())?;
    let mut stays = write.stays()?;
    for entry in &ingest {
        let producer_granule = entry.producer_granule.as_ref();
        stays.add(dataset, &entry.granule_id, timestamp, None, producer_granule)?;
    }
    drop(stays);
    delete_all(write, dataset, &change.delete, timestamp)?;

    let held_before = latest.as_ref().map_or(0, |latest| latest.granules);
    let (ingested, deleted) = (ingest.len() as u64, change.delete.len() as u64);
    let granules =
        (held_before + ingested).checked_sub(deleted).ok_or_else(|| Error::Inconsistent {
            what: format!("{name} has rows of more granules than its history counts"),
        })?;
    monitor.begin("hashing", "granules", granules);
    let rewound = rewind(write, dataset, resume, monitor);
    monitor.end();
    let (identifier, work) = rewound?;
    let instance = Instance {
        dataset: name.clone(),
        timestamp,
        until: None,
        identifier,
        granules,
        ingested,
        deleted,
        recorded: stamp.now,
        note: change.note.clone(),
    };
    write.insert_instance(dataset, &instance)?;
    applied.instance = Some(instance);
    applied.work = work;
    Ok(applied)
}

/// The entries to ingest that are not held, and how many were passed over.
fn new_entries<'change>(
    write: &Write<'_>,
    dataset: DatasetKey,
    change: &'change Change,
) -> Result<(Vec<&'change Entry>, u64)> {
    let mut entries = Vec::with_capacity(change.ingest.len());
    let mut held = 0;
    let mut first_held = None;
    // The next id that ever stood here: up to it nothing can be held, and nothing need be asked.
    let mut next_known: Option<Option<GranuleId>> = None;
    for entry in &change.ingest {
        if !matches!(&next_known, Some(next) if next.as_ref().is_none_or(|next| *next >= entry.granule_id))
        {
            next_known = Some(write.next_granule_id(dataset, &entry.granule_id)?);
        }
        let stood_here = next_known.iter().flatten().any(|next| *next == entry.granule_id);
        let since = if stood_here { write.held_since(dataset, &entry.granule_id)? } else { None };
        match since {
            None => entries.push(entry),
            Some(since) => {
                held += 1;
                first_held.get_or_insert((entry, since));
            }
        }
    }
    match first_held {
        Some((entry, since)) if !change.skip_existing => Err(ChangeError::Held {
            granule_id: entry.granule_id.clone(),
            location: entry.location.clone(),
            since,
            producers: Box::new([
                entry.producer_granule.clone(),
                write.held_producer(dataset, &entry.granule_id)?,
            ]),
            more: held - 1,
        })?,
        _ => Ok((entries, held)),
    }
}

fn delete_all(
    write: &Write<'_>,
    dataset: DatasetKey,
    entries: &[Entry],
    timestamp: Timestamp,
) -> Result<()> {
    let mut not_held = 0;
    let mut first_not_held = None;
    for entry in entries {
        if !write.mark_deleted(dataset, &entry.granule_id, timestamp)? {
            not_held += 1;
            first_not_held.get_or_insert(entry);
        }
    }
    match first_not_held {
        None => Ok(()),
        Some(entry) => Err(ChangeError::NotHeld {
            granule_id: entry.granule_id.clone(),
            location: entry.location.clone(),
            more: not_held - 1,
        })?,
    }
}

/// Hashes forward over the granules now held, and leaves checkpoints.
fn rewind(
    write: &Write<'_>,
    dataset: DatasetKey,
    resume: Resume,
    monitor: &mut dyn Monitor,
) -> Result<(Identifier, Work)> {
    let (chain, begin) = resume.point();
    let (mut rows, mut checkpoints) = (0, 0);
    let sweep = std::thread::scope(|scope| {
        let leave_checkpoint = |granule_id: &str, chain: Identifier| -> Result<()> {
            write.insert_checkpoint(dataset, granule_id, chain)?;
            checkpoints += 1;
            Ok(())
        };
        let mut hashing = Hashing::new(scope, Sweep::resume(1, chain), leave_checkpoint);
        write.each_held(dataset, begin, |granule_id| {
            rows += 1;
            if rows % MONITORED_ROWS == 0 {
                monitor.advance(MONITORED_ROWS);
            }
            hashing.hold(granule_id, 0..1)
        })?;
        hashing.finish()
    })?;
    Ok((sweep.latest(), Work { steps: sweep.steps(), rows, checkpoints }))
}
