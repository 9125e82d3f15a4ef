//! Adds, edits, renames, withdraws and reinstates datasets, and stores every version of their metadata.

use serde::Serialize;

use super::stamp::check_entered_note;
use crate::error::{Error, ErrorDetail, ErrorKind, Result};
use crate::model::{
    Correction, DatasetMetadata, DatasetName, Limits, MetadataVersion, Timestamp, Withdrawal,
    check_fields,
};
use crate::registry::handle::{End, Registry};
use crate::store::{DatasetKey, RootState, StoredDataset, Transaction, Withdrawn};

/// An edit of an optional setting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Edit<T> {
    /// Leaves the field unchanged.
    #[default]
    Keep,
    /// Clears the field.
    Clear,
    /// Sets a new value.
    Set(T),
}

impl<T> Edit<T> {
    /// Applies the edit to a field that may be empty.
    pub fn apply_to<F: From<T> + Default>(self, field: &mut F) {
        match self {
            Edit::Keep => {}
            Edit::Clear => *field = F::default(),
            Edit::Set(value) => *field = F::from(value),
        }
    }
}

/// Whether a dataset may get the DOI of another dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedDoi {
    /// It may not.
    Refused,
    /// It may. Both datasets then have the DOI.
    Accepted,
}

/// All metadata of a dataset, as it is stored in a version.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    dataset: &'a DatasetMetadata,
    #[serde(flatten)]
    limits: Limits,
    withdrawn: Option<&'a Withdrawal>,
    #[serde(skip_serializing_if = "<[Correction]>::is_empty")]
    corrections: &'a [Correction],
}

impl Registry {
    /// Adds a dataset.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetExists`](crate::ErrorKind::DatasetExists): a dataset has the name, or once had it
    /// and is not withdrawn; [`ErrorKind::DoiTaken`](crate::ErrorKind::DoiTaken): another dataset has the DOI;
    /// [`ErrorKind::Input`](crate::ErrorKind::Input): a field of the metadata has a control character.
    pub fn add_dataset(&self, dataset: &DatasetMetadata) -> Result<()> {
        self.add_dataset_with(dataset, Limits::default(), SharedDoi::Refused)
    }

    /// Adds a dataset with its own limits, which a `sync` obeys. `shared_doi` decides if another dataset may
    /// have the same DOI.
    pub fn add_dataset_with(
        &self,
        dataset: &DatasetMetadata,
        limits: Limits,
        shared_doi: SharedDoi,
    ) -> Result<()> {
        self.write(|transaction| {
            if let Some(other) = transaction.stored_dataset(&dataset.name)? {
                refuse_name_in_use(&other, &dataset.name)?;
            }
            insert(self, transaction, dataset, limits)?;
            refuse_shared_doi(transaction, dataset, shared_doi)?;
            Ok(((), End::Commit))
        })
    }

    /// Edits the metadata of a dataset, except its name. Its history and identifiers do not change.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::DoiTaken`](crate::ErrorKind::DoiTaken): another dataset has the new DOI;
    /// [`ErrorKind::Input`](crate::ErrorKind::Input): a field of the metadata has a control character.
    pub fn edit_dataset(
        &self,
        name: &DatasetName,
        edit: impl Fn(&mut DatasetMetadata),
    ) -> Result<DatasetMetadata> {
        self.edit_dataset_with(name, SharedDoi::Refused, |dataset, _| edit(dataset))
    }

    /// Edits the metadata of a dataset and its limits. `shared_doi` decides if another dataset may have its new
    /// DOI.
    pub fn edit_dataset_with(
        &self,
        name: &DatasetName,
        shared_doi: SharedDoi,
        edit: impl Fn(&mut DatasetMetadata, &mut Limits),
    ) -> Result<DatasetMetadata> {
        self.write(|transaction| {
            let before = record_of(transaction, name)?;
            let mut edited = before.clone();
            edit(&mut edited.dataset, &mut edited.limits);
            edited.dataset.name.clone_from(&before.dataset.name);
            if edited == before && edited.dataset.spells_doi_as(&before.dataset) {
                return Ok((edited.dataset, End::RollBack));
            }
            check_record(&edited.dataset)?;
            if edited.dataset.doi != before.dataset.doi {
                refuse_shared_doi(transaction, &edited.dataset, shared_doi)?;
            }
            put(self, transaction, &edited, "edited")?;
            Ok((edited.dataset, End::Commit))
        })
    }

