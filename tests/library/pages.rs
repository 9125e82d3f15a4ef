//! Granules and histories are read page by page, while other threads change the registry.

use accession::{EventKind, HistoryOptions, Import, Moment, Registry, Selection, Set, Timestamp};
use harness::values::clock;
use rusqlite::Connection;

use crate::stored::{Stored, change, even, granule_id, latest};
use harness::events::event;
use harness::history::{Plan, id, instances, name, plan, second};
use harness::oracle::naive;

/// More than two pages of 4,096.
const GRANULES: usize = 10_000;

fn granules_of(registry: &Registry, selection: &Selection) -> accession::Granules {
    registry.granules(&set_of(registry, selection))
}

fn set_of(registry: &Registry, selection: &Selection) -> Set {
    registry.snapshot().unwrap().select(selection).unwrap().set
}

fn granules_after(registry: &Registry, number: usize) -> accession::Granules {
    registry.granules_after(&set_of(registry, &latest()), Some(&id(&granule_id(number))))
}

#[test]
fn granules_are_those_of_their_instance_while_others_commit_between_two_pages() {
    let stored = Stored::with(GRANULES);
    let other = stored.other_handle();
    let mut listed = Vec::new();
    let mut at = 0;
    for granule in granules_of(&stored.registry, &latest()) {
        listed.push(granule.unwrap().granule_id.to_string());
        if listed.len() % 1_000 == 0 {
            // Positions before and after the next page, for granules that are deleted, ingested for the first
            // time, and ingested again.
            at += 1;
            let held = [granule_id(2 * (listed.len() - 500)), granule_id(2 * (GRANULES - at))];
            let new = [granule_id(2 * listed.len() + 1), granule_id(20 * at + 1)];
            let first = plan(new.iter().map(String::as_str), held.iter().map(String::as_str));
            std::thread::scope(|scope| {
                scope.spawn(|| change(&other, 2 * at as i64, &first)).join().unwrap();
            });
            let again = plan([held[1].as_str()], []);
            change(&stored.registry, 2 * at as i64 + 1, &again);
        }
    }
    assert_eq!(at, 10);
    assert!(listed.iter().eq(&even(GRANULES)));
    let first = Selection::Dataset { name: name("dataset"), at: Some(Moment::Instant(second(0))) };
    let selected = stored.registry.snapshot().unwrap().select(&first).unwrap();
    assert_eq!(selected.set.identifier(), naive(listed.iter().map(String::as_str)));
    // The granules that were read are not those held now.
    let now_held = granules_of(&stored.registry, &latest()).count();
    assert_eq!(now_held, GRANULES + 10);
    assert!(stored.registry.verify(&name("dataset")).unwrap().ok);
}

#[test]
fn granules_after_an_id_begin_there_and_are_not_counted_against_the_history() {
    let stored = Stored::with(GRANULES);
    for number in [0, 1, 8_191, 2 * GRANULES] {
        let after = granules_after(&stored.registry, number);
        let listed: Vec<String> =
            after.map(|granule| granule.unwrap().granule_id.to_string()).collect();
        assert!(listed.iter().eq(&even(GRANULES)[(number / 2 + 1).min(GRANULES)..]), "{number}");
    }
}

#[test]
fn pages_of_ids_have_the_ids_of_the_granules_wherever_reading_begins() {
    let stored = Stored::with(GRANULES);
    let listed = even(GRANULES);
    for read in [0, 1, 4_095, 4_096, 4_097, GRANULES - 1, GRANULES] {
        let mut granules = granules_of(&stored.registry, &latest());
        let first: Vec<String> =
            granules.by_ref().take(read).map(|it| it.unwrap().granule_id.to_string()).collect();
        let pages: Vec<accession::history::IdPage> =
            granules.into_id_pages().map(Result::unwrap).collect();
        assert!(pages.iter().all(|page| !page.is_empty()));
        let rest = pages.iter().flat_map(accession::history::IdPage::iter);
        assert!(first.iter().map(String::as_str).chain(rest).eq(&listed), "{read}");
        let lines: String = pages.iter().map(accession::history::IdPage::as_lines).collect();
        assert!(lines.lines().eq(&listed[read..]), "{read}");
    }
    let after = granules_after(&stored.registry, 9_001);
    let pages: Vec<accession::history::IdPage> =
        after.into_id_pages().map(Result::unwrap).collect();
    assert!(pages.iter().flat_map(accession::history::IdPage::iter).eq(&listed[4_501..]));
}

/// A history of more than two pages of 1,024.
const INSTANCES: i64 = 2_500;

fn long_history() -> Stored {
    let stored = Stored::with(1);
    let mut import = Import::new();
    for at in 1..INSTANCES {
        let granule_id = granule_id(2 * at as usize);
        import.add(event(second(at), EventKind::Ingested, &granule_id)).unwrap();
    }
    stored.registry.import(&name("dataset"), &import).unwrap();
    stored
}

