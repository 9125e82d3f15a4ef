//! Random histories through the public API, compared with the naive model after every step.

use harness::values::{AtTime, clock};
use std::collections::BTreeSet;

use accession::history::Skipped;
use accession::{
    Change, ChangeOptions, DatasetName, Difference, Expected, IfMissing, Limit, Limits, Listing,
    ListingBuilder, Moment, Registry, Selection, Timestamp,
};
use proptest::prelude::*;

use harness::history::{History, POOL, Plan, cases, change, id, name, plan, second};
use harness::oracle::naive;
use harness::store::{new_registry, new_registry_in};

/// A step of a history. Ids are indices into the pool, so that they collide and are reused.
#[derive(Debug, Clone)]
enum Step {
    /// Deletes the ids that are held, and ingests the others.
    Toggle(BTreeSet<usize>),
    /// Deletes everything.
    Empty,
    /// A dry run, which is rolled back.
    DryRun(BTreeSet<usize>),
    /// A change that is rejected halfway: after ingesting an id, it deletes one that is not held.
    Refused(usize),
    /// Ingests some ids, skipping those that are held.
    SkipExisting(BTreeSet<usize>),
    /// Deletes some ids, skipping those that are not held.
    SkipMissing(BTreeSet<usize>),
    /// Synchronises with a listing, if the limit on deletions permits it.
    Sync(BTreeSet<usize>, Limits),
    /// Reverts to the set after an earlier change.
    Revert(usize),
    /// Closes the file and opens it again.
    Reopen,
}

fn some_ids() -> impl Strategy<Value = BTreeSet<usize>> {
    prop_oneof![
        4 => prop::collection::btree_set(0..POOL.len(), 1..4),
        1 => prop::collection::btree_set(0..POOL.len(), 1..POOL.len()),
    ]
}

fn at_most(granules: u64) -> Limits {
    Limits { max_delete: Some(Limit::Granules(granules)), ..Limits::default() }
}

fn max_delete() -> impl Strategy<Value = Limits> {
    prop_oneof![Just(Limits::default()), Just(Limits::NONE), (0..4_u64).prop_map(at_most),]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => some_ids().prop_map(Step::Toggle),
        1 => Just(Step::Empty),
        1 => some_ids().prop_map(Step::DryRun),
        1 => (0..POOL.len()).prop_map(Step::Refused),
        2 => some_ids().prop_map(Step::SkipExisting),
        2 => some_ids().prop_map(Step::SkipMissing),
        4 => (some_ids(), max_delete()).prop_map(|(ids, most)| Step::Sync(ids, most)),
        1 => max_delete().prop_map(|most| Step::Sync(BTreeSet::new(), most)),
        3 => (0..14_usize).prop_map(Step::Revert),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..14)
}

fn texts(indices: &BTreeSet<usize>) -> BTreeSet<&'static str> {
    indices.iter().map(|index| POOL[*index].as_str()).collect()
}

/// Applies the steps to two datasets at once. The second is one step behind, so that they share identifiers.
/// Both are compared with the model after every step.
fn play(steps: &[Step], mut registry: Registry, reopen: impl Fn(Registry) -> Registry) {
    let datasets = [name("first"), name("second")];
    let mut histories = [History::default(), History::default()];
    for (seconds, step) in steps.iter().enumerate() {
        if let Step::Reopen = step {
            registry = reopen(registry);
        }
        for (index, (dataset, history)) in datasets.iter().zip(&mut histories).enumerate() {
            if index == 1 && seconds == 0 {
                continue;
            }
            let at = second(seconds as i64);
            take(step, &registry, dataset, history, at);
            if !history.sets.is_empty() {
                history.assert_matches(&registry, dataset);
            }
        }
    }
}

