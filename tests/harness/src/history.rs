//! A simple model of a dataset's history, and the comparison of a registry with it.

use crate::values::AtTime;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use accession::chain::Chain;
use accession::{
    DatasetName, HistoryOptions, Identifier, Instance, Moment, Registry, Selected, Selection, Set,
    Timestamp,
};

use crate::oracle::{naive, naive_digest};
pub use crate::values::{Plan, change, id, name, now, plan, second, stating, step, with_file};

/// The sets of ids that were held, by the start time of each.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub sets: BTreeMap<Timestamp, BTreeSet<String>>,
}

/// The number of random cases: `PROPTEST_CASES`, or this default, multiplied by `TRUST` if it is set.
pub fn cases(default: u32) -> u32 {
    number("PROPTEST_CASES").unwrap_or_else(|| default * trust())
}

/// The value of `TRUST`, or 1.
pub fn trust() -> u32 {
    number("TRUST").unwrap_or(1)
}

fn number(variable: &str) -> Option<u32> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The selected set, and the ids of its granules in the order in which they are listed.
pub fn held(registry: &Registry, selection: &Selection) -> (Selected, Vec<String>) {
    let snapshot = registry.snapshot().unwrap();
    let selected = snapshot.select(selection).unwrap();
    let granules = snapshot.registry().granules(&selected.set);
    drop(snapshot);
    let granule_ids = granules.map(|granule| granule.unwrap().granule_id.to_string()).collect();
    (selected, granule_ids)
}

/// The whole history of a dataset.
pub fn instances(registry: &Registry, dataset: &DatasetName) -> Vec<Instance> {
    let history = registry.history(dataset, &HistoryOptions::new());
    history.map(Result::unwrap).collect()
}

impl History {
    pub fn held(&self) -> BTreeSet<String> {
        self.sets.values().next_back().cloned().unwrap_or_default()
    }

    /// Returns a change that deletes the given ids that are held, and ingests the others.
    pub fn toggle(&self, granule_ids: &BTreeSet<&str>) -> Plan {
        let held = self.held();
        let (delete, ingest): (Vec<&str>, Vec<&str>) =
            granule_ids.iter().partition(|granule_id| held.contains(**granule_id));
        plan(ingest, delete)
    }

    /// Applies a change to the model.
    pub fn apply(&mut self, at: Timestamp, plan: &Plan) {
        let mut held = self.held();
        for granule_id in &plan.ingest {
            assert!(held.insert(granule_id.clone()), "the model ingests a granule that it holds");
        }
        for granule_id in &plan.delete {
            assert!(held.remove(granule_id), "the model deletes a granule that it does not hold");
        }
        assert!(self.sets.keys().next_back().is_none_or(|last| *last < at));
        self.sets.insert(at, held);
    }

    /// Applies a change to the model and to the registry, and compares the new identifier.
    pub fn change(
        &mut self,
        registry: &Registry,
        dataset: &DatasetName,
        at: Timestamp,
        plan: &Plan,
    ) {
        self.apply(at, plan);
        let applied = registry.change(dataset, &plan.change().at(at)).unwrap();
        let expected = naive(self.held().iter().map(String::as_str));
        assert_eq!(applied.instance().unwrap().identifier, expected);
        assert_eq!(applied.in_force.as_ref(), applied.instance());
    }

    /// Asserts that everything a registry returns for a dataset matches the model: identifiers, periods, sets
    /// as of a time, look-ups, resolved identifiers, and `verify`.
    pub fn assert_matches(&self, registry: &Registry, dataset: &DatasetName) {
        self.assert_sets_match(registry, dataset);
        let verification = registry.verify(dataset).unwrap();
        assert_eq!(verification.mismatches, []);
        assert_eq!(verification.identifiers, self.sets.len() as u64);
    }

