//! Cites a subset, and stores it so that its identifier always resolves.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    DatasetName, Event, GranuleId, Instance, Moment, Pattern, Set, Subset, SubsetCriteria,
    Timestamp, quoted,
};
use crate::registry::handle::{End, Registry};
use crate::registry::listing::Listing;
use crate::registry::observer::Work;
use crate::registry::proof::{Recomputed, Recomputing};
use crate::registry::snapshot::{
    CitationFacts, Selected, Selection, Snapshot, cited, dataset_of, select,
};
use crate::registry::verify::select_from;
use crate::store::{self, DatasetKey, Transaction};

/// The number of granules that are looked up or stored at once.
const BATCH_GRANULES: usize = 1_024;

/// The greatest number of granules that an error names as not held.
const MAX_NAMED: usize = 20;

/// The granules of a dataset that a subset consists of.
#[derive(Debug)]
pub enum SubsetMembers {
    /// The granules whose id matches one of these patterns.
    Patterns(Vec<Pattern>),
    /// The granules in this list. Each must be listed once.
    Listed(Listing),
}

/// The facts for the citation of a subset, and whether it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubsetCitation {
    /// The facts for the citation.
    pub cited: CitationFacts,
    /// Whether the subset is stored.
    pub state: SubsetState,
}

/// Whether a subset is stored, so that its identifier resolves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubsetState {
    /// It was stored before, or is a whole instance.
    Known,
    /// It was stored for this citation.
    Added,
    /// It is not stored, and its identifier does not resolve.
    NotStored,
}

impl Registry {
    /// Returns the facts for the citation of a subset of a dataset as of a time (`None` means the latest
    /// change). Stores the subset, so that its identifier always resolves.
    ///
    /// If the same criteria selected the same set before, that subset is returned, with the time of
    /// its first citation. If the criteria select the whole set, the citation is that of the
    /// instance, and nothing is stored.
    ///
    /// Costs a pass over the dataset. The pass is made before the write lock is taken, since the granules of an
    /// instance never change. Patterns are tried on all granules of the instance, which are verified on the
    /// way.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`](crate::Snapshot::select);
    /// [`ErrorKind::SelectsNothing`](crate::ErrorKind::SelectsNothing): nothing is selected, or a listed
    /// granule was not held; the error of a refused change: a granule is listed twice;
    /// [`ErrorKind::ClockAhead`](crate::ErrorKind::ClockAhead): the present time is not plausible, so the
    /// subset is not stored; [`ErrorKind::Damaged`](crate::ErrorKind::Damaged).
    pub fn cite_subset(
        &self,
        dataset: &DatasetName,
        at: Option<Moment>,
        members: &SubsetMembers,
    ) -> Result<CitationFacts> {
        Ok(self.save_subset(dataset, at, members)?.cited)
    }

    /// Like [`Registry::cite_subset`], and returns whether the subset was stored by this call.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::cite_subset`].
    pub fn save_subset(
        &self,
        dataset: &DatasetName,
        at: Option<Moment>,
        members: &SubsetMembers,
    ) -> Result<SubsetCitation> {
        let found = self.snapshot()?.preview_subset(dataset, at, members)?;
        let Set::Subset { subset, instance } = &found.cited.period.set else { return Ok(found) };
        if found.state == SubsetState::Known {
            return Ok(found);
        }
        self.write(|transaction| {
            let (key, _) = dataset_of(transaction, dataset)?;
            // The name may have another history by now: that of a correction, or of another dataset.
            let then = transaction.instance_at(key, instance.timestamp)?;
            if then.is_none_or(|then| {
                (then.timestamp, then.digest) != (instance.timestamp, instance.digest)
            }) {
                let message = format!("{dataset} got another history meanwhile");
                return Err(Error::new(ErrorKind::Conflict, message));
            }
            // Another process may have stored it meanwhile.
            let set = (subset.identifier, subset.digest);
            if let Some((_, subset)) = transaction.subset(key, set, &subset.criteria)? {
                let mut cited = found.cited.clone();
                cited.period.set = Set::Subset { subset, instance: instance.clone() };
                let known = SubsetCitation { cited, state: SubsetState::Known };
                return Ok((known, End::RollBack));
            }
            self.record(transaction, None, Timestamp::MIN)?;
            members.store(transaction, key, subset)?;
            let cited = found.cited.clone();
            Ok((SubsetCitation { cited, state: SubsetState::Added }, End::Commit))
        })
    }

