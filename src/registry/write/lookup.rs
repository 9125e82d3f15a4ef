//! The dataset that is changed.

use crate::model::{Dataset, DatasetName};
use crate::registry::error::{Error, Result};
use crate::store::{DatasetKey, Transaction};

/// What becomes of a change to a dataset that is not there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Unknown {
    /// It is refused.
    #[default]
    Refuse,
    /// The dataset is added: with this record, under the name of the change; `None`: with its name
    /// only.
    Create(Option<Box<Dataset>>),
}

/// The key of the dataset to change, and whether it was added for that.
pub(super) fn find_or_insert(
    transaction: &Transaction,
    name: &DatasetName,
    unknown: &Unknown,
) -> Result<(DatasetKey, bool)> {
    match (transaction.dataset(name)?, unknown) {
        (Some((dataset, _)), _) => Ok((dataset, false)),
        (None, Unknown::Refuse) => Err(Error::NoDataset { name: name.clone() }),
        (None, Unknown::Create(record)) => {
            let record = match record {
                Some(record) => Dataset { name: name.clone(), ..(**record).clone() },
                None => Dataset::named(name.clone()),
            };
            Ok((transaction.insert_dataset(&record)?, true))
        }
    }
}

/// The key and the record of a dataset that must be there.
pub(super) fn find(transaction: &Transaction, name: &DatasetName) -> Result<(DatasetKey, Dataset)> {
    transaction.dataset(name)?.ok_or_else(|| Error::NoDataset { name: name.clone() })
}
