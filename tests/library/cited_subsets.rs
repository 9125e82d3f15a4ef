//! A cited subset has the identifier of its granules, and never loses it.

use harness::values::clock;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accession::history::{Subset, SubsetCriteria};
use accession::mirror::manifest;
use accession::{
    Clock, ListingBuilder, Moment, Observer, Pattern, Progress, Registry, Selection, SubsetMembers,
    Timestamp, Work,
};
use proptest::prelude::*;

use harness::exported::import_of;
use harness::history::{History, POOL, cases, change, held, id, name, second, step};
use harness::oracle::naive;
use harness::store::new_registry;

/// The rule for patterns, implemented by trying every possibility.
fn matches(pattern: &[char], text: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('*', rest)) => (0..=text.len()).any(|skip| matches(rest, &text[skip..])),
        Some(('?', rest)) => !text.is_empty() && matches(rest, &text[1..]),
        Some((first, rest)) => text.first() == Some(first) && matches(rest, &text[1..]),
    }
}

fn is_selected(patterns: &[&str], text: &str) -> bool {
    let chars = |text: &str| text.chars().collect::<Vec<_>>();
    patterns.iter().any(|pattern| matches(&chars(pattern), &chars(text)))
}

const PATTERNS: [&str; 10] =
    ["*", "A*", "*A*", "?", "??*", "*.*", "é*", "granule.*1*", "値*", "zz*"];

/// A cited subset, and its granules.
struct Cited {
    part: Subset,
    granules: BTreeSet<String>,
}

fn granules(registry: &Registry, part: &Subset) -> Vec<String> {
    let selection = Selection::Identifier {
        identifier: part.identifier,
        dataset: Some(part.dataset.clone()),
        at: None,
    };
    held(registry, &selection).1
}

/// Asserts that the subset is unchanged: its granules, and its identifier in every query.
fn assert_kept(registry: &Registry, cited: &Cited) {
    let Cited { part, granules: expected } = cited;
    assert_eq!(part.identifier, naive(expected.iter().map(String::as_str)));
    assert_eq!(part.granules, expected.len() as u64);
    assert!(granules(registry, part).iter().eq(expected));
    let at = Some(Moment::Instant(part.timestamp));
    let snapshot = registry.snapshot().unwrap();
    let resolution = snapshot.periods(part.identifier, Some(&part.dataset), at).unwrap();
    assert!(resolution.rows.iter().any(|row| row.set.subset() == Some(part)));
    assert!(resolution.agreement().is_some());
}

/// Cites a subset of the granules that the dataset held at an instant, and compares the result with the naive
/// rule.
fn cite(
    registry: &Registry,
    held: &BTreeSet<String>,
    at: Timestamp,
    wanted: &SubsetMembers,
    is_wanted: impl Fn(&str) -> bool,
) -> Option<Cited> {
    let dataset = name("dataset");
    let granules: BTreeSet<String> = held.iter().filter(|id| is_wanted(id)).cloned().collect();
    let moment = Some(Moment::Instant(at));
    let result = registry.cite_subset(&dataset, moment, wanted);
    if granules.is_empty() {
        assert_eq!(result.unwrap_err().kind().as_str(), "selects-nothing");
        return None;
    }
    let set = result.unwrap().period.set;
    assert_eq!(set.instance().granules, held.len() as u64);
    let later = second(1_000_000);
    let again = registry
        .with_clock(Clock::fixed(later))
        .cite_subset(&dataset, moment, wanted)
        .unwrap()
        .period
        .set;
    assert_eq!(again, set, "the same selection of the same set is one record");
    // If every granule is selected, the citation is that of the instance, and no subset is stored.
    let Some(part) = set.subset().cloned() else {
        assert_eq!(granules.len(), held.len());
        assert_eq!(set.identifier(), naive(held.iter().map(String::as_str)));
        return None;
    };
    assert!(granules.len() < held.len());
    Some(Cited { part, granules })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(40), ..ProptestConfig::default() })]

    #[test]
    fn subsets_have_the_identifier_of_their_granules_after_every_change(
        steps in prop::collection::vec(prop::collection::btree_set(0..24_usize, 1..8), 2..10),
        picks in prop::collection::vec(
            (0..10_usize, prop::collection::btree_set(0..PATTERNS.len(), 1..3), any::<bool>()), 1..6
        ),
    ) {
        let registry = new_registry();
        let dataset = name("dataset");
        let mut history = History::default();
        let mut cited: Vec<Cited> = Vec::new();
        for (step, ids) in steps.iter().enumerate() {
            let ids: BTreeSet<&str> = ids.iter().map(|index| POOL[*index].as_str()).collect();
            let change = history.toggle(&ids);
            history.change(&registry, &dataset, second(step as i64), &change);
            for (when, patterns, by_name) in picks.iter().filter(|(when, ..)| *when <= step) {
                let at = second(*when as i64);
                let held = &history.sets[&at];
                let texts: Vec<&str> = patterns.iter().map(|index| PATTERNS[*index]).collect();
                let is_wanted = |id: &str| is_selected(&texts, id);
                let wanted = if *by_name {
                    let named = held.iter().filter(|id| is_wanted(id));
                    self::named(named.map(String::as_str))
                } else {
                    let parsed = texts.iter().map(|text| text.parse::<Pattern>().unwrap());
                    SubsetMembers::Patterns(parsed.collect())
                };
                cited.extend(cite(&registry, held, at, &wanted, is_wanted));
            }
        }
        for cited in &cited {
            assert_kept(&registry, cited);
        }
        // Another registry has them as well if it imports the history, in one import or in two halves.
        let (middle, last) = (second(steps.len() as i64 / 2), second(steps.len() as i64));
        for imports in [&[last][..], &[middle, last]] {
            let replica = new_registry();
            for until in imports {
                import_of(&replica, "dataset", manifest_until(&registry, *until)).unwrap();
            }
            prop_assert_eq!(subsets(&replica), subsets(&registry));
            cited.iter().for_each(|cited| assert_kept(&replica, cited));
        }
        let verification = registry.verify(&dataset).unwrap();
        prop_assert_eq!(verification.mismatches, []);
        history.assert_sets_match(&registry, &dataset);
    }
}

