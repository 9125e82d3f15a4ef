//! The fields of a record that say what a dataset is about and where its granules are.

use accession::{Access, Change, Dataset, GranuleId, Registry, Stamp};

use crate::harness::history::{name, now, second};
use crate::harness::store::{new_registry, new_registry_in};

fn set_fields(dataset: &mut Dataset) {
    dataset.granule_url = Some("https://example.org/{granule}".parse().unwrap());
    dataset.keywords = ["b", "a", "\"é\""].map(|it| it.parse().unwrap()).to_vec();
    dataset.free_access = Some(false);
    dataset.temporal = Some("2001-01-01/..".parse().unwrap());
}

fn fill(registry: &Registry) {
    let mut change = Change::new();
    change.options.create_dataset = true;
    change.ingest("A/1".parse::<GranuleId>().unwrap()).unwrap();
    registry.change(&name("US"), &change, &Stamp::at(second(0), now())).unwrap();
}

#[test]
fn the_fields_are_kept_with_their_versions_and_cleared() {
    let registry = new_registry();
    fill(&registry);
    let edited = registry.edit_dataset(&name("US"), &Stamp::now(now()), set_fields).unwrap();
    let read = || registry.snapshot().unwrap().dataset(&name("US")).unwrap().dataset;
    assert_eq!(read(), edited);
    let json = serde_json::to_value(&edited).unwrap();
    assert_eq!(json["keywords"], serde_json::json!(["b", "a", "\"é\""]));
    assert_eq!((&json["free_access"], &json["temporal"]), (&false.into(), &"2001-01-01/..".into()));
    // The same again is no version.
    registry.edit_dataset(&name("US"), &Stamp::now(now()), set_fields).unwrap();
    let cleared = |dataset: &mut Dataset| {
        dataset.granule_url = None;
        dataset.keywords = Vec::new();
        dataset.free_access = None;
        dataset.temporal = None;
    };
    registry.edit_dataset(&name("US"), &Stamp::now(now()), cleared).unwrap();
    let json = serde_json::to_value(read()).unwrap();
    for field in ["granule_url", "free_access", "temporal"] {
        assert!(json[field].is_null(), "{field}");
    }
    assert_eq!(json["keywords"], serde_json::json!([]));
    let versions = registry.snapshot().unwrap().record_versions(&name("US")).unwrap();
    assert_eq!(versions.len(), 3);
    assert_eq!(versions[1].dataset["granule_url"], "https://example.org/{granule}");
}

#[test]
fn the_fields_are_copied_and_a_found_granule_has_its_address() {
    let directory = tempfile::tempdir().unwrap();
    let (_, registry) = new_registry_in(directory.path());
    fill(&registry);
    registry.edit_dataset(&name("US"), &Stamp::now(now()), set_fields).unwrap();
    let copy = directory.path().join("copy.db");
    registry.copy_to(&copy, accession::registry::PaymentIds::LeftOut).unwrap();
    let record = |registry: &Registry| registry.snapshot().unwrap().dataset(&name("US")).unwrap();
    let copied = Registry::open(&copy, Access::Read).unwrap();
    assert_eq!(record(&copied).dataset, record(&registry).dataset);
    registry.withdraw_dataset(&name("US"), "wrong", &Stamp::now(now())).unwrap();
    let granule_id: GranuleId = "A/1".parse().unwrap();
    let found = registry.snapshot().unwrap().find(&granule_id, None, 10).unwrap();
    assert_eq!(found[0].url.as_deref(), Some("https://example.org/A/1"));
    assert_eq!(found[0].withdrawn.as_ref().unwrap().note.as_deref(), Some("wrong"));
}
