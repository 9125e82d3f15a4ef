//! The subsets that another registry cited, and their selection again, which proves that this history has
//! them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};

use super::cite::{Members, batches, identify_named};
use crate::disk::{Spool, SpooledRecords};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Criteria, DatasetName, Digest, GranuleId, Identifier, Instance, Pattern, SourceLocation,
    Subset, Timestamp,
};
use crate::registry::handle::Registry;
use crate::registry::listing::Listing;
use crate::registry::proof::Recomputed;
use crate::registry::verify::select_from;
use crate::store::{DatasetKey, Transaction};

/// A subset that another registry cited, and that is to be kept here too, since its identifier must
/// resolve.
#[derive(Debug)]
pub(crate) struct CitedSubset {
    /// Its identifier.
    pub identifier: Identifier,
    /// Its digest there. Here it may have another one: what is known of files may differ.
    pub digest: Digest,
    /// The time of the change from whose granules it was selected.
    pub timestamp: Timestamp,
    /// How it was selected.
    pub members: Members,
    /// How many granules it has.
    pub granules: u64,
    /// When it was first cited.
    pub cited: Timestamp,
    /// Where it was read, for messages.
    pub location: SourceLocation,
}

impl CitedSubset {
    /// The instance from which it is selected.
    fn instance(&self, transaction: &Transaction, key: DatasetKey) -> Result<Instance> {
        let in_force = transaction.instance_at(key, self.timestamp)?;
        match in_force.filter(|instance| instance.timestamp == self.timestamp) {
            Some(instance) => Ok(instance),
            None => Err(self.refused(Identifier::EMPTY)),
        }
    }

    /// Stores what was selected, unless it is stored; returns whether it was new.
    fn store(
        self,
        transaction: &Transaction,
        (key, dataset): (DatasetKey, &DatasetName),
        criteria: Criteria,
        selected: Recomputed,
    ) -> Result<bool> {
        let Recomputed { identifier, digest, granules } = selected;
        if (identifier, granules) != (self.identifier, self.granules) {
            return Err(self.refused(identifier));
        }
        if transaction.subset(key, (identifier, digest), &criteria)?.is_some() {
            return Ok(false);
        }
        let CitedSubset { timestamp, cited, .. } = self;
        let dataset = dataset.clone();
        let subset = Subset { dataset, timestamp, criteria, identifier, digest, granules, cited };
        self.members.store(transaction, key, &subset)?;
        Ok(true)
    }

    /// Refuses the subset, of which this history selects another one.
    fn refused(&self, identifier: Identifier) -> Error {
        let message = format!(
            "the subset {} of the change at {} is not what this history selects: {identifier}",
            self.identifier, self.timestamp
        );
        Error::new(ErrorKind::NotAsExpected, message).at(self.location.clone())
    }
}

/// The memory that the patterns of one pass may take, in bytes.
const BATCH_BYTES: usize = 8 * 1_024 * 1_024;

/// About the bytes that a subset or a pattern takes in memory besides its text.
const OVERHEAD_BYTES: usize = 128;

/// Subsets with patterns that one pass selects.
#[derive(Default)]
struct Batch {
    subsets: Vec<(Criteria, CitedSubset)>,
    bytes: usize,
}

impl Batch {
    fn add(&mut self, criteria: Criteria, subset: CitedSubset) {
        let patterns = criteria.patterns();
        self.bytes += Criteria::bytes_of(patterns) + (patterns.len() + 1) * OVERHEAD_BYTES;
        self.subsets.push((criteria, subset));
    }

    /// Keeps them, and returns how many were new.
    fn keep(
        mut self,
        registry: &Registry,
        transaction: &Transaction,
        (key, dataset): (DatasetKey, &DatasetName),
    ) -> Result<u64> {
        let mut instances: BTreeMap<Timestamp, Instance> = BTreeMap::new();
        for (_, subset) in &self.subsets {
            if let Entry::Vacant(vacant) = instances.entry(subset.timestamp) {
                vacant.insert(subset.instance(transaction, key)?);
            }
        }
        let instances: Vec<Instance> = instances.into_values().collect();
        self.subsets.sort_by(|(a, one), (b, other)| {
            (a.patterns(), one.timestamp).cmp(&(b.patterns(), other.timestamp))
        });
        let criteria = self.subsets.iter().map(|(it, subset)| (it.patterns(), subset.timestamp));
        let criteria: Vec<(&[Pattern], Timestamp)> = criteria.collect();
        let selected = select_from(registry, transaction, key, &instances, &criteria)?;
        let mut kept = 0;
        for ((criteria, subset), selected) in self.subsets.into_iter().zip(selected) {
            kept += u64::from(subset.store(transaction, (key, dataset), criteria, selected)?);
        }
        Ok(kept)
    }
}

/// Any number of cited subsets. One of them is in memory at a time: they are kept in a temporary file,
/// each with its patterns, or followed by its ids in batches.
#[derive(Debug, Default)]
pub(crate) struct CitedSubsets {
    spool: Spool,
    count: u64,
}

/// A subset as it is kept.
#[derive(Serialize, Deserialize)]
struct SpooledSubset {
    set: (Identifier, Digest),
    timestamp: Timestamp,
    cited: Timestamp,
    granules: u64,
    /// `None` means that the granules are named.
    patterns: Option<Vec<Pattern>>,
    /// How many ids follow.
    named: u64,
    /// The name of the file and the line.
    place: (String, u64),
}

