//! Finds the set that a selection refers to.

use super::view::{
    Snapshot, all_known, as_known, dataset_of, instances, latest_known, subset_as_known,
};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, Digest, DigestPrefix, Identifier, Instance, Moment, Set};
use crate::store::{self, DatasetKey};

/// A reference to a set of granules, as a person writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// The granules that a dataset held at a time.
    Dataset {
        /// The dataset.
        name: DatasetName,
        /// The time. `None` means the latest change. A day means its last instant.
        at: Option<Moment>,
    },
    /// The granules of an identifier: of an instance, or of a subset that was cited.
    Identifier {
        /// The identifier.
        identifier: Identifier,
        /// The dataset in which it must have been in force. `None` means any dataset, since the set
        /// is the same.
        dataset: Option<DatasetName>,
        /// A time at which it must have been in force, or a day during which it was: which of the instances
        /// with it is meant, where what is known of the files matters. `None` means the latest one.
        at: Option<Moment>,
    },
    /// The granules of a digest, with what was known of their files.
    Digest(DigestPrefix),
}

/// The set to which a [`Selection`] refers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// The set.
    pub set: Set,
    /// The instances with other identifiers that were in force during the requested day, in order of time.
    pub others: Vec<Instance>,
}

impl Selected {
    /// The instance, or the one from which the subset was selected.
    pub fn instance(&self) -> &Instance {
        self.set.instance()
    }
}

impl Snapshot {
    /// Finds the set to which a selection refers. Costs a few look-ups by key, whatever the length
    /// of the history.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown),
    /// [`ErrorKind::NoHistory`](crate::ErrorKind::NoHistory),
    /// [`ErrorKind::NothingKnown`](crate::ErrorKind::NothingKnown),
    /// [`ErrorKind::BeforeHistory`](crate::ErrorKind::BeforeHistory),
    /// [`ErrorKind::IdentifierUnknown`](crate::ErrorKind::IdentifierUnknown).
    pub fn select(&self, selection: &Selection) -> Result<Selected> {
        self.ask(|read| select(read, selection))
    }
}

/// Finds the set to which a selection refers.
pub(in crate::registry) fn select(read: &store::View, selection: &Selection) -> Result<Selected> {
    match selection {
        Selection::Dataset { name, at } => {
            let (dataset, _) = dataset_of(read, name)?;
            let Some(latest) = latest_known(read, dataset)? else {
                return Err(nothing_known(read, dataset, name)?);
            };
            match at {
                None => Ok(Selected { set: Set::Instance(latest), others: Vec::new() }),
                Some(at) => select_at(read, dataset, &latest, *at),
            }
        }
        Selection::Identifier { identifier, dataset, at } => {
            // It may have another name now, which is the one that its subsets are read with.
            let dataset_of = |name| dataset_of(read, name);
            let (key, present) = dataset.as_ref().map(dataset_of).transpose()?.unzip();
            let set = match latest_with(read, *identifier, key, *at)? {
                None if at.is_none() => subset_of(read, *identifier, present.as_ref())?,
                instance => instance.map(Set::Instance),
            };
            let unknown = || match at {
                Some(at) => Error::new(
                    ErrorKind::IdentifierUnknown,
                    format!("{identifier} was not in force at {at}"),
                ),
                None => Error::identifier_unknown(*identifier, dataset.as_ref()),
            };
            Ok(Selected { set: set.ok_or_else(unknown)?, others: Vec::new() })
        }
        Selection::Digest(prefix) => {
            // One that is not known does not count. Two with 12 digits in common are rare.
            let mut sets = Vec::new();
            for digest in read.digests_between(prefix.range(), 8)? {
                sets.extend(of_digest(read, digest)?);
            }
            let (kind, what) = match sets.len() {
                0 => (ErrorKind::IdentifierUnknown, format!("no set has the digest {prefix}")),
                1 => return Ok(Selected { set: sets.remove(0), others: Vec::new() }),
                _ => (ErrorKind::Ambiguous, format!("several digests begin with {prefix}")),
            };
            Err(Error::new(kind, what))
        }
    }
}

/// The most recent instance with a digest, or else the first subset.
fn of_digest(read: &store::View, digest: Digest) -> Result<Option<Set>> {
    let instances = all_known(read, read.instances_with_digest(digest)?)?;
    if let Some(latest) = instances.into_iter().max_by_key(|instance| instance.timestamp) {
        return Ok(Some(Set::Instance(latest)));
    }
    for (_, subset) in read.subsets_with_digest(digest)? {
        if let Some(set) = subset_as_known(read, subset)? {
            return Ok(Some(set));
        }
    }
    Ok(None)
}

/// Why no instance of a dataset is known.
fn nothing_known(read: &store::View, dataset: DatasetKey, name: &DatasetName) -> Result<Error> {
    Ok(match read.first_instance(dataset)? {
        Some(Instance { recorded, .. }) => Error::new(
            ErrorKind::NothingKnown,
            format!(
                "nothing of {name} was known then: its first change was recorded at {recorded}"
            ),
        ),
        None => Error::no_history(name),
    })
}

/// The most recent instance with an identifier, so that the latest holding periods are shown: of a dataset,
/// or of any, and of those that were in force at a moment, or ever.
fn latest_with(
    read: &store::View,
    identifier: Identifier,
    dataset: Option<DatasetKey>,
    at: Option<Moment>,
) -> Result<Option<Instance>> {
    if dataset.is_none() && at.is_none() {
        let latest = read.latest_with(identifier)?;
        if let Some(latest) = latest.map(|it| as_known(read, it)).transpose()?.flatten() {
            return Ok(Some(latest));
        }
    }
    // The latest is not known, but an earlier one may be.
    let mut latest: Option<Instance> = None;
    for instance in instances(read, identifier, dataset) {
        let instance = as_known(read, instance?)?;
        let then = instance.filter(|it| at.is_none_or(|at| it.is_in_force_during(at)));
        latest = latest.into_iter().chain(then).max_by_key(|instance| instance.timestamp);
    }
    Ok(latest)
}

/// The first subset with an identifier: of a dataset, or of any.
fn subset_of(
    read: &store::View,
    identifier: Identifier,
    dataset: Option<&DatasetName>,
) -> Result<Option<Set>> {
    for (_, subset) in read.subsets_with(identifier)? {
        if dataset.is_none_or(|dataset| subset.dataset == *dataset)
            && let Some(set) = subset_as_known(read, subset)?
        {
            return Ok(Some(set));
        }
    }
    Ok(None)
}

/// The instance in force at a moment, and the others that were in force during it. `latest` is the
/// latest instance that is known.
fn select_at(
    read: &store::View,
    dataset: DatasetKey,
    latest: &Instance,
    at: Moment,
) -> Result<Selected> {
    let first = at.first_instant();
    let last = at.last_instant().min(latest.timestamp);
    let in_force = match last == latest.timestamp {
        true => Some(latest.clone()),
        false => read.instance_at(dataset, last)?,
    };
    let Some(instance) = in_force else {
        let name = &latest.dataset;
        let begins = read.first_instance(dataset)?.map(|first| first.timestamp);
        return Err(match begins {
            Some(begins) => Error::before_history(name, at, begins),
            None => Error::no_history(name),
        });
    };
    let mut others = Vec::new();
    if instance.timestamp > first {
        others.extend(read.instance_at(dataset, first)?);
        others.extend(read.instances_after(dataset, Some(first), last, u32::MAX)?);
        // Those with the same identifier have the same granules.
        others.retain(|other| other.identifier != instance.identifier);
    }
    Ok(Selected { set: Set::Instance(instance), others })
}
