//! One change: granules come and go, all at once or not at all.

use std::cmp::Ordering;

use super::{End, Monitor, Registry, Stamp};
use crate::chain::{Hashing, Sweep};
use crate::model::{
    Dataset, DatasetName, GranuleId, Identifier, Instance, Place, Timestamp, quoted,
};
use crate::store::{Begin, DatasetKey, Write};
use crate::{Error, Result};

/// A granule in a change, and where in somebody's input it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The granule's id.
    pub granule_id: GranuleId,
    /// The id its producer gave it, where that is another.
    pub producer_granule: Option<GranuleId>,
    /// Where it was read, for messages.
    pub place: Option<Place>,
}

impl From<GranuleId> for Entry {
    fn from(granule_id: GranuleId) -> Self {
        Entry { granule_id, producer_granule: None, place: None }
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

/// Why a change is refused; the registry is then as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// A granule to ingest is held.
    #[error("{}{} is held already, ingested {since}{}", at(place), quoted(granule_id.as_str()), and_more(*more))]
    Held {
        /// Which one.
        granule_id: GranuleId,
        /// Where it was read.
        place: Option<Place>,
        /// Since when it is held.
        since: Timestamp,
        /// How many more of the change are held.
        more: u64,
    },
    /// A granule to delete is not held.
    #[error("{}{} is not held{}", at(place), quoted(granule_id.as_str()), and_more(*more))]
    NotHeld {
        /// Which one.
        granule_id: GranuleId,
        /// Where it was read.
        place: Option<Place>,
        /// How many more of the change are not held.
        more: u64,
    },
    /// A granule is named twice.
    #[error("{}{} stands here twice{}", at(place), quoted(granule_id.as_str()), first_at(first))]
    Twice {
        /// Which one.
        granule_id: GranuleId,
        /// Where it stands again.
        place: Option<Place>,
        /// Where it stands first.
        first: Option<Place>,
    },
    /// A granule is to be both ingested and deleted.
    #[error("{}{} is both to be ingested and to be deleted{}", at(place), quoted(granule_id.as_str()), first_at(first))]
    Both {
        /// Which one.
        granule_id: GranuleId,
        /// Where it is to be deleted.
        place: Option<Place>,
        /// Where it is to be ingested.
        first: Option<Place>,
    },
    /// Nothing to ingest and nothing to delete.
    #[error("the change is empty: no granule to ingest and none to delete")]
    Empty,
    /// The change would stand at or before the dataset's last one.
    #[error(
        "a change at {at} would not come after the last one, {last}: history is never rewritten"
    )]
    NotAfterLast {
        /// The instant asked for.
        at: Timestamp,
        /// The last change.
        last: Timestamp,
    },
    /// The change would stand in the future.
    #[error("a change at {at} would stand in the future: now it is {now}")]
    Future {
        /// The instant asked for.
        at: Timestamp,
        /// What the clock says.
        now: Timestamp,
    },
}

impl ChangeError {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            ChangeError::Held { .. } => "held",
            ChangeError::NotHeld { .. } => "not-held",
            ChangeError::Twice { .. } => "twice",
            ChangeError::Both { .. } => "both",
            ChangeError::Empty => "empty",
            ChangeError::NotAfterLast { .. } => "not-after-last",
            ChangeError::Future { .. } => "future",
        }
    }

    pub(crate) fn hint(&self) -> Option<String> {
        let hint = match self {
            ChangeError::Held { .. } => "--skip-existing passes over granules that are held",
            ChangeError::NotHeld { .. } => "`accession granules DATASET` lists those that are",
            ChangeError::Twice { .. } => {
                "name each granule once; for ingest, --skip-existing passes over repetitions"
            }
            ChangeError::Both { .. } => "make two changes of it, one after the other",
            ChangeError::Empty => "name granules as arguments, or a file with --from",
            ChangeError::NotAfterLast { .. } => {
                "name a later time with --at, or leave it out for now"
            }
            ChangeError::Future { .. } => "name an earlier time with --at, or leave it out for now",
        };
        Some(hint.to_owned())
    }
}

fn at(place: &Option<Place>) -> String {
    place.as_ref().map_or(String::new(), |place| format!("{place}: "))
}

