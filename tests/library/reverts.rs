//! A revert without a set undoes the latest change.

use accession::{ChangeOptions, ChangeReport, ErrorKind, Registry, Result};
use harness::oracle::naive;
use harness::store::new_registry;
use harness::values::{name, second, step};

fn undo(registry: &Registry, seconds: i64) -> Result<ChangeReport> {
    let options = ChangeOptions::new().at(second(seconds));
    registry.revert(&name("D"), None, &options)
}

#[track_caller]
fn assert_holds(report: &ChangeReport, ids: &[&str]) {
    let in_force = report.in_force.as_ref().unwrap();
    assert_eq!(in_force.identifier, naive(ids.iter().copied()));
}

#[test]
fn the_set_before_the_last_change_is_held_again() {
    let registry = new_registry();
    step(&registry, "D", 0, ["A"], []);
    step(&registry, "D", 1, ["B", "C"], ["A"]);
    assert_holds(&undo(&registry, 2).unwrap(), &["A"]);
    // A further change can be undone as well.
    step(&registry, "D", 3, ["D"], []);
    assert_holds(&undo(&registry, 4).unwrap(), &["A"]);
}

#[test]
fn the_second_in_a_row_is_refused_since_two_sets_may_be_meant() {
    let registry = new_registry();
    step(&registry, "D", 0, ["A"], []);
    step(&registry, "D", 1, ["B"], []);
    step(&registry, "D", 2, ["C"], []);
    undo(&registry, 3).unwrap();
    let error = undo(&registry, 4).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ambiguous, "{error}");
    let snapshot = registry.snapshot().unwrap();
    let before = snapshot.change_before_last(&name("D")).unwrap().unwrap();
    assert_eq!(before.timestamp, second(2), "the hint names it");
    let to = accession::Selection::Dataset {
        name: name("D"),
        at: Some(accession::Moment::Instant(before.timestamp)),
    };
    let options = ChangeOptions::new().at(second(4));
    let report = registry.revert(&name("D"), &to, &options).unwrap();
    assert_holds(&report, &["A", "B", "C"]);
}

#[test]
fn there_is_no_set_before_the_first_change() {
    let registry = new_registry();
    step(&registry, "D", 0, ["A"], []);
    assert_eq!(undo(&registry, 1).unwrap_err().kind(), ErrorKind::NoHistory);
    assert_eq!(registry.snapshot().unwrap().change_before_last(&name("D")).unwrap(), None);
}
