//! Many writers at the same time, and locks that others hold.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use accession::file::{Algorithm, Checksum};
use accession::ids::payment::{Layout, Scheme};
use accession::{Clock, DatasetFilter, Selection};
use tokio::runtime::Builder;

use crate::scene::{Scene, ingest, name, periods_of, rounds, stating, with_file};
use harness::values::change;

const WRITERS: usize = 8;

/// The registry waits on its caller's thread, where starting a runtime may be forbidden.
#[test]
fn a_registry_is_used_within_an_asynchronous_program() {
    let Some(scene) = Scene::new() else { return };
    for (round, mut builder) in
        [Builder::new_current_thread(), Builder::new_multi_thread()].into_iter().enumerate()
    {
        builder.build().unwrap().block_on(async {
            let registry = scene.open();
            let granule_id = format!("A{round}");
            registry.change(&name("D"), &ingest(&granule_id)).unwrap();
            assert_eq!(periods_of(&registry, &granule_id), 1);
        });
    }
}

/// Runs eight writers, each on the dataset that a function chooses, with readers beside them.
fn write_at_once(scene: &Scene, dataset: impl Fn(usize) -> String + Sync) -> usize {
    let duration = Duration::from_secs(u64::from(rounds(2, 60)));
    let is_over = AtomicBool::new(false);
    let made: Vec<usize> = std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let registry = scene.open();
                while !is_over.load(Ordering::Relaxed) {
                    let snapshot = registry.snapshot().unwrap();
                    let page = snapshot
                        .datasets(None, accession::dataset::Withdrawn::Listed, 100)
                        .unwrap();
                    for listed in page {
                        let selection =
                            accession::Selection::Dataset { name: listed.dataset.name, at: None };
                        if let Ok(selected) = snapshot.select(&selection) {
                            let granules = snapshot.registry().granules(&selected.set);
                            assert_eq!(
                                granules.map(Result::unwrap).count() as u64,
                                selected.set.granule_count()
                            );
                        }
                    }
                }
            });
        }
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let dataset = &dataset;
                scope.spawn(move || {
                    let registry = scene.open();
                    let began = Instant::now();
                    let mut made = 0;
                    while began.elapsed() < duration {
                        let change = ingest(&format!("{writer}.{made}"));
                        registry.change(&name(&dataset(writer)), &change).unwrap();
                        made += 1;
                    }
                    made
                })
            })
            .collect();
        let made = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        made
    });
    let registry = scene.open();
    for (writer, made) in made.iter().enumerate() {
        for number in 0..*made {
            assert_eq!(periods_of(&registry, &format!("{writer}.{number}")), 1);
        }
    }
    let verified = registry.verify_all(&DatasetFilter::All).unwrap().finish().unwrap();
    assert_eq!(verified.findings, 0);
    assert_eq!(verified.identifiers, made.iter().sum::<usize>() as u64);
    made.iter().sum()
}

#[test]
fn eight_writers_on_eight_datasets_make_all_their_changes() {
    let Some(scene) = Scene::new() else { return };
    let made = write_at_once(&scene, |writer| format!("D{writer}"));
    println!("8 writers on 8 datasets: {made} changes");
}

#[test]
fn eight_writers_on_one_dataset_make_all_their_changes() {
    let Some(scene) = Scene::new() else { return };
    let made = write_at_once(&scene, |_| "D".to_owned());
    println!("8 writers on 1 dataset: {made} changes");
}

#[test]
fn two_hosts_that_record_files_lose_none() {
    let Some(scene) = Scene::new() else { return };
    const GRANULES: usize = 40;
    let granules: Vec<String> = (0..GRANULES).map(|number| format!("G{number:02}")).collect();
    let first = change(granules.iter().map(String::as_str), []);
    scene.open().change(&name("D"), &first).unwrap();
    std::thread::scope(|scope| {
        for host in 0..2 {
            let (scene, granules) = (&scene, &granules);
            scope.spawn(move || {
                let registry = scene.open();
                for granule in granules {
                    // Both record the same file of each granule, and one of their own.
                    let files = [("data", 7), (["left", "right"][host], host as u8)];
                    let stated = files.map(|(path, byte)| {
                        let sum = Checksum::from_bytes(Algorithm::Sha256, &[byte; 32]).unwrap();
                        with_file(granule, path, None, Some(sum))
                    });
                    registry.change(&name("D"), &stating(stated)).unwrap();
                }
            });
        }
    });
    let registry = scene.open();
    let snapshot = registry.snapshot().unwrap();
    let selection = Selection::Dataset { name: name("D"), at: None };
    let files = snapshot.registry().files(&snapshot.select(&selection).unwrap().set);
    drop(snapshot);
    assert_eq!(files.totals().unwrap().files, 3 * GRANULES as u64);
    assert_eq!(scene.open().verify_all(&DatasetFilter::All).unwrap().finish().unwrap().findings, 0);
}

