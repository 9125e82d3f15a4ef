//! The datasets of a registry, and their records.

use std::io;

use super::{End, Registry, dataset_of};
use crate::model::{Creator, Dataset, DatasetName, Doi, Instance, WebAddress, Year};
use crate::{Error, Result};

/// A dataset with its instance now in force.
///
/// Its fields are those of `dataset` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Listed {
    /// Its record.
    #[serde(flatten)]
    pub dataset: Dataset,
    /// The instance in force; none before its first change.
    pub latest: Option<Instance>,
}

/// What is to become of a dataset's record: what is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatasetEdit {
    /// Its DOI, or none any more.
    pub doi: Option<Option<Doi>>,
    /// Its title, or none any more.
    pub title: Option<Option<String>>,
    /// All its creators, in the order of the citation.
    pub creators: Option<Vec<Creator>>,
    /// Its publisher, or none any more.
    pub publisher: Option<Option<String>>,
    /// Its version, or none any more.
    pub version: Option<Option<String>>,
    /// Its year, or none any more.
    pub year: Option<Option<Year>>,
    /// Its address, or none any more.
    pub url: Option<Option<WebAddress>>,
    /// Its archive, or none any more.
    pub archive: Option<Option<String>>,
    /// Its licence, or none any more.
    pub licence: Option<Option<String>>,
}

impl DatasetEdit {
    /// This edit over another: what it leaves as it is, the other says.
    pub fn over(self, other: Self) -> Self {
        DatasetEdit {
            doi: self.doi.or(other.doi),
            title: self.title.or(other.title),
            creators: self.creators.or(other.creators),
            publisher: self.publisher.or(other.publisher),
            version: self.version.or(other.version),
            year: self.year.or(other.year),
            url: self.url.or(other.url),
            archive: self.archive.or(other.archive),
            licence: self.licence.or(other.licence),
        }
    }

    /// Makes the edit.
    pub fn apply_to(self, dataset: &mut Dataset) {
        fn put<T>(field: &mut T, edit: Option<T>) {
            if let Some(value) = edit {
                *field = value;
            }
        }
        put(&mut dataset.doi, self.doi);
        put(&mut dataset.title, self.title);
        put(&mut dataset.creators, self.creators);
        put(&mut dataset.publisher, self.publisher);
        put(&mut dataset.version, self.version);
        put(&mut dataset.year, self.year);
        put(&mut dataset.url, self.url);
        put(&mut dataset.archive, self.archive);
        put(&mut dataset.licence, self.licence);
    }
}

impl Registry {
    /// Adds a dataset.
    ///
    /// # Errors
    ///
    /// [`Error::DatasetExists`]: the name is taken.
    pub fn add_dataset(&mut self, dataset: &Dataset) -> Result<()> {
        self.writing(|write, _| {
            if write.dataset(&dataset.name)?.is_some() {
                return Err(Error::DatasetExists { name: dataset.name.clone() });
            }
            write.insert_dataset(dataset)?;
            Ok(((), End::Commit))
        })
    }

    /// Changes the record of a dataset; its history and its identifiers stay as they are.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`].
    pub fn edit_dataset(&mut self, name: &DatasetName, edit: DatasetEdit) -> Result<Listed> {
        self.writing(|write, _| {
            let (key, mut dataset) = dataset_of(write, name)?;
            edit.apply_to(&mut dataset);
            write.update_dataset(&dataset)?;
            Ok((Listed { dataset, latest: write.latest_instance(key)? }, End::Commit))
        })
    }

    /// Whether there is a dataset of that name.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub fn has_dataset(&mut self, name: &DatasetName) -> Result<bool> {
        self.reading(|read, _| Ok(read.dataset(name)?.is_some()))
    }

    /// Shows all datasets, by name, one in memory at a time.
    ///
    /// # Errors
    ///
    /// [`Error::Output`]: what `show` returned.
    pub fn each_dataset(&mut self, mut show: impl FnMut(Listed) -> io::Result<()>) -> Result<()> {
        self.reading(|read, _| {
            read.each_dataset(|key, dataset| {
                Ok::<_, Error>(show(Listed { dataset, latest: read.latest_instance(key)? })?)
            })
        })
    }

    /// All datasets, by name.
    pub fn datasets(&mut self) -> Result<Vec<Listed>> {
        let mut datasets = Vec::new();
        self.each_dataset(|listed| {
            datasets.push(listed);
            Ok(())
        })?;
        Ok(datasets)
    }

    /// One dataset.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`].
    pub fn dataset(&mut self, name: &DatasetName) -> Result<Listed> {
        self.reading(|read, _| {
            let (key, dataset) = dataset_of(read, name)?;
            Ok(Listed { dataset, latest: read.latest_instance(key)? })
        })
    }
}
