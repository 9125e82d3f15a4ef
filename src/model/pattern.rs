//! Patterns that select granule ids.

use std::str::FromStr;

use super::message::{ParseError, quoted};

/// A pattern that is matched against a whole granule id, as shells match file names.
///
/// # Syntax
///
/// `*` matches any number of characters, including none; `?` matches one character. `[abc]` and `[a-c]` match
/// one of the characters, `[!abc]` any other one. Every other character matches itself, so `[*]` matches a
/// star. Case is significant, and `/` is an ordinary character. A character is a Unicode scalar value. A
/// pattern has at most [`Pattern::MAX_BYTES`] bytes and no control characters.
///
/// # Normal form
///
/// In a run of `*` and `?`, the `?` come first, followed by at most one `*`. Patterns with the same normal form
/// are equal, and select the same ids.
///
/// # Total ordering
///
/// Ascending by the bytes of the normal form.
///
/// # Examples
///
/// ```
/// use accession::Pattern;
///
/// let pattern: Pattern = "FOOL2.v2.1**".parse()?;
/// assert_eq!(pattern.to_string(), "FOOL2.v2.1*");
/// assert!(pattern.matches("FOOL2.v2.12.bdc9dc33-38bd-403c-991e-48dcd4762ca7"));
/// # Ok::<(), accession::ParseError>(())
/// ```
// The derived comparisons use the text of the `glob::Pattern` first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    glob: glob::Pattern,
    /// The number of bytes before the first special character. Comparing them first rejects most ids.
    literal_bytes: usize,
}

impl Pattern {
    /// The greatest length of a pattern, in bytes.
    pub const MAX_BYTES: usize = 1_024;

    /// Returns the normal form.
    pub fn as_str(&self) -> &str {
        self.glob.as_str()
    }

    /// Whether the pattern matches a granule id.
    pub fn matches(&self, granule_id: &str) -> bool {
        let literal = &self.as_str().as_bytes()[..self.literal_bytes];
        granule_id.as_bytes().starts_with(literal) && self.glob.matches(granule_id)
    }
}