fn history_of(sets: &[&[&str]]) -> (Registry, History) {
    let registry = new_registry();
    let mut history = History::default();
    for (seconds, ids) in sets.iter().enumerate() {
        let ids: BTreeSet<&str> = ids.iter().copied().collect();
        let change = history.toggle(&ids);
        history.change(&registry, &name("dataset"), second(seconds as i64), &change);
    }
    (registry, history)
}

fn named<'a>(ids: impl IntoIterator<Item = &'a str>) -> SubsetMembers {
    let mut named = ListingBuilder::new();
    ids.into_iter().for_each(|text| named.add(id(text)).unwrap());
    SubsetMembers::Listed(named.finish())
}

fn patterns(texts: &[&str]) -> SubsetMembers {
    SubsetMembers::Patterns(texts.iter().map(|text| text.parse().unwrap()).collect())
}

#[test]
fn selections_with_the_same_meaning_are_one() {
    let (registry, _) = history_of(&[&["A1", "A2", "B1", "C1"]]);
    let cite = |texts: &[&str]| {
        let wanted = patterns(texts);
        let cited = registry.cite_subset(&name("dataset"), None, &wanted).unwrap();
        cited.period.set.subset().unwrap().clone()
    };
    let first = cite(&["A*", "B*"]);
    assert_eq!(cite(&["B**", "A*", "A***"]), first);
    let other = cite(&["A?", "B?"]);
    assert_eq!(other.identifier, first.identifier, "one set, selected in two ways");
    assert_ne!(other.criteria, first.criteria);
    assert_eq!(
        first.criteria,
        SubsetCriteria::Patterns(vec!["A*".parse().unwrap(), "B*".parse().unwrap()])
    );
}

#[test]
fn of_a_subset_only_the_period_of_its_first_citation_is_known() {
    // B1 is ingested and deleted beside A1 and A2, then A3 is ingested and deleted. A* is cited as of second 1.
    let (registry, _) = history_of(&[&["A1", "A2"], &["B1"], &["B1"], &["A3"], &["A3"]]);
    let at = Some(Moment::Instant(second(1)));
    let cited = registry.cite_subset(&name("dataset"), at, &patterns(&["A*"])).unwrap();
    let part = cited.period.set.subset().unwrap();
    let known = |seconds: i64| {
        let at = Some(Moment::Instant(second(seconds)));
        let snapshot = registry.snapshot().unwrap();
        let resolution = snapshot.periods(part.identifier, None, at).unwrap();
        (resolution.agreement().is_some(), resolution.is_unknown_then())
    };
    // At seconds 0, 2 and 4, the whole dataset has that identifier.
    let (one, unknown) = ((true, false), (false, true));
    assert_eq!([-1, 0, 1, 2, 3, 4].map(known), [unknown, one, one, one, unknown, one]);
}

