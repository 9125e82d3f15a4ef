//! Changes that are refused, and change nothing.

use std::time::Duration;

use accession::registry::Withdrawn;
use accession::{Access, IfMissing, Registry, Stamp};

use harness::history::{change, name, now};
use harness::oracle::naive;
use harness::store::new_registry;

fn registry() -> Registry {
    let registry = new_registry();
    let stamp = Stamp::at("2001-01-02T00:00:00Z".parse().unwrap(), now());
    registry.change(&name("dataset"), &change(["A", "B"], []), &stamp).unwrap();
    registry
}

#[test]
fn a_missing_dataset_is_not_created_unless_requested() {
    let registry = registry();
    let stamp = Stamp::now(now());
    let mut no_create = change(["C"], []);
    no_create.options = no_create.options.if_missing(IfMissing::Fail);
    let error = registry.change(&name("other"), &no_create, &stamp).unwrap_err();
    assert_eq!(error.kind().as_str(), "dataset-unknown");
    // A refused change does not leave the dataset that it would have added.
    let refused = registry.change(&name("other"), &change(["C"], ["D"]), &stamp).unwrap_err();
    assert_eq!(refused.kind().as_str(), "not-held");
    assert_eq!(registry.snapshot().unwrap().all_datasets(Withdrawn::Listed).unwrap().len(), 1);
}

#[test]
fn a_change_that_results_in_an_unexpected_identifier_is_refused() {
    let registry = registry();
    let before = registry.snapshot().unwrap().dataset(&name("dataset")).unwrap();
    let stamp = Stamp::at("2001-01-03T00:00:00Z".parse().unwrap(), now());
    let expecting = |expected: [&str; 3]| {
        let mut change = change(["C"], []);
        change.options = change.options.expected(naive(expected));
        registry.change(&name("dataset"), &change, &stamp)
    };
    assert_eq!(expecting(["A", "B", "D"]).unwrap_err().kind().as_str(), "not-as-expected");
    assert_eq!(registry.snapshot().unwrap().dataset(&name("dataset")).unwrap(), before);
    assert_eq!(expecting(["A", "B", "C"]).unwrap().instances.remove(0).granules, 3);
}

#[test]
fn a_writer_that_has_waited_long_enough_for_another_is_refused() {
    let folder = harness::directory();
    let path = folder.path().join("accession.db");
    drop(Registry::create(&path).unwrap());
    let registry = Registry::open_waiting(&path, Access::Write, Duration::ZERO).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (change, stamp) = (change(["A"], []), Stamp::now(now()));
    let refused = registry.change(&name("dataset"), &change, &stamp).unwrap_err();
    assert_eq!(refused.kind().as_str(), "busy");
    other.execute_batch("ROLLBACK").unwrap();
    assert!(registry.change(&name("dataset"), &change, &stamp).is_ok());
}
