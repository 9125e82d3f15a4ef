//! What becomes of a dataset's record.

use crate::model::{Creator, Dataset, Doi, WebAddress, Year};

/// What becomes of one field of a record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Edit<T> {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is emptied.
    Clear,
    /// It gets a new value.
    Set(T),
}

impl<T> Edit<T> {
    /// Sets the value if there is one, else keeps what there is.
    pub fn set(value: Option<T>) -> Self {
        value.map_or(Edit::Keep, Edit::Set)
    }

    /// This edit, or the other where this one keeps what there is.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Edit::Keep => other,
            edit => edit,
        }
    }

    /// The new value. `None` if the field stays as it is, or is emptied.
    pub fn into_value(self) -> Option<T> {
        match self {
            Edit::Set(value) => Some(value),
            Edit::Keep | Edit::Clear => None,
        }
    }

    /// Makes the edit.
    fn apply_to<F: From<T> + Default>(self, field: &mut F) {
        match self {
            Edit::Keep => {}
            Edit::Clear => *field = F::default(),
            Edit::Set(value) => *field = F::from(value),
        }
    }
}

/// What becomes of a dataset's record, field by field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatasetEdit {
    /// Its DOI.
    pub doi: Edit<Doi>,
    /// Its title.
    pub title: Edit<String>,
    /// Its description.
    pub description: Edit<String>,
    /// All its creators, in the order of the citation.
    pub creators: Edit<Vec<Creator>>,
    /// Its publisher.
    pub publisher: Edit<String>,
    /// Its version.
    pub version: Edit<String>,
    /// Its year.
    pub year: Edit<Year>,
    /// Its address.
    pub url: Edit<WebAddress>,
    /// Its archive.
    pub archive: Edit<String>,
    /// Its licence.
    pub licence: Edit<String>,
}

impl DatasetEdit {
    /// This edit, and the other's for the fields that this one keeps.
    pub fn or(self, other: Self) -> Self {
        DatasetEdit {
            doi: self.doi.or(other.doi),
            title: self.title.or(other.title),
            description: self.description.or(other.description),
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
        self.doi.apply_to(&mut dataset.doi);
        self.title.apply_to(&mut dataset.title);
        self.description.apply_to(&mut dataset.description);
        self.creators.apply_to(&mut dataset.creators);
        self.publisher.apply_to(&mut dataset.publisher);
        self.version.apply_to(&mut dataset.version);
        self.year.apply_to(&mut dataset.year);
        self.url.apply_to(&mut dataset.url);
        self.archive.apply_to(&mut dataset.archive);
        self.licence.apply_to(&mut dataset.licence);
    }
}
