//! Citing a subset, which is then stored so that its identifier always resolves, and keeping subsets
//! that another registry cited.

use super::stamp::Stamp;
use crate::disk::{Records, Spool, scratch};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Criteria, DatasetName, Event, GranuleId, Identifier, Instance, Moment, Pattern, Set,
    SourceLocation, Subset, Timestamp,
};
use crate::registry::handle::{End, Registry};
use crate::registry::listing::Listing;
use crate::registry::snapshot::{
    Cited, Selected, Selection, cited, dataset_of, identify, identify_selected, select,
};
use crate::store::{self, DatasetKey, Transaction};

/// The number of granules that are looked up or stored at once.
const BATCH_GRANULES: usize = 1_024;

/// The granules of a dataset that a subset consists of.
#[derive(Debug)]
pub enum Members {
    /// Those whose id matches one of these patterns.
    Patterns(Vec<Pattern>),
    /// The granules in this list, each of which is listed once.
    Listed(Listing),
}

impl Registry {
    /// Returns the facts for the citation of a subset of a dataset as of a time (`None` means the
    /// latest change), and stores the subset, so that its identifier always resolves.
    ///
    /// If the same criteria selected the same set before, that subset is returned, with the time of
    /// its first citation. If the criteria select the whole set, the citation is that of the
    /// instance, and nothing is stored.
    ///
    /// Costs a pass over the dataset, which is made before the write lock is taken, since the
    /// granules of an instance never change. Patterns are tried on all granules of the instance,
    /// which are proved on the way.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`](crate::Snapshot::select);
    /// [`ErrorKind::SelectsNothing`](crate::ErrorKind::SelectsNothing);
    /// [`ErrorKind::NotHeldToCite`](crate::ErrorKind::NotHeldToCite): a granule that is named was
    /// not held; the error of a refused change: a granule is named twice;
    /// [`ErrorKind::ClockAhead`](crate::ErrorKind::ClockAhead): `now` is not plausible, so the
    /// subset is not stored; [`ErrorKind::Damaged`](crate::ErrorKind::Damaged).
    pub fn cite_subset(
        &self,
        dataset: &DatasetName,
        at: Option<Moment>,
        members: &Members,
        now: Timestamp,
    ) -> Result<Cited> {
        let found = self.find_subset(dataset, at, members);
        let (selected, subset) = match found.map_err(|error| self.named(error))? {
            Found::Known(cited) => return Ok(*cited),
            Found::New(new) => new.into_subset(members, now)?,
        };
        let (instance, identifier) = (selected.instance().clone(), subset.identifier);
        let stamp = Stamp::now(now);
        self.write(|transaction| {
            let (key, _) = dataset_of(transaction, dataset)?;
            // Another process may have stored it since.
            let known = transaction.subset(key, identifier, &subset.criteria)?;
            let (subset, end) = match known {
                Some((_, known)) => (known, End::RollBack),
                None => {
                    stamp.record(transaction, None, Timestamp::MIN)?;
                    members.store(transaction, key, &subset)?;
                    (subset.clone(), End::Commit)
                }
            };
            let set = Set::Subset { subset, instance: instance.clone() };
            let selected = Selected { set, others: selected.others.clone() };
            Ok((cited(transaction, selected)?, end))
        })
    }

    /// Returns the same as [`Registry::cite_subset`] without storing the subset, for a registry
    /// that cannot be written, and whether its identifier resolves nevertheless: it is stored
    /// already, or is that of a whole instance.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::cite_subset`].
    pub fn describe_subset(
        &self,
        dataset: &DatasetName,
        at: Option<Moment>,
        members: &Members,
        now: Timestamp,
    ) -> Result<(Cited, bool)> {
        let found = self.find_subset(dataset, at, members);
        let (selected, subset) = match found.map_err(|error| self.named(error))? {
            Found::Known(cited) => return Ok((*cited, true)),
            Found::New(new) => new.into_subset(members, now)?,
        };
        let set = Set::Subset { subset, instance: selected.instance().clone() };
        let selected = Selected { set, others: selected.others };
        let read = self.read()?;
        let cited = cited(&read, selected).map_err(|error| self.named(error))?;
        Ok((cited, false))
    }

