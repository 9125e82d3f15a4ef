//! Finds the set that a selection refers to. Also resolves abbreviations and mistakes: a dataset by its DOI, an
//! identifier by its first digits, and identifiers similar to an unknown one.

use super::view::{
    Snapshot, all_known, as_known, dataset_of, instances, latest_known, subset_as_known,
};
use crate::error::{Error, ErrorDetail, ErrorKind, Result};
use crate::model::{
    DatasetName, Digest, DigestPrefix, Doi, Identifier, IdentifierPrefix, Instance, Moment, Set,
    Timestamp, meant,
};
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
    /// The granules of an identifier: of an instance, or of a cited subset.
    Identifier {
        /// The identifier.
        identifier: Identifier,
        /// The dataset in which it must have been in force. `None` means any dataset, since the set
        /// is the same.
        dataset: Option<DatasetName>,
        /// A time at which it must have been in force, or a day during which it was. It determines the instance
        /// with this identifier, if the recorded files matter. `None` means the latest instance.
        at: Option<Moment>,
    },
    /// The granules of a digest, with the files that were recorded for them.
    Digest(DigestPrefix),
}

/// The set that the dataset holds now.
impl From<DatasetName> for Selection {
    fn from(name: DatasetName) -> Self {
        Selection::Dataset { name, at: None }
    }
}

/// The set with this identifier, of any dataset.
impl From<Identifier> for Selection {
    fn from(identifier: Identifier) -> Self {
        Selection::Identifier { identifier, dataset: None, at: None }
    }
}

/// The set to which a [`Selection`] refers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
    /// [`ErrorKind::IdentifierUnknown`](crate::ErrorKind::IdentifierUnknown).
    pub fn select(&self, selection: &Selection) -> Result<Selected> {
        self.ask(|read| select(read, selection))
    }

    /// The instance of a dataset before this number of its last changes, of those that took effect by now.
    /// Costs a row for each of these changes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::NoHistory`](crate::ErrorKind::NoHistory): the dataset had no more changes than these.
    pub(crate) fn before_changes(&self, dataset: &DatasetName, changes: u32) -> Result<Instance> {
        const PAGE_ROWS: u32 = 1_000;
        self.ask(|read| {
            let (key, name) = dataset_of(read, dataset)?;
            let mut before = self.now().next().unwrap_or(Timestamp::MAX);
            let (mut left, mut counted) = (u64::from(changes), 0);
            loop {
                let page = read.instances_before(key, before, None, PAGE_ROWS)?;
                let Some(last) = page.last() else {
                    return Err(Error::too_few_changes(&name, counted));
                };
                before = last.timestamp;
                for instance in all_known(read, page)? {
                    if left == 0 {
                        return Ok(instance);
                    }
                    (left, counted) = (left - 1, counted + 1);
                }
            }
        })
    }

    /// The dataset that held the set of an identifier first, from which it is cited. `None` means that none
    /// held it, or that this was not yet recorded in the state of the snapshot.
    pub fn first_holder(&self, identifier: Identifier) -> Result<Option<DatasetName>> {
        self.ask(|read| {
            let first = read.first_with(identifier)?.map(|first| as_known(read, first));
            Ok(first.transpose()?.flatten().map(|first| first.dataset))
        })
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
            // The dataset may have another name now, with which its subsets are read.
            let dataset_of = |name| dataset_of(read, name);
            let (key, present) = dataset.as_ref().map(dataset_of).transpose()?.unzip();
            let set = match latest_with(read, *identifier, key, *at)? {
                Some(instance) => Some(Set::Instance(instance)),
                None => subset_of(read, *identifier, present.as_ref(), *at)?,
            };
            let Some(set) = set else {
                let (identifier, dataset) = (*identifier, dataset.clone());
                let Some(at) = at else {
                    return Err(Error::identifier_unknown(identifier, dataset.as_ref()));
                };
                select(read, &Selection::Identifier { identifier, dataset, at: None })?;
                let message = format!("{identifier} was not in force at {at}");
                return Err(Error::new(ErrorKind::IdentifierUnknown, message));
            };
            Ok(Selected { set, others: Vec::new() })
        }
        Selection::Digest(prefix) => {
            // A digest that is not known in this state does not count. Two with 12 digits in common are rare.
            let mut sets = Vec::new();
            for digest in read.digests_between(prefix.range(), 8)? {
                sets.extend(of_digest(read, digest)?);
            }
            match sets.len() {
                0 => {
                    let message = format!("no set has the digest {prefix}");
                    Err(Error::new(ErrorKind::IdentifierUnknown, message).about(prefix))
                }
                1 => Ok(Selected { set: sets.remove(0), others: Vec::new() }),
                _ => {
                    let digests = sets.iter().map(Set::digest);
                    let message = format!("several digests begin with {prefix}");
                    Err(Error::new(ErrorKind::Ambiguous, message).about(prefix).among(digests))
                }
            }
        }
    }
}