/// Converts runs of `*` and `?` to their normal form. Sets in brackets are not changed.
fn normal_form(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = rest.len() - rest.trim_start_matches(['*', '?']).len();
        let taken = match first {
            '*' | '?' => {
                let (run, has_star) = (&rest[..run], rest[..run].contains('*'));
                normal.extend(run.chars().filter(|character| *character == '?'));
                normal.extend(has_star.then_some('*'));
                run.len()
            }
            '[' => {
                let set = set_length(rest).unwrap_or(1);
                normal.push_str(&rest[..set]);
                set
            }
            other => {
                normal.push(other);
                other.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    normal
}

/// The length in bytes of the set at the start of `text`, including its brackets. A `]` that is the first
/// character of a set does not close it.
fn set_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('[')?;
    let inside = inside.strip_prefix('!').unwrap_or(inside);
    let first = inside.chars().next()?.len_utf8();
    let closes = inside[first..].find(']')?;
    Some(text.len() - inside.len() + first + closes + 1)
}

/// The sets of a pattern, with their brackets.
fn sets(pattern: &str) -> impl Iterator<Item = &str> {
    let mut rest = pattern;
    std::iter::from_fn(move || {
        rest = &rest[rest.find('[')?..];
        let (set, after) = rest.split_at(set_length(rest)?);
        rest = after;
        Some(set)
    })
}

/// Whether other programs read the set differently, as they do `[^a]` and `[[:alpha:]]`, or its range descends.
fn is_foreign(set: &str) -> bool {
    let inside = set.trim_start_matches('[').trim_end_matches(']');
    let characters: Vec<char> = inside.trim_start_matches('!').chars().collect();
    let descends = characters.windows(3).any(|range| range[1] == '-' && range[0] > range[2]);
    inside.starts_with('^') || set.contains("[:") || descends
}

impl FromStr for Pattern {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `""`: no characters
    /// - `"a\tb"`: a control character
    /// - `"[a"`, `"[]"`: a set that is not closed
    /// - `"[^a]"`, `"[z-a]"`, `"[[:alpha:]]"`: a set that is not supported
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = |message: String| Err(ParseError::new(message));
        let (bytes, given) = (text.len(), quoted(text));
        if text.is_empty() || bytes > Pattern::MAX_BYTES {
            let most = Pattern::MAX_BYTES;
            return refused(format!("a pattern has 1 to {most} bytes, but this one has {bytes}"));
        }
        if text.chars().any(char::is_control) {
            return refused(format!(
                "the pattern {given} contains a control character, which no granule id does"
            ));
        }
        if let Some(set) = sets(text).find(|set| is_foreign(set)) {
            let set = quoted(set);
            return refused(format!(
                "the set {set} in the pattern {given} is not supported: [!abc] is any other character, a range such as [a-c] ascends, and there are no character classes"
            ));
        }
        let normal = normal_form(text);
        let literal_bytes = normal.find(['*', '?', '[']).unwrap_or(normal.len());
        glob::Pattern::new(&normal)
            .map(|glob| Pattern { glob, literal_bytes })
            .or_else(|_| refused(format!("a [ in the pattern {given} is not closed by a ]")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule, implemented directly.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|skip| naive(rest, &text[skip..])),
            Some(('?', rest)) => !text.is_empty() && naive(rest, &text[1..]),
            Some((first, rest)) => text.first() == Some(first) && naive(rest, &text[1..]),
        }
    }

    #[test]
    fn every_short_pattern_matches_according_to_the_rule() {
        let words = |alphabet: &[char], longest: usize| {
            let mut words = vec![vec![]];
            let mut last = words.clone();
            for _ in 0..longest {
                let longer = |word: &Vec<char>, c: &char| [word.as_slice(), &[*c]].concat();
                last = last
                    .iter()
                    .flat_map(|word| alphabet.iter().map(move |c| longer(word, c)))
                    .collect();
                words.extend(last.clone());
            }
            words
        };
        let texts = words(&['a', 'é', '/'], 4);
        for pattern in words(&['a', 'é', '*', '?'], 5).into_iter().skip(1) {
            let parsed: Pattern = pattern.iter().collect::<String>().parse().unwrap();
            for text in &texts {
                let word: String = text.iter().collect();
                assert_eq!(parsed.matches(&word), naive(&pattern, text), "{parsed} {word}");
            }
        }
    }

    #[test]
    fn equal_patterns_have_the_same_normal_form() {
        for (text, normal) in [
            ("a**b", "a*b"),
            ("a*?*?b", "a??*b"),
            ("?*", "?*"),
            ("[*][?][[]", "[*][?][[]"),
            ("[]*]**", "[]*]*"),
            ("[!]**]x", "[!]**]x"),
            ("***", "*"),
        ] {
            let pattern: Pattern = text.parse().unwrap();
            assert_eq!(pattern.to_string(), normal);
            assert_eq!(normal.parse::<Pattern>().unwrap(), pattern);
        }
    }

    #[test]
    fn a_set_matches_one_character() {
        for (pattern, yes, no) in [
            ("[abc]", "b", "d"),
            ("[a-c]", "b", "d"),
            ("[a-a]", "a", "b"),
            ("[!a-c]", "d", "b"),
            ("[*]", "*", "a"),
            ("[?]", "?", "a"),
            ("[[]", "[", "a"),
            ("[]]", "]", "a"),
            ("[値-偤]", "偃", "a"),
            ("a/*", "a/b/c", "A/b"),
            (".*", ".hidden", "hidden"),
        ] {
            let parsed: Pattern = pattern.parse().unwrap();
            assert!(parsed.matches(yes) && !parsed.matches(no), "{pattern}");
        }
    }

    #[test]
    fn refused_patterns_have_a_reason() {
        assert!("a".repeat(1_024).parse::<Pattern>().is_ok());
        let refused = |text: &str| text.parse::<Pattern>().unwrap_err().to_string();
        assert!(refused("").ends_with("has 0"));
        assert!(refused(&"a".repeat(1_025)).ends_with("has 1025"));
        assert!(refused("a\tb").contains("a control character"));
        for text in ["[^F]*", "a[z-a]", "[[:alpha:]]*", "x[0-9][9-0]"] {
            assert!(refused(text).contains("is not supported"), "{text}");
        }
        for text in ["[a", "[]", "[!]", "[", "a[b*"] {
            assert!(refused(text).ends_with("is not closed by a ]"), "{text}");
        }
    }

    #[test]
    fn a_pattern_of_400_stars_is_matched_in_few_steps() {
        let pattern: Pattern = "a*".repeat(400).parse::<Pattern>().unwrap();
        assert!(!pattern.matches(&format!("{}b", "a".repeat(300))));
    }
}
