//! A scan of files takes time. A comparison with it reports exactly the differences that remain if each name
//! may have been read at any moment of the scan.

use std::collections::BTreeSet;

use accession::DifferenceCounts;
use accession::history::ScanPeriod;
use accession::{Difference, Listing, ListingBuilder, Registry, Timestamp};
use proptest::prelude::*;

use harness::history::{History, cases, change, id, name, now, second, stating, with_file};
use harness::store::new_registry;
use harness::values::AtTime;

/// The granules of the random histories.
const POOL: [&str; 9] = ["A", "AA", "B", "a", "b", "c/1", "c/2", "é", "値"];

/// The granules that only the dataset has, those that only the listing has, and the counts.
fn compared(
    registry: &Registry,
    scan: ScanPeriod,
    listed: impl IntoIterator<Item = String>,
) -> (BTreeSet<String>, BTreeSet<String>, DifferenceCounts) {
    let mut differences = registry.compare_scanned(&name("D"), scan, &listing(listed)).unwrap();
    let (mut missing, mut extra) = (BTreeSet::new(), BTreeSet::new());
    for difference in differences.by_ref() {
        match difference.unwrap() {
            Difference::OnlyLeft(granule_id) => missing.insert(granule_id.to_string()),
            Difference::OnlyRight(entry) => extra.insert(entry.granule_id.to_string()),
            other => panic!("{other:?}"),
        };
    }
    let counts = differences.finish().unwrap();
    assert_eq!(counts.only_left, missing.len() as u64);
    assert_eq!(counts.only_right, extra.len() as u64);
    (missing, extra, counts)
}

fn listing(listed: impl IntoIterator<Item = String>) -> Listing {
    let mut builder = ListingBuilder::new();
    listed.into_iter().for_each(|granule| builder.add(id(&granule)).unwrap());
    builder.finish()
}

/// Whether a granule was held at an instant.
fn is_held(history: &History, granule: &str, at: Timestamp) -> bool {
    let last = history.sets.range(..=at).next_back();
    last.is_some_and(|(_, held)| held.contains(granule))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn a_scan_that_reads_each_name_at_its_own_moment_explains_all_but_what_is_wrong(
        toggled in prop::collection::vec(prop::collection::btree_set(0..POOL.len(), 1..6), 1..12),
        (from, seconds) in (0..110_i64, 0..60_i64),
        moments in prop::collection::vec(0..=1_000_i64, POOL.len() + 2),
        lost in prop::collection::btree_set(0..POOL.len(), 0..4),
        strange in prop::collection::btree_set(0..POOL.len(), 0..4),
    ) {
        let (registry, mut history) = (new_registry(), History::default());
        registry.add_dataset(&accession::dataset::DatasetMetadata::named(name("D"))).unwrap();
        for (number, toggled) in (1..).zip(&toggled) {
            let toggled: BTreeSet<&str> = toggled.iter().map(|index| POOL[*index]).collect();
            let plan = history.toggle(&toggled);
            history.change(&registry, &name("D"), second(10 * number), &plan);
        }
        let scan = ScanPeriod::new(second(from), second(from + seconds)).unwrap();
        let mut listed: BTreeSet<String> = BTreeSet::new();
        for (granule, moment) in POOL.iter().zip(&moments) {
            let offset = seconds * 1_000 * moment;
            let at = Timestamp::from_micros(scan.start().as_micros() + offset).unwrap();
            if is_held(&history, granule, at) {
                listed.insert((*granule).to_owned());
            }
        }
        let changes: Vec<Timestamp> = history.sets.keys().copied().collect();
        let during = changes.iter().filter(|at| scan.start() < **at && **at <= scan.end());
        let states: Vec<Timestamp> = [scan.start()].into_iter().chain(during.copied()).collect();
        let is_whole = |granule: &str| states.iter().all(|at| is_held(&history, granule, *at));
        let is_ever = |granule: &str| states.iter().any(|at| is_held(&history, granule, *at));
        if changes.first().is_none_or(|first| *first > scan.end()) {
            let refused = registry.compare_scanned(&name("D"), scan, &listing(listed));
            prop_assert_eq!(refused.err().unwrap().kind().as_str(), "no-history");
            return Ok(());
        }
        let (missing, extra, counts) = compared(&registry, scan, listed.clone());
        prop_assert!(missing.is_empty() && extra.is_empty(), "{:?} {:?}", missing, extra);
        let changed = POOL.iter().filter(|it| is_ever(it) && !is_whole(it)).count() as u64;
        prop_assert_eq!(counts.changed, changed);
        prop_assert_eq!(counts.matched, listed.len() as u64);

        // Lost and additional files are reported, unless changes during the scan explain them.
        lost.iter().for_each(|index| { listed.remove(POOL[*index]); });
        listed.extend(strange.iter().map(|index| POOL[*index].to_owned()));
        let (missing, extra, _) = compared(&registry, scan, listed.clone());
        let expected = POOL.iter().filter(|it| is_whole(it) && !listed.contains(**it));
        prop_assert_eq!(missing, expected.map(|it| (*it).to_owned()).collect::<BTreeSet<_>>());
        let expected = listed.iter().filter(|it| !is_ever(it)).cloned();
        prop_assert_eq!(extra, expected.collect::<BTreeSet<_>>());
    }
}

#[test]
fn a_file_that_was_replaced_during_the_scan_may_have_either_content() {
    let registry = new_registry();
    let sized = |size| with_file("A", "A", Some(size), None);
    registry.add_dataset(&accession::dataset::DatasetMetadata::named(name("D"))).unwrap();
    registry.change(&name("D"), &change(["A", "B"], []).at(second(10))).unwrap();
    registry.change(&name("D"), &stating([sized(1)]).at(second(20))).unwrap();
    registry.change(&name("D"), &stating([sized(2)]).at(second(30))).unwrap();
    let compare = |from, until, size| {
        let mut builder = ListingBuilder::new();
        builder.add(sized(size)).unwrap();
        builder.add(id("B")).unwrap();
        let scan = ScanPeriod::new(second(from), second(until)).unwrap();
        registry.compare_scanned(&name("D"), scan, &builder.finish()).unwrap().finish().unwrap()
    };
    for size in [1, 2] {
        let counts = compare(25, 35, size);
        assert!(counts.is_identical(), "{counts:?}");
        assert_eq!(counts.changed, 1);
    }
    assert!(compare(21, 25, 1).is_identical());
    assert_eq!(compare(21, 25, 2).contents.other, 1);
}

#[test]
fn a_scan_that_has_not_ended_is_refused() {
    let registry = new_registry();
    registry.add_dataset(&accession::dataset::DatasetMetadata::named(name("D"))).unwrap();
    registry.change(&name("D"), &change(["A"], []).at(second(10))).unwrap();
    let later = Timestamp::from_micros(now().as_micros() + 1).unwrap();
    let scan = ScanPeriod::new(now(), later).unwrap();
    let refused = registry.compare_scanned(&name("D"), scan, &listing([])).unwrap_err();
    assert_eq!(refused.kind().as_str(), "future");
}