fn first_at(first: &Option<Place>) -> String {
    first.as_ref().map_or(String::new(), |first| format!(", first at {first}"))
}

fn and_more(more: u64) -> String {
    if more == 0 { String::new() } else { format!(", and {more} more of this change") }
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

fn refuse_repetition(entries: &[Entry]) -> Result<(), ChangeError> {
    match entries.windows(2).find(|pair| pair[0].granule_id == pair[1].granule_id) {
        None => Ok(()),
        Some(pair) => Err(ChangeError::Twice {
            granule_id: pair[1].granule_id.clone(),
            place: pair[1].place.clone(),
            first: pair[0].place.clone(),
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
                    place: goes.place.clone(),
                    first: comes.place.clone(),
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
    let dataset = match write.dataset(name)? {
        Some((dataset, _)) => dataset,
        None if change.create => write.insert_dataset(&Dataset::named(name.clone()))?,
        None => return Err(Error::NoDataset { name: name.clone() }),
    };
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
    for entry in &ingest {
        let producer_granule = entry.producer_granule.as_ref();
        write.insert_granule(dataset, &entry.granule_id, timestamp, producer_granule)?;
    }
    delete_all(write, dataset, &change.delete, timestamp)?;

    let held_before = latest.as_ref().map_or(0, |latest| latest.granules);
    let (ingested, deleted) = (ingest.len() as u64, change.delete.len() as u64);
    let granules =
        (held_before + ingested).checked_sub(deleted).ok_or_else(|| Error::Inconsistent {
            what: format!("{name} has rows of more granules than its history counts"),
        })?;
    monitor.begin("hashing", granules);
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
            place: entry.place.clone(),
            since,
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
            place: entry.place.clone(),
            more: not_held - 1,
        })?,
    }
}

/// Where the chain is resumed, and which ids follow.
enum Resume {
    /// At the end of the canonical order: from the identifier in force, with the id that comes.
    End(Identifier, GranuleId),
    /// Behind the last checkpoint before the divergence.
    Behind(Identifier, GranuleId),
    /// At the start: there is no checkpoint before the divergence.
    Start,
}

/// Decides where to resume for a change whose smallest id is `divergence`, and drops the
/// checkpoints that the change makes wrong. Called before the rows are changed.
///
/// By sort position, never by time: the seed's rule (resume from the identifier stored before the
/// ingest of the granule just before) is wrong unless granules arrive in canonical order
/// (identifier.md, The seed's rewind is not sound).
fn resume_before(
    write: &Write<'_>,
    dataset: DatasetKey,
    divergence: &GranuleId,
    latest: Option<&Instance>,
) -> Result<Resume> {
    if let Some(latest) = latest
        && !write.holds_from(dataset, divergence)?
    {
        return Ok(Resume::End(latest.identifier, divergence.clone()));
    }
    write.drop_checkpoints_from(dataset, divergence)?;
    Ok(match write.checkpoint_before(dataset, divergence)? {
        Some(checkpoint) => Resume::Behind(checkpoint.chain, checkpoint.granule_id),
        None => Resume::Start,
    })
}

/// Hashes forward over the granules now held, and leaves checkpoints.
fn rewind(
    write: &Write<'_>,
    dataset: DatasetKey,
    resume: Resume,
    monitor: &mut dyn Monitor,
) -> Result<(Identifier, Work)> {
    let (chain, begin) = match &resume {
        Resume::End(identifier, granule_id) => (*identifier, Begin::At(granule_id)),
        Resume::Behind(chain, granule_id) => (*chain, Begin::Behind(granule_id)),
        Resume::Start => (Identifier::EMPTY, Begin::Start),
    };
    let (mut rows, mut checkpoints) = (0, 0);
    let sweep = std::thread::scope(|scope| {
        let leave_checkpoint = |granule_id: &str, chain: Identifier| -> Result<()> {
            write.insert_checkpoint(dataset, granule_id, chain)?;
            checkpoints += 1;
            Ok(())
        };
        let mut hashing = Hashing::of(scope, Sweep::resume(1, chain), leave_checkpoint);
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
