//! The datasets of a registry.

use std::collections::BTreeMap;

use super::select::Selection;
use super::view::Snapshot;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Dataset, DatasetName, Doi, Listed, Moment, RecordVersion, Timestamp};
use crate::store::{self, DatasetKey, Withdrawn};

/// A page of datasets, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DatasetBatch {
    /// The datasets.
    pub datasets: Vec<Listed>,
    /// The name after which the next page begins. `None` means that this is the last page.
    pub next: Option<DatasetName>,
}

impl Snapshot {
    /// Returns a dataset by its name, or a former name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): no dataset has the name.
    pub fn dataset(&self, name: &DatasetName) -> Result<Listed> {
        self.shown_dataset(name, store::View::listed)
    }

    /// The same without when it was last confirmed, which costs a question more.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::dataset`].
    pub fn described_dataset(&self, name: &DatasetName) -> Result<Listed> {
        self.shown_dataset(name, store::View::described)
    }

    fn shown_dataset(
        &self,
        name: &DatasetName,
        read_row: impl Fn(&store::View, &DatasetName) -> Result<Option<(DatasetKey, Listed)>>,
    ) -> Result<Listed> {
        self.ask(|read| {
            let listed = read_row(read, name)?.map(|(_, listed)| listed);
            let shown = listed.filter(|listed| self.seen.shows(&listed.dataset.name));
            shown.ok_or_else(|| Error::dataset_unknown(name))
        })
    }

    /// The present name of a dataset, by that or a former one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): no dataset has the name.
    pub fn present_name(&self, name: &DatasetName) -> Result<DatasetName> {
        self.ask(|read| Ok(self.dataset_of(read, name)?.1))
    }

    /// The only dataset whose name differs from one at most by the case of letters. `None` means that
    /// there is none, or several.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read.
    pub fn named_in_any_case(&self, name: &DatasetName) -> Result<Option<DatasetName>> {
        let mut names = self.ask(|read| read.names_in_any_case(name))?;
        names.retain(|name| self.seen.shows(name));
        Ok(names.pop().filter(|_| names.is_empty()))
    }

    /// Whether there is a dataset with this name.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read.
    pub fn has_dataset(&self, name: &DatasetName) -> Result<bool> {
        self.ask(|read| {
            let found = read.dataset(name)?;
            Ok(found.is_some_and(|(_, dataset)| self.seen.shows(&dataset.name)))
        })
    }

    /// The datasets after a name (`None` means from the first), by name, at most `limit` of them.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read.
    pub fn datasets(
        &self,
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
        limit: u32,
    ) -> Result<DatasetBatch> {
        self.ask(|read| {
            let mut page = DatasetBatch::default();
            let mut after = after.cloned();
            // Datasets that are not shown do not count.
            loop {
                let missing = limit - page.datasets.len() as u32;
                let found = read.listed_after(after.as_ref(), withdrawn, missing)?;
                let is_last = found.len() < missing as usize;
                after = found.last().map(|(_, listed)| listed.dataset.name.clone());
                let shown = found.into_iter().map(|(_, listed)| listed);
                page.datasets.extend(shown.filter(|it| self.seen.shows(&it.dataset.name)));
                if is_last {
                    return Ok(page);
                }
                if page.datasets.len() == limit as usize {
                    page.next = after;
                    return Ok(page);
                }
            }
        })
    }

    /// All datasets, by name, as [`Snapshot::datasets`] lists them.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read.
    pub fn all_datasets(&self, withdrawn: Withdrawn) -> Result<Vec<Listed>> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = self.datasets(after.as_ref(), withdrawn, 1_000)?;
            all.extend(page.datasets);
            after = page.next;
            if after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Replaces an instance that takes effect in the future by the one that is in force now.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read.
    pub fn set_in_force(&self, listed: &mut Listed, now: Timestamp) -> Result<()> {
        if listed.latest.as_ref().is_none_or(|latest| latest.timestamp <= now) {
            return Ok(());
        }
        let name = listed.dataset.name.clone();
        let selection = Selection::Dataset { name, at: Some(Moment::Instant(now)) };
        listed.latest = match self.select(&selection) {
            Ok(selected) => Some(selected.instance().clone()),
            Err(error) if error.kind() == ErrorKind::BeforeHistory => None,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    /// The records of the datasets after a name (`None` means from the first), by name, at most
    /// `limit` of them. Fewer mean that there are no more; datasets that are not shown are left out
    /// afterwards, so the position of the next page is returned too.
    ///
    /// This reads less than [`Snapshot::datasets`], for a search in all of them.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read.
    pub fn records(
        &self,
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
        limit: u32,
    ) -> Result<(Vec<Dataset>, Option<DatasetName>)> {
        self.ask(|read| {
            let found = read.datasets_after(after, withdrawn, limit)?;
            let next = (found.len() == limit as usize)
                .then(|| found.last().map(|(_, dataset)| dataset.name.clone()))
                .flatten();
            let records = found.into_iter().map(|(_, dataset)| dataset);
            Ok((records.filter(|dataset| self.seen.shows(&dataset.name)).collect(), next))
        })
    }

    /// The versions of a dataset's record, oldest first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): no dataset has the name.
    pub fn record_versions(&self, name: &DatasetName) -> Result<Vec<RecordVersion>> {
        self.ask_of(name, |read, key| read.record_versions(key, 0, u32::MAX))
    }

    /// When the record of each of some datasets was edited last, by its name. Without those on a machine
    /// that cannot be reached, nothing is known.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read.
    pub fn last_edits(&self, datasets: &[Listed]) -> Result<BTreeMap<String, Timestamp>> {
        let names = || datasets.iter().map(|listed| &listed.dataset.name);
        let (Some(from), Some(to)) = (names().min(), names().max()) else {
            return Ok(BTreeMap::new());
        };
        match self.ask(|read| read.last_edits(from, to)) {
            Err(error) if error.kind() == ErrorKind::ConnectionLost => Ok(BTreeMap::new()),
            edits => edits,
        }
    }

    /// When a dataset was registered, and its name then. Neither ever changes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): no dataset has the name.
    pub fn registered(&self, name: &DatasetName) -> Result<(Timestamp, String)> {
        self.ask(|read| {
            let (key, present) = self.dataset_of(read, name)?;
            let first = read.record_versions(key, 0, 1)?.pop();
            let name_of = |record: &serde_json::Value| Some(record["name"].as_str()?.to_owned());
            let first_name = first.as_ref().and_then(|first| name_of(&first.dataset));
            let recorded = first.map_or(Timestamp::EPOCH, |first| first.recorded);
            Ok((recorded, first_name.unwrap_or_else(|| present.to_string())))
        })
    }

    /// The names of the datasets that have a DOI, compared without case, by name.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read.
    pub fn datasets_with_doi(&self, doi: &Doi) -> Result<Vec<DatasetName>> {
        self.ask(|read| {
            let mut names = read.datasets_with_doi(doi)?;
            names.retain(|name| self.seen.shows(name));
            Ok(names)
        })
    }
}
