//! The subsets of a dataset that were cited.

use super::granules::{GranulePages, GranulesWithin};
use super::view::Snapshot;
use crate::model::{DatasetName, GranuleId, Set, Subset};
use crate::registry::error::{Error, Result};

impl Snapshot {
    /// The subsets of a dataset that were cited, by identifier.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`](crate::Error::NoDataset): no dataset has the name.
    pub fn subsets(&self, dataset: &DatasetName) -> Result<Vec<Subset>> {
        self.ask(|read| {
            let (key, _) = self.dataset_of(read, dataset)?;
            Ok(read.subsets_of(key)?.into_iter().map(|(_, subset)| subset).collect())
        })
    }

    /// The granules of a subset that was cited, in canonical order. They are read within this
    /// snapshot.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`]; [`Error::UnknownIdentifier`]: the subset is not from this registry.
    pub(crate) fn granules_of_subset(
        &self,
        subset: &Subset,
    ) -> Result<impl Iterator<Item = Result<GranuleId>>> {
        let pages = self.ask(|read| {
            let (key, _) = self.dataset_of(read, &subset.dataset)?;
            let instance = read.instance_at(key, subset.timestamp)?;
            let instance = instance.ok_or_else(|| Error::UnknownIdentifier {
                identifier: subset.identifier,
                dataset: Some(subset.dataset.clone()),
            })?;
            GranulePages::of(read, &Set::Subset { subset: subset.clone(), instance })
        })?;
        let granules = GranulesWithin::of(&self.read, pages);
        Ok(granules.map(|granule| Ok(granule?.granule_id)))
    }
}
