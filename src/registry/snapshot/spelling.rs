//! Finds ids of two sides that differ only in spelling: in Unicode normalisation or letter case.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use unicode_normalization::UnicodeNormalization;

/// Counts the ids of two sides that are the same in Unicode Normalization Form C and in lower case.
#[derive(Debug, Default)]
pub(super) struct SpellingPairs {
    /// For each hash of a spelling, the numbers of ids on the left and on the right side.
    counts: HashMap<u64, [u32; 2]>,
}

/// The side of an id.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side {
    Left,
    Right,
}

impl SpellingPairs {
    /// More spellings than this are not compared, so that memory stays flat.
    const MAX: usize = 100_000;

    /// Adds an id that only one side has.
    pub(super) fn add(&mut self, side: Side, id: &str) {
        let mut hasher = DefaultHasher::new();
        for character in id.nfc().flat_map(char::to_lowercase).nfc() {
            character.hash(&mut hasher);
        }
        let key = hasher.finish();
        if self.counts.len() < SpellingPairs::MAX || self.counts.contains_key(&key) {
            self.counts.entry(key).or_default()[side as usize] += 1;
        }
    }

    /// The number of pairs.
    pub(super) fn count(&self) -> u64 {
        self.counts.values().map(|[left, right]| u64::from(*left.min(right))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_differs_only_in_normalisation_or_case() {
        let pairs = |left: &[&str], right: &[&str]| {
            let mut pairs = SpellingPairs::default();
            left.iter().for_each(|id| pairs.add(Side::Left, id));
            right.iter().for_each(|id| pairs.add(Side::Right, id));
            pairs.count()
        };
        assert_eq!(pairs(&["caf\u{e9}.nc"], &["cafe\u{301}.nc"]), 1);
        assert_eq!(pairs(&["A.nc", "B.nc", "x"], &["a.nc", "b.NC", "y"]), 2);
        assert_eq!(pairs(&["A", "a"], &["\u{c0}"]), 0);
        assert_eq!(pairs(&["\u{212b}"], &["\u{e5}"]), 1);
    }
}
