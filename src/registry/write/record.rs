//! The records of datasets: added, edited, renamed, withdrawn and reinstated; every version is kept.

use serde::Serialize;

use super::edit::DatasetEdit;
use super::stamp::Stamp;
use crate::model::{Dataset, DatasetName, Timestamp, Withdrawal};
use crate::registry::error::{Error, Result};
use crate::registry::handle::{End, Registry};
use crate::registry::snapshot::dataset_of;
use crate::store::{DatasetKey, StoredVersion, Transaction};

/// What was done to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// It is the first version that is kept, of a dataset that an older version added.
    Existing,
    Added,
    Edited,
    Renamed,
    Withdrawn,
    Reinstated,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Action::Existing => "existing",
            Action::Added => "added",
            Action::Edited => "edited",
            Action::Renamed => "renamed",
            Action::Withdrawn => "withdrawn",
            Action::Reinstated => "reinstated",
        }
    }
}

/// A whole record, as a version keeps it.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    dataset: &'a Dataset,
    withdrawn: Option<&'a Withdrawal>,
}

impl Registry {
    /// Adds a dataset.
    ///
    /// # Errors
    ///
    /// [`Error::DatasetExists`]: the name is, or once was, that of a dataset.
    pub fn add_dataset(&self, dataset: &Dataset, stamp: &Stamp<'_>) -> Result<()> {
        self.write(|transaction| {
            refuse_name_in_use(transaction, &dataset.name)?;
            insert(transaction, dataset, stamp)?;
            Ok(((), End::Commit))
        })
    }

    /// Changes the record of a dataset; its history and its identifiers stay as they are.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`].
    pub fn edit_dataset(
        &self,
        name: &DatasetName,
        edit: &DatasetEdit,
        stamp: &Stamp<'_>,
    ) -> Result<Dataset> {
        self.write(|transaction| {
            let (key, before) = dataset_of(transaction, name)?;
            let mut dataset = before.clone();
            edit.clone().apply_to(&mut dataset);
            if dataset == before {
                return Ok((dataset, End::RollBack));
            }
            keep_existing(transaction, key, &before, stamp)?;
            transaction.update_dataset(&dataset)?;
            keep_version(transaction, key, &dataset, Action::Edited, stamp)?;
            Ok((dataset, End::Commit))
        })
    }

    /// Gives a dataset another name. The former one goes on leading to it, and stays reserved.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`]; [`Error::DatasetExists`]: the new name is, or once was, that of another
    /// dataset.
    pub fn rename_dataset(
        &self,
        name: &DatasetName,
        new: &DatasetName,
        stamp: &Stamp<'_>,
    ) -> Result<Dataset> {
        self.write(|transaction| {
            let (key, before) = dataset_of(transaction, name)?;
            match transaction.dataset(new)? {
                Some((other, _)) if other != key => {
                    return Err(Error::DatasetExists { name: new.clone() });
                }
                // By a former name: that of this dataset, which it gets back.
                _ if before.name == *new => return Ok((before, End::RollBack)),
                _ => {}
            }
            keep_existing(transaction, key, &before, stamp)?;
            let (renamed, _) = stamp.record(Timestamp::MIN);
            transaction.rename_dataset(key, &before.name, new, renamed)?;
            let dataset = Dataset { name: new.clone(), ..before };
            keep_version(transaction, key, &dataset, Action::Renamed, stamp)?;
            Ok((dataset, End::Commit))
        })
    }

    /// Withdraws a dataset: no further changes are made to it, and everything that was issued for it
    /// goes on resolving.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`]; [`Error::Withdrawn`]: it is withdrawn already.
    pub fn withdraw_dataset(
        &self,
        name: &DatasetName,
        note: &str,
        stamp: &Stamp<'_>,
    ) -> Result<Withdrawal> {
        self.write(|transaction| {
            let (key, dataset) = dataset_of(transaction, name)?;
            refuse_withdrawn(transaction, key, &dataset.name)?;
            keep_existing(transaction, key, &dataset, stamp)?;
            let (timestamp, _) = stamp.record(Timestamp::MIN);
            let withdrawal = Withdrawal { timestamp, note: Some(note.to_owned()) };
            transaction.set_withdrawal(key, Some(&withdrawal))?;
            keep_version(transaction, key, &dataset, Action::Withdrawn, stamp)?;
            Ok((withdrawal, End::Commit))
        })
    }

    /// Ends the withdrawal of a dataset. One that is not withdrawn stays as it is.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`].
    pub fn reinstate_dataset(&self, name: &DatasetName, stamp: &Stamp<'_>) -> Result<Dataset> {
        self.write(|transaction| {
            let (key, dataset) = dataset_of(transaction, name)?;
            if transaction.withdrawal(key)?.is_none() {
                return Ok((dataset, End::RollBack));
            }
            transaction.set_withdrawal(key, None)?;
            keep_version(transaction, key, &dataset, Action::Reinstated, stamp)?;
            Ok((dataset, End::Commit))
        })
    }
}

/// Adds a dataset, and the first version of its record.
pub(super) fn insert(
    transaction: &Transaction,
    dataset: &Dataset,
    stamp: &Stamp<'_>,
) -> Result<DatasetKey> {
    let key = transaction.insert_dataset(dataset)?;
    keep_version(transaction, key, dataset, Action::Added, stamp)?;
    Ok(key)
}

/// Refuses a change of a dataset that was withdrawn.
pub(super) fn refuse_withdrawn(
    transaction: &Transaction,
    key: DatasetKey,
    name: &DatasetName,
) -> Result<()> {
    match transaction.withdrawal(key)? {
        None => Ok(()),
        Some(Withdrawal { timestamp, note }) => {
            Err(Error::Withdrawn { name: name.clone(), since: timestamp, note })
        }
    }
}

fn refuse_name_in_use(transaction: &Transaction, name: &DatasetName) -> Result<()> {
    match transaction.dataset(name)? {
        None => Ok(()),
        Some(_) => Err(Error::DatasetExists { name: name.clone() }),
    }
}

/// Keeps the record as it is, if an older version added the dataset and kept no version of it.
fn keep_existing(
    transaction: &Transaction,
    key: DatasetKey,
    dataset: &Dataset,
    stamp: &Stamp<'_>,
) -> Result<()> {
    match transaction.last_record_version(key)? {
        0 => keep_version(transaction, key, dataset, Action::Existing, stamp),
        _ => Ok(()),
    }
}

fn keep_version(
    transaction: &Transaction,
    key: DatasetKey,
    dataset: &Dataset,
    action: Action,
    stamp: &Stamp<'_>,
) -> Result<()> {
    let withdrawn = transaction.withdrawal(key)?;
    let whole = Whole { dataset, withdrawn: withdrawn.as_ref() };
    let record = serde_json::to_value(whole)
        .map_err(|error| Error::Inconsistent { what: format!("a record is not JSON: {error}") })?;
    let (recorded, recorded_by) = stamp.record(Timestamp::MIN);
    let version = StoredVersion {
        version: transaction.last_record_version(key)? + 1,
        recorded,
        recorded_by,
        action: action.name().to_owned(),
        record,
    };
    Ok(transaction.insert_record_version(key, &version)?)
}