/// The most recent instance with a digest. If there is none, the first subset.
fn of_digest(read: &store::View, digest: Digest) -> Result<Option<Set>> {
    let instances = all_known(read, read.instances_with_digest(digest)?)?;
    if let Some(latest) = instances.into_iter().reduce(later) {
        return Ok(Some(Set::Instance(latest)));
    }
    for (_, subset) in read.subsets_with_digest(digest)? {
        if let Some(set) = subset_as_known(read, subset)? {
            return Ok(Some(set));
        }
    }
    Ok(None)
}

/// The error if no instance of a dataset is known.
fn nothing_known(read: &store::View, dataset: DatasetKey, name: &DatasetName) -> Result<Error> {
    Ok(match read.first_instance(dataset)? {
        Some(Instance { recorded, .. }) => Error::new(
            ErrorDetail::NotRecordedThen,
            format!("{name} had no history then: its first change was recorded at {recorded}"),
        ),
        None => Error::no_history(name),
    })
}

/// The most recent instance with an identifier, so that the latest holding periods are shown. `None` means any
/// dataset, and any time.
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
    // The latest instance is not known in this state, but an earlier one may be.
    let mut latest: Option<Instance> = None;
    for instance in instances(read, identifier, dataset) {
        let instance = as_known(read, instance?)?;
        let then = instance.filter(|it| at.is_none_or(|at| it.is_in_force_during(at)));
        latest = latest.into_iter().chain(then).reduce(later);
    }
    Ok(latest)
}

/// The later one of two instances, which are in order of dataset. If they have the same time, the first one:
/// the earlier history of a corrected dataset has a name after that of the dataset.
fn later(one: Instance, other: Instance) -> Instance {
    if other.timestamp > one.timestamp { other } else { one }
}

/// The subset with an identifier that was selected from the latest instance. If there are several, the one that
/// was cited first. `None` means any dataset, and any time.
fn subset_of(
    read: &store::View,
    identifier: Identifier,
    dataset: Option<&DatasetName>,
    at: Option<Moment>,
) -> Result<Option<Set>> {
    let mut latest: Option<Set> = None;
    for (_, subset) in read.subsets_with(identifier)? {
        if dataset.is_none_or(|dataset| subset.dataset == *dataset)
            && let Some(set) = subset_as_known(read, subset)?
            && at.is_none_or(|at| set.instance().is_in_force_during(at))
            && latest.as_ref().is_none_or(|it| it.instance().timestamp < set.instance().timestamp)
        {
            latest = Some(set);
        }
    }
    Ok(latest)
}

/// The instance in force at a moment, and the others that were in force during it. `latest` is the latest known
/// instance.
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
        // Instances with the same identifier have the same granules.
        others.retain(|other| other.identifier != instance.identifier);
    }
    Ok(Selected { set: Set::Instance(instance), others })
}

