//! A part that was cited has the identifier of its granules, and keeps it.

use std::collections::BTreeSet;

use accession::{Criteria, Moment, Pattern, Registry, Selection, Subset, Timestamp, Wanted};
use proptest::prelude::*;

use crate::harness::history::{History, POOL, cases, id, name, now, second};
use crate::harness::oracle::naive;

/// A pattern as the rule says, by trying everything.
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

/// What was cited: how, and which granules.
struct Cited {
    part: Subset,
    granules: BTreeSet<String>,
}

fn granules(registry: &mut Registry, part: &Subset) -> Vec<String> {
    let selection =
        Selection::Identifier { identifier: part.identifier, dataset: Some(part.dataset.clone()) };
    let mut granules = Vec::new();
    registry
        .granules(&selection, |granule| {
            granules.push(granule.granule_id.to_string());
            Ok(())
        })
        .unwrap();
    granules
}

/// The part is what was cited: its granules, its identifier, wherever one asks for it.
fn assert_kept(registry: &mut Registry, cited: &Cited) {
    let Cited { part, granules: expected } = cited;
    assert_eq!(part.identifier, naive(expected.iter().map(String::as_str)));
    assert_eq!(part.granules, expected.len() as u64);
    assert!(granules(registry, part).iter().eq(expected));
    let at = Some(Moment::Instant(part.timestamp));
    let mut found = false;
    let resolution = registry
        .resolve(part.identifier, Some(&part.dataset), at, |resolved| {
            found = found || resolved.selection.as_ref() == Some(part);
            Ok(())
        })
        .unwrap();
    assert!(found && resolution.agreeing > 0);
}

/// Cites a part of what the dataset held at an instant, and compares it with the naive rule.
fn cite(
    registry: &mut Registry,
    held: &BTreeSet<String>,
    at: Timestamp,
    wanted: Wanted,
    is_wanted: impl Fn(&str) -> bool,
) -> Option<Cited> {
    let dataset = name("dataset");
    let granules: BTreeSet<String> = held.iter().filter(|id| is_wanted(id)).cloned().collect();
    let moment = Some(Moment::Instant(at));
    let result = registry.cite_part(&dataset, moment, wanted.clone(), now());
    if granules.is_empty() {
        assert_eq!(result.unwrap_err().kind(), "selects-nothing");
        return None;
    }
    let (part, whole) = result.unwrap().part.unwrap();
    assert_eq!(whole.granules, held.len() as u64);
    let later = second(1_000_000);
    let again = registry.cite_part(&dataset, moment, wanted, later).unwrap();
    assert_eq!(again.part.unwrap().0, part, "the same selection of the same set is one record");
    Some(Cited { part, granules })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(100), ..ProptestConfig::default() })]

    #[test]
    fn parts_have_the_identifier_of_their_granules_and_outlast_every_change(
        steps in prop::collection::vec(prop::collection::btree_set(0..24_usize, 1..8), 2..10),
        picks in prop::collection::vec(
            (0..10_usize, prop::collection::btree_set(0..PATTERNS.len(), 1..3), any::<bool>()), 1..6
        ),
    ) {
        let mut registry = Registry::in_memory().unwrap();
        let dataset = name("dataset");
        let mut history = History::default();
        let mut cited: Vec<Cited> = Vec::new();
        for (step, ids) in steps.iter().enumerate() {
            let ids: BTreeSet<&str> = ids.iter().map(|index| POOL[*index].as_str()).collect();
            let change = history.toggle(&ids);
            history.change(&mut registry, &dataset, second(step as i64), change);
            for (when, patterns, by_name) in picks.iter().filter(|(when, ..)| *when <= step) {
                let at = second(*when as i64);
                let held = &history.sets[&at];
                let texts: Vec<&str> = patterns.iter().map(|index| PATTERNS[*index]).collect();
                let is_wanted = |id: &str| is_selected(&texts, id);
                let wanted = if *by_name {
                    let named = held.iter().filter(|id| is_wanted(id));
                    Wanted::Named(named.map(|text| id(text).into()).collect())
                } else {
                    let parsed = texts.iter().map(|text| text.parse::<Pattern>().unwrap());
                    Wanted::Patterns(parsed.collect())
                };
                cited.extend(cite(&mut registry, held, at, wanted, is_wanted));
            }
        }
        for cited in &cited {
            assert_kept(&mut registry, cited);
        }
        let verification = registry.verify(&dataset).unwrap();
        prop_assert_eq!(verification.mismatches, []);
        history.assert_sets_told_by(&mut registry, &dataset);
    }
}

