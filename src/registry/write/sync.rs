//! Makes a dataset hold exactly the granules of a full listing.

use super::addition::{Conduct, Expected, Misfit};
use super::lookup::Unknown;
use super::replace::{MaxDelete, difference};
use super::single::{Applied, Target};
use super::stamp::Stamp;
use crate::model::{Dataset, DatasetName, Identifier};
use crate::registry::error::Result;
use crate::registry::handle::{End, Registry};
use crate::registry::listing::Listing;
use crate::registry::refusal::ChangeError;

/// The options for synchronising a dataset with a listing.
#[derive(Debug, Clone, Default)]
pub struct Sync {
    expected: Expected,
    max_delete: MaxDelete,
    unknown: Unknown,
    is_dry_run: bool,
}

impl Sync {
    /// Creates options with the default limit on deletions.
    pub fn new() -> Self {
        Sync::default()
    }

    /// Sets the note that is stored with the change.
    pub fn note(&mut self, note: Option<String>) {
        self.expected.note = note;
    }

    /// Sets how many granules may be deleted.
    pub fn max_delete(&mut self, max_delete: MaxDelete) {
        self.max_delete = max_delete;
    }

    /// Adds the dataset if it does not exist, with a record that has only its name.
    pub fn create_dataset(&mut self) {
        self.unknown = Unknown::Create(None);
    }

    /// Adds the dataset with this record, if no dataset has the name of the change.
    pub fn create_dataset_with(&mut self, record: Dataset) {
        self.unknown = Unknown::Create(Some(Box::new(record)));
    }

    /// Refuses the change unless it results in this identifier.
    pub fn expect(&mut self, identifier: Identifier) {
        self.expected.identifier = Some(identifier);
    }

    /// Rolls the change back after everything was checked and computed.
    pub fn dry_run(&mut self) {
        self.is_dry_run = true;
    }
}

impl Registry {
    /// Makes a dataset hold exactly the listed set, in one change.
    ///
    /// Costs one pass over the listing and the dataset in parallel, and the cost of
    /// [`Registry::change`] for the difference. The memory depends on neither. `skipped.repeated`
    /// counts repeated ids of the listing. If the dataset already holds the set, nothing changes,
    /// which is not an error.
    ///
    /// # Errors
    ///
    /// [`Error::Change`](crate::Error::Change): the listing is empty (`empty-listing`), or more
    /// would be deleted than is allowed (`too-many-deletions`); [`Error::NoDataset`](crate::Error::NoDataset);
    /// [`Error::Store`](crate::Error::Store) of kind `damaged`: the granules held are not those of the
    /// identifier in force.
    pub fn sync(
        &self,
        dataset: &DatasetName,
        listing: &Listing,
        sync: &Sync,
        stamp: &Stamp<'_>,
    ) -> Result<Applied> {
        self.write(|transaction| {
            let target = Target::find(self, transaction, dataset, &sync.unknown, stamp)?;
            if listing.is_empty() {
                let held = target.latest.as_ref().map_or(0, |latest| latest.granules);
                let dataset = dataset.clone();
                return Err(ChangeError::EmptyListing { dataset, held }.into());
            }
            let mut distinct = 0;
            let wanted = listing.distinct()?.inspect(|_| distinct += 1);
            let (events, deleted) = difference(&target, wanted, None)?;
            sync.max_delete.check(&target, deleted)?;
            let conduct = Conduct::Change { held: Misfit::Refuse, missing: Misfit::Refuse };
            let mut applied = target.apply(&events, conduct, &sync.expected, stamp)?;
            applied.skipped.repeated = listing.count() - distinct;
            let is_kept = applied.instance.is_some() && !sync.is_dry_run;
            Ok((applied, if is_kept { End::Commit } else { End::RollBack }))
        })
    }
}
