//! Resolves an identifier to every dataset and interval in which it was in force.

use serde::{Serialize, Serializer};

use super::select::Selection;
use super::view::{Snapshot, dataset_of};
use crate::error::Result;
use crate::model::{
    Annotation, DatasetName, Digest, DigestPrefix, Identifier, Instance, Moment, Set, Subset,
    Timestamp,
};
use crate::store::{self, DatasetKey};

/// An interval in the history of a dataset in which an identifier was in force, as that of an
/// instance or of a subset that was cited.
///
/// Its JSON has the fields of the command line's `resolve`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The set.
    pub set: Set,
}

#[derive(Serialize)]
struct Row<'a> {
    kind: &'static str,
    dataset: &'a DatasetName,
    from: Timestamp,
    until: Option<Timestamp>,
    identifier: Identifier,
    granules: u64,
    instance: Option<&'a Instance>,
    subset: Option<&'a Subset>,
    annotations: &'a [Annotation],
}

impl Serialize for Resolved {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let instance = self.set.instance();
        let (kind, of) = match &self.set {
            Set::Instance(instance) => ("instance", Some(instance)),
            Set::Subset { .. } => ("subset", None),
        };
        let row = Row {
            kind,
            dataset: &instance.dataset,
            from: instance.timestamp,
            until: instance.until,
            identifier: self.set.identifier(),
            granules: self.set.granules(),
            instance: of,
            subset: self.set.subset(),
            annotations: &instance.annotations,
        };
        row.serialize(serializer)
    }
}

/// Why an identifier agrees with a time (docs/reference/commands.md, Times).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agreement {
    /// It was in force according to the registry at that time; a change that was recorded later
    /// contradicts this.
    AsKnownThen,
    /// It was in force according to the registry now.
    AsKnownNow,
}

/// The result of resolving an identifier.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resolution {
    /// The intervals in which it was in force: instances by dataset and time, then subsets.
    pub rows: Vec<Resolved>,
    /// How many of them agree with the requested time; all of them if no time was requested.
    pub agreeing: u64,
    /// Why it agrees: as known now, if any row agrees in that way. `None` means that no row agrees.
    pub agreement: Option<Agreement>,
}

impl Snapshot {
    /// Returns every interval in which an identifier was in force, by dataset and time, and then
    /// the subsets that were cited with it. If a dataset is named, only those of that dataset.
    ///
    /// A day agrees with each identifier that was in force at any time of it: a citation in the
    /// morning was correct, whatever changed in the afternoon. A time also agrees if the identifier
    /// was in force according to the registry at that time, whatever was recorded later. Of a subset,
    /// only the interval of its first citation is known ([`Resolution::is_unknown_then`]).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): a subset was cited as of a time at which
    /// its dataset had no change. An unknown identifier is not an error: it has no rows.
    pub fn resolve(
        &self,
        identifier: Identifier,
        dataset: Option<&DatasetName>,
        at: Option<Moment>,
    ) -> Result<Resolution> {
        self.resolved((identifier, None), dataset, at)
    }

    /// As [`Snapshot::resolve`], of a digest: the instances and the subsets that had it.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::resolve`], and those of [`Snapshot::select`] of a digest: an unknown one has kind
    /// `identifier-unknown`.
    pub fn resolve_digest(
        &self,
        prefix: &DigestPrefix,
        dataset: Option<&DatasetName>,
        at: Option<Moment>,
    ) -> Result<Resolution> {
        let set = self.select(&Selection::Digest(prefix.clone()))?.set;
        self.resolved((set.identifier(), Some(set.digest())), dataset, at)
    }