#[test]
fn a_history_ends_with_the_latest_instance_that_was_known_when_its_first_one_was_read() {
    let stored = long_history();
    let other = stored.other_handle();
    let oldest_first = stored.registry.history(&name("dataset"), &HistoryOptions::new());
    let newest_first =
        stored.registry.history(&name("dataset"), &HistoryOptions::new().newest_first());
    let mut at = INSTANCES;
    for (history, is_reversed) in [(oldest_first, false), (newest_first, true)] {
        let expected: Vec<Timestamp> = (0..at).map(second).collect();
        let mut read = Vec::new();
        for instance in history {
            read.push(instance.unwrap());
            if read.len() % 500 == 1 {
                let granule_id = granule_id(2 * at as usize);
                change(&other, at, &plan([granule_id.as_str()], []));
                at += 1;
            }
        }
        if is_reversed {
            read.reverse();
        }
        assert!(read.iter().map(|instance| instance.timestamp).eq(expected.iter().copied()));
        let until: Vec<_> = read.iter().map(|instance| instance.until).collect();
        assert!(until.iter().zip(&expected[1..]).all(|(until, next)| *until == Some(*next)));
        assert_eq!(until.last(), Some(&None), "it is the latest of this history");
    }
    assert_eq!(instances(&stored.registry, &name("dataset")).len() as i64, at);
}

#[test]
fn since_and_until_bound_a_history_in_both_orders() {
    let stored = long_history();
    for (since, until) in [(0, 0), (5, 5), (7, 2_000), (1_023, 1_024), (2_499, 9_999), (9, 3)] {
        let bounded = HistoryOptions::new().since(second(since)).until(second(until));
        let history = |options: &HistoryOptions| stored.registry.history(&name("dataset"), options);
        let expected: Vec<Timestamp> = (since..=until.min(INSTANCES - 1)).map(second).collect();
        let read: Vec<Timestamp> = history(&bounded).map(|it| it.unwrap().timestamp).collect();
        assert_eq!(read, expected, "{since} {until}");
        let mut read: Vec<Timestamp> =
            history(&bounded.newest_first()).map(|it| it.unwrap().timestamp).collect();
        read.reverse();
        assert_eq!(read, expected, "{since} {until}, newest first");
    }
}

#[test]
fn threads_that_share_a_registry_read_and_write_at_once() {
    let in_file = Stored::with(100);
    let in_memory = Registry::temporary(clock()).unwrap();
    change(&in_memory, 0, &Plan { ingest: even(100), delete: vec![] });
    for registry in [in_file.registry.clone(), in_memory] {
        let check = || {
            let granules = {
                let snapshot = registry.snapshot().unwrap();
                let selected = snapshot.select(&latest()).unwrap();
                (selected.set.identifier(), snapshot.registry().granules(&selected.set))
            };
            let (identifier, granules) = granules;
            let held: Vec<String> =
                granules.map(|granule| granule.unwrap().granule_id.to_string()).collect();
            assert_eq!(identifier, naive(held.iter().map(String::as_str)));
        };
        let writer = registry.clone();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..40).for_each(|_| check()));
            }
            scope.spawn(|| {
                for at in 1..40 {
                    let (new, held) = (granule_id(2 * at + 1), granule_id(2 * at));
                    change(&writer, at as i64, &plan([new.as_str()], [held.as_str()]));
                }
            });
        });
        check();
        assert_eq!(instances(&registry, &name("dataset")).len(), 40);
        assert!(registry.verify(&name("dataset")).unwrap().ok);
    }
}

/// Whether the log can be truncated: then no reader uses an older state of the registry.
fn truncates_log(connection: &Connection) -> bool {
    let is_busy: bool =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
    !is_busy
}

#[test]
fn no_read_transaction_is_open_between_two_pages_nor_after_a_list_is_dropped() {
    let stored = long_history();
    stored.change(
        INSTANCES,
        &Plan {
            ingest: (INSTANCES as usize..GRANULES).map(|n| granule_id(2 * n)).collect(),
            delete: vec![],
        },
    );
    let connection = stored.connection();
    connection.busy_timeout(std::time::Duration::ZERO).unwrap();
    let mut number = 1;
    let mut write = || {
        let granule_id = granule_id(number);
        change(&stored.registry, INSTANCES + number as i64, &plan([granule_id.as_str()], []));
        number += 2;
    };
    // While a snapshot is open, the log cannot be truncated.
    let snapshot = stored.registry.snapshot().unwrap();
    write();
    assert!(!truncates_log(&connection));
    drop(snapshot);
    assert!(truncates_log(&connection));

    let mut granules = granules_of(&stored.registry, &latest());
    let mut history = stored.registry.history(&name("dataset"), &HistoryOptions::new());
    let snapshot = stored.registry.snapshot().unwrap();
    let set = snapshot.select(&latest()).unwrap().set;
    drop(snapshot);
    let mut differences = stored.registry.compare(&set, &set);
    granules.next().unwrap().unwrap();
    history.next().unwrap().unwrap();
    write();
    assert!(truncates_log(&connection), "between two pages");
    assert!(differences.next().is_none());
    drop((granules, history, differences));
    write();
    assert!(truncates_log(&connection), "after they are dropped");
}