    /// Renames a dataset. It is still found by its former name. No other dataset can get that name before this
    /// one is withdrawn. If another dataset gets it then, the name leads to that dataset only.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::DatasetExists`](crate::ErrorKind::DatasetExists): another dataset has the new
    /// name, or once had it and is not withdrawn.
    pub fn rename_dataset(&self, name: &DatasetName, new: &DatasetName) -> Result<DatasetMetadata> {
        self.write(|transaction| {
            let mut stored = record_of(transaction, name)?;
            match transaction.stored_dataset(new)? {
                Some(other) if other.key != stored.key => refuse_name_in_use(&other, new)?,
                // The dataset has this name already. One of its former names becomes its name again.
                _ if stored.dataset.name == *new => return Ok((stored.dataset, End::RollBack)),
                _ => {}
            }
            let (renamed, _) = self.record(transaction, None, Timestamp::MIN)?;
            transaction.keep_name(stored.key, &stored.dataset.name, renamed)?;
            stored.dataset.name = new.clone();
            put(self, transaction, &stored, "renamed")?;
            Ok((stored.dataset, End::Commit))
        })
    }

    /// Removes a dataset that was only created: it never had a change, another name, a primary, a subset or
    /// checks of files. Its name is then free again.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorDetail::NotUnused`](crate::ErrorDetail::NotUnused).
    pub fn remove_dataset(&self, name: &DatasetName) -> Result<DatasetMetadata> {
        self.write(|transaction| {
            // The lock protects the key, which becomes free.
            transaction.lock_registry()?;
            let stored = record_of(transaction, name)?;
            if let Some(what) = use_of(transaction, &stored)? {
                let name = &stored.dataset.name;
                let message = format!("{name} {what}: only an unused dataset can be removed");
                return Err(Error::new(ErrorDetail::NotUnused, message));
            }
            transaction.remove_dataset(stored.key)?;
            Ok((stored.dataset, End::Commit))
        })
    }

    /// Withdraws a dataset: it accepts no further changes, and its identifiers still resolve.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::Withdrawn`](crate::ErrorKind::Withdrawn): it is already withdrawn;
    /// [`ErrorKind::TooLong`](crate::ErrorKind::TooLong): the note is too long.
    pub fn withdraw_dataset(&self, name: &DatasetName, note: &str) -> Result<Withdrawal> {
        check_entered_note(Some(note))?;
        self.write(|transaction| {
            let stored = record_of(transaction, name)?;
            refuse_withdrawn(stored.withdrawn.as_ref(), &stored.dataset.name)?;
            let (timestamp, _) = self.record(transaction, None, Timestamp::MIN)?;
            let withdrawal = Withdrawal { timestamp, note: Some(note.to_owned()) };
            let stored = StoredDataset { withdrawn: Some(withdrawal.clone()), ..stored };
            put(self, transaction, &stored, "withdrawn")?;
            Ok((withdrawal, End::Commit))
        })
    }

    /// Ends the withdrawal of a dataset. Does nothing if it is not withdrawn.
    pub fn reinstate_dataset(&self, name: &DatasetName) -> Result<DatasetMetadata> {
        self.write(|transaction| {
            let stored = record_of(transaction, name)?;
            if stored.withdrawn.is_none() {
                return Ok((stored.dataset, End::RollBack));
            }
            let stored = StoredDataset { withdrawn: None, ..stored };
            put(self, transaction, &stored, "reinstated")?;
            Ok((stored.dataset, End::Commit))
        })
    }
}

/// Rejects metadata with a control character, except for line ends in the description.
fn check_record(dataset: &DatasetMetadata) -> Result<()> {
    check_fields(dataset).map_err(|error| Error::new(ErrorKind::Input, error.to_string()))
}

/// Adds a dataset, and the first version of its metadata.
pub(super) fn insert(
    registry: &Registry,
    transaction: &Transaction,
    dataset: &DatasetMetadata,
    limits: Limits,
) -> Result<DatasetKey> {
    check_record(dataset)?;
    let stored = transaction.insert_dataset(dataset, limits)?;
    keep_version(registry, transaction, &stored, "added")?;
    Ok(stored.key)
}

