//! The subsets of a dataset that were cited.

use super::view::{Snapshot, dataset_of};
use crate::model::{DatasetName, Subset};
use crate::registry::error::Result;

impl Snapshot {
    /// The subsets of a dataset that were cited, by identifier.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`](crate::Error::NoDataset): no dataset has the name.
    pub fn subsets(&self, dataset: &DatasetName) -> Result<Vec<Subset>> {
        self.ask(|read| {
            let (key, _) = dataset_of(read, dataset)?;
            Ok(read.subsets_of(key)?.into_iter().map(|(_, subset)| subset).collect())
        })
    }
}
