//! The datasets of a registry.

use std::collections::BTreeMap;

use super::select::Selection;
use super::view::{Snapshot, dataset_of};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Correction, DatasetMetadata, DatasetName, DatasetRecord, Doi, GranuleUrl, Instance,
    MetadataVersion, Moment, RefusedListing, Timestamp, Warning,
};
use crate::registry::warnings::warnings_of_dataset;
use crate::store::{NamedDataset, Withdrawn, paged};

impl Snapshot {
    /// A dataset by its present or a former name.
    pub fn dataset(&self, name: &DatasetName) -> Result<DatasetRecord> {
        let listed = self.ask(|read| read.listed(name))?;
        listed.map(|(_, listed)| listed).ok_or_else(|| Error::dataset_unknown(name))
    }

    /// The latest change of a dataset. `None` means that it has no change, or does not exist.
    pub fn latest_change(&self, name: &DatasetName) -> Result<Option<Instance>> {
        self.ask(|read| match read.key_and_name(name)? {
            Some((key, _)) => read.latest_instance(key),
            None => Ok(None),
        })
    }

    /// The change of a dataset before its latest one. `None` means that it has at most one change, or does not
    /// exist.
    pub fn change_before_last(&self, name: &DatasetName) -> Result<Option<Instance>> {
        let Some(latest) = self.latest_change(name)? else { return Ok(None) };
        let Some(before) = Timestamp::from_micros(latest.timestamp.as_micros() - 1) else {
            return Ok(None);
        };
        self.ask_of(name, |read, key| read.instance_at(key, before))
    }

    /// The last refused listing of a dataset. `None` means that a later one was accepted, or none was refused.
    pub fn refusal(&self, dataset: &DatasetName) -> Result<Option<RefusedListing>> {
        self.ask_of(dataset, |read, key| read.refusal(key))
    }

    /// Only the metadata of a dataset, by its present or a former name.
    pub fn record(&self, name: &DatasetName) -> Result<DatasetMetadata> {
        let found = self.ask(|read| read.stored_dataset(name))?;
        found.map(|stored| stored.dataset).ok_or_else(|| Error::dataset_unknown(name))
    }

    /// The corrections of the history of a dataset, oldest first.
    pub(crate) fn corrections(&self, name: &DatasetName) -> Result<Vec<Correction>> {
        let found = self.ask(|read| read.stored_dataset(name))?;
        found.map(|it| it.corrections).ok_or_else(|| Error::dataset_unknown(name))
    }

    /// The datasets with earlier histories of some datasets, which these had at a moment and which were
    /// corrected since. Each has its correction. Datasets that are not shown are left out.
    pub(crate) fn earlier_histories(
        &self,
        names: &[DatasetName],
        at: Option<Moment>,
    ) -> Result<Vec<(DatasetName, Correction)>> {
        let mut earlier = Vec::new();
        for name in names {
            for correction in self.corrections(name)? {
                let is_before = at.is_none_or(|at| correction.is_after(at));
                let kept = self.ask(|read| read.key_and_name(&correction.kept_as))?;
                if let Some((_, kept_as)) = kept.filter(|_| is_before) {
                    earlier.push((kept_as, correction));
                }
            }
        }
        Ok(earlier)
    }

    /// The template of the addresses of a dataset's granules. `None` means that its metadata has none, or is
    /// damaged.
    pub fn granule_url(&self, name: &DatasetName) -> Result<Option<GranuleUrl>> {
        self.ask_of(name, |read, key| Ok(read.granule_urls(&[key])?.remove(&key)))
    }

    /// Warnings about a dataset, which the caller named `asked`: it was renamed or withdrawn, or its last
    /// change is in the future. They do not depend on its metadata, which may be damaged.
    pub fn warnings_of(&self, asked: &DatasetName) -> Result<Vec<Warning>> {
        self.ask(|read| {
            let found = read.name_and_withdrawal(asked)?;
            let NamedDataset { key, name, withdrawn } =
                found.ok_or_else(|| Error::dataset_unknown(asked))?;
            let latest = read.latest_instance(key)?;
            let (withdrawn, latest) = (withdrawn.as_ref(), latest.as_ref());
            Ok(warnings_of_dataset([asked, &name], withdrawn, latest, self.now()))
        })
    }

    /// The present name of a dataset, by its present or a former name.
    pub fn present_name(&self, name: &DatasetName) -> Result<DatasetName> {
        self.ask(|read| Ok(dataset_of(read, name)?.1))
    }

    /// The only dataset whose name equals this one if letter case is ignored. `None` means that there is none,
    /// or several.
    pub fn named_in_any_case(&self, name: &DatasetName) -> Result<Option<DatasetName>> {
        let mut names = self.ask(|read| read.names_in_any_case(name))?;
        Ok(names.pop().filter(|_| names.is_empty()))
    }

    /// Whether a dataset has this name.
    pub fn has_dataset(&self, name: &DatasetName) -> Result<bool> {
        self.ask(|read| Ok(read.key_and_name(name)?.is_some()))
    }

    /// At most `limit` datasets after a name (`None` means from the first), by name. Fewer mean that there are
    /// no more.
    pub fn datasets(
        &self,
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
        limit: u32,
    ) -> Result<Vec<DatasetRecord>> {
        let listed = self.ask(|read| read.listed_after(after, withdrawn, limit))?;
        Ok(listed.into_iter().map(|(_, listed)| listed).collect())
    }