    fn resolved(
        &self,
        (identifier, digest): (Identifier, Option<Digest>),
        dataset: Option<&DatasetName>,
        at: Option<Moment>,
    ) -> Result<Resolution> {
        let has_it = |of_set: Digest| digest.is_none_or(|digest| digest == of_set);
        self.ask(|read| {
            let mut resolution = Resolution::default();
            let dataset = dataset.map(|dataset| self.dataset_of(read, dataset)).transpose()?;
            let key = dataset.as_ref().map(|(key, _)| *key);
            let seen = self.seen();
            let instances = seen.instances(read, instances(read, identifier, key)?)?;
            for instance in instances.into_iter().filter(|instance| has_it(instance.digest)) {
                let agreement = match at {
                    None => Some(Agreement::AsKnownNow),
                    Some(at) => agreement(read, &instance, at)?,
                };
                resolution.add(Set::Instance(instance), agreement);
            }
            for (_, subset) in read.subsets_with(identifier)? {
                let is_of_other = |(_, present): &(_, DatasetName)| *present != subset.dataset;
                if dataset.as_ref().is_some_and(is_of_other) || !has_it(subset.digest) {
                    continue;
                }
                let Some(set) = seen.subset(read, subset)? else { continue };
                let agreement = match at {
                    None => Some(Agreement::AsKnownNow),
                    Some(at) => agreement(read, set.instance(), at)?,
                };
                resolution.add(set, agreement);
            }
            Ok(resolution)
        })
    }

    /// The intervals in which an identifier was in force as that of an instance, by dataset and
    /// time, after one of them (`None` means from the first), at most `limit` of them.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read. An unknown identifier is not an error.
    pub fn intervals_after(
        &self,
        identifier: Identifier,
        after: Option<(&DatasetName, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<Instance>> {
        self.ask(|read| {
            let mut intervals: Vec<Instance> = Vec::new();
            let mut after = after.map(|(name, timestamp)| (name.clone(), timestamp));
            // Intervals of datasets that are not shown do not count.
            loop {
                let missing = limit - intervals.len() as u32;
                let position = after.as_ref().map(|(name, timestamp)| (name, *timestamp));
                let page = read.instances_with(identifier, position, missing)?;
                let is_last = page.len() < missing as usize;
                after = page.last().map(|last| (last.dataset.clone(), last.timestamp));
                intervals.append(&mut self.seen().instances(read, page)?);
                if is_last || intervals.len() == limit as usize {
                    return Ok(intervals);
                }
            }
        })
    }

    /// The subsets that were cited with an identifier, each with the instance from which it was
    /// first selected, by dataset and by the time of the first citation.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): a subset was cited as of a time at which
    /// its dataset had no change.
    pub fn subsets_with(&self, identifier: Identifier, limit: usize) -> Result<Vec<Set>> {
        self.ask(|read| {
            let subsets = read.subsets_with(identifier)?.into_iter();
            let sets = subsets.map(|(_, subset)| self.seen().subset(read, subset));
            sets.filter_map(Result::transpose).take(limit).collect()
        })
    }
}

/// Every instance with an identifier: of a dataset, or of any (`None`), by dataset and time.
pub(in crate::registry) fn instances(
    read: &store::Snapshot,
    identifier: Identifier,
    dataset: Option<DatasetKey>,
) -> Result<Vec<Instance>> {
    match dataset {
        Some(key) => read.instances_of_with(key, identifier),
        None => read.all_with(identifier).collect(),
    }
}

impl Resolution {
    /// Whether no row agrees with the requested time, but one is that of a subset: the same criteria
    /// may have selected it at that time, too, since it is stored once, with the instance of its first
    /// citation.
    pub fn is_unknown_then(&self) -> bool {
        self.agreement.is_none() && self.rows.iter().any(|row| row.set.subset().is_some())
    }

    fn add(&mut self, set: Set, agreement: Option<Agreement>) {
        self.agreeing += u64::from(agreement.is_some());
        self.agreement = self.agreement.max(agreement);
        self.rows.push(Resolved { set });
    }
}

/// Whether an instance was in force at some time of a moment, and according to which state of the
/// registry.
fn agreement(read: &store::Snapshot, instance: &Instance, at: Moment) -> Result<Option<Agreement>> {
    if instance.is_in_force_during(at) {
        return Ok(Some(Agreement::AsKnownNow));
    }
    // According to the registry at the time, it was in force from the recording of its change until
    // the recording of the next one. Neither is earlier than the time at which the change took
    // effect.
    let known_from = instance.timestamp.max(instance.recorded);
    let Some(until) = instance.until else { return Ok(None) };
    let (dataset, _) = dataset_of(read, &instance.dataset)?;
    let next = read.instance_at(dataset, until)?;
    let known_until = next.map_or(until, |next| next.timestamp.max(next.recorded));
    let was_known = known_from <= at.last_instant() && at.first_instant() < known_until;
    Ok((was_known && known_from < known_until).then_some(Agreement::AsKnownThen))
}
