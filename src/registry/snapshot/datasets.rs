//! The datasets of a registry.

use super::view::{Snapshot, dataset_of};
use crate::model::{Dataset, DatasetName, Doi, Instance};
use crate::registry::error::Result;

/// A dataset with its latest instance.
///
/// Its fields are those of `dataset` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Listed {
    /// Its record.
    #[serde(flatten)]
    pub dataset: Dataset,
    /// The latest instance. `None` before its first change.
    pub latest: Option<Instance>,
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
            Ok(Listed { dataset, latest: read.latest_instance(key)? })
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
    pub fn datasets(&self, after: Option<&DatasetName>, limit: u32) -> Result<DatasetPage> {
        self.ask(|read| {
            let found = read.datasets_after(after, limit)?;
            let is_full = found.len() == limit as usize;
            let mut page = DatasetPage::default();
            for (key, dataset) in found {
                page.datasets.push(Listed { dataset, latest: read.latest_instance(key)? });
            }
            page.next =
                page.datasets.last().filter(|_| is_full).map(|listed| listed.dataset.name.clone());
            Ok(page)
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
