//! One consistent state of a registry.

use crate::model::{Dataset, DatasetName, Instance, Timestamp};
use crate::registry::error::{Error, Result};
use crate::registry::handle::Registry;
use crate::store::{self, DatasetKey};

/// One consistent state of a registry, on which every question is asked.
///
/// Short-lived: the registry's write-ahead log grows while one is open.
///
/// # Examples
///
/// ```
/// use accession::{Change, GranuleId, Registry, Selection, Stamp};
///
/// let registry = Registry::in_memory()?;
/// let dataset: accession::DatasetName = "US.FOOL2.002".parse()?;
/// let mut change = Change::new();
/// change.ingest("A".parse::<GranuleId>()?)?;
/// change.create_dataset();
/// let now = "2026-01-01T00:00:00Z".parse()?;
/// registry.change(&dataset, &change, &Stamp::at("2001-01-02T00:00:00Z".parse()?, now))?;
///
/// let selection = Selection::Dataset { name: dataset, at: Some("2001-01-05".parse()?) };
/// let snapshot = registry.snapshot()?;
/// let selected = snapshot.select(&selection)?;
/// let granules = snapshot.granules(&selected.set)?;
/// drop(snapshot);
/// let held: Vec<String> = granules
///     .map(|granule| Ok(granule?.granule_id.to_string()))
///     .collect::<accession::Result<_>>()?;
/// assert_eq!(held, ["A"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Snapshot {
    pub(super) registry: Registry,
    pub(super) read: store::Snapshot,
    pub(super) known: Known,
}

/// Which changes are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::registry) enum Known {
    /// All that are recorded now.
    #[default]
    Now,
    /// Those that were recorded by then.
    At(Timestamp),
}

impl Registry {
    /// The registry as it is now.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]: it cannot be read, or was replaced by another file (`replaced`).
    pub fn snapshot(&self) -> Result<Snapshot> {
        Ok(Snapshot { registry: self.clone(), read: self.read()?, known: Known::Now })
    }
}

impl Snapshot {
    /// The registry as it stood then: only changes that were recorded by `recorded` are known to
    /// [`Snapshot::select`] and [`Snapshot::history`], whenever they took effect.
    #[must_use]
    pub fn known_at(mut self, recorded: Timestamp) -> Self {
        self.known = Known::At(recorded);
        self
    }

    /// Asks the store; names the registry in what fails, and refuses the response if the file
    /// changed meanwhile where it is read without locks.
    pub(super) fn ask<T>(&self, question: impl FnOnce(&store::Snapshot) -> Result<T>) -> Result<T> {
        let ask = || {
            let response = question(&self.read)?;
            self.read.check_same_file()?;
            Ok(response)
        };
        ask().map_err(|error| self.registry.named(error))
    }
}

/// The key and the record of a dataset that must be there.
pub(in crate::registry) fn dataset_of(
    read: &store::Snapshot,
    name: &DatasetName,
) -> Result<(DatasetKey, Dataset)> {
    read.dataset(name)?.ok_or_else(|| Error::NoDataset { name: name.clone() })
}

/// The latest instance of a dataset that is known. `None`: none is.
pub(in crate::registry) fn latest_known(
    read: &store::Snapshot,
    dataset: DatasetKey,
    known: Known,
) -> Result<Option<Instance>> {
    let latest = match known {
        Known::Now => read.latest_instance(dataset)?,
        Known::At(recorded) => read.latest_recorded_by(dataset, recorded)?,
    };
    // A change that was not known yet did not end it.
    Ok(latest.map(|latest| Instance { until: None, ..latest }))
}