/// Why a dataset cannot be removed. `None` means that it was never used.
fn use_of(transaction: &Transaction, stored: &StoredDataset) -> Result<Option<String>> {
    let key = stored.key;
    if let Some(first) = transaction.first_instance(key)? {
        return Ok(Some(format!("has held granules since {}", first.timestamp)));
    }
    if let Some(correction) = stored.corrections.last() {
        return Ok(Some(format!("had the history of {}", correction.kept_as)));
    }
    if let Some((former, _)) = transaction.names_given_up(key)?.first() {
        return Ok(Some(format!("was called {former}")));
    }
    if let Some((_, source)) = transaction.mirror_sources(key)?.first() {
        return Ok(Some(format!("was compared with {}", source.source)));
    }
    if transaction.last_subset(key)? > 0 {
        return Ok(Some("has cited subsets".to_owned()));
    }
    let has_checks = !transaction.first::<RootState>(key, 1)?.is_empty();
    Ok(has_checks.then(|| "has checks of its files".to_owned()))
}

/// Another dataset whose name differs from a new name only by case, or by the characters between its words.
/// Costs a look at every dataset.
pub(super) fn similar_dataset(
    transaction: &Transaction,
    name: &DatasetName,
) -> Result<Option<DatasetName>> {
    let plain =
        |name: &DatasetName| name.as_str().to_ascii_lowercase().replace(['_', '.', ':'], "-");
    let new = plain(name);
    for listed in transaction.datasets_after(None, Withdrawn::Listed) {
        let (_, DatasetMetadata { name: other, .. }) = listed?;
        if other != *name && plain(&other) == new {
            return Ok(Some(other));
        }
    }
    Ok(None)
}

/// Rejects changes of a withdrawn dataset.
pub(super) fn refuse_withdrawn(withdrawal: Option<&Withdrawal>, name: &DatasetName) -> Result<()> {
    match withdrawal {
        None => Ok(()),
        Some(withdrawal) => Err(Error::new(ErrorKind::Withdrawn, withdrawal.of(name))),
    }
}

/// Whether another dataset can get a name by which this dataset was found: this one was renamed, and is
/// withdrawn.
pub(super) fn gives_up(found: &StoredDataset, name: &DatasetName) -> bool {
    found.dataset.name != *name && found.withdrawn.is_some()
}

/// Rejects a name for another dataset if this dataset was found by it, and has not given it up.
fn refuse_name_in_use(found: &StoredDataset, name: &DatasetName) -> Result<()> {
    if gives_up(found, name) {
        return Ok(());
    }
    if found.dataset.name == *name {
        return Err(Error::dataset_exists(name));
    }
    let other = &found.dataset.name;
    let message = format!(
        "{name} is a former name of {other}: another dataset can have it when {other} is withdrawn"
    );
    Err(Error::new(ErrorKind::DatasetExists, message))
}

/// Rejects the DOI of a dataset if another dataset has it.
fn refuse_shared_doi(
    transaction: &Transaction,
    dataset: &DatasetMetadata,
    shared_doi: SharedDoi,
) -> Result<()> {
    let (Some(doi), SharedDoi::Refused) = (&dataset.doi, shared_doi) else { return Ok(()) };
    // On a server, another writer may give another dataset the same DOI now.
    transaction.lock_registry()?;
    let others = transaction.datasets_with_doi(doi)?;
    match others.into_iter().find(|other| *other != dataset.name) {
        None => Ok(()),
        Some(other) => {
            let message = format!("{other} has the DOI {doi} already");
            Err(Error::new(ErrorKind::DoiTaken, message))
        }
    }
}

/// The stored row of a dataset, which must exist.
pub(super) fn record_of(transaction: &Transaction, name: &DatasetName) -> Result<StoredDataset> {
    transaction.stored_dataset(name)?.ok_or_else(|| Error::dataset_unknown(name))
}

/// Replaces the stored row of a dataset, and adds a version of its metadata, with the action that led to it.
fn put(
    registry: &Registry,
    transaction: &Transaction,
    stored: &StoredDataset,
    action: &str,
) -> Result<()> {
    transaction.put(stored.key, stored)?;
    keep_version(registry, transaction, stored, action)
}

pub(super) fn keep_version(
    registry: &Registry,
    transaction: &Transaction,
    StoredDataset { key, dataset, withdrawn, limits, corrections }: &StoredDataset,
    action: &str,
) -> Result<()> {
    let withdrawn = withdrawn.as_ref();
    let whole = Whole { dataset, limits: *limits, withdrawn, corrections };
    let dataset = serde_json::to_value(whole)
        .map_err(|error| Error::damaged(format!("metadata is not JSON: {error}")))?;
    let (recorded, recorded_by) = registry.record(transaction, None, Timestamp::MIN)?;
    let version = MetadataVersion {
        version: transaction.last_number::<MetadataVersion>(*key)? + 1,
        recorded,
        recorded_by,
        action: action.to_owned(),
        dataset,
    };
    transaction.insert(*key, &[version])
}
