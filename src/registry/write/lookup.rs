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

/// The dataset to change.
pub(super) struct Found {
    pub key: DatasetKey,
    /// Its present name, even if it was asked for by a former one.
    pub name: DatasetName,
    /// Whether it was added for the change.
    pub created: bool,
}

/// The dataset to change.
///
/// # Errors
///
/// [`Error::NoDataset`]; [`Error::Withdrawn`].
pub(super) fn find_or_insert(
    transaction: &Transaction,
    name: &DatasetName,
    unknown: &Unknown,
    stamp: &Stamp<'_>,
) -> Result<Found> {
    match (transaction.dataset(name)?, unknown) {
        (Some((key, record)), _) => {
            refuse_withdrawn(transaction, key, &record.name)?;
            Ok(Found { key, name: record.name, created: false })
        }
        (None, Unknown::Refuse) => Err(Error::NoDataset { name: name.clone() }),
        (None, Unknown::Create(record)) => {
            let record = match record {
                Some(record) => Dataset { name: name.clone(), ..(**record).clone() },
                None => Dataset::named(name.clone()),
            };
            let key = insert(transaction, &record, stamp)?;
            Ok(Found { key, name: record.name, created: true })
        }
    }
}