fn history_of(sets: &[&[&str]]) -> (Registry, History) {
    let mut registry = Registry::in_memory().unwrap();
    let mut history = History::default();
    for (seconds, ids) in sets.iter().enumerate() {
        let ids: BTreeSet<&str> = ids.iter().copied().collect();
        let change = history.toggle(&ids);
        history.change(&mut registry, &name("dataset"), second(seconds as i64), change);
    }
    (registry, history)
}

fn patterns(texts: &[&str]) -> Wanted {
    Wanted::Patterns(texts.iter().map(|text| text.parse().unwrap()).collect())
}

#[test]
fn selections_that_mean_the_same_are_one() {
    let (mut registry, _) = history_of(&[&["A1", "A2", "B1"]]);
    let mut cite = |texts: &[&str]| {
        let cited = registry.cite_part(&name("dataset"), None, patterns(texts), now()).unwrap();
        cited.part.unwrap().0
    };
    let first = cite(&["A*", "B*"]);
    assert_eq!(cite(&["B**", "A*", "A***"]), first);
    let other = cite(&["*"]);
    assert_eq!(other.identifier, first.identifier, "one set, selected in two ways");
    assert_ne!(other.criteria, first.criteria);
    assert_eq!(
        first.criteria,
        Criteria::Patterns(vec!["A*".parse().unwrap(), "B*".parse().unwrap()])
    );
}

#[test]
fn a_part_agrees_with_every_day_on_which_its_criteria_select_its_set() {
    // B comes and goes beside the A that are cited; then an A comes, and goes again.
    let (mut registry, _) = history_of(&[&["A1", "A2"], &["B1"], &["B1"], &["A3"], &["A3"]]);
    let cited = registry.cite_part(
        &name("dataset"),
        Some(Moment::Instant(second(1))),
        patterns(&["A*"]),
        now(),
    );
    let part = cited.unwrap().part.unwrap().0;
    let mut agreeing = |seconds: i64| {
        let at = Some(Moment::Instant(second(seconds)));
        registry.resolve(part.identifier, None, at, |_| Ok(())).unwrap().agreeing
    };
    // At 0, 2 and 4 the dataset itself has that identifier.
    assert_eq!([-1, 0, 1, 2, 3, 4].map(&mut agreeing), [0, 2, 1, 2, 0, 2]);
}

#[test]
fn a_part_names_only_what_was_held() {
    let (mut registry, _) = history_of(&[&["A", "B"], &["B"]]);
    let mut kind = |ids: &[&str]| {
        let wanted = Wanted::Named(ids.iter().map(|text| id(text).into()).collect());
        registry.cite_part(&name("dataset"), None, wanted, now()).unwrap_err().kind()
    };
    assert_eq!(kind(&["A", "B"]), "not-held");
    assert_eq!(kind(&["A", "A"]), "twice");
    assert_eq!(kind(&[]), "selects-nothing");
}

#[test]
fn a_mirror_is_named_only_where_it_held_the_set() {
    let (mut registry, _) = history_of(&[&["A"], &["B"]]);
    let mirror =
        accession::Change { create: true, ingest: vec![id("A").into()], ..Default::default() };
    let stamp = accession::Stamp { at: Some(second(5)), now: now() };
    registry.change(&name("mirror"), mirror, stamp).unwrap();
    let of = |seconds: i64| Selection::Dataset {
        name: name("dataset"),
        at: Some(Moment::Instant(second(seconds))),
    };
    assert_eq!(registry.cite(&of(0), &[name("mirror")]).unwrap().mirrors.len(), 1);
    let error = registry.cite(&of(1), &[name("mirror")]).unwrap_err();
    assert_eq!(error.kind(), "not-identical");
}