fn take(
    step: &Step,
    registry: &Registry,
    dataset: &DatasetName,
    history: &mut History,
    at: Timestamp,
) {
    let held = history.held();
    match step {
        Step::Toggle(ids) => {
            let plan = history.toggle(&texts(ids));
            history.change(registry, dataset, at, &plan);
        }
        Step::Empty if held.is_empty() => {
            let refused = registry.change(dataset, &change([], []).at(at)).unwrap_err();
            assert_eq!(refused.kind().as_str(), "empty");
        }
        Step::Empty => {
            history.change(registry, dataset, at, &plan([], held.iter().map(String::as_str)));
        }
        Step::DryRun(ids) => {
            let plan = history.toggle(&texts(ids));
            let mut change = plan.change();
            change.options = change.options.dry_run(true);
            let shown = registry.change(dataset, &change.at(at)).unwrap();
            let mut would_be = history.clone();
            would_be.apply(at, &plan);
            let expected = naive(would_be.held().iter().map(String::as_str));
            assert_eq!(shown.instances[0].identifier, expected);
        }
        Step::Refused(index) => {
            let granule_id = POOL[*index].as_str();
            let (refused, kind) = if held.contains(granule_id) {
                (change(["~new", granule_id], []), "held")
            } else {
                (change(["~new"], [granule_id]), "not-held")
            };
            assert_eq!(
                registry.change(dataset, &refused.at(at)).unwrap_err().kind().as_str(),
                kind
            );
        }
        Step::SkipExisting(ids) | Step::SkipMissing(ids) => {
            let ingests = matches!(step, Step::SkipExisting(_));
            let (texts, mut all) = (texts(ids), Change::new());
            all.options = all
                .options
                .if_missing(IfMissing::Create)
                .skip_existing(ingests)
                .skip_missing(!ingests);
            texts.iter().chain(&texts).for_each(|text| match ingests {
                true => all.ingest(id(text)).unwrap(),
                false => all.delete(id(text)).unwrap(),
            });
            let does = |id: &&str| held.contains(*id) != ingests;
            let done: Vec<&str> = texts.iter().copied().filter(does).collect();
            let applied = registry.change(dataset, &all.at(at)).unwrap();
            let Skipped { repeated, held, missing, .. } = applied.skipped;
            assert_eq!(repeated, texts.len() as u64);
            let skipped = (texts.len() - done.len()) as u64;
            assert_eq!((held, missing), if ingests { (skipped, 0) } else { (0, skipped) });
            assert_eq!(applied.instance().is_some(), !done.is_empty());
            if !done.is_empty() {
                history.apply(at, &if ingests { plan(done, []) } else { plan([], done) });
            }
        }
        Step::Sync(ids, most) => sync(registry, dataset, history, at, &texts(ids), *most),
        Step::Revert(_) if history.sets.is_empty() => {
            let to = Selection::Dataset { name: dataset.clone(), at: Some(Moment::Instant(at)) };
            assert!(registry.revert(dataset, &to, &ChangeOptions::default().at(at)).is_err());
        }
        Step::Revert(index) => revert(registry, dataset, history, at, *index),
        Step::Reopen => {}
    }
}

/// The change that turns the set held into the wanted set.
fn plan_to_become(held: &BTreeSet<String>, wanted: &BTreeSet<String>) -> Plan {
    plan(wanted.difference(held).map(String::as_str), held.difference(wanted).map(String::as_str))
}

fn sync(
    registry: &Registry,
    dataset: &DatasetName,
    history: &mut History,
    at: Timestamp,
    ids: &BTreeSet<&str>,
    most: Limits,
) {
    let mut listing = ListingBuilder::new();
    // In reverse order, and with one id twice.
    let listed = ids.iter().rev().chain(ids.first());
    listed.for_each(|text| listing.add(id(text)).unwrap());
    let listing = listing.finish();
    let expected = naive(ids.iter().copied());
    let identified = listing.identify().unwrap();
    assert_eq!((identified.identifier, identified.granules), (expected, ids.len() as u64));

    let options = ChangeOptions::new().if_missing(IfMissing::Create);
    let held = history.held();
    let wanted: BTreeSet<String> = ids.iter().map(|text| (*text).to_owned()).collect();
    let plan = plan_to_become(&held, &wanted);
    let synced = registry.sync(dataset, &listing, &options.clone().limits(most).at(at));
    if ids.is_empty() && (history.sets.is_empty() || !held.is_empty()) {
        assert_eq!(synced.unwrap_err().kind().as_str(), "empty");
    } else if plan.delete.len() as u64 > most.deletions(held.len() as u64) {
        assert_eq!(synced.unwrap_err().kind().as_str(), "too-many-deletions");
    } else {
        let applied = synced.unwrap();
        assert_eq!(applied.skipped.repeated, ids.len().min(1) as u64);
        assert_eq!(applied.in_force.as_ref().unwrap().identifier, expected);
        assert_eq!(applied.instance().is_some(), held != wanted);
        if held != wanted {
            history.apply(at, &plan);
        }
    }
    if !history.sets.is_empty() && !listing.is_empty() {
        compare(registry, dataset, &history.held(), listing, &wanted);
    }
}

