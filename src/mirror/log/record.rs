//! The record of a dataset, as a head has it.

use serde::Deserialize;

use super::line::AtMost;
use crate::model::{Creator, Dataset, DatasetName};

/// A record, as it is read. Members that are not named are ignored.
#[derive(Deserialize)]
pub(super) struct RecordRead {
    pub name: String,
    doi: Option<String>,
    title: Option<String>,
    description: Option<String>,
    #[serde(default)]
    creators: AtMost<String, MAX_NAMES>,
    publisher: Option<String>,
    version: Option<String>,
    year: Option<u16>,
    url: Option<String>,
    licence: Option<String>,
    archive: Option<String>,
}

/// The greatest number of creators, and of former names.
pub(super) const MAX_NAMES: usize = 10_000;

/// Reads a dataset name.
pub(super) fn name(text: &str) -> Result<DatasetName, String> {
    DatasetName::from_stored(text).map_err(|_| format!("{text:?} is not a dataset name"))
}

impl RecordRead {
    /// The record, or what is wrong with it.
    pub fn into_record(self) -> Result<Dataset, String> {
        let RecordRead { title, description, publisher, version, archive, licence, .. } = self;
        if self.creators.has_more {
            return Err(format!("the record has more than {MAX_NAMES} creators"));
        }
        let creators =
            self.creators.elements.iter().map(|text| match Creator::organisation(text) {
                Ok(whole) => Ok(text.parse().unwrap_or(whole)),
                Err(_) => parsed(text, "creator"),
            });
        Ok(Dataset {
            name: name(&self.name)?,
            doi: self.doi.map(|text| parsed(&text, "DOI")).transpose()?,
            title,
            description,
            creators: creators.collect::<Result<_, String>>()?,
            publisher,
            version,
            year: self.year.map(|year| parsed(&year.to_string(), "year")).transpose()?,
            url: self.url.map(|text| parsed(&text, "web address")).transpose()?,
            licence,
            archive,
        })
    }
}

/// Parses a value; the error names the expected kind.
pub(super) fn parsed<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is not a valid {what}"))
}
