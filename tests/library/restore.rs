//! A restored backup replaces a registry completely, and no payment id is issued twice.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use accession::minting::payment::{Layout, PaymentId, Scheme, Worker};
use accession::{Access, Registry, Stamp, Timestamp, restore};
use rusqlite::Connection;

use crate::harness::history::{change, name, now, second};

/// A registry with one dataset of ten granules.
fn create(path: &Path) -> Registry {
    let registry = Registry::create(path).unwrap();
    let ids: Vec<String> = (0..10).map(|n| format!("granule.{n}")).collect();
    let change = change(ids.iter().map(String::as_str), []);
    registry.change(&name("dataset"), &change, &Stamp::at(second(0), now())).unwrap();
    registry
}

fn paths(directory: &tempfile::TempDir) -> (PathBuf, PathBuf) {
    (directory.path().join("accession.db"), directory.path().join("backup.db"))
}

fn files(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(now().as_micros() + seconds * 1_000_000).unwrap()
}

/// All the ids that a worker gets at one time.
fn lease(registry: &Registry, scheme: Scheme, worker: Worker, at: Timestamp) -> Vec<PaymentId> {
    let lease = registry.lease_payment_ids(scheme, worker, 5_000, || at).unwrap();
    lease.ids.into_iter().map(|decoded| decoded.id).collect()
}

#[test]
fn a_backup_replaces_the_registry_which_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let (path, backup) = paths(&directory);
    let registry = create(&path);
    registry.back_up(&backup).unwrap();
    let stamp = Stamp::at(second(1), now());
    registry.change(&name("dataset"), &change(["later"], []), &stamp).unwrap();
    let restored = restore(&backup, &path, now(), None).unwrap();
    assert_eq!((restored.datasets, restored.identifiers), (1, 1));
    assert_eq!(restored.bytes, std::fs::metadata(&path).unwrap().len());
    // A process that has the old registry open does not continue to write to it.
    let refused = registry.change(&name("dataset"), &change(["lost"], []), &stamp).unwrap_err();
    assert_eq!(refused.kind(), "replaced");
    drop(registry);
    let granules = |path: &Path| {
        let registry = Registry::open(path, Access::Read).unwrap();
        let dataset = registry.snapshot().unwrap().dataset(&name("dataset")).unwrap();
        dataset.latest.unwrap().granules
    };
    assert_eq!(granules(&path), 10);
    assert_eq!(granules(&restored.moved.unwrap()), 11);
    let registry = Registry::open(&path, Access::Write).unwrap();
    registry.change(&name("dataset"), &change(["new"], []), &stamp).unwrap();
    assert_eq!(registry.verify(&name("dataset")).unwrap().mismatches, []);
    drop(registry);
    assert_eq!(files(directory.path()), 3);
}

#[test]
fn a_backup_that_does_not_verify_replaces_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (path, backup) = paths(&directory);
    create(&path).back_up(&backup).unwrap();
    let connection = Connection::open(&backup).unwrap();
    connection.execute("UPDATE instance SET identifier = zeroblob(16)", []).unwrap();
    drop(connection);
    let bytes = std::fs::read(&path).unwrap();
    let error = restore(&backup, &path, now(), None).unwrap_err();
    assert_eq!(error.kind(), "inconsistent");
    assert!(error.to_string().contains("dataset: the identifier is 0000"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(files(directory.path()), 2);
}

#[test]
fn a_missing_backup_is_named_and_replaces_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (path, backup) = paths(&directory);
    drop(create(&path));
    let error = restore(&backup, &path, now(), None).unwrap_err();
    assert_eq!(error.kind(), "registry-missing");
    assert!(error.to_string().contains("backup.db"), "{error}");
    assert_eq!(files(directory.path()), 1);
}

/// The clock of the machine was four seconds ahead when ids were issued after the backup. Then it
/// was corrected, and the backup was restored, which has no record of those ids.
#[test]
fn no_payment_id_that_was_issued_after_the_backup_is_issued_again() {
    for layout in [Layout::Standard, Layout::Wide] {
        let scheme = Scheme { layout, ..Scheme::default() };
        let directory = tempfile::tempdir().unwrap();
        let (path, backup) = paths(&directory);
        let registry = create(&path);
        let known = scheme.worker(3).unwrap();
        // This worker issued its first id after the backup.
        let unknown = scheme.worker(layout.workers() - 1).unwrap();
        lease(&registry, scheme, known, at(-60));
        registry.back_up(&backup).unwrap();
        let mut issued = BTreeSet::new();
        for seconds in 0..=4 {
            issued.extend(lease(&registry, scheme, known, at(seconds)));
            issued.extend(lease(&registry, scheme, unknown, at(seconds)));
        }
        assert_eq!(issued.len(), 10 * layout.counters() as usize);
        drop(registry);
        restore(&backup, &path, at(0), None).unwrap();
        let registry = Registry::open(&path, Access::Write).unwrap();
        let mut leased = 0;
        for seconds in 0..=7 {
            for worker in [known, unknown] {
                for payment_id in lease(&registry, scheme, worker, at(seconds)) {
                    leased += 1;
                    assert!(issued.insert(payment_id), "{payment_id} was issued twice");
                }
            }
        }
        // The clock may have been ahead by five seconds; in the two seconds after that, all ids are
        // issued.
        assert_eq!(leased, 4 * layout.counters());
    }
}

#[test]
fn a_worker_that_is_ahead_of_the_time_of_the_restore_is_not_set_back() {
    let scheme = Scheme::default();
    let worker = scheme.worker(0).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let (path, backup) = paths(&directory);
    let registry = create(&path);
    let issued = registry.lease_payment_ids(scheme, worker, 1, || at(60)).unwrap().ids[0];
    registry.back_up(&backup).unwrap();
    drop(registry);
    restore(&backup, &path, at(0), None).unwrap();
    let registry = Registry::open(&path, Access::Write).unwrap();
    assert!(registry.lease_payment_ids(scheme, worker, 1, || at(6)).is_err());
    let next = registry.lease_payment_ids(scheme, worker, 1, || at(60)).unwrap().ids[0];
    assert_eq!((next.time, next.counter), (issued.time, 1));
}