#[test]
fn a_subset_names_only_granules_that_were_held() {
    let (registry, _) = history_of(&[&["A", "B"], &["B"]]);
    let kind = |ids: &[&str]| {
        let wanted = named(ids.iter().copied());
        registry.cite_subset(&name("dataset"), None, &wanted).unwrap_err().kind().as_str()
    };
    assert_eq!(kind(&["A", "B"]), "selects-nothing");
    assert_eq!(kind(&["A", "A"]), "twice");
    assert_eq!(kind(&[]), "selects-nothing");
}

#[test]
fn a_citation_and_what_its_reader_is_warned_of_are_of_one_state() {
    let directory = harness::directory();
    let registry = Registry::create(directory.path().join("accession.db"), clock()).unwrap();
    step(&registry, "dataset", 0, ["A"], []);
    let before = registry.snapshot().unwrap();
    registry.withdraw_dataset(&name("dataset"), "replaced").unwrap();
    let selection = Selection::Dataset { name: name("dataset"), at: None };
    let cited = before.cite(&selection).unwrap();
    assert_eq!(cited.dataset.withdrawn, None);
    assert_eq!(cited.dataset.latest.as_ref(), Some(cited.period.set.instance()));
    let cited = registry.snapshot().unwrap().cite(&selection).unwrap();
    assert!(cited.dataset.withdrawn.is_some());
}

/// The manifest of a dataset, up to a time.
fn manifest_until(registry: &Registry, until: Timestamp) -> Vec<u8> {
    let mut bytes = Vec::new();
    manifest::write(registry, &name("dataset"), Some(Moment::Instant(until)), &mut bytes).unwrap();
    bytes
}

fn subsets(registry: &Registry) -> Vec<Subset> {
    registry.snapshot().unwrap().subsets(&name("dataset")).unwrap()
}

/// Another writer. It writes whenever subsets are selected, and counts the periods that are read to select
/// them.
struct Writer {
    registry: Registry,
    current: Mutex<Option<Work>>,
    selections: AtomicU64,
    periods: AtomicU64,
}

impl Writer {
    fn of(path: &Path) -> Arc<Self> {
        let registry = Registry::open(path, clock()).unwrap().with_busy_wait(Duration::ZERO);
        let [selections, periods] = [0; 2].map(AtomicU64::new);
        Arc::new(Writer { registry, current: Mutex::default(), selections, periods })
    }
}

impl Observer for Writer {
    fn event(&self, event: Progress) {
        if let Progress::Begin(work, _) = event {
            *self.current.lock().unwrap() = Some(work);
        }
        let is_selecting = *self.current.lock().unwrap() == Some(Work::Select);
        match event {
            Progress::Begin(Work::Select, _) => {
                let number = self.selections.fetch_add(1, Ordering::SeqCst);
                let change = change([number.to_string().as_str()], []);
                self.registry.change(&name("other"), &change).unwrap();
            }
            Progress::Advance(more) if is_selecting => {
                self.periods.fetch_add(more, Ordering::SeqCst);
            }
            _ => {}
        }
    }
}

#[test]
fn an_import_selects_all_subsets_in_one_pass_before_it_locks_out_other_writers() {
    let ids: Vec<String> = (0..10_000).map(|number| format!("granule.{number:05}")).collect();
    let primary = Registry::temporary(clock()).unwrap();
    let halves = ids.chunks(5_000).map(|half| half.iter().map(String::as_str));
    for (half, seconds) in halves.zip(0..) {
        step(&primary, "dataset", seconds, half, []);
    }
    for number in 0..100 {
        let at = Some(Moment::Instant(second(number % 2)));
        let wanted = patterns(&[&format!("*{number:02}"), "*7*"]);
        primary.cite_subset(&name("dataset"), at, &wanted).unwrap();
    }
    let directory = harness::directory();
    let path = directory.path().join("accession.db");
    let registry = Registry::create(&path, clock()).unwrap();
    let writer = Writer::of(&path);
    let watched = registry.observed_by(writer.clone());
    let counts =
        || (writer.selections.load(Ordering::SeqCst), writer.periods.load(Ordering::SeqCst));
    // The second import selects from stored rows and from events. In the third import, all subsets are already
    // stored.
    let imports =
        [(second(0), 50, 1, 5_000), (second(1), 50, 2, 15_000), (second(1), 0, 2, 15_000)];
    for (until, new, selections, periods) in imports {
        let imported = import_of(&watched, "dataset", manifest_until(&primary, until)).unwrap();
        assert_eq!(imported.subsets, new);
        let (selected, read) = counts();
        assert_eq!(selected, selections);
        assert!(read <= periods, "{read} of {periods}");
    }
    assert_eq!(subsets(&registry), subsets(&primary));
    assert_eq!(registry.verify(&name("dataset")).unwrap().mismatches, []);
}
