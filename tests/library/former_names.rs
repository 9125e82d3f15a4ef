//! Queries by any of the names of a renamed dataset have the same results.
//!
//! This test found that a subset was cited under the former name, and could be resolved only by the present
//! name.

use harness::values::AtTime;
use std::collections::BTreeSet;
use std::fmt::Debug;

use accession::citation::Checker;
use accession::citation::FoundCitation;
use accession::{
    Change, ChangeOptions, Clock, DatasetName, Identifier, Limits, ListingBuilder, Moment,
    Registry, Selection, SubsetMembers, Timestamp,
};
use proptest::prelude::*;

use harness::history::{History, POOL, cases, id, instances, name, second};
use harness::store::new_registry;

/// The names of the dataset, in the order in which it gets them.
const NAMES: [&str; 3] = ["first", "second", "third"];

#[derive(Debug, Clone)]
enum Step {
    /// Deletes the ids that are held, and ingests the others.
    Toggle(BTreeSet<usize>),
    /// Cites the granules that match a pattern, as of an earlier change.
    CitePattern(usize, usize),
    /// Cites the first granule that is held.
    CiteNamed(usize),
    /// Renames the dataset to its next name, or to its first name again.
    Rename,
}

const PATTERNS: [&str; 4] = ["A*", "*.*", "??*", "*a*"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop::collection::btree_set(0..POOL.len(), 1..6).prop_map(Step::Toggle),
        3 => (0..PATTERNS.len(), 0..8_usize).prop_map(|(p, at)| Step::CitePattern(p, at)),
        2 => (1..4_usize).prop_map(Step::CiteNamed),
        2 => Just(Step::Rename),
    ];
    prop::collection::vec(step, 1..12)
}

/// A registry with the dataset, which is called `third` in the end, and its model. The registry has another
/// dataset, which held the same sets earlier.
fn registry_of(steps: &[Step]) -> (Registry, History) {
    let registry = new_registry();
    let (mut history, mut other) = (History::default(), History::default());
    let mut called = 0;
    let all: BTreeSet<&str> = POOL.iter().map(String::as_str).collect();
    let toggle = history.toggle(&all);
    history.change(&registry, &name(NAMES[0]), second(0), &toggle);
    other.change(&registry, &name("other"), second(0), &toggle);
    let rename = |called: usize, to: usize| {
        registry
            .with_clock(Clock::fixed(second(to as i64)))
            .rename_dataset(&name(NAMES[called]), &name(NAMES[to]))
            .unwrap();
    };
    for (at, step) in (1..).zip(steps) {
        let dataset = name(NAMES[called]);
        match step {
            Step::Toggle(ids) => {
                let texts: BTreeSet<&str> = ids.iter().map(|it| POOL[*it].as_str()).collect();
                let plan = history.toggle(&texts);
                history.change(&registry, &dataset, second(at), &plan);
                other.change(&registry, &name("other"), second(at), &other.toggle(&texts));
            }
            Step::CitePattern(pattern, index) => {
                let times: Vec<Timestamp> = history.sets.keys().copied().collect();
                let at = Some(Moment::Instant(times[index % times.len()]));
                let wanted = SubsetMembers::Patterns(vec![PATTERNS[*pattern].parse().unwrap()]);
                let _ = registry.cite_subset(&dataset, at, &wanted);
            }
            Step::CiteNamed(count) => {
                let mut named = ListingBuilder::new();
                history.held().iter().take(*count).for_each(|it| named.add(id(it)).unwrap());
                let named = named.finish();
                let _ = registry.cite_subset(&dataset, None, &SubsetMembers::Listed(named));
            }
            Step::Rename => {
                rename(called, (called + 1) % NAMES.len());
                called = (called + 1) % NAMES.len();
            }
        }
    }
    // In the end, the last name is the present name, and all others were given up.
    while called != NAMES.len() - 1 || !is_renamed(&registry) {
        rename(called, (called + 1) % NAMES.len());
        called = (called + 1) % NAMES.len();
    }
    (registry, history)
}

fn is_renamed(registry: &Registry) -> bool {
    let former = registry.snapshot().unwrap().dataset(&name(NAMES[2])).unwrap().former_names;
    former.len() == NAMES.len() - 1
}

/// The value, or the kind of the error. The message of the error contains the requested name.
fn outcome<T: Debug>(result: accession::Result<T>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("error {}", error.kind()),
    }
}

/// The ids that a selection refers to.
fn held(registry: &Registry, selection: &Selection) -> accession::Result<Vec<String>> {
    let set = registry.snapshot()?.select(selection)?.set;
    let granules = registry.granules(&set);
    granules.map(|granule| Ok(granule?.granule_id.to_string())).collect()
}

/// Every selection of the dataset by this name: at each change, at the moment before, on a day, and by every
/// identifier of this dataset or of another.
fn selections(
    dataset: &DatasetName,
    history: &History,
    identifiers: &[Identifier],
) -> Vec<Selection> {
    let before = |at: Timestamp| Timestamp::from_micros(at.as_micros() - 1).unwrap();
    let times = history.sets.keys().flat_map(|at| [*at, before(*at)]).map(Moment::Instant);
    let moments = times.map(Some).chain([None, Some(Moment::Day(second(0).day()))]);
    let at = moments.map(|at| Selection::Dataset { name: dataset.clone(), at });
    let by = identifiers.iter().map(|identifier| Selection::Identifier {
        identifier: *identifier,
        dataset: Some(dataset.clone()),
        at: None,
    });
    at.chain(by).collect()
}

