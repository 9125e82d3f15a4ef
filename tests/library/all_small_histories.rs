//! Every history of up to four granules and three changes (with `TRUST=2`, four). For each, the result of the
//! seed's rewind is compared as well.

use std::collections::{BTreeMap, BTreeSet};

use accession::Identifier;
use accession::chain::Chain;

use harness::history::{History, name, second, trust};
use harness::oracle::naive;
use harness::store::new_registry;

/// In canonical order. A checkpoint follows the second and the third.
const GRANULES: [&str; 4] = ["A", "granule.1676", "granule.2927", "z"];

/// The granules of a bit mask.
fn set(mask: u8) -> BTreeSet<&'static str> {
    (0..4).filter(|bit| mask & 1 << bit != 0).map(|bit| GRANULES[bit]).collect()
}

#[test]
fn every_small_history_of_4_granules_agrees_with_the_oracle() {
    // A change toggles one of the 15 non-empty subsets. Shorter histories are the first changes of
    // longer ones.
    let firsts: Vec<u8> = (1..16).collect();
    // The fourth change of each history; 0 means none.
    let fourths: Vec<u8> = if trust() > 1 { (1..16).collect() } else { vec![0] };
    let check = |first: &u8| {
        for second_mask in 1..16 {
            let registry = new_registry();
            for (third, fourth) in
                (1..16).flat_map(|third| fourths.iter().map(move |fourth| (third, *fourth)))
            {
                let dataset = name(&format!("{third}.{fourth}"));
                let mut history = History::default();
                let masks = [*first, second_mask, third, fourth];
                for (index, mask) in masks.into_iter().filter(|mask| *mask != 0).enumerate() {
                    let change = history.toggle(&set(mask));
                    // Compares the identifier after each change with the naive recomputation.
                    history.change(&registry, &dataset, second(index as i64), &change);
                }
                history.assert_matches(&registry, &dataset);
            }
        }
    };
    std::thread::scope(|scope| {
        for half in firsts.chunks(8) {
            scope.spawn(|| half.iter().for_each(check));
        }
    });
}

/// The rewind that the seed proposes (docs/about/errata.md). It finds the granule just before the first new or
/// deleted one, and looks up its ingest date. It takes the identifier that was stored before that date, and
/// hashes the granules after it. If the change only appends, the ids are pushed to the identifier in force.
#[derive(Default)]
struct SeedRewind {
    /// The change since which each granule has been held.
    held: BTreeMap<&'static str, usize>,
    /// The set after each change.
    sets: Vec<BTreeSet<&'static str>>,
    /// The identifier stored after each change.
    stored: Vec<Identifier>,
}

impl SeedRewind {
    fn toggle(&mut self, granules: &BTreeSet<&'static str>) -> Identifier {
        let day = self.stored.len();
        let first = *granules.first().unwrap();
        let is_append = self.held.range(first..).next().is_none();
        let before = match self.held.get(first) {
            Some(ingested) => Some(*ingested),
            None => self.held.range(..first).next_back().map(|(_, ingested)| *ingested),
        };
        for granule in granules {
            if self.held.remove(granule).is_none() {
                self.held.insert(granule, day);
            }
        }
        let resume_after = match before {
            _ if is_append => day.checked_sub(1),
            Some(ingested) => ingested.checked_sub(1),
            None => None,
        };
        let (mut chain, known) = match resume_after {
            Some(day) => (Chain::resume(self.stored[day]), self.sets[day].clone()),
            None => (Chain::start(), BTreeSet::new()),
        };
        for granule in self.held.keys().filter(|granule| !known.contains(**granule)) {
            chain.push(granule);
        }
        self.sets.push(self.held.keys().copied().collect());
        self.stored.push(chain.identifier());
        chain.identifier()
    }
}

/// The changes of a history up to the first one for which the seed's rewind is wrong, if there is one.
fn seed_fails_on(masks: &[u8]) -> Option<Vec<u8>> {
    let mut rewind = SeedRewind::default();
    for (index, mask) in masks.iter().enumerate() {
        let identifier = rewind.toggle(&set(*mask));
        if identifier != naive(rewind.held.keys().copied()) {
            return Some(masks[..=index].to_vec());
        }
    }
    None
}

/// The changes, each as the ids that it toggles.
fn shown(masks: &[u8]) -> Vec<Vec<&'static str>> {
    masks.iter().map(|mask| set(*mask).into_iter().collect()).collect()
}

#[test]
fn the_seeds_rewind_by_time_fails_on_a_history_of_2_granules_and_3_changes() {
    let mut failures: Vec<Vec<u8>> = Vec::new();
    for number in 0..15_u32.pow(3) {
        let masks: Vec<u8> =
            (0..3).map(|location| (number / 15_u32.pow(location) % 15 + 1) as u8).collect();
        failures.extend(seed_fails_on(&masks));
    }
    failures.sort();
    failures.dedup();

    // The first change ingests A. The second deletes A and ingests granule.1676. The third deletes
    // granule.1676. It was ingested in the second change, so the seed uses the identifier stored before that
    // change: the one of A, which is no longer held.
    let granules = |masks: &[u8]| masks.iter().fold(0, |all, mask| all | mask).count_ones();
    let smallest = failures.iter().min_by_key(|masks| (masks.len(), granules(masks))).unwrap();
    assert_eq!(shown(smallest), [vec!["A"], vec!["A", "granule.1676"], vec!["granule.1676"]]);

    // The smallest history without deletions ingests the third granule first, then the first, then the second.
    // The granule before the second was ingested in the second change, so the seed resumes from the third
    // granule.
    let mut arrivals = failures.iter().filter(|masks| {
        let all = masks.iter().try_fold(0, |all, mask| (all & mask == 0).then_some(all | mask));
        all.is_some()
    });
    let smallest = arrivals.find(|masks| masks.len() == 3).unwrap();
    assert_eq!(shown(smallest), [["granule.2927"], ["A"], ["granule.1676"]]);
    assert!(failures.iter().all(|masks| masks.len() > 2));
}
