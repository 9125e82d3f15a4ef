//! A backup is a verified copy of the registry as of one moment, or does not exist.

use harness::values::clock;
use std::path::Path;
use std::sync::mpsc::{self, TryRecvError};

use accession::Registry;

use harness::history::{instances, name, step};
use harness::store::new_registry;

/// A registry with a change of this many granules.
fn registry(path: &Path, granules: usize) -> Registry {
    let registry = Registry::create(path, clock()).unwrap();
    let ids: Vec<String> = (0..granules).map(|n| format!("granule.{n:06}")).collect();
    step(&registry, "dataset", 0, ids.iter().map(String::as_str), []);
    registry
}

fn files(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_backup_made_during_writes_is_one_state() {
    let directory = harness::directory();
    let path = directory.path().join("accession.db");
    drop(registry(&path, 50_000));
    // Dropped at the end, even if the test fails, so that the writer ends as well.
    let (going_on, is_over) = mpsc::channel::<()>();
    let backups = std::thread::scope(|scope| {
        let going_on = going_on;
        let path = &path;
        let writer = scope.spawn(move || {
            let registry = Registry::open(path, clock()).unwrap();
            let mut writes = 0;
            while is_over.try_recv() == Err(TryRecvError::Empty) {
                writes += 1;
                let id = format!("granule.000000.{writes}");
                step(&registry, "dataset", writes, [id.as_str()], []);
            }
        });
        // Repeats until backups of several states exist. The speed of the writer depends on the machine.
        let (mut before, mut n) = (0, 0);
        while n < 5 || (before < 5 && !writer.is_finished()) {
            let target = directory.path().join(format!("backup-{n}.db"));
            let registry = Registry::open(path, clock()).unwrap();
            let backed_up = registry.back_up(&target).unwrap();
            let copy = Registry::open(&target, clock()).unwrap();
            let latest =
                copy.snapshot().unwrap().dataset(&name("dataset")).unwrap().latest.unwrap();
            assert_eq!(backed_up.identifiers, latest.granules - 50_000 + 1);
            assert!(backed_up.identifiers >= before);
            before = backed_up.identifiers;
            n += 1;
        }
        drop(going_on);
        writer.join().unwrap();
        n
    });
    // When the last connection is closed, the -wal and -shm files are removed.
    let mut expected: Vec<String> = std::iter::once("accession.db".to_owned())
        .chain((0..backups).map(|n| format!("backup-{n}.db")))
        .collect();
    expected.sort();
    assert_eq!(files(directory.path()), expected);
}

#[test]
fn a_change_of_a_temporary_copy_leaves_the_registry_as_it_is() {
    let registry = new_registry();
    step(&registry, "dataset", 0, ["A"], []);
    let before = instances(&registry, &name("dataset"));
    let copy = registry.temporary_copy().unwrap();
    assert_eq!(instances(&copy, &name("dataset")), before);
    step(&copy, "dataset", 1, ["B"], []);
    assert_eq!(instances(&copy, &name("dataset")).len(), 2);
    assert_eq!(instances(&registry, &name("dataset")), before);
}
