//! Opening a registry: when it is created, when it is written, and which clock it reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use accession::{Clock, IfMissing, Location, Registry};
use harness::history::{change, instances, name, second};
use harness::values::clock;

#[test]
fn the_first_change_creates_a_registry_and_one_that_fails_leaves_nothing() {
    let directory = harness::directory();
    let path = directory.path().join("accession.db");
    let files = || std::fs::read_dir(directory.path()).unwrap().count();
    let registry = Registry::open_or_create(&path, clock()).unwrap();
    let mut refused = change(["A"], []);
    refused.options = refused.options.if_missing(IfMissing::Fail);
    let error = registry.change(&name("D"), &refused).unwrap_err();
    assert_eq!(error.kind().as_str(), "dataset-unknown");
    let mut tried = change(["A"], []);
    tried.options = tried.options.dry_run(true);
    registry.change(&name("D"), &tried).unwrap();
    assert!(registry.check_writable().is_ok());
    assert_eq!(files(), 0);
    // An earlier snapshot does not delay the change, and stays empty.
    let before = registry.snapshot().unwrap();
    registry.change(&name("D"), &change(["A"], [])).unwrap();
    assert!(!before.has_dataset(&name("D")).unwrap());
    assert_eq!(instances(&registry, &name("D")).len(), 1);
    let opened = Registry::open(&path, clock()).unwrap();
    assert_eq!(instances(&opened, &name("D")).len(), 1);
}

#[test]
fn of_two_that_create_a_registry_the_second_changes_that_of_the_first() {
    let directory = harness::directory();
    let path = directory.path().join("accession.db");
    let open = || Registry::open_or_create(&path, clock()).unwrap();
    let (first, second) = (open(), open());
    first.change(&name("FIRST"), &change(["A"], [])).unwrap();
    second.change(&name("SECOND"), &change(["A"], [])).unwrap();
    for registry in [&first, &second] {
        let snapshot = registry.snapshot().unwrap();
        assert!(["FIRST", "SECOND"].iter().all(|it| snapshot.has_dataset(&name(it)).unwrap()));
    }
}

#[test]
fn a_registry_that_another_process_creates_is_read() {
    let directory = harness::directory();
    let path = directory.path().join("accession.db");
    let registry = Registry::open_or_create(&path, clock()).unwrap();
    assert!(!registry.snapshot().unwrap().has_dataset(&name("D")).unwrap());
    let other = Registry::create(&path, clock()).unwrap();
    other.change(&name("D"), &change(["A"], [])).unwrap();
    assert!(registry.snapshot().unwrap().has_dataset(&name("D")).unwrap());
}

#[test]
fn a_link_to_nothing_is_not_a_place_for_a_registry() {
    let directory = harness::directory();
    let (link, gone) = (directory.path().join("link.db"), directory.path().join("gone.db"));
    std::os::unix::fs::symlink(&gone, &link).unwrap();
    let error = Registry::open_or_create(&link, clock()).unwrap_err();
    assert_eq!(error.kind().as_str(), "not-a-registry");
    assert!(!gone.exists());
}

#[test]
fn a_temporary_registry_is_deleted_with_its_last_clone_and_snapshot() {
    let registry = Registry::temporary(clock()).unwrap();
    let path = registry.location().file("reading it").unwrap().to_owned();
    registry.change(&name("D"), &change(["A"], [])).unwrap();
    let (clone, snapshot) = (registry.clone(), registry.snapshot().unwrap());
    drop(registry);
    drop(clone);
    assert!(path.exists() && snapshot.has_dataset(&name("D")).unwrap());
    drop(snapshot);
    assert!(!path.parent().unwrap().exists());
}

#[test]
fn a_registry_owns_its_file_and_those_beside_it() {
    let directory = harness::directory();
    let path = directory.path().join("accession.db");
    let location = Location::from(&path);
    assert!(!location.owns(&path), "there is none");
    drop(Registry::create(&location, clock()).unwrap());
    let owns = |name: &str| location.owns(name.as_ref());
    assert!(
        ["accession.db", "data/accession.db-wal", "accession.db-journal"].map(owns) == [true; 3]
    );
    assert!(["accession.db.gz", "other.db", "accession.db-wal/x"].map(owns) == [false; 3]);
    assert!(!Location::from("postgres://db.example.org/accession.db").owns(&path));
}

/// The clock is read again for each change, but only once for a snapshot.
#[test]
fn a_snapshot_reads_the_clock_once() {
    let seconds = Arc::new(AtomicI64::new(0));
    let read = Arc::clone(&seconds);
    let clock = Clock::new(move || second(read.fetch_add(1, Ordering::Relaxed)));
    let registry = Registry::temporary(clock).unwrap().recorded_by("curt".parse().unwrap());
    let snapshot = registry.snapshot().unwrap();
    assert_eq!((snapshot.now(), snapshot.now()), (second(0), second(0)));
    assert_eq!(registry.now(), second(1));
    // A change through the snapshot's registry gets its own time.
    assert!(snapshot.registry().now() == second(2) && snapshot.now() == second(0));
    registry.change(&name("D"), &change(["A"], [])).unwrap();
    let instance = instances(&registry, &name("D")).remove(0);
    assert!(instance.timestamp >= second(3) && instance.recorded > instance.timestamp);
    assert_eq!(instance.recorded_by.as_deref(), Some("curt"));
}
