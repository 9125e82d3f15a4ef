//! One consistent state of a registry.

use std::cmp::Ordering;

use crate::error::{Error, Result};
use crate::model::{DatasetName, Identifier, Instance, Set, Subset, Timestamp};
use crate::registry::handle::Registry;
use crate::store::{self, DatasetKey};

/// One consistent state of a registry, on which all queries are made.
///
/// It should be short-lived, because the registry's write-ahead log grows while a snapshot is open.
///
/// Each method fails if the registry cannot be read. A method with the name of a dataset fails with
/// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown) if no dataset has that name. A method with a
/// selection has the errors of [`Snapshot::select`], and one with a set those of [`Registry::granules`].
///
/// # Examples
///
/// ```
/// use accession::{Change, Clock, GranuleId, IfMissing, Registry, Selection, Timestamp};
///
/// let registry = Registry::temporary(Clock::system())?;
/// let dataset: accession::DatasetName = "US.FOOL2.002".parse()?;
/// let mut change = Change::new();
/// change.ingest("A".parse::<GranuleId>()?)?;
/// change.options = change.options.if_missing(IfMissing::Create);
/// change.options = change.options.at("2001-01-02T00:00:00Z".parse::<Timestamp>()?);
/// registry.change(&dataset, &change)?;
///
/// let selection = Selection::Dataset { name: dataset, at: Some("2001-01-05".parse()?) };
/// let selected = registry.snapshot()?.select(&selection)?;
/// let held: Vec<String> = registry
///     .granules(&selected.set)
///     .map(|granule| Ok(granule?.granule_id.to_string()))
///     .collect::<accession::Result<_>>()?;
/// assert_eq!(held, ["A"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Snapshot {
    pub(in crate::registry) registry: Registry,
    pub(super) read: store::View,
    /// When it was taken.
    now: Timestamp,
}

crate::model::debug_fields!(Snapshot: registry);

impl Registry {
    /// Returns a snapshot of the registry in its present state.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read, or another file has replaced it
    /// (`replaced`).
    pub fn snapshot(&self) -> Result<Snapshot> {
        // Read before the state is fixed: a time up to now can still change after that.
        let now = self.now();
        Ok(Snapshot { read: self.read()?, registry: self.clone(), now })
    }
}

impl Snapshot {
    /// The time at which the snapshot was taken, by the clock of the registry.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The registry.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Restricts the snapshot to an earlier state of the registry. [`Snapshot::select`], [`Snapshot::periods`]
    /// and every list of instances ignore changes that were recorded after `recorded`, whenever they took
    /// effect. They also ignore subsets and annotations that were added after it.
    #[must_use]
    pub fn known_at(self, recorded: Timestamp) -> Self {
        Snapshot { read: self.read.known_at(recorded), ..self }
    }

    /// Like [`Snapshot::ask`], for a dataset, which must exist.
    pub(in crate::registry) fn ask_of<T>(
        &self,
        dataset: &DatasetName,
        question: impl FnOnce(&store::View, DatasetKey) -> Result<T>,
    ) -> Result<T> {
        self.ask(|read| question(read, dataset_of(read, dataset)?.0))
    }

    /// Queries the store. Adds the path of the registry to an error. Rejects the result if the file is read
    /// without locks and changed during the query.
    pub(in crate::registry) fn ask<T>(
        &self,
        question: impl FnOnce(&store::View) -> Result<T>,
    ) -> Result<T> {
        let ask = || {
            let response = question(&self.read)?;
            self.read.check_unchanged()?;
            Ok(response)
        };
        ask().map_err(|error| self.registry.named(error))
    }
}

/// The key and the present name of a dataset, which must exist. Its metadata is not read, because its granules
/// do not depend on it.
pub(in crate::registry) fn dataset_of(
    read: &store::View,
    name: &DatasetName,
) -> Result<(DatasetKey, DatasetName)> {
    read.key_and_name(name)?.ok_or_else(|| Error::dataset_unknown(name))
}

/// The latest known instance of a dataset. `None` means that no instance is known.
pub(super) fn latest_known(read: &store::View, dataset: DatasetKey) -> Result<Option<Instance>> {
    let latest = read.instance_known(dataset, Timestamp::MAX, read.known())?;
    // A later change that is not known in this state has not ended it.
    Ok(latest.map(|latest| Instance { until: None, ..latest }))
}

/// An instance as it is known in this state: changes that are not known have not ended it. `None` means that
/// the instance is not known.
pub(super) fn as_known(read: &store::View, instance: Instance) -> Result<Option<Instance>> {
    if read.known() == Timestamp::MAX {
        return Ok(Some(instance));
    }
    let (key, _) = dataset_of(read, &instance.dataset)?;
    let Some(latest) = latest_known(read, key)? else { return Ok(None) };
    Ok(match instance.timestamp.cmp(&latest.timestamp) {
        Ordering::Less => Some(instance),
        Ordering::Equal => Some(latest),
        Ordering::Greater => None,
    })
}

/// The known ones of some instances, as they are known in this state.
pub(super) fn all_known(read: &store::View, instances: Vec<Instance>) -> Result<Vec<Instance>> {
    let known = instances.into_iter().map(|instance| as_known(read, instance));
    known.filter_map(Result::transpose).collect()
}

/// A subset and its instance, as they are known in this state. `None` means that one of them is not known.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the instance is missing.
pub(super) fn subset_as_known(read: &store::View, subset: Subset) -> Result<Option<Set>> {
    if subset.cited > read.known() {
        return Ok(None);
    }
    let instance = as_known(read, instance_of(read, &subset)?)?;
    Ok(instance.map(|instance| Set::Subset { subset, instance }))
}

/// Every instance with an identifier, by dataset and time. `None` means in any dataset.
pub(in crate::registry) fn instances(
    read: &store::View,
    identifier: Identifier,
    dataset: Option<DatasetKey>,
) -> Box<dyn Iterator<Item = Result<Instance>> + '_> {
    match dataset {
        None => Box::new(read.all_with(identifier, None)),
        Some(key) => match read.instances_of_with(key, identifier) {
            Ok(instances) => Box::new(instances.into_iter().map(Ok)),
            Err(error) => Box::new(std::iter::once(Err(error))),
        },
    }
}

/// The instance from which a subset was first selected.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the instance is missing.
pub(super) fn instance_of(read: &store::View, subset: &Subset) -> Result<Instance> {
    let (dataset, _) = dataset_of(read, &subset.dataset)?;
    let instance = read.instance_at(dataset, subset.timestamp)?;
    let instance = instance.filter(|instance| instance.timestamp == subset.timestamp);
    instance.ok_or_else(|| {
        Error::damaged(format!(
            "a subset of {} was cited as of {}, when the dataset had no change",
            subset.dataset, subset.timestamp
        ))
    })
}