    /// All datasets, by name, as [`Snapshot::datasets`] lists them.
    pub fn all_datasets(&self, withdrawn: Withdrawn) -> Result<Vec<DatasetRecord>> {
        let page =
            |after: &Option<DatasetName>, limit| self.datasets(after.as_ref(), withdrawn, limit);
        paged(None, page, |last| Some(last.dataset.name.clone())).collect()
    }

    /// The names of datasets that are similar to a text: in another case, with `.`, `_` and `-` exchanged, or
    /// with one typing error. At most 5 names. Costs a look at every dataset.
    ///
    /// # Errors
    ///
    /// The registry cannot be read.
    pub fn similar_datasets(&self, text: &str) -> Result<Vec<DatasetName>> {
        let datasets = self.all_datasets(Withdrawn::Listed)?;
        let names = datasets.into_iter().map(|listed| listed.dataset.name);
        Ok(names.filter(|name| is_similar(name.as_str(), text)).take(MAX_SIMILAR).collect())
    }

    /// Replaces an instance that takes effect in the future by the instance in force now.
    pub fn replace_future_instance(&self, listed: &mut DatasetRecord) -> Result<()> {
        let now = self.now();
        if listed.latest.as_ref().is_none_or(|latest| latest.timestamp <= now) {
            return Ok(());
        }
        let name = listed.dataset.name.clone();
        let selection = Selection::Dataset { name, at: Some(Moment::Instant(now)) };
        listed.latest = match self.select(&selection) {
            Ok(selected) => Some(selected.instance().clone()),
            Err(error) if error.kind() == ErrorKind::NoHistory => None,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    /// The metadata of the datasets after a name (`None` means from the first), by name. This reads less than
    /// [`Snapshot::datasets`], for a search in all datasets.
    pub fn records(
        &self,
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
    ) -> impl Iterator<Item = Result<DatasetMetadata>> {
        let mut records = self.read.datasets_after(after, withdrawn);
        std::iter::from_fn(move || {
            let record = self.ask(|_| records.next().transpose()).transpose()?;
            Some(record.map(|(_, record)| record))
        })
    }

    /// The versions of a dataset's metadata, oldest first.
    pub fn record_versions(&self, name: &DatasetName) -> Result<Vec<MetadataVersion>> {
        self.ask_of(name, |read, key| read.first(key, u32::MAX))
    }

    /// When the metadata of some datasets was edited last, by dataset name. Empty if a machine of a cluster
    /// cannot be reached.
    pub fn last_edits(&self, datasets: &[DatasetRecord]) -> Result<BTreeMap<String, Timestamp>> {
        let names = || datasets.iter().map(|listed| &listed.dataset.name);
        let (Some(from), Some(to)) = (names().min(), names().max()) else {
            return Ok(BTreeMap::new());
        };
        match self.ask(|read| read.last_edits(from, to)) {
            Err(error) if error.kind() == ErrorKind::ConnectionLost => Ok(BTreeMap::new()),
            edits => edits,
        }
    }

    /// An identification of a dataset that never changes: when it was registered, and its name then, such as
    /// `2024-01-15T00:00:00Z FOO`.
    pub fn lasting_name(&self, name: &DatasetName) -> Result<String> {
        self.ask(|read| {
            let (key, present) = dataset_of(read, name)?;
            let first: Option<MetadataVersion> = read.first(key, 1)?.pop();
            let name_of = |record: &serde_json::Value| Some(record["name"].as_str()?.to_owned());
            let first_name = first.as_ref().and_then(|first| name_of(&first.dataset));
            let recorded = first.map_or(Timestamp::EPOCH, |first| first.recorded);
            let name = first_name.unwrap_or_else(|| present.to_string());
            Ok(format!("{recorded} {name}"))
        })
    }

    /// The names of the datasets with a DOI, by name. DOIs are compared without case.
    pub fn datasets_with_doi(&self, doi: &Doi) -> Result<Vec<DatasetName>> {
        self.ask(|read| read.datasets_with_doi(doi))
    }
}

/// The greatest number of similar names that are returned.
const MAX_SIMILAR: usize = 5;

/// Whether two names differ only by case, by `.`, `_` and `-`, or by one typing error: a character that is
/// missing, added or different, or two neighbours exchanged. Names with fewer than three characters may have no
/// typing error.
fn is_similar(name: &str, text: &str) -> bool {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['.', '_'], "-");
    let (name, text) = (plain(name), plain(text));
    name == text || name.len().max(text.len()) >= 3 && strsim::osa_distance(&name, &text) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_similar_up_to_case_separators_and_one_typing_error() {
        for text in
            ["mod35_l2", "MOD35.L2", "MOD-35_L2", "MOD35L2", "MOD53_L2", "MOD35_L2x", "MOD36_L2"]
        {
            assert!(is_similar("MOD35_L2", text), "{text}");
        }
        for text in ["MOD36_L3", "MOD35", "", "NOWHERE"] {
            assert!(!is_similar("MOD35_L2", text), "{text}");
        }
        assert!(is_similar("US", "us") && !is_similar("US", "UK") && !is_similar("A", "B"));
    }
}