    fn find_subset(
        &self,
        dataset: &DatasetName,
        at: Option<Moment>,
        members: &Members,
    ) -> Result<Found> {
        if let Members::Patterns(patterns) = members {
            let (bytes, most) = (Criteria::bytes_of(patterns), Criteria::MAX_BYTES);
            if bytes > most {
                return Err(Error::too_long("the list of patterns", "bytes", bytes, most));
            }
        }
        let read = self.read()?;
        let selection = Selection::Dataset { name: dataset.clone(), at };
        let selected = select(&read, &selection)?;
        let (key, _) = dataset_of(&read, dataset)?;
        let progress = self.begin("selecting", "granules", None);
        let (identifier, granules) = members.identify(&read, key, dataset, selected.instance())?;
        drop(progress);
        if granules > 0 && identifier == selected.set.identifier() {
            return Ok(Found::Known(Box::new(cited(&read, selected)?)));
        }
        let known = match members.criteria() {
            Some(criteria) => read.subset(key, identifier, &criteria)?,
            None => None,
        };
        match known {
            Some((_, subset)) => {
                let instance = selected.instance().clone();
                let set = Set::Subset { subset, instance };
                let selected = Selected { set, others: selected.others };
                Ok(Found::Known(Box::new(cited(&read, selected)?)))
            }
            None => Ok(Found::New(Box::new(New { selected, identifier, granules }))),
        }
    }
}

/// A subset that was looked up.
enum Found {
    /// It is already stored, or is the whole instance.
    Known(Box<Cited>),
    New(Box<New>),
}

/// A subset that is not stored yet.
struct New {
    selected: Selected,
    identifier: Identifier,
    granules: u64,
}

impl New {
    /// The subset as it would be stored, and the instance from which it is selected.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SelectsNothing`](crate::ErrorKind::SelectsNothing).
    fn into_subset(self, members: &Members, now: Timestamp) -> Result<(Selected, Subset)> {
        let New { selected, identifier, granules } = self;
        let Instance { timestamp, dataset, .. } = selected.instance().clone();
        let criteria = members.criteria().filter(|_| granules > 0);
        let nothing = || {
            let message = format!("no granule that {dataset} held at {timestamp} is selected");
            Error::new(ErrorKind::SelectsNothing, message)
        };
        let subset = Subset {
            criteria: criteria.ok_or_else(nothing)?,
            dataset: dataset.clone(),
            timestamp,
            identifier,
            granules,
            cited: now,
        };
        Ok((selected, subset))
    }
}

impl Members {
    /// The criteria in their normal form. `None` means that they can select nothing.
    fn criteria(&self) -> Option<Criteria> {
        match self {
            Members::Patterns(patterns) => Criteria::of_patterns(patterns.clone()),
            Members::Listed(listing) => (!listing.is_empty()).then_some(Criteria::Named),
        }
    }

    /// Computes their identifier within an instance, and counts them.
    fn identify(
        &self,
        read: &store::Snapshot,
        key: DatasetKey,
        dataset: &DatasetName,
        instance: &Instance,
    ) -> Result<(Identifier, u64)> {
        match self {
            Members::Patterns(patterns) => identify_selected(read, key, instance, patterns),
            Members::Listed(listing) => {
                identify_named(read, key, dataset, instance.timestamp, listing)
            }
        }
    }

    /// Stores a subset that consists of them.
    fn store(&self, transaction: &Transaction, key: DatasetKey, subset: &Subset) -> Result<()> {
        let stored = transaction.insert_subset(key, subset)?;
        if let Members::Listed(listing) = self {
            for batch in batches(listing)? {
                let ids: Vec<GranuleId> =
                    batch?.into_iter().map(|event| event.granule_id).collect();
                transaction.insert_named(key, stored, &ids)?;
            }
        }
        Ok(())
    }
}

