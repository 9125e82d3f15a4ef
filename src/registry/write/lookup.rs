//! The dataset that is changed.

use super::record::{insert, refuse_withdrawn};
use super::stamp::Stamp;
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
///
/// # Errors
///
/// [`Error::NoDataset`]; [`Error::Withdrawn`].
pub(super) fn find_or_insert(
    transaction: &Transaction,
    name: &DatasetName,
    unknown: &Unknown,
    stamp: &Stamp<'_>,
) -> Result<(DatasetKey, bool)> {
    match (transaction.dataset(name)?, unknown) {
        (Some((dataset, record)), _) => {
            refuse_withdrawn(transaction, dataset, &record.name)?;
            Ok((dataset, false))
        }
        (None, Unknown::Refuse) => Err(Error::NoDataset { name: name.clone() }),
        (None, Unknown::Create(record)) => {
            let record = match record {
                Some(record) => Dataset { name: name.clone(), ..(**record).clone() },
                None => Dataset::named(name.clone()),
            };
            Ok((insert(transaction, &record, stamp)?, true))
        }
    }
}
