//! The record of a dataset.

use serde::Serialize;

use super::creator::Creator;
use super::dataset_name::DatasetName;
use super::doi::Doi;
use super::web_address::WebAddress;
use super::year::Year;

/// The record of a dataset, from which citations are written: everything that a registry stores
/// about it besides its granules.
///
/// Its fields, in this order, are those of `dataset` in the command line's JSON. `None` means that
/// the record does not have the field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dataset {
    /// The name in this registry.
    pub name: DatasetName,
    /// The DOI.
    pub doi: Option<Doi>,
    /// The title.
    pub title: Option<String>,
    /// A description of its content, for readers and search engines: 50 to 5,000 characters are
    /// usual.
    pub description: Option<String>,
    /// The creators, in the order of the citation.
    pub creators: Vec<Creator>,
    /// The publisher.
    pub publisher: Option<String>,
    /// The version, as its producer names it: "001" is not "1".
    pub version: Option<String>,
    /// The year of publication.
    pub year: Option<Year>,
    /// The address of a page about the dataset. Where an older registry holds a string that is not
    /// a web address, this is `None` ([`WebAddress::from_stored`]).
    pub url: Option<WebAddress>,
    /// The licence under which the dataset may be used: an SPDX identifier or an address.
    pub licence: Option<String>,
    /// The archive whose holdings this registry records.
    pub archive: Option<String>,
}

impl Dataset {
    /// Returns a record that has only a name.
    pub fn named(name: DatasetName) -> Self {
        Dataset {
            name,
            doi: None,
            title: None,
            description: None,
            creators: Vec::new(),
            publisher: None,
            version: None,
            year: None,
            url: None,
            licence: None,
            archive: None,
        }
    }
}
