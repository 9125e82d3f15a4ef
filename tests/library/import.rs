//! An import has the same result as the changes one by one, and as the naive recomputation.

use std::collections::{BTreeMap, BTreeSet};

use accession::Result;
use accession::chain::{Lanes, Sweep};
use accession::verify::WorkCounts;
use accession::{ChangeReport, Event, EventKind, IfMissing, Import, Registry};
use proptest::prelude::*;

use harness::events::event;
use harness::history::{History, POOL, cases, name, now, plan, second, step};
use harness::oracle::naive;
use harness::store::new_registry;

/// The ids that each change toggles, by the number of the change.
fn toggles() -> impl Strategy<Value = Vec<BTreeSet<usize>>> {
    let some = prop_oneof![
        3 => prop::collection::btree_set(0..POOL.len(), 1..4),
        1 => prop::collection::btree_set(0..POOL.len(), 1..POOL.len()),
    ];
    prop::collection::vec(some, 1..20)
}

/// The history, and all its events.
fn history_of(toggles: &[BTreeSet<usize>]) -> (History, Vec<Event>) {
    let (mut history, mut events) = (History::default(), Vec::new());
    for (number, indices) in toggles.iter().enumerate() {
        let at = second(number as i64);
        let change = history.toggle(&indices.iter().map(|index| POOL[*index].as_str()).collect());
        for (entries, kind) in
            [(&change.ingest, EventKind::Ingested), (&change.delete, EventKind::Deleted)]
        {
            events.extend(entries.iter().map(|granule_id| event(at, kind, granule_id)));
        }
        history.apply(at, &change);
    }
    (history, events)
}

fn import(registry: &Registry, dataset: &str, events: &[Event]) -> Result<ChangeReport> {
    let mut import = Import::new();
    for event in events {
        import.add(event.clone())?;
    }
    import.options = import.options.if_missing(IfMissing::Create);
    registry.import(&name(dataset), &import)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(50), ..ProptestConfig::default() })]

    #[test]
    fn an_import_in_any_order_and_in_two_parts_is_the_history(
        toggles in toggles(),
        (part, seed) in (0..20_usize, any::<u64>()),
    ) {
        let (history, mut events) = history_of(&toggles);
        let part = second((part % (toggles.len() + 1)) as i64);
        // A shuffle that is repeatable when a failing case is repeated.
        events.sort_by_key(|event| {
            use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
            let hasher = BuildHasherDefault::<DefaultHasher>::default();
            hasher.hash_one((seed, event.at.as_micros(), event.granule_id.as_str()))
        });
        let registry = new_registry();

        let first: Vec<Event> = events.iter().filter(|event| event.at < part).cloned().collect();
        import(&registry, "parts", &first).unwrap();
        let imported = import(&registry, "parts", &events).unwrap();
        prop_assert_eq!(imported.skipped.held, first.len() as u64);
        history.assert_matches(&registry, &name("parts"));

        import(&registry, "whole", &events).unwrap();
        history.assert_matches(&registry, &name("whole"));

        // The next change is only correct if the checkpoints are.
        let mut history = history;
        let next = history.toggle(&BTreeSet::from([POOL[toggles.len() % POOL.len()].as_str()]));
        history.change(&registry, &name("whole"), second(100), &next);
        history.assert_matches(&registry, &name("whole"));
    }

    #[test]
    fn the_sweep_with_and_without_vectors_matches_the_naive_result(
        spans in prop::collection::vec((0..90_usize, 1..90_usize), 1..60),
        instances in 1..90_usize,
    ) {
        let mut swept = Sweep::over(instances);
        let mut plain = Sweep::over(instances).with_lanes(Lanes::plain());
        let mut sets: BTreeMap<usize, Vec<String>> = (0..instances).map(|n| (n, vec![])).collect();
        for (number, (from, length)) in spans.iter().enumerate() {
            let granule_id = format!("granule.{number:03}.{}", "x".repeat(number * 3));
            let span = (from % instances)..(from % instances + length).min(instances);
            swept.hold(&granule_id, span.clone());
            plain.hold(&granule_id, span.clone());
            for instance in span {
                sets.get_mut(&instance).unwrap().push(granule_id.clone());
            }
        }
        let expected: Vec<_> =
            sets.values().map(|set| naive(set.iter().map(String::as_str))).collect();
        prop_assert_eq!(&swept.identifiers().collect::<Vec<_>>(), &expected);
        prop_assert_eq!(&plain.identifiers().collect::<Vec<_>>(), &expected);
        prop_assert_eq!(swept.steps(), plain.steps());
    }
}

