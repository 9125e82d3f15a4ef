//! The distinct values of a column with their counts, limited to the number that a message can show.

use std::fmt;

use crate::model::quoted;

/// The greatest number of distinct values that are counted separately.
const MAX_VALUES: usize = 10;

/// The first distinct values of a column, with their counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    counts: Vec<(String, u64)>,
    /// The index of the latest value, because neighbouring values are mostly the same.
    last: usize,
    has_more: bool,
}

impl Values {
    /// Counts a value.
    pub(super) fn add(&mut self, value: &str) {
        if let Some((known, count)) = self.counts.get_mut(self.last)
            && known == value
        {
            *count += 1;
            return;
        }
        match self.counts.iter_mut().position(|(known, _)| known == value) {
            Some(index) => {
                self.counts[index].1 += 1;
                self.last = index;
            }
            None if self.counts.len() < MAX_VALUES => {
                self.counts.push((value.to_owned(), 1));
                self.last = self.counts.len() - 1;
            }
            None => self.has_more = true,
        }
    }

    /// Counts a value that may not be UTF-8.
    pub(super) fn add_bytes(&mut self, value: &[u8]) {
        if let Some((known, count)) = self.counts.get_mut(self.last)
            && known.as_bytes() == value
        {
            *count += 1;
            return;
        }
        self.add(&String::from_utf8_lossy(value));
    }

    /// Counts a value this number of times.
    pub(super) fn add_times(&mut self, value: &str, times: u64) {
        if times == 0 {
            return;
        }
        self.add(value);
        // If there are too many distinct values, this one is not among the counts.
        if let Some((_, count)) = self.counts.iter_mut().find(|(known, _)| known == value) {
            *count += times - 1;
        }
    }

    /// Counts the values of another column.
    pub(super) fn add_all(&mut self, other: &Values) {
        for (value, count) in &other.counts {
            self.add_times(value, *count);
        }
        self.has_more |= other.has_more;
    }

    /// The value that was counted most often. `None` means that no value was counted.
    pub(super) fn most_frequent(&self) -> Option<&str> {
        // If several values are equally frequent, this returns the first.
        let most = self.counts.iter().rev().max_by_key(|(_, count)| *count);
        most.map(|(value, _)| value.as_str())
    }

    /// The number of distinct values. If there are more than ten, it is eleven.
    pub(super) fn distinct(&self) -> usize {
        self.counts.len() + usize::from(self.has_more)
    }
}

/// The greatest number of values in a message, and the greatest length of each in characters.
const MAX_SHOWN: usize = 3;
const MAX_SHOWN_CHARS: usize = 40;

/// The values with their counts: `"completed" (2), "failed" (1)`.
impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (value, count)) in self.counts.iter().take(MAX_SHOWN).enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            let shown: String = value.chars().take(MAX_SHOWN_CHARS).collect();
            let cut = if shown.len() < value.len() { " …" } else { "" };
            write!(f, "{separator}{}{cut} ({count})", quoted(&shown))?;
        }
        match self.counts.len().saturating_sub(MAX_SHOWN) {
            _ if self.has_more => f.write_str(" and others"),
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