    /// The same as [`History::assert_matches`], but without `verify`, which also counts cited subsets.
    pub fn assert_sets_match(&self, registry: &Registry, dataset: &DatasetName) {
        let rows = instances(registry, dataset);
        assert_eq!(rows.len(), self.sets.len());
        let times: Vec<Timestamp> = self.sets.keys().copied().collect();
        let (empty, now_held) = (BTreeSet::new(), self.held());
        let mut before = &empty;
        let mut intervals: BTreeMap<Identifier, Vec<Timestamp>> = BTreeMap::new();
        for (index, (row, (at, held))) in rows.iter().zip(&self.sets).enumerate() {
            let identifier = naive(held.iter().map(String::as_str));
            assert_eq!(row.identifier, identifier, "{at}");
            assert_eq!(row.digest, naive_digest(held.iter().map(String::as_str)), "{at}");
            assert_eq!((row.timestamp, row.until), (*at, times.get(index + 1).copied()));
            assert_eq!(row.granules, held.len() as u64);
            assert_eq!(row.ingested, held.difference(before).count() as u64);
            assert_eq!(row.deleted, before.difference(held).count() as u64);
            intervals.entry(identifier).or_default().push(*at);
            let still_held = registry.snapshot().unwrap().still_held(dataset, *at).unwrap();
            assert_eq!(still_held, held.intersection(&now_held).count() as u64, "{at}");

            let at_start = Moment::Instant(*at);
            let at_end = Moment::Instant(match row.until {
                Some(until) => Timestamp::from_micros(until.as_micros() - 1).unwrap(),
                None => now(),
            });
            for at in [at_start, at_end] {
                let selection = Selection::Dataset { name: dataset.clone(), at: Some(at) };
                let (selected, granule_ids) = self::held(registry, &selection);
                assert_eq!(selected.set, Set::Instance(row.clone()));
                assert!(
                    granule_ids.iter().eq(held),
                    "{at}: the set as of a time, in canonical order"
                );
            }
            before = held;
        }
        for (identifier, times) in intervals {
            let snapshot = registry.snapshot().unwrap();
            let resolution = snapshot.periods(identifier, Some(dataset), None).unwrap();
            drop(snapshot);
            let found: Vec<Timestamp> = resolution
                .rows
                .iter()
                .filter(|row| row.set.subset().is_none())
                .map(|row| row.set.instance().timestamp)
                .collect();
            assert_eq!(found, times);
            let by_identifier =
                Selection::Identifier { identifier, dataset: Some(dataset.clone()), at: None };
            let (_, granule_ids) = held(registry, &by_identifier);
            assert!(granule_ids.iter().eq(&self.sets[&times[0]]));
        }
        if let Some(first) = times.first() {
            let before = Moment::Instant(Timestamp::from_micros(first.as_micros() - 1).unwrap());
            let selection = Selection::Dataset { name: dataset.clone(), at: Some(before) };
            let refused = registry.snapshot().unwrap().select(&selection).unwrap_err();
            assert_eq!(refused.kind().as_str(), "no-history");
        }
    }
}

/// Two dozen difficult ids: in several scripts, with common prefixes, differing only in case, with spaces, or
/// like numbers. A checkpoint follows a third of them, instead of one in 1,024 as usual.
pub static POOL: LazyLock<Vec<String>> = LazyLock::new(|| {
    let with_checkpoint = |prefix: &str| {
        (0..).map(|n| format!("{prefix}{n}")).find(|text| Chain::is_checkpoint(text)).unwrap()
    };
    let plain = [
        "A",
        "AA",
        "a",
        " A",
        "A ",
        "10",
        "9",
        "1e5",
        "#x",
        "a/b:c",
        "\"",
        "'",
        "é",
        "e\u{301}",
        "値",
        "\u{10000}",
    ];
    let mut pool: Vec<String> = plain.iter().map(|text| (*text).to_owned()).collect();
    pool.extend(["", "A", "B.", "granule.", "z ", "é", "値", "\u{1f6f0}"].map(with_checkpoint));
    pool.sort();
    pool
});
