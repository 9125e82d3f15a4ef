//! The history that a dataset must have, and the changes that an interrupted command may have made.

use std::collections::BTreeSet;

use accession::{DatasetName, Identifier, Registry, Selection, Timestamp};

use crate::answers::{granule_ids, history};
use crate::dice::Dice;
use harness::oracle::naive;
use harness::values::{name, second};

/// A change that the history must have: its time, and the ids held since.
#[derive(Debug, Clone)]
pub struct Entry {
    pub at: Timestamp,
    pub held: BTreeSet<String>,
    pub identifier: Identifier,
}

/// The history that a dataset must have.
pub struct Ledger {
    pub dataset: DatasetName,
    pub entries: Vec<Entry>,
    seconds: i64,
    ids: usize,
}

/// Whether a change was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Before,
    After,
}

impl Entry {
    pub fn of(at: Timestamp, held: BTreeSet<String>) -> Self {
        let identifier = naive(held.iter().map(String::as_str));
        Entry { at, held, identifier }
    }
}

impl Ledger {
    pub fn of(dataset: &str) -> Self {
        Ledger { dataset: name(dataset), entries: Vec::new(), seconds: 0, ids: 0 }
    }

    pub fn held(&self) -> BTreeSet<String> {
        self.entries.last().map(|entry| entry.held.clone()).unwrap_or_default()
    }

    /// A time later than all those returned before.
    pub fn next_time(&mut self) -> Timestamp {
        self.seconds += 1;
        second(self.seconds)
    }

    /// Ids that were not used before, at random positions in canonical order.
    pub fn new_ids(&mut self, dice: &mut Dice, count: usize) -> BTreeSet<String> {
        let mut id = || {
            self.ids += 1;
            format!("{:03}.granule.{:06}", dice.within(0..1_000), self.ids)
        };
        (0..count).map(|_| id()).collect()
    }

    /// Compares the registry with the history, with or without the entries in `more`. Adds `more` to the
    /// history if the registry has them.
    pub fn settle(&mut self, registry: &Registry, more: &[Entry], context: &str) -> Found {
        let verification = registry.verify(&self.dataset).unwrap();
        assert_eq!(verification.mismatches, [], "{context}");
        let reported = history(registry, &self.dataset).unwrap();
        let found = match reported.len() {
            changes if changes == self.entries.len() => Found::Before,
            changes if changes == self.entries.len() + more.len() => Found::After,
            changes => panic!("{context}: {changes} changes, so one was made only in part"),
        };
        if found == Found::After {
            self.entries.extend_from_slice(more);
        }
        for (reported, entry) in reported.iter().zip(&self.entries) {
            assert_eq!(
                (reported.timestamp, reported.identifier),
                (entry.at, entry.identifier),
                "{context}"
            );
            assert_eq!(reported.granules, entry.held.len() as u64, "{context}");
        }
        if let Some(latest) = self.entries.last() {
            let selection = Selection::Dataset { name: self.dataset.clone(), at: None };
            assert_eq!(granule_ids(registry, &selection).unwrap(), latest.held, "{context}");
        }
        found
    }
}
