//! Finds the dataset to be changed.

use super::record::{insert, refuse_withdrawn};
use super::stamp::Stamp;
use crate::model::{Dataset, DatasetName, Instance};
use crate::registry::error::{Error, Result};
use crate::store::{DatasetKey, ToChange, Transaction};

/// What to do with a change of a dataset that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Unknown {
    /// Refuse it.
    #[default]
    Refuse,
    /// Add the dataset with this record, under the name of the change. `None` means a record that
    /// has only the name.
    Create(Option<Box<Dataset>>),
}

/// The dataset to be changed.
pub(super) struct Found {
    pub key: DatasetKey,
    /// Its present name, even if the change refers to it by a former one.
    pub name: DatasetName,
    /// The last instance that is stored. `None` means that the dataset has no history yet.
    pub latest: Option<Instance>,
    /// Whether it was added for the change.
    pub created: bool,
}

/// Finds the dataset to be changed, or adds it.
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
    match (transaction.dataset_to_change(name)?, unknown) {
        (Some(ToChange { key, name, withdrawal, latest }), _) => {
            refuse_withdrawn(withdrawal, &name)?;
            Ok(Found { key, name, latest, created: false })
        }
        (None, Unknown::Refuse) => Err(Error::NoDataset { name: name.clone() }),
        (None, Unknown::Create(record)) => {
            let record = match record {
                Some(record) => Dataset { name: name.clone(), ..(**record).clone() },
                None => Dataset::named(name.clone()),
            };
            let key = insert(transaction, &record, stamp)?;
            Ok(Found { key, name: record.name, latest: None, created: true })
        }
    }
}
