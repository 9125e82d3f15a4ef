//! What a dataset must hold, and what a command that was cut off may have added.

use std::collections::BTreeSet;

use accession::{DatasetName, Identifier, Registry, Selection, Timestamp};

use crate::answers::{granule_ids, history};
use crate::dice::Dice;
use crate::harness::oracle::naive;
use crate::harness::values::{name, second};

/// A change as it must stand in the history: when, and what was held from then on.
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

/// Whether a change is there.
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

    /// A time after every one given out before.
    pub fn next_time(&mut self) -> Timestamp {
        self.seconds += 1;
        second(self.seconds)
    }

    /// Ids that were never named before, anywhere in the canonical order.
    pub fn new_ids(&mut self, dice: &mut Dice, count: usize) -> BTreeSet<String> {
        let mut id = || {
            self.ids += 1;
            format!("{:03}.granule.{:06}", dice.within(0..1_000), self.ids)
        };
        (0..count).map(|_| id()).collect()
    }

    /// Compares the registry with the history, and with what it becomes if `more` came to it;
    /// takes `more` in if it is there.
    pub fn settle(&mut self, registry: &mut Registry, more: &[Entry], story: &str) -> Found {
        let verification = registry.verify(&self.dataset).unwrap();
        assert_eq!(verification.mismatches, [], "{story}");
        let told = history(registry, &self.dataset).unwrap();
        let found = match told.len() {
            changes if changes == self.entries.len() => Found::Before,
            changes if changes == self.entries.len() + more.len() => Found::After,
            changes => panic!("{story}: {changes} changes, a part of one"),
        };
        if found == Found::After {
            self.entries.extend_from_slice(more);
        }
        for (told, entry) in told.iter().zip(&self.entries) {
            assert_eq!((told.timestamp, told.identifier), (entry.at, entry.identifier), "{story}");
            assert_eq!(told.granules, entry.held.len() as u64, "{story}");
        }
        if let Some(latest) = self.entries.last() {
            let selection = Selection::Dataset { name: self.dataset.clone(), at: None };
            assert_eq!(granule_ids(registry, &selection).unwrap(), latest.held, "{story}");
        }
        found
    }
}
