//! Finds the patterns that match an id, out of many, for ids in canonical order.

use std::collections::BTreeMap;

use crate::model::Pattern;

/// Different patterns, each with the numbers of its users.
///
/// Each pattern is tried once on an id, however many users it has, and only on ids that begin with
/// its literal prefix. Since the ids are in canonical order, these patterns are found as in a
/// merge. So the cost for each id depends on the number of patterns whose prefix it has, and not on
/// the number of all patterns.
pub(super) struct Patterns {
    /// The patterns, sorted by prefix.
    entries: Vec<Entry>,
    /// The index of the first entry whose prefix only later ids can have.
    next: usize,
    /// The indices of the entries whose prefix the last id has. Each prefix begins with the one
    /// before.
    active: Vec<usize>,
    /// How many times a pattern was tried on an id.
    pub tried: u64,
}

struct Entry {
    prefix: String,
    suffix: String,
    between: Between,
    users: Vec<usize>,
}

/// The middle of a pattern, between its literal prefix and its literal suffix.
enum Between {
    Nothing,
    /// Stars, with these strings between them. Searching for the strings one after the other took a
    /// tenth of the time of matching the pattern.
    Stars(Vec<String>),
    /// Something else: the whole pattern is tried.
    Other(Pattern),
}

impl Patterns {
    /// Collects patterns, each with the number of one of its users.
    pub fn of<'a>(patterns: impl Iterator<Item = (&'a Pattern, usize)>) -> Self {
        let mut users: BTreeMap<&Pattern, Vec<usize>> = BTreeMap::new();
        for (pattern, user) in patterns {
            users.entry(pattern).or_default().push(user);
        }
        let mut entries: Vec<Entry> =
            users.into_iter().map(|(pattern, users)| Entry::of(pattern, users)).collect();
        entries.sort_by(|a, b| a.prefix.cmp(&b.prefix));
        Patterns { entries, next: 0, active: Vec::new(), tried: 0 }
    }

    /// The users of all patterns that match the id, ascending, each once. The ids must be passed in
    /// canonical order.
    pub fn users_of(&mut self, granule_id: &str) -> Vec<usize> {
        self.advance_to(granule_id);
        let mut users = Vec::new();
        for &index in &self.active {
            let entry = &self.entries[index];
            self.tried += 1;
            if entry.matches(granule_id) {
                users.extend_from_slice(&entry.users);
            }
        }
        users.sort_unstable();
        users.dedup();
        users
    }

    fn advance_to(&mut self, granule_id: &str) {
        let has_prefix = |entry: &Entry| granule_id.starts_with(&entry.prefix);
        while self.active.pop_if(|index| !has_prefix(&self.entries[*index])).is_some() {}
        while let Some(entry) = self.entries.get(self.next)
            && entry.prefix.as_str() <= granule_id
        {
            // A prefix that sorts before this id without being its prefix is not a prefix of any
            // later id.
            if has_prefix(entry) {
                self.active.push(self.next);
            }
            self.next += 1;
        }
    }
}

impl Entry {
    fn of(pattern: &Pattern, users: Vec<usize>) -> Self {
        let text = pattern.as_str();
        let prefix = &text[..text.find(['*', '?', '[']).unwrap_or(text.len())];
        let rest = &text[prefix.len()..];
        // If there are sets, the last one ends at a bracket; otherwise brackets are literal.
        let ends: &[char] = if rest.contains('[') { &['*', '?', ']'] } else { &['*', '?'] };
        let suffix = &rest[rest.rfind(ends).map_or(rest.len(), |last| last + 1)..];
        let between = match &rest[..rest.len() - suffix.len()] {
            "" => Between::Nothing,
            stars if !stars.contains(['?', '[']) => {
                let strings = stars.split('*').filter(|string| !string.is_empty());
                Between::Stars(strings.map(str::to_owned).collect())
            }
            _ => Between::Other(pattern.clone()),
        };
        Entry { prefix: prefix.to_owned(), suffix: suffix.to_owned(), between, users }
    }

    /// Whether the pattern matches an id that has its prefix.
    fn matches(&self, granule_id: &str) -> bool {
        let rest = &granule_id[self.prefix.len()..];
        let Some(mut rest) = rest.strip_suffix(self.suffix.as_str()) else { return false };
        match &self.between {
            Between::Nothing => rest.is_empty(),
            // The first occurrence of each string leaves the most room for the others.
            Between::Stars(strings) => strings.iter().all(|string| match rest.find(string) {
                Some(at) => {
                    rest = &rest[at + string.len()..];
                    true
                }
                None => false,
            }),
            Between::Other(pattern) => pattern.matches(granule_id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_that_match_are_those_that_match_one_by_one() {
        let texts = [
            "*", "a*", "a", "ab*", "ab*b", "ab*ab", "a?b*", "[a-b]*b", "*b", "*]", "a[]]*", "b*",
            "abc", "é*", "??", "b[!a]*a", "*a*b*", "ab[b]", "a*[b]b", "*ab*ba*", "a*a*a", "*]*]",
            "a]*", "]", "a*]",
        ];
        let patterns: Vec<Pattern> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let alphabet = ["a", "b", "c", "]", "é"];
        let mut ids: Vec<String> = alphabet.iter().map(ToString::to_string).collect();
        for length in 1..5 {
            let longer = ids.iter().filter(|id| id.chars().count() == length);
            let longer: Vec<String> = longer
                .flat_map(|id| alphabet.iter().map(move |end| format!("{id}{end}")))
                .collect();
            ids.extend(longer);
        }
        ids.sort();
        let mut together = Patterns::of(patterns.iter().zip(0..));
        for id in &ids {
            let users = together.users_of(id);
            let one_by_one: Vec<usize> =
                (0..patterns.len()).filter(|user| patterns[*user].matches(id)).collect();
            assert_eq!(users, one_by_one, "{id}");
        }
    }

    #[test]
    fn a_pattern_is_tried_once_for_all_its_users_and_only_on_ids_with_its_prefix() {
        let patterns: Vec<Pattern> =
            (0..100).map(|n| format!("{n:03}*").parse().unwrap()).collect();
        // Each of a hundred patterns has ten users.
        let users = (0..1_000).map(|user| (&patterns[user % 100], user));
        let mut together = Patterns::of(users);
        for n in 0..1_000 {
            let users = together.users_of(&format!("{:03}.{n:04}", n / 10));
            let expected: Vec<usize> = (0..10).map(|tens| tens * 100 + n / 10).collect();
            assert_eq!(users, expected);
        }
        assert_eq!(together.tried, 1_000);
    }
}
