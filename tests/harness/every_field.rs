//! The metadata of a dataset in which every field has a value.

use accession::DatasetEdit;
use accession::model::Year;
use accession::registry::Edit;

pub fn every_field(dataset: &str) -> DatasetEdit {
    let creators = ["Someone", "Someone Else"].map(|name| name.parse().unwrap());
    DatasetEdit {
        doi: Edit::Set(format!("10.9999/{dataset}").parse().unwrap()),
        title: Edit::Set(format!("The title of {dataset}")),
        description: Edit::Set(format!("What {dataset} is")),
        creators: Edit::Set(creators.to_vec()),
        publisher: Edit::Set("The Archive".to_owned()),
        version: Edit::Set("002".to_owned()),
        year: Edit::Set(Year::try_from(2_001).unwrap()),
        resolver: Edit::Set("https://archive.example".parse().unwrap()),
        url: Edit::Set(format!("https://archive.example/{dataset}").parse().unwrap()),
        archive: Edit::Set("US".to_owned()),
        licence: Edit::Set("CC-BY-4.0".to_owned()),
        granule_url: Edit::Set("https://archive.example/{granule}".parse().unwrap()),
        keywords: Edit::Set(vec!["sea ice".parse().unwrap()]),
        free_access: Edit::Set(true),
        temporal: Edit::Set("2001-01-01/..".parse().unwrap()),
        max_delete: Edit::Set("3%".parse().unwrap()),
        max_add: Edit::Set("4000".parse().unwrap()),
        max_replace: Edit::Set("5".parse().unwrap()),
    }
}