    /// The subset as it is or would be stored, and whether it is stored. If everything is selected, the
    /// instance instead of a subset.
    fn find_subset(
        &self,
        read: &store::View,
        dataset: &DatasetName,
        at: Option<Moment>,
        members: &SubsetMembers,
    ) -> Result<(Selected, bool)> {
        if let SubsetMembers::Patterns(patterns) = members {
            let (count, most) = (patterns.len(), SubsetCriteria::MAX_PATTERNS);
            if count > most {
                return Err(Error::too_long("a selection", "patterns", count, most));
            }
        }
        let selection = Selection::Dataset { name: dataset.clone(), at };
        let selected = select(read, &selection)?;
        let (key, _) = dataset_of(read, dataset)?;
        let instance = selected.instance().clone();
        let Recomputed { identifier, digest, granules } = match members {
            SubsetMembers::Patterns(patterns) => {
                let criteria = [(patterns.as_slice(), instance.timestamp)];
                select_from(self, read, key, std::slice::from_ref(&instance), &criteria)?[0]
            }
            SubsetMembers::Listed(listing) => {
                let _progress = self.begin(Work::Select, None);
                identify_named(read, key, dataset, instance.timestamp, listing)?
            }
        };
        if granules > 0 && identifier == instance.identifier {
            return Ok((selected, true));
        }
        let Instance { timestamp, dataset, .. } = instance.clone();
        let Some(criteria) = members.criteria().filter(|_| granules > 0) else {
            let message = format!("no granule that {dataset} held at {timestamp} is selected");
            return Err(Error::new(ErrorKind::SelectsNothing, message));
        };
        let (subset, is_stored) = match read.subset(key, (identifier, digest), &criteria)? {
            Some((_, subset)) => (subset, true),
            None => {
                let cited = self.now();
                let subset =
                    Subset { criteria, dataset, timestamp, identifier, digest, granules, cited };
                (subset, false)
            }
        };
        Ok((Selected { set: Set::Subset { subset, instance }, ..selected }, is_stored))
    }
}

impl Snapshot {
    /// Returns the same as [`Registry::cite_subset`] without storing the subset, for a registry that cannot be
    /// written. The state tells whether the identifier resolves nevertheless: the subset is stored already, or
    /// is a whole instance.
    pub fn preview_subset(
        &self,
        dataset: &DatasetName,
        at: Option<Moment>,
        members: &SubsetMembers,
    ) -> Result<SubsetCitation> {
        self.ask(|read| {
            let (selected, is_stored) = self.registry.find_subset(read, dataset, at, members)?;
            let state = if is_stored { SubsetState::Known } else { SubsetState::NotStored };
            Ok(SubsetCitation { cited: cited(read, selected)?, state })
        })
    }
}

impl SubsetMembers {
    /// The criteria in their normal form. `None` means that nothing can be selected.
    pub(super) fn criteria(&self) -> Option<SubsetCriteria> {
        match self {
            SubsetMembers::Patterns(patterns) => SubsetCriteria::of_patterns(patterns.clone()),
            SubsetMembers::Listed(listing) => {
                (!listing.is_empty()).then_some(SubsetCriteria::Named)
            }
        }
    }

    /// Stores a subset with these members.
    pub(super) fn store(
        &self,
        transaction: &Transaction,
        key: DatasetKey,
        subset: &Subset,
    ) -> Result<()> {
        let stored = transaction.insert_subset(key, subset)?;
        if let SubsetMembers::Listed(listing) = self {
            for batch in batches(listing)? {
                let ids: Vec<GranuleId> =
                    batch?.into_iter().map(|event| event.granule_id).collect();
                transaction.insert_named(key, stored, &ids)?;
            }
        }
        Ok(())
    }
}

/// Computes the identifier and the digest of the listed granules, all of which must have been held.
pub(super) fn identify_named(
    read: &store::View,
    key: DatasetKey,
    dataset: &DatasetName,
    at: Timestamp,
    listing: &Listing,
) -> Result<Recomputed> {
    let mut recomputing = Recomputing::start();
    let (mut missing, mut count) = (Vec::new(), 0);
    for batch in batches(listing)? {
        let batch = batch?;
        let ids: Vec<&str> = batch.iter().map(|event| event.granule_id.as_str()).collect();
        let mut held = read.held_among(key, at, &ids)?.into_iter().peekable();
        for event in &batch {
            if held.next_if(|held| held.granule_id == event.granule_id).is_none() {
                count += 1;
                missing.extend((count <= MAX_NAMED).then(|| event.clone()));
            }
        }
        if count == 0 {
            recomputing.add_known(read, key, at, &ids)?;
        }
    }
    let Some((first, others)) = missing.split_first() else { return Ok(recomputing.finish()) };
    let others = others.iter().map(|event| quoted(event.granule_id.as_str()).to_string());
    let mut also = others.collect::<Vec<_>>().join(", ");
    if count > MAX_NAMED {
        also.push_str(&format!(" and {} more", count - MAX_NAMED));
    }
    let nor = if count > 1 { ", nor were " } else { "" };
    let what = format_args!("was not held in {dataset} at {at}{nor}{also}");
    Err(Error::of_event(first, ErrorKind::SelectsNothing, what))
}

/// The listed granules in canonical order, in batches. A repetition is an error.
pub(super) fn batches(listing: &Listing) -> Result<impl Iterator<Item = Result<Vec<Event>>>> {
    let mut sorted = listing.sorted()?;
    let mut last: Option<Event> = None;
    Ok(std::iter::from_fn(move || {
        let mut batch: Vec<Event> = Vec::with_capacity(BATCH_GRANULES);
        for event in sorted.by_ref().take(BATCH_GRANULES) {
            let event = match event {
                Ok(event) => event,
                Err(error) => return Some(Err(error)),
            };
            if let Some(last) = last.as_ref().filter(|last| last.granule_id == event.granule_id) {
                return Some(Err(Error::of_repetition(last, &event)));
            }
            last = Some(event.clone());
            batch.push(event);
        }
        (!batch.is_empty()).then_some(Ok(batch))
    }))
}