/// The greatest number of names or identifiers that an error lists.
const MAX_LISTED: usize = 5;

impl Snapshot {
    /// The dataset with a DOI, which is compared without case. Costs a pass over the metadata.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): no dataset has it;
    /// [`ErrorKind::Ambiguous`](crate::ErrorKind::Ambiguous): several have it, and the error names them.
    pub(crate) fn dataset_with_doi(&self, doi: &Doi) -> Result<DatasetName> {
        let names = self.datasets_with_doi(doi)?;
        match names.as_slice() {
            [] => {
                let message = format!("no dataset of the registry has the DOI {doi}");
                Err(Error::new(ErrorKind::DatasetUnknown, message))
            }
            [name] => Ok(name.clone()),
            names => {
                let message = format!("several datasets have the DOI {doi}: {}", listed(names));
                Err(Error::new(ErrorKind::Ambiguous, message).among(names))
            }
        }
    }

    /// The identifier that begins with some digits, of an instance or a subset, in one dataset or in any. Costs
    /// a look-up in an index.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::IdentifierUnknown`](crate::ErrorKind::IdentifierUnknown): no identifier begins with them;
    /// [`ErrorKind::Ambiguous`](crate::ErrorKind::Ambiguous): several do, and the error names some of them.
    pub fn identifier_beginning(
        &self,
        prefix: &IdentifierPrefix,
        dataset: Option<&DatasetName>,
    ) -> Result<Identifier> {
        if let Some(whole) = prefix.whole() {
            return Ok(whole);
        }
        let found = self.ask(|read| read.identifiers_beginning(prefix, MAX_LISTED as u32 + 1))?;
        let found = self.known_among(found, dataset)?;
        match found.as_slice() {
            [] => {
                let place = dataset.map_or(String::new(), |name| format!(" of {name}"));
                let message = format!("no identifier{place} begins with {prefix}");
                Err(Error::new(ErrorKind::IdentifierUnknown, message).about(prefix))
            }
            [identifier] => Ok(*identifier),
            several => {
                let message =
                    format!("several identifiers begin with {prefix}: {}", listed(several));
                let named = several.iter().take(MAX_LISTED);
                Err(Error::new(ErrorKind::Ambiguous, message).among(named))
            }
        }
    }

    /// The identifiers that differ from a string in one character, which may be missing or added. The letters
    /// O, l and I are read as the digits 0 and 1. At most 5 identifiers. Costs one statement with up to 512
    /// look-ups.
    pub fn similar_identifiers(&self, text: &str) -> Result<Vec<Identifier>> {
        let meant = meant(text);
        if meant.is_empty() {
            return Ok(meant);
        }
        let mut found = self.ask(|read| read.identifiers_among(&meant))?;
        found.truncate(MAX_LISTED);
        self.known_among(found, None)
    }

    /// Removes the identifiers that are not known, in one dataset or in any.
    fn known_among(
        &self,
        mut identifiers: Vec<Identifier>,
        dataset: Option<&DatasetName>,
    ) -> Result<Vec<Identifier>> {
        if self.read.known() == Timestamp::MAX && dataset.is_none() {
            return Ok(identifiers);
        }
        let mut unread = None;
        identifiers.retain(|&identifier| {
            let selection =
                Selection::Identifier { identifier, dataset: dataset.cloned(), at: None };
            match self.ask(|read| select(read, &selection)) {
                Ok(_) => true,
                Err(error) if error.kind() == ErrorKind::IdentifierUnknown => false,
                Err(error) => {
                    unread = Some(error);
                    false
                }
            }
        });
        unread.map_or(Ok(identifiers), Err)
    }
}

/// The first values of a list, as text in a sentence.
fn listed<T: ToString>(values: &[T]) -> String {
    let mut text: Vec<String> = values.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if values.len() > MAX_LISTED {
        text.push("and more".to_owned());
    }
    text.join(", ")
}
