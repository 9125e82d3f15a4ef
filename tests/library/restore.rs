//! A restored backup replaces a registry completely, and no payment id is issued twice.

use harness::values::{AtTime, clock};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use accession::backup::MissingFromBackup;
use accession::history::NewAnnotation;
use accession::ids::payment::{Layout, PaymentId, Scheme, Worker};
use accession::{
    CancelToken, Clock, DatasetName, Identifier, Observer, Progress, Registry, Selection,
    SubsetMembers, Timestamp, Watcher, Work,
};
use rusqlite::Connection;

use harness::history::{change, name, now, second, step};
use harness::oracle::naive;

/// A registry with one dataset of ten granules.
fn create(path: &Path) -> Registry {
    let registry = Registry::create(path, clock()).unwrap();
    let ids: Vec<String> = (0..10).map(|n| format!("granule.{n}")).collect();
    step(&registry, "dataset", 0, ids.iter().map(String::as_str), []);
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

/// All the ids that a worker can get at one time.
fn lease(registry: &Registry, scheme: Scheme, worker: Worker, at: Timestamp) -> Vec<PaymentId> {
    let lease =
        registry.with_clock(Clock::fixed(at)).lease_payment_ids(scheme, worker, 5_000).unwrap();
    lease.ids.into_iter().map(|decoded| decoded.id).collect()
}

#[test]
fn a_backup_replaces_the_registry_which_is_kept() {
    let directory = harness::directory();
    let (path, backup) = paths(&directory);
    let registry = create(&path);
    registry.back_up(&backup).unwrap();
    registry.change(&name("dataset"), &change(["later"], []).at(second(1))).unwrap();
    let restored = Registry::restore(&backup, &path, clock(), &Watcher::new()).unwrap();
    assert_eq!((restored.datasets, restored.identifiers), (1, 1));
    assert_eq!(restored.bytes, std::fs::metadata(&path).unwrap().len());
    // A process that still has the old registry open cannot write to it any more.
    let refused =
        registry.change(&name("dataset"), &change(["lost"], []).at(second(1))).unwrap_err();
    assert_eq!(refused.kind().as_str(), "replaced");
    drop(registry);
    let granules = |path: &Path| {
        let registry = Registry::open(path, clock()).unwrap();
        let dataset = registry.snapshot().unwrap().dataset(&name("dataset")).unwrap();
        dataset.latest.unwrap().granules
    };
    assert_eq!(granules(&path), 10);
    assert_eq!(granules(&restored.moved.unwrap()), 11);
    let registry = Registry::open(&path, clock()).unwrap();
    registry.change(&name("dataset"), &change(["new"], []).at(second(1))).unwrap();
    assert_eq!(registry.verify(&name("dataset")).unwrap().mismatches, []);
    drop(registry);
    assert_eq!(files(directory.path()), 3);
}

#[test]
fn a_backup_that_does_not_verify_replaces_nothing() {
    let directory = harness::directory();
    let (path, backup) = paths(&directory);
    create(&path).back_up(&backup).unwrap();
    let connection = Connection::open(&backup).unwrap();
    connection.execute("UPDATE instance SET identifier = zeroblob(16)", []).unwrap();
    harness::seal::seal_rows(&connection);
    drop(connection);
    let bytes = std::fs::read(&path).unwrap();
    let error = Registry::restore(&backup, &path, clock(), &Watcher::new()).unwrap_err();
    assert_eq!(error.kind().as_str(), "damaged");
    let message = error.with_causes();
    let finding = "dataset at 2001-01-01T00:00:00Z: the identifier is 0000";
    assert!(message.contains(finding), "{message}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(files(directory.path()), 2);
}

#[test]
fn a_missing_backup_is_named_and_replaces_nothing() {
    let directory = harness::directory();
    let (path, backup) = paths(&directory);
    drop(create(&path));
    let error = Registry::restore(&backup, &path, clock(), &Watcher::new()).unwrap_err();
    assert_eq!(error.kind().as_str(), "registry-missing");
    assert!(error.to_string().contains("backup.db"), "{error}");
    assert_eq!(files(directory.path()), 1);
}

/// When ids were issued after the backup, the clock of the machine was four seconds ahead. Then the clock was
/// corrected, and the backup, which has no record of those ids, was restored.
#[test]
fn no_payment_id_that_was_issued_after_the_backup_is_issued_again() {
    for layout in [Layout::Standard, Layout::Wide] {
        let scheme = Scheme { layout, ..Scheme::default() };
        let directory = harness::directory();
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
        Registry::restore(&backup, &path, Clock::fixed(at(0)), &Watcher::new()).unwrap();
        let registry = Registry::open(&path, clock()).unwrap();
        let mut leased = 0;
        for seconds in 0..=7 {
            for worker in [known, unknown] {
                for payment_id in lease(&registry, scheme, worker, at(seconds)) {
                    leased += 1;
                    assert!(issued.insert(payment_id), "{payment_id} was issued twice");
                }
            }
        }
        // The clock may have been five seconds ahead. In the two seconds after that, all ids are issued.
        assert_eq!(leased, 4 * layout.counters());
    }
}

#[test]
fn a_worker_that_is_ahead_of_the_time_of_the_restore_is_not_set_back() {
    let scheme = Scheme::default();
    let worker = scheme.worker(0).unwrap();
    let directory = harness::directory();
    let (path, backup) = paths(&directory);
    let registry = create(&path);
    let issued =
        registry.with_clock(Clock::fixed(at(60))).lease_payment_ids(scheme, worker, 1).unwrap().ids
            [0];
    registry.back_up(&backup).unwrap();
    drop(registry);
    Registry::restore(&backup, &path, Clock::fixed(at(0)), &Watcher::new()).unwrap();
    let registry = Registry::open(&path, clock()).unwrap();
    assert!(registry.with_clock(Clock::fixed(at(6))).lease_payment_ids(scheme, worker, 1).is_err());
    let next =
        registry.with_clock(Clock::fixed(at(60))).lease_payment_ids(scheme, worker, 1).unwrap().ids
            [0];
    assert_eq!((next.time, next.counter), (issued.time, 1));
}

/// A registry with the dataset of [`create`] and a backup of it. After the backup, a dataset was added, one was
/// renamed, one was changed, and a subset was cited.
fn with_an_older_backup(path: &Path, backup: &Path) -> Registry {
    let registry = create(path);
    step(&registry, "old", 0, ["A"], []);
    registry.back_up(backup).unwrap();
    step(&registry, "dataset", 1, ["later"], []);
    step(&registry, "added", 1, ["A", "B"], []);
    // A set that the backup contains as well.
    step(&registry, "also-added", 1, ["A"], []);
    registry.rename_dataset(&name("old"), &name("renamed")).unwrap();
    let noted = Selection::Dataset { name: name("renamed"), at: None };
    let note = NewAnnotation::new("later").unwrap();
    registry.annotate(&noted, &note).unwrap();
    let wanted = SubsetMembers::Patterns(vec!["*.1".parse().unwrap()]);
    registry.cite_subset(&name("dataset"), None, &wanted).unwrap();
    registry
}

fn lacks_of_the_older_backup() -> (Vec<DatasetName>, Vec<Identifier>) {
    let granules = (0..10).map(|n| format!("granule.{n}")).chain(["later".to_owned()]);
    let granules: BTreeSet<String> = granules.collect();
    let identifiers = vec![
        naive(["A", "B"].into_iter()),
        naive(granules.iter().map(String::as_str)),
        naive(["granule.1"].into_iter()),
    ];
    (vec![name("added"), name("also-added")], identifiers)
}

#[test]
fn what_the_copy_lacks_is_listed() {
    let directory = harness::directory();
    let (path, backup) = paths(&directory);
    drop(with_an_older_backup(&path, &backup));
    let bytes = std::fs::read(&backup).unwrap();
    let (datasets, identifiers) = lacks_of_the_older_backup();
    let restored = Registry::restore(&backup, &path, clock(), &Watcher::new()).unwrap();
    let (kept, lacks) = (restored.moved.unwrap(), restored.lacks.unwrap());
    assert_eq!((&lacks.datasets, &lacks.identifiers), (&datasets, &identifiers));
    assert_eq!((restored.datasets, restored.identifiers), (2, 2));
    assert_eq!(std::fs::read(&backup).unwrap(), bytes);
    // Restored again, the backup lacks nothing. The registry that was replaced lacks nothing of the backup
    // either.
    let again = Registry::restore(&backup, &path, Clock::fixed(at(1)), &Watcher::new()).unwrap();
    assert_eq!(again.lacks.unwrap(), MissingFromBackup::default());
    let back = Registry::restore(&kept, &path, Clock::fixed(at(2)), &Watcher::new()).unwrap();
    assert_eq!(back.lacks.unwrap(), MissingFromBackup::default());
}

/// Each way in which a registry can be unreadable. The restored registry can then be changed.
#[test]
fn a_damaged_registry_is_replaced_and_kept_although_it_cannot_be_compared() {
    type Damage = fn(&Path);
    let damage: [(&str, Damage); 5] = [
        ("garbage", |path| std::fs::write(path, "not a registry").unwrap()),
        ("empty", |path| std::fs::write(path, "").unwrap()),
        ("cut short", |path| {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.set_len(8_192).unwrap();
        }),
        ("a table is missing", |path| {
            Connection::open(path).unwrap().execute_batch("DROP TABLE checkpoint").unwrap();
        }),
        ("a newer schema", |path| {
            Connection::open(path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        }),
    ];
    for (what, damage) in damage {
        let directory = harness::directory();
        let (path, backup) = paths(&directory);
        drop(with_an_older_backup(&path, &backup));
        damage(&path);
        let bytes = std::fs::read(&path).unwrap();
        let restored = Registry::restore(&backup, &path, clock(), &Watcher::new()).unwrap();
        assert!(restored.lacks.is_err(), "{what}");
        assert_eq!(std::fs::read(restored.moved.unwrap()).unwrap(), bytes, "{what}");
        let registry = Registry::open(&path, clock()).unwrap();
        step(&registry, "old", 9, ["new"], []);
    }
}

/// Copies of a private registry are private. A restored registry has the permissions of the registry that it
/// replaces.
#[cfg(unix)]
#[test]
fn copies_have_the_permissions_of_the_registry_and_a_restored_one_those_of_the_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for permissions in [0o600, 0o640, 0o664, 0o666] {
        let directory = harness::directory();
        let (path, backup) = paths(&directory);
        drop(create(&path));
        set(&path, permissions);
        let registry = Registry::open(&path, clock()).unwrap();
        registry.back_up(&backup).unwrap();
        assert_eq!(mode(&backup), permissions);
        let copy = directory.path().join("copy.db");
        registry.copy_to(&copy).unwrap();
        assert_eq!(mode(&copy), permissions);
        // If the registry is lost, the permissions are those of the backup.
        let new = directory.path().join("new.db");
        Registry::restore(&backup, &new, clock(), &Watcher::new()).unwrap();
        assert_eq!(mode(&new), permissions);
        set(&backup, 0o644);
        drop(registry);
        let kept =
            Registry::restore(&backup, &path, clock(), &Watcher::new()).unwrap().moved.unwrap();
        assert_eq!((mode(&path), mode(&kept)), (permissions, permissions));
        let registry = Registry::open(&path, clock()).unwrap();
        step(&registry, "dataset", 9, ["B"], []);
    }
}

/// Only root may change the owner of a file.
#[cfg(unix)]
#[test]
fn copies_keep_their_owner_and_group_where_that_is_permitted() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let directory = harness::directory();
    let (path, backup) = paths(&directory);
    drop(create(&path));
    if chown(&path, Some(12_345), Some(23_456)).is_err() {
        // Only root can: `what_was_not_checked` reports it.
        return;
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o660)).unwrap();
    let owner = |path: &Path| {
        let metadata = std::fs::metadata(path).unwrap();
        (metadata.uid(), metadata.gid(), metadata.permissions().mode() & 0o777)
    };
    Registry::open(&path, clock()).unwrap().back_up(&backup).unwrap();
    assert_eq!(owner(&backup), (12_345, 23_456, 0o660));
    chown(&backup, Some(0), Some(0)).unwrap();
    Registry::restore(&backup, &path, clock(), &Watcher::new()).unwrap();
    assert_eq!(owner(&path), (12_345, 23_456, 0o660));
}

