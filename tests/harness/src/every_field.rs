//! The metadata of a dataset in which every field has a value.

use accession::Limits;
use accession::dataset::DatasetMetadata;
use accession::dataset::Year;

pub fn every_field(name: &str) -> impl Fn(&mut DatasetMetadata, &mut Limits) {
    let creators = ["Someone", "Someone Else"].map(|name| name.parse().unwrap());
    move |dataset: &mut DatasetMetadata, limits: &mut Limits| {
        dataset.doi = Some(format!("10.9999/{name}").parse().unwrap());
        dataset.title = Some(format!("The title of {name}"));
        dataset.description = Some(format!("What {name} is"));
        dataset.creators = creators.to_vec();
        dataset.publisher = Some("The Archive".to_owned());
        dataset.version = Some("002".to_owned());
        dataset.year = Some(Year::try_from(2_001).unwrap());
        dataset.resolver = Some("https://archive.example".parse().unwrap());
        dataset.url = Some(format!("https://archive.example/{name}").parse().unwrap());
        dataset.archive = Some("US".to_owned());
        dataset.licence = Some("CC-BY-4.0".parse().unwrap());
        dataset.granule_url = Some("https://archive.example/{granule}".parse().unwrap());
        dataset.keywords = vec!["sea ice".parse().unwrap()];
        dataset.free_access = Some(true);
        dataset.temporal = Some("2001-01-01/..".parse().unwrap());
        limits.max_delete = Some("3%".parse().unwrap());
        limits.max_add = Some("4000".parse().unwrap());
        limits.max_replace = Some("5".parse().unwrap());
    }
}
