//! Subsets that another registry cited. They are selected again, which proves that this history has them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cite::{SubsetMembers, batches, identify_named};
use crate::disk::{Spool, SpooledRecords};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Content, DatasetName, Digest, Event, EventKind, GranuleId, Identifier, Instance, Pattern,
    SourceLocation, Subset, SubsetCriteria, Timestamp,
};
use crate::registry::contents::{Contents, FilesDuring, FilesOverTime};
use crate::registry::handle::Registry;
use crate::registry::listing::{Listing, ListingBuilder};
use crate::registry::observer::Work;
use crate::registry::proof::{self, Recomputed};
use crate::registry::verify::Selecting;
use crate::store::{self, DatasetKey, Transaction};

/// A subset that another registry cited. It is stored here, too, since its identifier must resolve.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CitedSubset {
    /// Its identifier.
    pub identifier: Identifier,
    /// Its digest there. It may be different here, because other file metadata may be recorded.
    pub digest: Digest,
    /// The time of the change whose granules it was selected from.
    pub timestamp: Timestamp,
    /// The number of its granules.
    pub granules: u64,
    /// When it was first cited.
    pub cited: Timestamp,
    /// The name of the file and the line, for messages.
    pub place: (String, u64),
}

impl CitedSubset {
    /// Stores the subset, unless it is stored already. Returns whether it was new. The granules that its
    /// patterns select from an instance, or that it lists, must have the same identifier.
    fn keep(
        &self,
        members: &SubsetMembers,
        transaction: &Transaction,
        key: DatasetKey,
        dataset: &DatasetName,
        select: impl FnOnce(&Instance) -> Result<Recomputed>,
    ) -> Result<bool> {
        let refused = |identifier: Identifier| {
            let message = format!(
                "the subset {} of the change at {} is not what this history selects: {identifier}",
                self.identifier, self.timestamp
            );
            let (source, line) = (self.place.0.as_str().into(), self.place.1);
            Error::new(ErrorKind::NotAsExpected, message).at(SourceLocation::Line { source, line })
        };
        let Some(criteria) = members.criteria() else {
            return Err(refused(Identifier::EMPTY));
        };
        if transaction.subset(key, (self.identifier, self.digest), &criteria)?.is_some() {
            return Ok(false);
        }
        let in_force = transaction.instance_at(key, self.timestamp)?;
        let Some(instance) = in_force.filter(|instance| instance.timestamp == self.timestamp)
        else {
            return Err(refused(Identifier::EMPTY));
        };
        let Recomputed { identifier, digest, granules } = match members {
            SubsetMembers::Patterns(_) => select(&instance)?,
            // Costs a look-up for each granule, as for each event.
            SubsetMembers::Listed(listing) => {
                identify_named(transaction, key, dataset, self.timestamp, listing)?
            }
        };
        if (identifier, granules) != (self.identifier, self.granules) {
            return Err(refused(identifier));
        }
        if transaction.subset(key, (identifier, digest), &criteria)?.is_some() {
            return Ok(false);
        }
        let subset = Subset {
            dataset: dataset.clone(),
            timestamp: self.timestamp,
            criteria,
            identifier,
            digest,
            granules,
            cited: self.cited,
        };
        members.store(transaction, key, &subset)?;
        Ok(true)
    }
}

/// The granules that the patterns of a subset select, and the whole set from which they are selected. Both are
/// empty if nothing was selected.
#[derive(Debug, Clone, Copy)]
pub(super) struct SelectedSubset {
    all: Recomputed,
    part: Recomputed,
}

/// The dataset from whose rows subsets are selected. It has no rows if it has no key yet.
#[derive(Clone, Copy)]
pub(super) struct Origin<'read> {
    pub registry: &'read Registry,
    pub read: &'read store::View,
    pub key: Option<DatasetKey>,
    pub dataset: &'read DatasetName,
}

/// The greatest size of the patterns of one pass in memory, in bytes.
const BATCH_BYTES: usize = 8 * 1_024 * 1_024;

/// The approximate size of a subset or a pattern in memory besides its text, in bytes.
const OVERHEAD_BYTES: usize = 128;

/// The subsets with patterns that one pass selects, by patterns and then by time. Each has the numbers of all
/// cited subsets with these patterns and this time. Subsets whose only pattern is `*` are whole sets.
#[derive(Default)]
struct Batch {
    subsets: BTreeMap<(Vec<Pattern>, Timestamp), Vec<usize>>,
    bytes: usize,
}

impl Batch {
    fn add(&mut self, patterns: Vec<Pattern>, at: Timestamp, number: usize) {
        let texts: usize = patterns.iter().map(|pattern| pattern.as_str().len()).sum();
        self.bytes += texts + (patterns.len() + 1) * OVERHEAD_BYTES;
        self.subsets.entry((patterns, at)).or_default().push(number);
        self.subsets.entry((vec![any()], at)).or_default();
    }

