//! Random histories through the public API, compared with the naive model after every step.

use std::collections::BTreeSet;

use accession::{Access, Change, Registry, Stamp};
use proptest::prelude::*;

use crate::harness::history::{History, POOL, cases, change, id, name, now, plan, second};

/// What happens next; ids are indices into the pool, so that they collide and come back.
#[derive(Debug, Clone)]
enum Step {
    /// Takes those that are held, brings the others.
    Toggle(BTreeSet<usize>),
    /// Takes everything.
    Empty,
    /// A change that is shown but not made.
    DryRun(BTreeSet<usize>),
    /// A change that is refused half-way: it deletes what is not held, after bringing something.
    Refused(usize),
    /// Ingests some, skipping those held.
    SkipExisting(BTreeSet<usize>),
    /// Deletes some, skipping those not held.
    SkipMissing(BTreeSet<usize>),
    /// Closes the file and opens it again.
    Reopen,
}

fn some_ids() -> impl Strategy<Value = BTreeSet<usize>> {
    prop_oneof![
        4 => prop::collection::btree_set(0..POOL.len(), 1..4),
        1 => prop::collection::btree_set(0..POOL.len(), 1..POOL.len()),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => some_ids().prop_map(Step::Toggle),
        1 => Just(Step::Empty),
        1 => some_ids().prop_map(Step::DryRun),
        1 => (0..POOL.len()).prop_map(Step::Refused),
        2 => some_ids().prop_map(Step::SkipExisting),
        2 => some_ids().prop_map(Step::SkipMissing),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..14)
}

fn texts(indices: &BTreeSet<usize>) -> BTreeSet<&'static str> {
    indices.iter().map(|index| POOL[*index].as_str()).collect()
}

/// Plays the steps on two datasets at once, the second a step behind, so that they share
/// identifiers; compares both with the model after every step.
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
                history.assert_told_by(&registry, dataset);
            }
        }
    }
}

fn take(
    step: &Step,
    registry: &Registry,
    dataset: &accession::DatasetName,
    history: &mut History,
    at: accession::Timestamp,
) {
    let held = history.held();
    let stamp = Stamp::at(at, now());
    match step {
        Step::Toggle(ids) => {
            let plan = history.toggle(&texts(ids));
            history.change(registry, dataset, at, &plan);
        }
        Step::Empty if held.is_empty() => {
            let refused = registry.change(dataset, &change([], []), &stamp).unwrap_err();
            assert_eq!(refused.kind(), "empty");
        }
        Step::Empty => {
            history.change(registry, dataset, at, &plan([], held.iter().map(String::as_str)));
        }
        Step::DryRun(ids) => {
            let plan = history.toggle(&texts(ids));
            let mut change = plan.change();
            change.dry_run();
            let shown = registry.change(dataset, &change, &stamp).unwrap();
            let mut would_be = history.clone();
            would_be.apply(at, &plan);
            let expected =
                crate::harness::oracle::naive(would_be.held().iter().map(String::as_str));
            assert_eq!(shown.instance.unwrap().identifier, expected);
        }
        Step::Refused(index) => {
            let granule_id = POOL[*index].as_str();
            let (refused, kind) = if held.contains(granule_id) {
                (change(["~new", granule_id], []), "held")
            } else {
                (change(["~new"], [granule_id]), "not-held")
            };
            assert_eq!(registry.change(dataset, &refused, &stamp).unwrap_err().kind(), kind);
        }
        Step::SkipExisting(ids) => {
            let texts = texts(ids);
            let mut all = Change::new();
            all.create_dataset();
            all.skip_existing();
            texts.iter().chain(&texts).for_each(|text| all.ingest(id(text)).unwrap());
            let new: Vec<&str> = texts.iter().copied().filter(|id| !held.contains(*id)).collect();
            let applied = registry.change(dataset, &all, &stamp).unwrap();
            assert_eq!(applied.skipped.repeated, texts.len() as u64);
            assert_eq!(applied.skipped.held, (texts.len() - new.len()) as u64);
            assert_eq!(applied.instance.is_some(), !new.is_empty());
            if !new.is_empty() {
                history.apply(at, &plan(new, []));
            }
        }
        Step::SkipMissing(ids) => {
            let texts = texts(ids);
            let mut all = Change::new();
            all.create_dataset();
            all.skip_missing();
            texts.iter().chain(&texts).for_each(|text| all.delete(id(text)).unwrap());
            let old: Vec<&str> = texts.iter().copied().filter(|id| held.contains(*id)).collect();
            let applied = registry.change(dataset, &all, &stamp).unwrap();
            assert_eq!(applied.skipped.repeated, texts.len() as u64);
            assert_eq!(applied.skipped.missing, (texts.len() - old.len()) as u64);
            assert_eq!(applied.instance.is_some(), !old.is_empty());
            if !old.is_empty() {
                history.apply(at, &plan([], old));
            }
        }
        Step::Reopen => {}
    }
}

proptest! {
    // More on demand: PROPTEST_CASES=100000 cargo test --test library random
    #![proptest_config(ProptestConfig { cases: cases(1_000), ..ProptestConfig::default() })]

    #[test]
    fn histories_in_memory_agree_with_the_oracle(steps in steps()) {
        play(&steps, Registry::in_memory().unwrap(), |registry| registry);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), ..ProptestConfig::default() })]

    #[test]
    fn histories_in_a_file_that_is_reopened_agree_with_the_oracle(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accession.db");
        play(&steps, Registry::create(&path).unwrap(), |registry| {
            drop(registry);
            Registry::open(&path, Access::Write).unwrap()
        });
    }
}

#[test]
fn a_long_history_of_20_000_granules_agrees_with_the_oracle() {
    // Enough ids for several batches of the hashing thread and a score of checkpoints.
    let granule_ids: Vec<String> =
        (0..20_000).map(|n| format!("granule.{:05}", n * 7_919 % 20_000)).collect();
    let registry = Registry::in_memory().unwrap();
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
    history.assert_told_by(&registry, &dataset);
}
