//! A simple model of a dataset's history, and the comparison of a registry with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use accession::chain::is_checkpoint;
use accession::{Change, DatasetName, Identifier, Moment, Registry, Selection, Stamp, Timestamp};

use super::oracle::naive;
pub use super::values::{change, id, name, now, second};

/// The sets of ids that were held, by the time from which each was held.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub sets: BTreeMap<Timestamp, BTreeSet<String>>,
}

/// The number of random cases: `PROPTEST_CASES`, or this default.
pub fn cases(default: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(default)
}

impl History {
    pub fn held(&self) -> BTreeSet<String> {
        self.sets.values().next_back().cloned().unwrap_or_default()
    }

    /// The change that deletes those of the ids that are held, and ingests the others.
    pub fn toggle(&self, granule_ids: &BTreeSet<&str>) -> Change {
        let held = self.held();
        let (delete, ingest): (Vec<&str>, Vec<&str>) =
            granule_ids.iter().partition(|granule_id| held.contains(**granule_id));
        change(ingest, delete)
    }

    /// Applies a change to the model.
    pub fn apply(&mut self, at: Timestamp, change: &Change) {
        let mut held = self.held();
        for entry in &change.ingest {
            assert!(held.insert(entry.granule_id.to_string()), "the model ingests what it holds");
        }
        for entry in &change.delete {
            assert!(held.remove(entry.granule_id.as_str()), "the model deletes what it lacks");
        }
        assert!(self.sets.keys().next_back().is_none_or(|last| *last < at));
        self.sets.insert(at, held);
    }

    /// Applies a change to the model and to the registry, and compares the new identifier.
    pub fn change(
        &mut self,
        registry: &mut Registry,
        dataset: &DatasetName,
        at: Timestamp,
        change: Change,
    ) {
        self.apply(at, &change);
        let applied = registry.change(dataset, change, Stamp { at: Some(at), now: now() }).unwrap();
        let expected = naive(self.held().iter().map(String::as_str));
        assert_eq!(applied.instance.unwrap().identifier, expected);
    }

    /// Compares everything that a registry reports on a dataset with the model: each identifier and
    /// interval, the set at each time, each lookup, each resolve, and `verify`.
    pub fn assert_told_by(&self, registry: &mut Registry, dataset: &DatasetName) {
        self.assert_sets_told_by(registry, dataset);
        let verification = registry.verify(dataset).unwrap();
        assert_eq!(verification.mismatches, []);
        assert_eq!(verification.identifiers, self.sets.len() as u64);
    }

    /// The same without `verify`, which also counts the subsets that were cited.
    pub fn assert_sets_told_by(&self, registry: &mut Registry, dataset: &DatasetName) {
        let mut rows = Vec::new();
        registry
            .history(dataset, |instance| {
                rows.push(instance);
                Ok(())
            })
            .unwrap();
        assert_eq!(rows.len(), self.sets.len());
        let times: Vec<Timestamp> = self.sets.keys().copied().collect();
        let empty = BTreeSet::new();
        let mut before = &empty;
        let mut intervals: BTreeMap<Identifier, Vec<Timestamp>> = BTreeMap::new();
        for (index, (row, (at, held))) in rows.iter().zip(&self.sets).enumerate() {
            let identifier = naive(held.iter().map(String::as_str));
            assert_eq!(row.identifier, identifier, "{at}");
            assert_eq!((row.timestamp, row.until), (*at, times.get(index + 1).copied()));
            assert_eq!(row.granules, held.len() as u64);
            assert_eq!(row.ingested, held.difference(before).count() as u64);
            assert_eq!(row.deleted, before.difference(held).count() as u64);
            intervals.entry(identifier).or_default().push(*at);

            let at_start = Moment::Instant(*at);
            let at_end = Moment::Instant(match row.until {
                Some(until) => Timestamp::from_micros(until.as_micros() - 1).unwrap(),
                None => now(),
            });
            for at in [at_start, at_end] {
                let selection = Selection::Dataset { name: dataset.clone(), at: Some(at) };
                let mut granules = Vec::new();
                let selected = registry
                    .granules(&selection, |granule| {
                        granules.push(granule.granule_id.to_string());
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(selected.instance, *row);
                assert!(granules.iter().eq(held.iter()), "{at}: the as-of set, in canonical order");
            }
            before = held;
        }
        for (identifier, times) in intervals {
            let mut found = Vec::new();
            registry
                .resolve(identifier, Some(dataset), None, |resolved| {
                    if resolved.selection.is_none() {
                        found.push(resolved.instance.timestamp);
                    }
                    Ok(())
                })
                .unwrap();
            assert_eq!(found, times);
            let by_identifier =
                Selection::Identifier { identifier, dataset: Some(dataset.clone()) };
            let mut granules = BTreeSet::new();
            registry
                .granules(&by_identifier, |granule| {
                    granules.insert(granule.granule_id.to_string());
                    Ok(())
                })
                .unwrap();
            assert_eq!(granules, self.sets[&times[0]]);
        }
        if let Some(first) = times.first() {
            let before = Moment::Instant(Timestamp::from_micros(first.as_micros() - 1).unwrap());
            let selection = Selection::Dataset { name: dataset.clone(), at: Some(before) };
            assert_eq!(registry.select(&selection).unwrap_err().kind(), "before-history");
        }
    }
}

/// Two dozen difficult ids: in several scripts, with common prefixes, differing only in case, with
/// spaces, or like numbers. A checkpoint follows a third of them; otherwise it is one in 1,024.
pub static POOL: LazyLock<Vec<String>> = LazyLock::new(|| {
    let with_checkpoint = |prefix: &str| {
        (0..).map(|n| format!("{prefix}{n}")).find(|text| is_checkpoint(text)).unwrap()
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
