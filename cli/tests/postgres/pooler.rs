//! All operations through pgbouncer in transaction mode.

use accession::{Change, GranuleId, IfMissing, Registry, Selection};
use harness::values::clock;

use crate::scene::{Scene, command, name, periods_of};
use harness::pooler::Pooler;

const WRITERS: usize = 8;
const CHANGES: usize = 12;

/// Every third change is large enough for COPY.
fn granules(number: usize) -> usize {
    if number.is_multiple_of(3) { 1_500 } else { 2 }
}

fn granule_id(writer: usize, number: usize, granule: usize) -> String {
    format!("{writer}.{number}.{granule}")
}

#[test]
fn eight_writers_share_three_sessions_of_a_pooler() {
    let Some(scene) = Scene::private() else { return };
    let Some(pooler) = Pooler::before(&scene.server, 3) else { return };
    let url = pooler.url(scene.url.rsplit('/').next().unwrap());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let url = &url;
            scope.spawn(move || {
                let registry = Registry::open(url, clock()).unwrap();
                let dataset = name(&format!("D{}", writer % 5));
                for number in 0..CHANGES {
                    let mut change = Change::new();
                    change.options = change.options.if_missing(IfMissing::Create);
                    for granule in 0..granules(number) {
                        let text = granule_id(writer, number, granule);
                        change.ingest(text.parse::<GranuleId>().unwrap()).unwrap();
                    }
                    registry.change(&dataset, &change).unwrap();
                    let at = Selection::Dataset { name: dataset.clone(), at: None };
                    let snapshot = registry.snapshot().unwrap();
                    let set = snapshot.select(&at).unwrap().set;
                    let granules = snapshot.registry().granules(&set);
                    // The snapshot has its own session, and the list would wait for another.
                    drop(snapshot);
                    let listed = granules.map(Result::unwrap).count();
                    assert_eq!(listed as u64, set.granule_count());
                }
            });
        }
    });
    let registry = Registry::open(&url, clock()).unwrap();
    for writer in 0..WRITERS {
        for number in 0..CHANGES {
            for granule in [0, granules(number) - 1] {
                assert_eq!(periods_of(&registry, &granule_id(writer, number, granule)), 1);
            }
        }
    }
    let verified = command(&url, &["verify"]).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    // No part of a transaction remains in the sessions, which other clients may get.
    let mut pooled = harness::server::client(&url);
    for _ in 0..6 {
        let rows = pooled.simple_query("SELECT name FROM pg_prepared_statements").unwrap();
        let names = rows.iter().filter(|row| matches!(row, postgres::SimpleQueryMessage::Row(_)));
        assert_eq!(names.count(), 0);
    }
}
