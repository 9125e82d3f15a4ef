//! Edits of a dataset's record.

use crate::model::{Creator, Dataset, Doi, WebAddress, Year};

/// An edit of one field of a record.
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
    /// Sets the value if there is one, and otherwise leaves the field unchanged.
    pub fn set(value: Option<T>) -> Self {
        value.map_or(Edit::Keep, Edit::Set)
    }

    /// Returns this edit or, if it leaves the field unchanged, the other.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Edit::Keep => other,
            edit => edit,
        }
    }

    /// The new value. `None` means that the field is unchanged or cleared.
    pub fn into_value(self) -> Option<T> {
        match self {
            Edit::Set(value) => Some(value),
            Edit::Keep | Edit::Clear => None,
        }
    }

    /// Applies the edit.
    fn apply_to<F: From<T> + Default>(self, field: &mut F) {
        match self {
            Edit::Keep => {}
            Edit::Clear => *field = F::default(),
            Edit::Set(value) => *field = F::from(value),
        }
    }
}

/// An edit of a dataset's record, field by field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatasetEdit {
    /// The DOI.
    pub doi: Edit<Doi>,
    /// The title.
    pub title: Edit<String>,
    /// The description.
    pub description: Edit<String>,
    /// All creators, in the order of the citation.
    pub creators: Edit<Vec<Creator>>,
    /// The publisher.
    pub publisher: Edit<String>,
    /// The version.
    pub version: Edit<String>,
    /// The year.
    pub year: Edit<Year>,
    /// The web address.
    pub url: Edit<WebAddress>,
    /// The archive.
    pub archive: Edit<String>,
    /// The licence.
    pub licence: Edit<String>,
}

impl DatasetEdit {
    /// Returns this edit, with the other's values for the fields that this one leaves unchanged.
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

    /// Applies the edit.
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