impl CitedSubsets {
    /// Adds a subset.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary); the error of a refused change: a
    /// granule is named twice.
    pub fn add(&mut self, subset: CitedSubset) -> Result<()> {
        let CitedSubset { identifier, digest, timestamp, members, granules, cited, location } =
            subset;
        let (patterns, listing) = match members {
            Members::Patterns(patterns) => (Some(patterns), Listing::new()),
            Members::Listed(listing) => (None, listing),
        };
        let place = match location {
            SourceLocation::Line { source, line } => (source.to_string(), line),
            SourceLocation::Argument { number } => (String::new(), number),
        };
        let (set, named) = ((identifier, digest), listing.count());
        self.count += 1;
        self.spool.add_value(&SpooledSubset {
            set,
            timestamp,
            cited,
            granules,
            patterns,
            named,
            place,
        })?;
        for batch in batches(&listing)? {
            let ids: Vec<GranuleId> = batch?.into_iter().map(|event| event.granule_id).collect();
            self.spool.add_value(&ids)?;
        }
        Ok(())
    }

    /// Keeps those that are not kept already; returns how many were new. What the patterns of one select from
    /// its instance, or the granules that it names, must have the same identifier.
    ///
    /// Costs a pass over the dataset for all of them together, or one for each 8 MiB of patterns, and a
    /// look-up for each granule that is named.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotAsExpected`](crate::ErrorKind::NotAsExpected): one has another identifier here;
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged).
    pub(super) fn keep(
        &self,
        registry: &Registry,
        transaction: &Transaction,
        (key, dataset): (DatasetKey, &DatasetName),
    ) -> Result<u64> {
        let (mut batch, mut kept) = (Batch::default(), 0);
        for subset in self.iter() {
            let subset = subset?;
            let set = (subset.identifier, subset.digest);
            let Some(criteria) = subset.members.criteria() else {
                return Err(subset.refused(Identifier::EMPTY));
            };
            if transaction.subset(key, set, &criteria)?.is_some() {
                continue;
            }
            match &subset.members {
                Members::Patterns(_) => batch.add(criteria, subset),
                Members::Listed(listing) => {
                    let at = subset.instance(transaction, key)?.timestamp;
                    let selected = identify_named(transaction, key, dataset, at, listing)?;
                    let is_new = subset.store(transaction, (key, dataset), criteria, selected)?;
                    kept += u64::from(is_new);
                }
            }
            if batch.bytes > BATCH_BYTES {
                kept += std::mem::take(&mut batch).keep(registry, transaction, (key, dataset))?;
            }
        }
        Ok(kept + batch.keep(registry, transaction, (key, dataset))?)
    }

    /// The subsets, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Result<CitedSubset>> + '_ {
        let (mut records, mut left) = (self.spool.records(), self.count);
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            Some(next(&mut records))
        })
    }
}

/// Reads the next subset.
fn next(records: &mut SpooledRecords<'_>) -> Result<CitedSubset> {
    let SpooledSubset { set, timestamp, cited, granules, patterns, named, place } =
        records.value()?;
    let members = match patterns {
        Some(patterns) => Members::Patterns(patterns),
        None => {
            let mut listing = Listing::new();
            while listing.count() < named {
                let ids: Vec<GranuleId> = records.value()?;
                ids.into_iter().try_for_each(|granule_id| listing.add(granule_id))?;
            }
            Members::Listed(listing)
        }
    };
    let ((identifier, digest), (source, line)) = (set, place);
    let location = SourceLocation::Line { source: source.into(), line };
    Ok(CitedSubset { identifier, digest, timestamp, members, granules, cited, location })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A subset of so many patterns, or else ids, which are added in descending order.
    fn subset(number: u64, is_named: bool) -> CitedSubset {
        let mut listing = Listing::new();
        let ids = (0..number).rev().map(|n| format!(" granule.{n:05} ").parse::<GranuleId>());
        ids.for_each(|id| listing.add(id.unwrap()).unwrap());
        let patterns = (0..number).map(|n| format!("ä[{n}]*").parse().unwrap());
        CitedSubset {
            identifier: Identifier::from_bytes([number as u8; 16]),
            digest: Digest::from_bytes([number as u8; 32]),
            timestamp: Timestamp::from_micros(-5).unwrap(),
            members: match is_named {
                true => Members::Listed(listing),
                false => Members::Patterns(patterns.collect()),
            },
            granules: number,
            cited: Timestamp::from_micros(7).unwrap(),
            location: SourceLocation::Line { source: "us.jsonl".into(), line: number },
        }
    }

    /// All that a subset has, but for its members, and these.
    fn parts(subset: &CitedSubset) -> (String, Vec<String>) {
        let CitedSubset { identifier, digest, timestamp, members, granules, cited, location } =
            subset;
        let members = match members {
            Members::Patterns(patterns) => patterns.iter().map(ToString::to_string).collect(),
            Members::Listed(listing) => {
                let events = batches(listing).unwrap().flat_map(Result::unwrap);
                events.map(|event| event.granule_id.to_string()).collect()
            }
        };
        let parts = (identifier, digest, timestamp, granules, cited, location);
        (format!("{parts:?}"), members)
    }

    #[test]
    fn subsets_are_read_as_they_were_added() {
        let numbers = [(1, false), (1, true), (2_500, false), (2_500, true), (3, false)];
        let added = || numbers.map(|(number, is_named)| subset(number, is_named));
        let mut subsets = CitedSubsets::default();
        added().into_iter().for_each(|subset| subsets.add(subset).unwrap());
        // They can be read again and again.
        for _ in 0..2 {
            let read: Vec<_> = subsets.iter().map(|subset| parts(&subset.unwrap())).collect();
            assert_eq!(read, added().iter().map(parts).collect::<Vec<_>>());
        }
    }
}
