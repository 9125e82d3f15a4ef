//! What a change may not be, and that nothing is changed by trying.

use accession::{Change, Entry, Registry, SourceLocation, Stamp};

use crate::harness::history::{change, id, name, now};

fn registry() -> Registry {
    let mut registry = Registry::in_memory().unwrap();
    let stamp = Stamp { at: Some("2001-01-02T00:00:00Z".parse().unwrap()), now: now() };
    registry.change(&name("dataset"), change(["A", "B"], []), stamp).unwrap();
    registry
}

fn line(granule_id: &str, line: u64) -> Entry {
    let location = Some(SourceLocation::Line { source: "ids.txt".into(), line });
    Entry { granule_id: id(granule_id), producer_granule: None, location }
}

#[test]
fn refused_changes_say_why_and_change_nothing() {
    let ingest = |entries: &[Entry]| Change { ingest: entries.to_vec(), ..Change::default() };
    let delete = |entries: &[Entry]| Change { delete: entries.to_vec(), ..Change::default() };
    let cases = [
        (
            ingest(&[line("C", 1), line("B", 2)]),
            "2001-01-03T00:00:00Z",
            "held",
            "ids.txt:2: \"B\" is held already, ingested 2001-01-02T00:00:00Z",
        ),
        (
            ingest(&[line("B", 1), line("A", 2)]),
            "2001-01-03T00:00:00Z",
            "held",
            "ids.txt:2: \"A\" is held already, ingested 2001-01-02T00:00:00Z, and 1 more of this change",
        ),
        (
            delete(&[line("A", 1), line("C", 2)]),
            "2001-01-03T00:00:00Z",
            "not-held",
            "ids.txt:2: \"C\" is not held",
        ),
        (
            ingest(&[line("C", 1), line("D", 2), line("C", 3)]),
            "2001-01-03T00:00:00Z",
            "twice",
            "ids.txt:3: \"C\" stands here twice, first at ids.txt:1",
        ),
        (
            delete(&[line("A", 1), line("A", 2)]),
            "2001-01-03T00:00:00Z",
            "twice",
            "ids.txt:2: \"A\" stands here twice, first at ids.txt:1",
        ),
        (
            Change { ingest: vec![line("C", 1)], delete: vec![line("C", 9)], ..Change::default() },
            "2001-01-03T00:00:00Z",
            "both",
            "ids.txt:9: \"C\" is both to be ingested and to be deleted, first at ids.txt:1",
        ),
        (
            Change::default(),
            "2001-01-03T00:00:00Z",
            "empty",
            "the change is empty: no granule to ingest and none to delete",
        ),
        (
            ingest(&[line("C", 1)]),
            "2001-01-02T00:00:00Z",
            "not-after-last",
            "a change at 2001-01-02T00:00:00Z would not come after the last one, 2001-01-02T00:00:00Z: history is never rewritten",
        ),
        (
            ingest(&[line("C", 1)]),
            "3001-03-03T00:00:00Z",
            "future",
            "a change at 3001-03-03T00:00:00Z would stand in the future: now it is 2026-01-01T00:00:00Z",
        ),
    ];
    for (change, at, kind, message) in cases {
        let mut registry = registry();
        let before = registry.dataset(&name("dataset")).unwrap();
        let stamp = Stamp { at: Some(at.parse().unwrap()), now: now() };
        let error = registry.change(&name("dataset"), change, stamp).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, message));
        assert_eq!(registry.dataset(&name("dataset")).unwrap(), before);
        assert!(registry.verify(&name("dataset")).unwrap().ok);
    }
}

#[test]
fn a_dataset_that_is_not_there_is_not_made_unless_asked() {
    let mut registry = registry();
    let stamp = Stamp { at: None, now: now() };
    let no_create = Change { create: false, ..change(["C"], []) };
    let error = registry.change(&name("other"), no_create, stamp).unwrap_err();
    assert_eq!(error.kind(), "dataset-unknown");
    // A refused change does not leave the dataset that it would have made.
    let refused = registry.change(&name("other"), change(["C"], ["D"]), stamp).unwrap_err();
    assert_eq!(refused.kind(), "not-held");
    assert_eq!(registry.datasets().unwrap().len(), 1);
}

#[test]
fn passing_over_everything_changes_nothing_whatever_the_time() {
    // So a nightly job can run twice with one --at.
    let mut registry = registry();
    let stamp = Stamp { at: Some("2001-01-02T00:00:00Z".parse().unwrap()), now: now() };
    let again = Change { skip_existing: true, ..change(["A", "B"], []) };
    let applied = registry.change(&name("dataset"), again, stamp).unwrap();
    assert_eq!((applied.instance, applied.skipped_held), (None, 2));
}

#[test]
fn a_name_is_taken_once() {
    let mut registry = registry();
    let again = accession::Dataset::named(name("dataset"));
    assert_eq!(registry.add_dataset(&again).unwrap_err().kind(), "dataset-exists");
}
