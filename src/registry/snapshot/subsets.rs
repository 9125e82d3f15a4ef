//! The subsets of a dataset that were cited.

use super::granules::{GranulePages, GranulesWithin};
use super::select::with_instance;
use super::view::Snapshot;
use crate::model::{DatasetName, GranuleId, Subset};
use crate::registry::error::Result;
use crate::registry::proof::Proof;

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

    /// A number that grows whenever a subset of the dataset is cited, and perhaps when one of another
    /// dataset is.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`](crate::Error::NoDataset): no dataset has the name.
    pub fn last_subset(&self, dataset: &DatasetName) -> Result<u64> {
        self.ask(|read| {
            let (key, _) = self.dataset_of(read, dataset)?;
            Ok(read.last_subset(key)?)
        })
    }

    /// The granules of a subset that was cited, in canonical order, proved at the end. They are read
    /// within this snapshot.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`](crate::Error::NoDataset);
    /// [`Error::UnknownIdentifier`](crate::Error::UnknownIdentifier): the subset is not from this
    /// registry.
    pub(crate) fn granules_of_subset(
        &self,
        subset: &Subset,
    ) -> Result<impl Iterator<Item = Result<GranuleId>>> {
        let (set, pages) = self.ask(|read| {
            let set = with_instance(read, subset.clone())?;
            let pages = GranulePages::of(read, &set)?;
            Ok((set, pages))
        })?;
        let mut granules = GranulesWithin::of(&self.read, pages);
        let mut proof = Some(Proof::of(&self.registry, &set));
        Ok(std::iter::from_fn(move || match granules.next() {
            Some(Ok(granule)) => {
                if let Some(proof) = &mut proof {
                    proof.add(granule.granule_id.as_str());
                }
                Some(Ok(granule.granule_id))
            }
            Some(Err(error)) => Some(Err(error)),
            None => proof.take()?.finish().err().map(Err),
        }))
    }
}