#[test]
fn a_lock_that_another_session_holds_is_waited_for_and_then_reported() {
    let Some(scene) = Scene::new() else { return };
    scene.open().change(&name("D"), &ingest("A")).unwrap();
    scene.open().change(&name("E"), &ingest("A")).unwrap();
    let mut other = scene.client();
    let mut transaction = other.transaction().unwrap();
    transaction
        .execute("SELECT 1 FROM accession.writer WHERE dataset_id = 1 FOR UPDATE", &[])
        .unwrap();
    let registry = scene.impatient(200);
    let refused = registry.change(&name("D"), &ingest("B")).unwrap_err();
    assert_eq!(refused.kind().as_str(), "busy");
    // Other datasets and all readers are not blocked.
    registry.change(&name("E"), &ingest("B")).unwrap();
    assert_eq!(periods_of(&registry, "A"), 2);
    transaction.rollback().unwrap();
    registry.change(&name("D"), &ingest("B")).unwrap();
}

#[test]
fn hosts_that_lease_payment_ids_at_once_get_different_ones() {
    let Some(scene) = Scene::new() else { return };
    let epoch = "2000-01-01T00:00:00Z".parse().unwrap();
    let scheme = Scheme { layout: Layout::Wide, epoch };
    let leased: Vec<String> = std::thread::scope(|scope| {
        let hosts: Vec<_> = (0..WRITERS as u32)
            .map(|host| {
                let scene = &scene;
                scope.spawn(move || {
                    let registry = scene.open();
                    let worker = scheme.worker(host % 2).unwrap();
                    let mut leased = Vec::new();
                    // One second for all: a slow host would look like a clock that is behind. Each worker has
                    // 1,024 ids in a second.
                    let now = crate::scene::second(0);
                    for _ in 0..10 {
                        let lease = registry
                            .with_clock(Clock::fixed(now))
                            .lease_payment_ids(scheme, worker, 5)
                            .unwrap();
                        leased.extend(lease.ids.iter().map(|id| id.id.to_string()));
                    }
                    leased
                })
            })
            .collect();
        hosts.into_iter().flat_map(|host| host.join().unwrap()).collect()
    });
    let different: BTreeSet<&String> = leased.iter().collect();
    assert_eq!(different.len(), leased.len());
    assert_eq!(leased.len(), WRITERS * 10 * 5);
}

#[test]
fn of_two_writers_that_give_two_datasets_one_doi_at_once_one_is_refused() {
    let Some(scene) = Scene::new() else { return };
    let registry = scene.open();
    for dataset in ["ONE", "TWO"] {
        registry.change(&name(dataset), &ingest("A")).unwrap();
    }
    for round in 0..rounds(10, 100) {
        let doi = format!("10.9999/{round}");
        let given = std::thread::scope(|scope| {
            let writers = ["ONE", "TWO"].map(|dataset| {
                let (scene, doi) = (&scene, &doi);
                scope.spawn(move || {
                    let edited = scene.open().edit_dataset(&name(dataset), |dataset| {
                        dataset.doi = Some(doi.parse().unwrap());
                    });
                    edited.map(drop).map_err(|error| error.kind())
                })
            });
            writers.map(|writer| writer.join().unwrap())
        });
        let refused = given.iter().filter(|given| given.is_err()).count();
        assert_eq!(refused, 1, "round {round}: {given:?}");
        let names = registry.snapshot().unwrap().datasets_with_doi(&doi.parse().unwrap()).unwrap();
        assert_eq!(names.len(), 1);
    }
}

#[test]
fn a_handle_can_be_dropped_within_a_local_set() {
    let Some(scene) = Scene::new() else { return };
    let registry = scene.open();
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(tokio::task::LocalSet::new().run_until(async move { drop(registry) }));
    scene.open().close().unwrap();
}