    /// Selects the subsets in one pass over rows and events, as [`Changes`] combines them.
    fn select(
        self,
        from: Origin<'_>,
        events: impl Iterator<Item = Result<Event>>,
        selected: &mut [SelectedSubset],
    ) -> Result<()> {
        let mut progress = from.registry.begin(Work::Select, None);
        let criteria: Vec<(&[Pattern], Timestamp)> =
            self.subsets.keys().map(|(patterns, at)| (patterns.as_slice(), *at)).collect();
        let mut selecting = Selecting::of(&criteria);
        Changes::show_periods(from, events, |granule_id, period, known| {
            selecting.held(granule_id, period, known);
            progress.advance()
        })?;
        let found = selecting.finish().recomputed;
        let (whole, mut sets) = ([any()], BTreeMap::new());
        for ((patterns, at), all) in criteria.iter().zip(&found) {
            if *patterns == whole {
                sets.insert(*at, *all);
            }
        }
        for (((_, at), numbers), part) in self.subsets.iter().zip(found) {
            for &number in numbers {
                selected[number] = SelectedSubset { all: sets[at], part };
            }
        }
        Ok(())
    }
}

/// The pattern that selects every granule.
fn any() -> Pattern {
    "*".parse().expect("an asterisk is a pattern")
}

/// The changes of one granule: stored ones, and those of the events.
struct Changes<Show> {
    granule_id: String,
    changes: Vec<(i64, EventKind)>,
    /// All its contents, each with its start.
    known: FilesOverTime,
    show: Show,
}

impl<Show: FnMut(&str, (i64, Option<i64>), FilesDuring<'_>) -> Result<()>> Changes<Show> {
    /// Calls `show` for every holding period of a granule, with its start and end, and with the contents during
    /// it. The events are added to the rows. They must be those of a log, in order of granule. Events that are
    /// already stored are added once.
    fn show_periods(
        from: Origin<'_>,
        events: impl Iterator<Item = Result<Event>>,
        show: Show,
    ) -> Result<()> {
        let mut changes = Changes {
            granule_id: String::new(),
            changes: Vec::new(),
            known: FilesOverTime::default(),
            show,
        };
        let mut events = events.peekable();
        if let Some(key) = from.key {
            let mut contents = Contents::of(from.read, key, "");
            from.read.each_period(key, "", None, |period| -> Result<()> {
                let granule_id = proof::granule_id(period.granule_id, from.dataset)?;
                while let Some(event) = events.next_if(|event| match event {
                    Ok(event) => event.granule_id.as_str() <= granule_id,
                    Err(_) => true,
                }) {
                    changes.add_event(event?)?;
                }
                changes.add(granule_id, period.ingested, EventKind::Ingested)?;
                changes.known.extend(contents.during(&period)?);
                match period.deleted {
                    Some(deleted) => changes.add(granule_id, deleted, EventKind::Deleted),
                    None => Ok(()),
                }
            })?;
        }
        events.try_for_each(|event| changes.add_event(event?))?;
        changes.end_granule()
    }

    fn add_event(&mut self, event: Event) -> Result<()> {
        let since = event.at.as_micros();
        self.add(event.granule_id.as_str(), since, event.kind)?;
        let says = |content: &Content| event.kind != EventKind::Ingested || !content.is_empty();
        if let Some(content) = event.content.filter(says) {
            self.known.push(since, content.encoded());
        }
        Ok(())
    }

    fn add(&mut self, granule_id: &str, at: i64, kind: EventKind) -> Result<()> {
        if self.granule_id != granule_id {
            self.end_granule()?;
            granule_id.clone_into(&mut self.granule_id);
        }
        self.changes.push((at, kind));
        Ok(())
    }

    fn end_granule(&mut self) -> Result<()> {
        self.changes.sort_unstable();
        self.known.sort();
        let mut since = None;
        let mut show = |ingested: i64, deleted: Option<i64>| {
            let known = self.known.during(ingested, deleted);
            (self.show)(&self.granule_id, (ingested, deleted), known)
        };
        for (at, kind) in self.changes.drain(..) {
            match (kind, since) {
                (EventKind::Ingested, None) => since = Some(at),
                (EventKind::Deleted, Some(ingested)) => {
                    show(ingested, Some(at))?;
                    since = None;
                }
                // An event that is stored, one that will be rejected, or one with file metadata only.
                _ => {}
            }
        }
        since.map_or(Ok(()), |ingested| show(ingested, None))?;
        self.known.clear();
        Ok(())
    }
}

