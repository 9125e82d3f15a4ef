//! Changes that are refused, and change nothing.

use std::time::Duration;

use accession::registry::Withdrawn;
use accession::{Access, Change, Entry, Registry, SourceLocation, Stamp};

use crate::harness::history::{change, id, name, now};
use crate::harness::oracle::naive;
use crate::harness::store::new_registry;

fn registry() -> Registry {
    let registry = new_registry();
    let stamp = Stamp::at("2001-01-02T00:00:00Z".parse().unwrap(), now());
    registry.change(&name("dataset"), &change(["A", "B"], []), &stamp).unwrap();
    registry
}

fn line(granule_id: &str, line: u64) -> Entry {
    let location = Some(SourceLocation::Line { source: "ids.txt".into(), line });
    Entry { granule_id: id(granule_id), producer_granule: None, content: None, location }
}

/// The granules to ingest and those to delete, each with its source location.
type Entries<'a> = (&'a [Entry], &'a [Entry]);

/// The change, which does not add a dataset.
fn listed((ingest, delete): Entries<'_>) -> accession::error::Result<Change> {
    let mut change = Change::new();
    for entry in ingest {
        change.ingest(entry.clone())?;
    }
    for entry in delete {
        change.delete(entry.clone())?;
    }
    Ok(change)
}

#[test]
fn refused_changes_state_the_reason_and_change_nothing() {
    let cases: [(Entries<'_>, &str, &str); 5] = [
        (
            (&[line("C", 1), line("B", 2)], &[]),
            "held",
            "ids.txt:2: \"B\" is already held, ingested 2001-01-02T00:00:00Z",
        ),
        (
            (&[line("B", 1), line("A", 2)], &[]),
            "held",
            "ids.txt:2: \"A\" is already held, ingested 2001-01-02T00:00:00Z, and 1 more of this change",
        ),
        (
            (&[line("C", 1), line("D", 2), line("C", 3)], &[]),
            "twice",
            "ids.txt:3: \"C\" is listed twice, the first time at ids.txt:1",
        ),
        (
            (&[line("C", 1)], &[line("C", 9)]),
            "both",
            "ids.txt:9: \"C\" is to be both ingested and deleted, the first time at ids.txt:1",
        ),
        (
            (&[], &[line("A", 1), line("C", 2), line("A", 3)]),
            "twice",
            "ids.txt:3: \"A\" is listed twice, the first time at ids.txt:1",
        ),
    ];
    for (entries, kind, message) in cases {
        let registry = registry();
        let before = registry.snapshot().unwrap().dataset(&name("dataset")).unwrap();
        let stamp = Stamp::at("2001-01-03T00:00:00Z".parse().unwrap(), now());
        let made =
            listed(entries).and_then(|change| registry.change(&name("dataset"), &change, &stamp));
        let error = made.unwrap_err();
        assert_eq!((error.kind().as_str(), error.to_string().as_str()), (kind, message));
        assert_eq!(registry.snapshot().unwrap().dataset(&name("dataset")).unwrap(), before);
        assert!(registry.verify(&name("dataset")).unwrap().ok);
    }
}

#[test]
fn a_missing_dataset_is_not_created_unless_requested() {
    let registry = registry();
    let stamp = Stamp::now(now());
    let no_create = listed((&[line("C", 1)], &[])).unwrap();
    let error = registry.change(&name("other"), &no_create, &stamp).unwrap_err();
    assert_eq!(error.kind().as_str(), "dataset-unknown");
    // A refused change does not leave the dataset that it would have added.
    let refused = registry.change(&name("other"), &change(["C"], ["D"]), &stamp).unwrap_err();
    assert_eq!(refused.kind().as_str(), "not-held");
    assert_eq!(registry.snapshot().unwrap().all_datasets(Withdrawn::Listed).unwrap().len(), 1);
}

#[test]
fn skipping_everything_changes_nothing_whatever_the_time() {
    // A nightly job can therefore run twice with the same --at.
    let registry = registry();
    let stamp = Stamp::at("2001-01-02T00:00:00Z".parse().unwrap(), now());
    let mut again = Change::new();
    again.options.skip_existing = true;
    again.ingest(id("A")).unwrap();
    again.ingest(id("B")).unwrap();
    let applied = registry.change(&name("dataset"), &again, &stamp).unwrap();
    assert_eq!((applied.instance(), applied.skipped.held), (None, 2));
    let latest = registry.snapshot().unwrap().dataset(&name("dataset")).unwrap().latest;
    assert_eq!(applied.in_force, latest);
}

#[test]
fn a_change_that_results_in_an_unexpected_identifier_is_refused() {
    let registry = registry();
    let before = registry.snapshot().unwrap().dataset(&name("dataset")).unwrap();
    let stamp = Stamp::at("2001-01-03T00:00:00Z".parse().unwrap(), now());
    let expecting = |expected: [&str; 3]| {
        let mut change = change(["C"], []);
        change.options.expected = Some(naive(expected));
        registry.change(&name("dataset"), &change, &stamp)
    };
    assert_eq!(expecting(["A", "B", "D"]).unwrap_err().kind().as_str(), "not-as-expected");
    assert_eq!(registry.snapshot().unwrap().dataset(&name("dataset")).unwrap(), before);
    assert_eq!(expecting(["A", "B", "C"]).unwrap().instances.remove(0).granules, 3);
}

#[test]
fn a_writer_that_has_waited_long_enough_for_another_is_refused() {
    let folder = tempfile::tempdir().unwrap();
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