/// Computes the identifier of the granules that are named, all of which must have been held.
fn identify_named(
    read: &store::Snapshot,
    key: DatasetKey,
    dataset: &DatasetName,
    at: Timestamp,
    listing: &Listing,
) -> Result<(Identifier, u64)> {
    let held = batches(listing)?.flat_map(|batch| {
        let check = || {
            let batch = batch?;
            let ids: Vec<&str> = batch.iter().map(|event| event.granule_id.as_str()).collect();
            let held = read.held_among(key, at, &ids)?;
            let mut held = held.into_iter().peekable();
            for event in &batch {
                if held.next_if(|held| held.granule_id == event.granule_id).is_none() {
                    let what = format_args!("was not held in {dataset} at {at}");
                    return Err(Error::of_event(event, ErrorKind::NotHeldToCite, what));
                }
            }
            Ok(batch)
        };
        match check() {
            Ok(batch) => batch.into_iter().map(|event| Ok(event.granule_id)).collect(),
            Err(error) => vec![Err(error)],
        }
    });
    identify(held)
}

/// The granules that are named, in canonical order, in batches; a repetition is an error.
fn batches(listing: &Listing) -> Result<impl Iterator<Item = Result<Vec<Event>>>> {
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

/// A subset that another registry cited, and that is to be kept here too, since its identifier must
/// resolve.
#[derive(Debug)]
pub(crate) struct CitedSubset {
    /// Its identifier.
    pub identifier: Identifier,
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
    /// Keeps the subset, unless it is kept already; returns whether it was new. It is selected again,
    /// and must have the same identifier.
    pub(super) fn keep(
        &self,
        transaction: &Transaction,
        key: DatasetKey,
        dataset: &DatasetName,
    ) -> Result<bool> {
        let refused = |identifier: Identifier| {
            let message = format!(
                "the subset {} of the change at {} is not what this history selects: {identifier}",
                self.identifier, self.timestamp
            );
            Error::new(ErrorKind::NotAsExpected, message).at(self.location.clone())
        };
        let Some(criteria) = self.members.criteria() else {
            return Err(refused(Identifier::EMPTY));
        };
        if transaction.subset(key, self.identifier, &criteria)?.is_some() {
            return Ok(false);
        }
        let in_force = transaction.instance_at(key, self.timestamp)?;
        let Some(instance) = in_force.filter(|instance| instance.timestamp == self.timestamp)
        else {
            return Err(refused(Identifier::EMPTY));
        };
        let (identifier, granules) = self.members.identify(transaction, key, dataset, &instance)?;
        if (identifier, granules) != (self.identifier, self.granules) {
            return Err(refused(identifier));
        }
        let subset = Subset {
            dataset: dataset.clone(),
            timestamp: self.timestamp,
            criteria,
            identifier,
            granules,
            cited: self.cited,
        };
        self.members.store(transaction, key, &subset)?;
        Ok(true)
    }
}

/// Any number of cited subsets. One of them is in memory at a time: they are kept in a temporary file,
/// each as a header and parts of its patterns or ids.
#[derive(Debug, Default)]
pub(crate) struct CitedSubsets {
    records: Spool,
    count: u64,
}

/// The header of a subset: whether its granules are named, its identifier, the times of its change and of
/// its citation, how many granules it has, and where it was read.
type Header = (bool, Identifier, Timestamp, Timestamp, u64, String, u64);

impl CitedSubsets {
    /// Adds a subset.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary); the error of a refused change: a
    /// granule is named twice.
    pub fn add(&mut self, subset: &CitedSubset) -> Result<()> {
        let CitedSubset { identifier, timestamp, members, granules, cited, location } = subset;
        let (source, line) = match location {
            SourceLocation::Line { source, line } => (&**source, *line),
            SourceLocation::Argument { number } => ("", *number),
        };
        let is_named = matches!(members, Members::Listed(_));
        let header: Header =
            (is_named, *identifier, *timestamp, *cited, *granules, source.to_owned(), line);
        self.count += 1;
        self.records.add_value(&header)?;
        match members {
            Members::Patterns(patterns) if patterns.is_empty() => {}
            Members::Patterns(patterns) => self.add_part(patterns.iter().map(Pattern::as_str))?,
            Members::Listed(listing) => {
                for batch in batches(listing)? {
                    self.add_part(batch?.iter().map(|event| event.granule_id.as_str()))?;
                }
            }
        }
        // An empty part is the end.
        self.add_part(std::iter::empty())
    }

    /// Adds patterns or ids, which have no line ends.
    fn add_part<'a>(&mut self, items: impl Iterator<Item = &'a str>) -> Result<()> {
        let mut part = Vec::new();
        for item in items {
            part.extend(item.as_bytes());
            part.push(b'\n');
        }
        self.records.add(&part)?;
        Ok(())
    }

    /// The subsets, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Result<CitedSubset>> + '_ {
        let (mut records, mut left) = (self.records.records(), self.count);
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            Some(next(&mut records))
        })
    }
}

