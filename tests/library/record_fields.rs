//! The metadata fields that say what a dataset is about and where its granules are. A transcript of the command
//! line shows that they are stored and cleared.

use accession::dataset::DatasetMetadata;
use accession::{GranuleId, Registry};
use harness::values::clock;

use harness::history::{name, step};
use harness::store::{new_registry, new_registry_in};

fn set_fields(dataset: &mut DatasetMetadata) {
    dataset.granule_url = Some("https://example.org/{granule}".parse().unwrap());
    dataset.keywords = ["b", "a", "\"é\""].map(|it| it.parse().unwrap()).to_vec();
    dataset.free_access = Some(false);
    dataset.temporal = Some("2001-01-01/..".parse().unwrap());
}

#[test]
fn the_fields_are_copied_and_a_found_granule_has_its_address() {
    let directory = harness::directory();
    let (_, registry) = new_registry_in(directory.path());
    step(&registry, "US", 0, ["A/1"], []);
    registry.edit_dataset(&name("US"), set_fields).unwrap();
    let copy = directory.path().join("copy.db");
    registry.copy_to(&copy).unwrap();
    let record = |registry: &Registry| registry.snapshot().unwrap().dataset(&name("US")).unwrap();
    let copied = Registry::open(&copy, clock()).unwrap();
    assert_eq!(record(&copied).dataset, record(&registry).dataset);
    registry.withdraw_dataset(&name("US"), "wrong").unwrap();
    let granule_id: GranuleId = "A/1".parse().unwrap();
    let found = registry.snapshot().unwrap().find(&granule_id.clone().into(), None, 10).unwrap();
    assert_eq!(found[0].url.as_deref(), Some("https://example.org/A/1"));
    assert_eq!(found[0].withdrawn.as_ref().unwrap().note.as_deref(), Some("wrong"));
}

#[test]
fn a_doi_is_found_in_any_case_and_spelled_as_it_was_recorded_last() {
    let registry = new_registry();
    step(&registry, "US", 0, ["A"], []);
    let edit = |doi: &str| {
        let edit = |dataset: &mut DatasetMetadata| dataset.doi = Some(doi.parse().unwrap());
        registry.edit_dataset(&name("US"), edit).unwrap();
        let snapshot = registry.snapshot().unwrap();
        for text in ["10.5067/abc", "10.5067/ABC"] {
            let doi = text.parse().unwrap();
            assert_eq!(snapshot.datasets_with_doi(&doi).unwrap(), [name("US")]);
        }
        snapshot.dataset(&name("US")).unwrap().dataset.doi.unwrap().to_string()
    };
    assert_eq!(edit("10.5067/abc"), "10.5067/abc");
    assert_eq!(edit("10.5067/ABC"), "10.5067/ABC");
}