/// Changes the registry whenever some of its pages have been copied.
struct ChangeWhileCopying {
    registry: Registry,
    is_copying: AtomicBool,
    pages: AtomicU64,
    changes: AtomicU64,
    token: CancelToken,
}

impl Observer for ChangeWhileCopying {
    fn event(&self, event: Progress) {
        let more = match event {
            Progress::Begin(work, _) => {
                return self.is_copying.store(work == Work::CopyPages, Ordering::Relaxed);
            }
            Progress::Advance(more) if self.is_copying.load(Ordering::Relaxed) => more,
            Progress::End => return self.is_copying.store(false, Ordering::Relaxed),
            _ => return,
        };
        self.pages.fetch_add(more, Ordering::Relaxed);
        let number = self.changes.fetch_add(1, Ordering::Relaxed) + 1;
        let id = format!("during.{number}");
        self.registry
            .change(&name("dataset"), &change([id.as_str()], []).at(second(number as i64)))
            .unwrap();
        if number == 20 {
            self.token.cancel();
        }
    }
}

/// Once, each change made SQLite copy everything again.
#[test]
fn a_registry_that_others_change_is_copied_once_as_it_was_at_the_beginning() {
    let directory = harness::directory();
    let (path, target) =
        (directory.path().join("in-use.db"), directory.path().join("accession.db"));
    let registry = create(&path);
    // More than one step of the copy.
    let large = "
        CREATE TABLE theirs (bytes BLOB);
        WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted LIMIT 60)
        INSERT INTO theirs SELECT zeroblob(1000000) FROM counted";
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(large).unwrap();
    let all: u32 = connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    let token = CancelToken::new();
    let observer = Arc::new(ChangeWhileCopying {
        registry: registry.clone(),
        is_copying: AtomicBool::new(false),
        pages: AtomicU64::new(0),
        changes: AtomicU64::new(0),
        token: token.clone(),
    });
    let watcher = Watcher::new().observed_by(observer.clone()).cancelled_by(&token);
    let restored = Registry::restore(&path, &target, clock(), &watcher).unwrap();
    assert_eq!((restored.datasets, restored.identifiers), (1, 1));
    let (pages, changes) =
        (observer.pages.load(Ordering::Relaxed), observer.changes.load(Ordering::Relaxed));
    assert!(pages <= u64::from(all) && changes > 1, "{pages} of {all} pages, {changes} changes");
    let granules = |path: &Path| {
        let registry = Registry::open(path, clock()).unwrap();
        let dataset = registry.snapshot().unwrap().dataset(&name("dataset")).unwrap();
        dataset.latest.unwrap().granules
    };
    assert_eq!(granules(&target), 10);
    assert_eq!(granules(&path), 10 + changes);
}
