//! What is kept of the citations that were checked so far.
//!
//! A text can have any number of citations, so what one of them costs must not depend on how many
//! there were before it.

use std::collections::HashMap;
use std::hash::Hash;

/// Values that were computed, as long as they are not too many together.
pub(super) struct Cache<K, V> {
    kept: HashMap<K, V>,
    weight: usize,
    max_weight: usize,
}

/// How much a value counts towards the limit of a cache.
pub(super) trait Weight {
    fn weight(&self) -> usize;
}

impl<K: Eq + Hash, V: Clone + Weight> Cache<K, V> {
    pub fn of(max_weight: usize) -> Self {
        Cache { kept: HashMap::new(), weight: 0, max_weight }
    }

    /// The value for a key, which is computed unless it is kept. A value that would exceed the limit
    /// replaces all others.
    pub fn get<E>(&mut self, key: K, compute: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        if let Some(known) = self.kept.get(&key) {
            return Ok(known.clone());
        }
        let value = compute()?;
        let weight = value.weight();
        if self.weight + weight > self.max_weight {
            self.kept.clear();
            self.weight = 0;
        }
        self.weight += weight;
        self.kept.insert(key, value.clone());
        Ok(value)
    }
}

/// The first value of each key, in the order in which the keys came first.
pub(super) struct Groups<K, V> {
    values: Vec<V>,
    indexes: HashMap<K, usize>,
}

impl<K: Eq + Hash, V> Groups<K, V> {
    pub fn new() -> Self {
        Groups { values: Vec::new(), indexes: HashMap::new() }
    }

    /// The value of a key. A new key gets the value that `first` makes.
    pub fn of(&mut self, key: K, first: impl FnOnce() -> V) -> &mut V {
        let index = *self.indexes.entry(key).or_insert(self.values.len());
        if index == self.values.len() {
            self.values.push(first());
        }
        &mut self.values[index]
    }

    pub fn into_values(self) -> Vec<V> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hasher;
    use std::rc::Rc;

    use super::*;

    /// Counts how often it is compared, hashed or weighed.
    #[derive(Clone)]
    struct Counting(u64, Rc<Cell<u64>>);

    impl Counting {
        fn count(&self) {
            self.1.set(self.1.get() + 1);
        }
    }

    impl PartialEq for Counting {
        fn eq(&self, other: &Self) -> bool {
            self.count();
            self.0 == other.0
        }
    }

    impl Eq for Counting {}

    impl Hash for Counting {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.count();
            self.0.hash(state);
        }
    }

    impl Weight for Counting {
        fn weight(&self) -> usize {
            self.count();
            1
        }
    }

    /// How often keys and values are looked at for so many citations of distinct sets.
    fn looks(citations: u64) -> u64 {
        let looks = Rc::new(Cell::new(0));
        let of = |n| Counting(n, Rc::clone(&looks));
        let (mut cache, mut groups) = (Cache::of(30_000), Groups::new());
        for n in 0..citations {
            cache.get(of(n), || Ok::<_, ()>(of(n))).unwrap();
            groups.of(of(n), Vec::new).push(n);
        }
        assert_eq!(groups.into_values().len() as u64, citations);
        looks.get()
    }

    #[test]
    fn the_work_for_a_citation_does_not_grow_with_the_number_of_citations() {
        let (few, many) = (looks(10_000), looks(80_000));
        // Eight times as many; the sum over all that was kept before was 64 times as much.
        assert!(many <= 12 * few, "{few} {many}");
    }

    #[test]
    fn a_cache_keeps_no_more_than_its_limit_and_computes_again_what_it_dropped() {
        let looks = Rc::new(Cell::new(0));
        let of = |n| Counting(n, Rc::clone(&looks));
        let (mut cache, mut computed) = (Cache::of(3), Vec::new());
        for n in [1, 2, 1, 3, 2, 4, 4, 1] {
            let value = cache.get(of(n), || {
                computed.push(n);
                Ok::<_, ()>(of(n))
            });
            assert_eq!(value.unwrap().0, n);
            assert!(cache.kept.len() <= 3);
        }
        assert_eq!(computed, [1, 2, 3, 4, 1]);
    }

    #[test]
    fn groups_are_in_the_order_of_their_first_members() {
        let mut groups = Groups::new();
        for (key, member) in [("b", 1), ("a", 2), ("b", 3), ("c", 4), ("a", 5)] {
            groups.of(key, Vec::new).push(member);
        }
        assert_eq!(groups.into_values(), [vec![1, 3], vec![2, 5], vec![4]]);
    }
}
