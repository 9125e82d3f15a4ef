//! Values by their keys, in the order of their last use.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Values by their keys, of which the least recently used is removed first.
pub struct Recent<Key, Value> {
    values: HashMap<Key, (u64, Value)>,
    /// The keys by their last use.
    order: BTreeMap<u64, Key>,
    uses: u64,
}

impl<Key, Value> Default for Recent<Key, Value> {
    fn default() -> Self {
        Recent { values: HashMap::new(), order: BTreeMap::new(), uses: 0 }
    }
}

impl<Key: Clone + Eq + Hash, Value> Recent<Key, Value> {
    /// The value of a key, which is used now.
    pub fn get<Asked>(&mut self, key: &Asked) -> Option<&Value>
    where
        Key: Borrow<Asked>,
        Asked: Eq + Hash + ?Sized,
    {
        let (used, value) = self.values.get_mut(key)?;
        let key = self.order.remove(used)?;
        self.uses += 1;
        *used = self.uses;
        self.order.insert(self.uses, key);
        Some(value)
    }

    /// Adds a value, which is used now. Returns the one that it replaces.
    pub fn insert(&mut self, key: Key, value: Value) -> Option<Value> {
        let replaced = self.remove(&key);
        self.uses += 1;
        self.order.insert(self.uses, key.clone());
        self.values.insert(key, (self.uses, value));
        replaced
    }

    /// Removes the value of a key.
    pub fn remove(&mut self, key: &Key) -> Option<Value> {
        let (used, value) = self.values.remove(key)?;
        self.order.remove(&used);
        Some(value)
    }

    /// Removes the least recently used value. `None` means that there are no values.
    pub fn remove_oldest(&mut self) -> Option<Value> {
        let (_, key) = self.order.pop_first()?;
        self.values.remove(&key).map(|(_, value)| value)
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_value_is_removed_first() {
        let mut recent = Recent::default();
        for (key, value) in [("a", 1), ("b", 2), ("c", 3)] {
            assert_eq!(recent.insert(key, value), None);
        }
        assert_eq!(recent.get(&"a"), Some(&1));
        assert_eq!(recent.insert("b", 4), Some(2));
        assert_eq!(recent.get(&"d"), None);
        assert_eq!((recent.len(), recent.order.len()), (3, 3));
        assert_eq!(recent.remove_oldest(), Some(3));
        assert_eq!(recent.remove(&"a"), Some(1));
        assert_eq!(recent.remove_oldest(), Some(4));
        assert_eq!(recent.remove_oldest(), None);
    }
}