/// Reads the next subset.
fn next(records: &mut Records<'_>) -> Result<CitedSubset> {
    let mut record = || records.next().unwrap_or_else(|| Err(scratch::unreadable()));
    let header = record()?;
    let (is_named, identifier, timestamp, cited, granules, source, line): Header =
        scratch::value_of(&header)?;
    let members = match is_named {
        true => Members::Listed(Listing::new()),
        false => Members::Patterns(Vec::new()),
    };
    let location = SourceLocation::Line { source: source.into(), line };
    let mut subset = CitedSubset { identifier, timestamp, members, granules, cited, location };
    loop {
        let part = record()?;
        if part.is_empty() {
            return Ok(subset);
        }
        let items = std::str::from_utf8(&part).map_err(|_| scratch::unreadable())?;
        for item in items.lines() {
            match &mut subset.members {
                Members::Patterns(patterns) => {
                    patterns.push(item.parse().map_err(|_| scratch::unreadable())?);
                }
                Members::Listed(listing) => {
                    listing.add(item.parse::<GranuleId>().map_err(|_| scratch::unreadable())?)?;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsets_are_read_as_they_were_added() {
        let subset = |number: u64, members| CitedSubset {
            identifier: Identifier::from_bytes([number as u8; 16]),
            timestamp: Timestamp::from_micros(-5).unwrap(),
            members,
            granules: number,
            cited: Timestamp::from_micros(7).unwrap(),
            location: SourceLocation::Line { source: "us.jsonl".into(), line: number },
        };
        let patterns = |number: u64| -> Vec<Pattern> {
            (0..number).map(|n| format!("ä[{n}]*").parse().unwrap()).collect()
        };
        let ids = |number: u64| -> Vec<GranuleId> {
            (0..number).map(|n| format!(" granule.{n:05} ").parse().unwrap()).collect()
        };
        let mut subsets = CitedSubsets::default();
        for number in [1, 3, 2_500] {
            subsets.add(&subset(number, Members::Patterns(patterns(number)))).unwrap();
            let mut listing = Listing::new();
            ids(number).into_iter().rev().for_each(|id| listing.add(id).unwrap());
            subsets.add(&subset(number, Members::Listed(listing))).unwrap();
        }
        // They can be read again and again.
        for _ in 0..2 {
            let mut found = subsets.iter().map(Result::unwrap);
            for number in [1, 3, 2_500] {
                for is_named in [false, true] {
                    let found = found.next().unwrap();
                    let expected = subset(number, Members::Patterns(Vec::new()));
                    assert_eq!(found.identifier, expected.identifier);
                    assert_eq!(
                        (found.timestamp, found.cited),
                        (expected.timestamp, expected.cited)
                    );
                    assert_eq!((found.granules, found.location), (number, expected.location));
                    match found.members {
                        Members::Patterns(found) => {
                            assert!(!is_named && found == patterns(number));
                        }
                        Members::Listed(listing) => {
                            let events = batches(&listing).unwrap().flat_map(Result::unwrap);
                            let found: Vec<GranuleId> =
                                events.map(|event| event.granule_id).collect();
                            assert!(is_named && found == ids(number));
                        }
                    }
                }
            }
            assert!(found.next().is_none());
        }
    }
}