/// The results of every query by a name.
fn answers(
    registry: &Registry,
    dataset: &DatasetName,
    history: &History,
    identifiers: &[Identifier],
) -> Vec<String> {
    let mut answers = Vec::new();
    let mut add = |what: &str, answer: String| answers.push(format!("{what}: {answer}"));
    let mentioned = id(&POOL[0]);
    for selection in selections(dataset, history, identifiers) {
        add("held", outcome(held(registry, &selection)));
        let snapshot = registry.snapshot().unwrap();
        add("select", outcome(snapshot.select(&selection)));
        add("cite", outcome(snapshot.cite(&selection)));
        let other = Selection::Dataset { name: name("other"), at: None };
        let set = |selection| snapshot.select(selection).map(|selected| selected.set);
        let sets = set(&selection).and_then(|left| Ok((left, set(&other)?)));
        let compared = sets.map(|(left, right)| registry.compare(&left, &right));
        drop(snapshot);
        add("compare", outcome(compared.and_then(|differences| differences.finish())));
        let known = registry.snapshot().unwrap().known_at(second(3));
        add("select as known then", outcome(known.select(&selection)));
    }
    for identifier in identifiers {
        let snapshot = registry.snapshot().unwrap();
        add("history with", outcome(snapshot.history_with(dataset, *identifier)));
        for at in [None, Some(Moment::Instant(second(2))), Some(Moment::Day(second(2).day()))] {
            add("resolve", outcome(snapshot.periods(*identifier, Some(dataset), at)));
        }
        let selection = Selection::Identifier { identifier: *identifier, dataset: None, at: None };
        add("cite what was held", outcome(snapshot.cite(&selection)));
        drop(snapshot);
        let text = format!("({dataset}, 2001-01-01, DI:{identifier})");
        let mut checker = Checker::new(registry).unwrap();
        let verdicts: Vec<_> = FoundCitation::find_all(&text)
            .iter()
            .map(|pasted| outcome(checker.check(1, pasted)))
            .collect();
        let sets = checker.sets();
        add("check", format!("{verdicts:?} {sets:?}"));
    }
    let snapshot = registry.snapshot().unwrap();
    add("dataset", outcome(snapshot.dataset(dataset)));
    add("has dataset", outcome(snapshot.has_dataset(dataset)));
    add("versions", outcome(snapshot.record_versions(dataset)));
    add("subsets", outcome(snapshot.subsets(dataset)));
    add("instances before", outcome(snapshot.instances_before(dataset, None, 100)));
    add("count", outcome(snapshot.count_history(dataset, None)));
    add("mirror sources", outcome(snapshot.mirror_sources(dataset)));
    let of_producer = registry.granules_of_producer(dataset, &mentioned);
    drop(snapshot);
    add("of a producer", outcome(of_producer.collect::<accession::Result<Vec<_>>>()));
    add("history", format!("{:?}", instances(registry, dataset)));
    add("verify", outcome(registry.verify(dataset)));
    let shown = registry.public_view(dataset.clone().into()).snapshot().unwrap();
    add("published", outcome(shown.dataset(&name(NAMES[2]))));
    add("others published", outcome(shown.has_dataset(&name("other"))));
    drop(shown);
    add_changes(registry, dataset, history, &mut add);
    answers
}

/// The results of changes by a name: dry runs, and a citation that is not saved.
fn add_changes(
    registry: &Registry,
    dataset: &DatasetName,
    history: &History,
    add: &mut impl FnMut(&str, String),
) {
    let mut change = Change::new();
    change.options = change.options.dry_run(true);
    change.ingest(id("new")).unwrap();
    add("change", outcome(registry.change(dataset, &change.at(second(1_000)))));
    let mut listing = ListingBuilder::new();
    listing.add(id("new")).unwrap();
    let listing = listing.finish();
    let options = ChangeOptions::new().dry_run(true);
    let most = Limits::NONE;
    add(
        "sync",
        outcome(registry.sync(dataset, &listing, &options.clone().limits(most).at(second(1_000)))),
    );
    for at in history.sets.keys() {
        let to = Selection::Dataset { name: dataset.clone(), at: Some(Moment::Instant(*at)) };
        add("revert", outcome(registry.revert(dataset, &to, &options.clone().at(second(1_000)))));
    }
    let wanted = SubsetMembers::Patterns(vec!["A*".parse().unwrap()]);
    add("describe", outcome(registry.snapshot().unwrap().preview_subset(dataset, None, &wanted)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12)))]

    #[test]
    fn a_renamed_dataset_is_the_same_by_each_of_its_names(steps in steps()) {
        let (registry, history) = registry_of(&steps);
        let mut identifiers: BTreeSet<Identifier> = [Identifier::EMPTY].into();
        for dataset in [NAMES[2], "other"] {
            let of_instances = instances(&registry, &name(dataset));
            identifiers.extend(of_instances.into_iter().map(|instance| instance.identifier));
            let subsets = registry.snapshot().unwrap().subsets(&name(dataset)).unwrap();
            identifiers.extend(subsets.into_iter().map(|subset| subset.identifier));
        }
        let identifiers: Vec<Identifier> = identifiers.into_iter().collect();
        let present = answers(&registry, &name(NAMES[2]), &history, &identifiers);
        prop_assert!(present.iter().filter(|answer| !answer.contains(": error")).count() > 20);
        for former in &NAMES[..2] {
            let by_former = answers(&registry, &name(former), &history, &identifiers);
            prop_assert_eq!(by_former.len(), present.len());
            for (by_former, present) in by_former.iter().zip(&present) {
                prop_assert_eq!(by_former, present, "by the name {}", former);
            }
        }
    }
}