/// Any number of cited subsets, in a temporary file. Only one is in memory at a time. Each is stored with its
/// patterns, or with the number of its listed granules, whose ids follow in batches.
#[derive(Debug, Default)]
pub(crate) struct CitedSubsets {
    spool: Spool,
    count: u64,
}

impl CitedSubsets {
    /// Adds a subset.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary); the error of a refused change: a granule is
    /// listed twice.
    pub fn add(&mut self, subset: &CitedSubset, members: SubsetMembers) -> Result<()> {
        let (patterns, listing) = match members {
            SubsetMembers::Patterns(patterns) => (Some(patterns), Listing::default()),
            SubsetMembers::Listed(listing) => (None, listing),
        };
        self.count += 1;
        self.spool.add_value(&(subset, patterns, listing.count()))?;
        for batch in batches(&listing)? {
            let ids: Vec<GranuleId> = batch?.into_iter().map(|event| event.granule_id).collect();
            self.spool.add_value(&ids)?;
        }
        Ok(())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Selects the subsets with patterns that are not stored yet, from rows to which these events are added.
    /// The result has an element for each subset.
    ///
    /// Costs a pass over rows and events for all of them together, or one for each 8 MiB of patterns.
    ///
    /// # Errors
    ///
    /// The error of a registry; those of the events.
    pub(super) fn select<Events: Iterator<Item = Result<Event>>>(
        &self,
        from: Origin<'_>,
        events: impl Fn() -> Result<Events>,
    ) -> Result<Vec<SelectedSubset>> {
        let mut selected = Vec::new();
        let mut batch = Batch::default();
        for subset in self.iter() {
            let (CitedSubset { identifier, digest, timestamp, .. }, members) = subset?;
            selected.push(SelectedSubset { all: Recomputed::EMPTY, part: Recomputed::EMPTY });
            let Some(criteria) = members.criteria() else { continue };
            if let Some(key) = from.key
                && from.read.subset(key, (identifier, digest), &criteria)?.is_some()
            {
                continue;
            }
            let SubsetCriteria::Patterns(patterns) = criteria else { continue };
            batch.add(patterns, timestamp, selected.len() - 1);
            if batch.bytes > BATCH_BYTES {
                std::mem::take(&mut batch).select(from, events()?, &mut selected)?;
            }
        }
        if !batch.subsets.is_empty() {
            batch.select(from, events()?, &mut selected)?;
        }
        Ok(selected)
    }

    /// Stores the subsets that are not stored already. Returns the number of new ones. `selected` was selected
    /// before the transaction began. It is valid if it was selected from the same set, since what is selected
    /// from a set never changes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotAsExpected`](crate::ErrorKind::NotAsExpected): a subset has a different identifier here;
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged).
    pub(super) fn keep(
        &self,
        registry: &Registry,
        transaction: &Transaction,
        (key, dataset): (DatasetKey, &DatasetName),
        selected: &[SelectedSubset],
    ) -> Result<u64> {
        let mut again = None;
        let mut kept = 0;
        for (number, subset) in self.iter().enumerate() {
            let (subset, members) = subset?;
            let is_new = subset.keep(&members, transaction, key, dataset, |instance| {
                if let Some(SelectedSubset { part, .. }) =
                    selected.get(number).filter(|it| it.all.check(instance).is_ok())
                {
                    return Ok(*part);
                }
                // Another process changed the dataset meanwhile, the name goes to a new dataset, or a row is
                // damaged. The remaining way is one pass for all subsets, while others wait.
                let again = match &mut again {
                    Some(again) => again,
                    none => {
                        let from = Origin { registry, read: transaction, key: Some(key), dataset };
                        none.insert(self.select(from, || Ok(std::iter::empty()))?)
                    }
                };
                let SelectedSubset { all, part } = again[number];
                all.check(instance)?;
                Ok(part)
            })?;
            kept += u64::from(is_new);
        }
        Ok(kept)
    }

    /// The subsets, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Result<(CitedSubset, SubsetMembers)>> + '_ {
        let (mut records, mut left) = (self.spool.records(), self.count);
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            Some(next(&mut records))
        })
    }
}

/// Reads the next subset.
fn next(records: &mut SpooledRecords<'_>) -> Result<(CitedSubset, SubsetMembers)> {
    let (subset, patterns, named): (_, _, u64) = records.value()?;
    if let Some(patterns) = patterns {
        return Ok((subset, SubsetMembers::Patterns(patterns)));
    }
    let mut builder = ListingBuilder::new();
    while builder.count() < named {
        let ids: Vec<GranuleId> = records.value()?;
        ids.into_iter().try_for_each(|granule_id| builder.add(granule_id))?;
    }
    Ok((subset, SubsetMembers::Listed(builder.finish())))
}
