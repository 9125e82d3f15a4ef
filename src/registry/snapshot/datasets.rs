//! The datasets of a registry.

use super::view::{Snapshot, dataset_of};
use crate::model::{Dataset, DatasetName, Doi, Instance, Timestamp, Withdrawal};
use crate::registry::error::Result;
use crate::store::{self, DatasetKey, Withdrawn};

/// A dataset with its latest instance.
///
/// Its fields are those of `dataset` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Listed {
    /// Its record.
    #[serde(flatten)]
    pub dataset: Dataset,
    /// Whether it was withdrawn, when and why.
    pub withdrawn: Option<Withdrawal>,
    /// The names that it had before, latest first. They go on leading to it.
    pub former_names: Vec<DatasetName>,
    /// The latest instance. `None` before its first change.
    pub latest: Option<Instance>,
}

/// A version of a dataset's record.
///
/// Its fields are those of `dataset show --versions` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RecordVersion {
    /// When it was entered.
    pub recorded: Timestamp,
    /// Who entered it. `None`: not known.
    pub recorded_by: Option<String>,
    /// What was done: `added`, `edited`, `renamed`, `withdrawn`, `reinstated`, or `existing`, the
    /// first version that is kept of a dataset that an older version of this program added.
    pub action: String,
    /// The whole record afterwards: the fields of `dataset` that a record has, and `withdrawn`.
    pub dataset: serde_json::Value,
}

/// A page of datasets, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DatasetPage {
    /// The datasets.
    pub datasets: Vec<Listed>,
    /// The name after which the next page begins. `None`: this is the last page.
    pub next: Option<DatasetName>,
}

impl Snapshot {
    /// One dataset.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`](crate::Error::NoDataset).
    pub fn dataset(&self, name: &DatasetName) -> Result<Listed> {
        self.ask(|read| {
            let (key, dataset) = dataset_of(read, name)?;
            listed(read, key, dataset)
        })
    }

    /// Whether there is a dataset of that name.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](crate::Error::Store).
    pub fn has_dataset(&self, name: &DatasetName) -> Result<bool> {
        self.ask(|read| Ok(read.dataset(name)?.is_some()))
    }

    /// How many datasets there are.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](crate::Error::Store).
    pub fn count_datasets(&self) -> Result<u64> {
        self.ask(|read| Ok(read.count_datasets()?))
    }

    /// The datasets after a name (`None`: from the first), by name, at most `limit` of them.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](crate::Error::Store).
    pub fn datasets(
        &self,
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
        limit: u32,
    ) -> Result<DatasetPage> {
        self.ask(|read| {
            let found = read.datasets_after(after, withdrawn, limit)?;
            let is_full = found.len() == limit as usize;
            let mut page = DatasetPage::default();
            for (key, dataset) in found {
                page.datasets.push(listed(read, key, dataset)?);
            }
            page.next =
                page.datasets.last().filter(|_| is_full).map(|listed| listed.dataset.name.clone());
            Ok(page)
        })
    }

    /// The versions of a dataset's record, oldest first.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`](crate::Error::NoDataset).
    pub fn record_versions(&self, name: &DatasetName) -> Result<Vec<RecordVersion>> {
        self.ask(|read| {
            let (key, _) = dataset_of(read, name)?;
            let stored = read.record_versions(key, 0, u32::MAX)?;
            let versions = stored.into_iter().map(|version| RecordVersion {
                recorded: version.recorded,
                recorded_by: version.recorded_by,
                action: version.action,
                dataset: version.record,
            });
            Ok(versions.collect())
        })
    }

    /// The names of the datasets that have a DOI, in any case, by name.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](crate::Error::Store).
    pub fn datasets_with_doi(&self, doi: &Doi) -> Result<Vec<DatasetName>> {
        self.ask(|read| Ok(read.datasets_with_doi(doi)?))
    }
}

fn listed(read: &store::Snapshot, key: DatasetKey, dataset: Dataset) -> Result<Listed> {
    Ok(Listed {
        dataset,
        withdrawn: read.withdrawal(key)?,
        former_names: read.former_names(key)?,
        latest: read.latest_instance(key)?,
    })
}