/// Compares the set held with a listing, granule by granule.
fn compare(
    registry: &Registry,
    dataset: &DatasetName,
    held: &BTreeSet<String>,
    listing: Listing,
    listed: &BTreeSet<String>,
) {
    let selection = Selection::Dataset { name: dataset.clone(), at: None };
    let snapshot = registry.snapshot().unwrap();
    let set = snapshot.select(&selection).unwrap().set;
    drop(snapshot);
    let mut differences = registry.compare_with(&set, &listing).unwrap();
    let (mut only_held, mut only_listed) = (BTreeSet::new(), BTreeSet::new());
    for difference in differences.by_ref() {
        match difference.unwrap() {
            Difference::OnlyLeft(granule_id) => only_held.insert(granule_id.to_string()),
            Difference::OnlyRight(entry) => only_listed.insert(entry.granule_id.to_string()),
            Difference::OtherContent(other) => panic!("nothing is known of {other:?}"),
        };
    }
    assert_eq!(only_held, held.difference(listed).cloned().collect());
    assert_eq!(only_listed, listed.difference(held).cloned().collect());
    let counts = differences.finish().unwrap();
    assert_eq!(counts.matched, held.intersection(listed).count() as u64);
    assert_eq!(counts.right, listing.identify().unwrap().identifier);
}

fn revert(
    registry: &Registry,
    dataset: &DatasetName,
    history: &mut History,
    at: Timestamp,
    index: usize,
) {
    let index = index % history.sets.len();
    let (then, wanted) = history.sets.iter().nth(index).unwrap();
    let (then, wanted) = (*then, wanted.clone());
    let held = history.held();
    let expected = naive(wanted.iter().map(String::as_str));
    let to = match index % 2 {
        0 => Selection::Dataset { name: dataset.clone(), at: Some(Moment::Instant(then)) },
        _ => Selection::from(expected),
    };
    let options = ChangeOptions::default().at(at);
    if wanted.is_empty() && !held.is_empty() {
        let refused = registry.revert(dataset, &to, &options).unwrap_err();
        assert_eq!(refused.expect(), Some(Expected::Identifier(expected)));
    }
    let options = options.expect(Expected::Identifier(expected));
    let applied = registry.revert(dataset, &to, &options).unwrap();
    assert_eq!(applied.in_force.as_ref().unwrap().identifier, expected);
    assert_eq!(applied.instance().is_some(), held != wanted);
    if held != wanted {
        history.apply(at, &plan_to_become(&held, &wanted));
    }
}

proptest! {
    // More cases on request: PROPTEST_CASES=100000 cargo test --test library random
    #![proptest_config(ProptestConfig { cases: cases(100), ..ProptestConfig::default() })]

    #[test]
    fn histories_in_memory_agree_with_the_oracle(steps in steps()) {
        play(&steps, new_registry(), |registry| registry);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(20), ..ProptestConfig::default() })]

    #[test]
    fn histories_in_a_file_that_is_reopened_agree_with_the_oracle(steps in steps()) {
        let directory = harness::directory();
        let (path, registry) = new_registry_in(directory.path());
        play(&steps, registry, |registry| {
            drop(registry);
            Registry::open(&path, clock()).unwrap()
        });
    }
}

#[test]
fn a_long_history_of_20_000_granules_agrees_with_the_oracle() {
    // Enough ids for several batches of the hashing thread, and for about twenty checkpoints.
    let granule_ids: Vec<String> =
        (0..20_000).map(|n| format!("granule.{:05}", n * 7_919 % 20_000)).collect();
    let registry = new_registry();
    let (dataset, mut history) = (name("long"), History::default());
    for (seconds, batch) in granule_ids.chunks(4_000).enumerate() {
        let plan = plan(batch.iter().map(String::as_str), []);
        history.change(&registry, &dataset, second(seconds as i64), &plan);
    }
    for seconds in 5..25 {
        let start = (seconds * 1_237) % 19_000;
        let ids = granule_ids[start..start + 1 + seconds * 3].iter().map(String::as_str).collect();
        let plan = history.toggle(&ids);
        history.change(&registry, &dataset, second(seconds as i64), &plan);
    }
    history.assert_matches(&registry, &dataset);
}
