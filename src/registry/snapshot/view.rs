//! One consistent state of a registry.

use crate::model::{Dataset, DatasetName, Instance, Timestamp};
use crate::registry::error::{Error, Result};
use crate::registry::handle::Registry;
use crate::registry::visibility::Shown;
use crate::store::{self, DatasetKey};

/// One consistent state of a registry, on which all queries are made.
///
/// It should be short-lived, because the registry's write-ahead log grows while one is open.
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
/// change.options.create_dataset = true;
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
///     .collect::<accession::registry::Result<_>>()?;
/// assert_eq!(held, ["A"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Snapshot {
    pub(super) registry: Registry,
    pub(super) read: store::Snapshot,
    pub(super) known: Known,
    pub(super) shown: Shown,
}

/// Which changes are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::registry) enum Known {
    /// All changes that have been recorded.
    #[default]
    Now,
    /// Only changes that were recorded by this time.
    At(Timestamp),
}

impl Registry {
    /// Returns a snapshot of the registry in its present state.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]: the registry cannot be read, or another file has replaced it (`replaced`).
    pub fn snapshot(&self) -> Result<Snapshot> {
        let read = self.read()?;
        let shown = self.shown(&read).map_err(|error| self.named(error))?;
        Ok(Snapshot { registry: self.clone(), read, known: Known::Now, shown })
    }
}

impl Snapshot {
    /// Restricts the snapshot to an earlier state of the registry: [`Snapshot::select`] and
    /// [`Snapshot::history`] ignore changes that were recorded after `recorded`, whenever these
    /// took effect.
    #[must_use]
    pub fn known_at(mut self, recorded: Timestamp) -> Self {
        self.known = Known::At(recorded);
        self
    }

    /// The key and the record of a dataset, which must exist and be shown.
    pub(super) fn dataset_of(
        &self,
        read: &store::Snapshot,
        name: &DatasetName,
    ) -> Result<(DatasetKey, Dataset)> {
        let (key, dataset) = dataset_of(read, name)?;
        match self.shown.shows(&dataset.name) {
            true => Ok((key, dataset)),
            false => Err(Error::NoDataset { name: name.clone() }),
        }
    }

    /// Queries the store. An error gets the path of the registry; the result is refused if the file
    /// is read without locks and changed during the query.
    pub(super) fn ask<T>(&self, question: impl FnOnce(&store::Snapshot) -> Result<T>) -> Result<T> {
        let ask = || {
            let response = question(&self.read)?;
            self.read.check_same_file()?;
            Ok(response)
        };
        ask().map_err(|error| self.registry.named(error))
    }
}

/// The key and the record of a dataset, which must exist.
pub(in crate::registry) fn dataset_of(
    read: &store::Snapshot,
    name: &DatasetName,
) -> Result<(DatasetKey, Dataset)> {
    read.dataset(name)?.ok_or_else(|| Error::NoDataset { name: name.clone() })
}

/// The latest known instance of a dataset. `None` means that no instance is known.
pub(in crate::registry) fn latest_known(
    read: &store::Snapshot,
    dataset: DatasetKey,
    known: Known,
) -> Result<Option<Instance>> {
    let latest = match known {
        Known::Now => read.latest_instance(dataset)?,
        Known::At(recorded) => read.latest_recorded_by(dataset, recorded)?,
    };
    // A later change, which is not known in this state, has not ended it.
    Ok(latest.map(|latest| Instance { until: None, ..latest }))
}
