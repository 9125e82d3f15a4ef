//! Rejected changes, which change nothing.

use harness::values::{AtTime, clock};
use std::time::Duration;

use accession::dataset::Withdrawn;
use accession::{Expected, IfMissing, Registry};

use harness::history::{change, name};
use harness::oracle::naive;
use harness::store::new_registry;

fn registry() -> Registry {
    let registry = new_registry();
    registry
        .change(
            &name("dataset"),
            &change(["A", "B"], []).at("2001-01-02T00:00:00Z".parse().unwrap()),
        )
        .unwrap();
    registry
}

#[test]
fn a_missing_dataset_is_not_created_unless_requested() {
    let registry = registry();
    let mut no_create = change(["C"], []);
    no_create.options = no_create.options.if_missing(IfMissing::Fail);
    let error = registry.change(&name("other"), &no_create).unwrap_err();
    assert_eq!(error.kind().as_str(), "dataset-unknown");
    // If the change is rejected, the dataset that it would create does not exist.
    let refused = registry.change(&name("other"), &change(["C"], ["D"])).unwrap_err();
    assert_eq!(refused.kind().as_str(), "not-held");
    assert_eq!(registry.snapshot().unwrap().all_datasets(Withdrawn::Listed).unwrap().len(), 1);
}

#[test]
fn a_change_that_results_in_an_unexpected_identifier_is_refused() {
    let registry = registry();
    let before = registry.snapshot().unwrap().dataset(&name("dataset")).unwrap();
    let expecting = |expected: [&str; 3]| {
        let mut change = change(["C"], []);
        change.options = change.options.expect(Expected::Identifier(naive(expected)));
        registry.change(&name("dataset"), &change.at("2001-01-03T00:00:00Z".parse().unwrap()))
    };
    assert_eq!(expecting(["A", "B", "D"]).unwrap_err().kind().as_str(), "not-as-expected");
    assert_eq!(registry.snapshot().unwrap().dataset(&name("dataset")).unwrap(), before);
    assert_eq!(expecting(["A", "B", "C"]).unwrap().instances.remove(0).granules, 3);
}

#[test]
fn a_writer_that_has_waited_long_enough_for_another_is_refused() {
    let folder = harness::directory();
    let path = folder.path().join("accession.db");
    drop(Registry::create(&path, clock()).unwrap());
    let registry = Registry::open(&path, clock()).unwrap().with_busy_wait(Duration::ZERO);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let change = change(["A"], []);
    let refused = registry.change(&name("dataset"), &change).unwrap_err();
    assert_eq!(refused.kind().as_str(), "busy");
    other.execute_batch("ROLLBACK").unwrap();
    assert!(registry.change(&name("dataset"), &change).is_ok());
}