#[test]
fn an_import_after_a_large_dataset_hashes_from_the_last_checkpoint() {
    let registry = new_registry();
    let granule_ids: Vec<String> = (0..20_000).map(|n| format!("granule.{n:05}")).collect();
    step(&registry, "large", 0, granule_ids.iter().map(String::as_str), []);

    let events = [
        event(second(1), EventKind::Ingested, "granule.99998"),
        event(second(2), EventKind::Ingested, "granule.99999"),
    ];
    let imported = import(&registry, "large", &events).unwrap();
    // Both new instances hold the first granule. They are one run until the second change.
    let is_checkpoint = |id: &String| accession::chain::Chain::is_checkpoint(id);
    let rows = granule_ids.iter().rev().position(is_checkpoint).unwrap() as u64;
    assert_eq!(
        imported.effort,
        WorkCounts { steps: rows + 2, rows, checkpoints: 0, ..WorkCounts::default() }
    );

    let events = [event(second(3), EventKind::Deleted, "granule.19990")];
    let imported = import(&registry, "large", &events).unwrap();
    let behind = granule_ids.iter().rev().skip(10).position(is_checkpoint);
    // One step for each granule up to the deleted one. After it, one step for each of the two instances.
    assert_eq!(imported.effort.steps as usize, behind.unwrap() + 1 + 2 * (9 + 2));
    assert!(registry.verify(&name("large")).unwrap().ok);
}

#[test]
fn a_refused_import_does_not_change_the_registry() {
    let registry = new_registry();
    let mut history = History::default();
    history.change(&registry, &name("dataset"), second(5), &plan(["A", "C"], []));
    let (comes, goes) = (EventKind::Ingested, EventKind::Deleted);
    let refused = [
        (vec![event(second(6), comes, "B"), event(second(7), comes, "A")], "input"),
        (vec![event(second(6), goes, "A"), event(second(7), goes, "A")], "input"),
        (vec![event(second(6), comes, "B"), event(second(6), comes, "B")], "twice"),
        (vec![event(second(6), goes, "B"), event(second(6), comes, "B")], "input"),
        (vec![event(second(6), comes, "B"), event(second(4), comes, "D")], "not-after-last"),
        (vec![event(second(6), comes, "B"), event(second(5), goes, "A")], "not-after-last"),
        (vec![event(now().next().unwrap(), comes, "B")], "future"),
    ];
    for (events, kind) in refused {
        let error = import(&registry, "dataset", &events).unwrap_err();
        assert_eq!(error.kind().as_str(), kind, "{error}");
        history.assert_matches(&registry, &name("dataset"));
    }
    assert!(registry.snapshot().unwrap().dataset(&name("other")).is_err());
}

#[test]
fn an_event_in_the_future_is_refused_when_it_is_added() {
    let mut import = Import::new();
    import.not_after = Some(now());
    import.add(event(now(), EventKind::Ingested, "A")).unwrap();
    let future = now().next().unwrap();
    let error = import.add(event(future, EventKind::Ingested, "B")).unwrap_err();
    assert_eq!(error.kind().as_str(), "future", "{error}");
}

#[test]
fn events_from_the_first_that_was_left_out_wait_for_the_next_import() {
    let registry = new_registry();
    let file = |until, left_out| {
        let mut import = Import::new();
        for (seconds, granule_id) in [(1, "A"), (3, "C")] {
            import.add(event(second(seconds), EventKind::Ingested, granule_id)).unwrap();
        }
        (import.until, import.left_out) = (until, left_out);
        import.options = import.options.if_missing(IfMissing::Create);
        import
    };
    // The reader left B out, which was ingested at second 2.
    let applied = registry.import(&name("dataset"), &file(Some(second(2)), 1)).unwrap();
    assert_eq!((applied.instances.len(), applied.left_out), (1, 2));
    assert_eq!(applied.instances[0].identifier, naive(["A"]));
    let mut complete = file(None, 0);
    complete.add(event(second(2), EventKind::Ingested, "B")).unwrap();
    let applied = registry.import(&name("dataset"), &complete).unwrap();
    assert_eq!((applied.instances.len(), applied.left_out), (2, 0));
    assert_eq!(applied.instances[1].identifier, naive(["A", "B", "C"]));
}

#[test]
fn an_import_checks_what_is_expected_at_a_time_without_events() {
    let registry = new_registry();
    let mut history = History::default();
    history.change(&registry, &name("dataset"), second(1), &plan(["A"], []));
    let expecting = |identifier| {
        let mut import = Import::new();
        import.add(event(second(3), EventKind::Ingested, "B")).unwrap();
        import.expect(second(2), identifier, None, None);
        registry.import(&name("dataset"), &import)
    };
    let refused = expecting(naive(["B"])).unwrap_err();
    assert_eq!(refused.kind().as_str(), "not-as-expected");
    history.assert_matches(&registry, &name("dataset"));
    // There are no events at second 2, so the identifier in force is that of the first change.
    assert_eq!(expecting(naive(["A"])).unwrap().instances.len(), 1);
}
