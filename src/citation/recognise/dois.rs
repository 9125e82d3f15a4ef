//! The DOIs in a passage, and DOIs that are broken over two lines, as text that is copied from a PDF
//! contains them.

use percent_encoding::percent_decode_str;

use super::dates::date;
use super::work;
use crate::model::Doi;

/// Finds the DOIs in a text, in their order, also those that are repeated.
///
/// Costs time in proportion to the length of the text.
pub fn dois(text: &str) -> Vec<Doi> {
    found_in(text).into_iter().map(|found| found.doi).collect()
}

/// The DOI of a record: the first that is an address, since a title may mention another DOI.
pub(super) fn doi_of_record(text: &str) -> Option<Doi> {
    let mut found = found_in(text);
    let address = found.iter().position(|found| found.is_address).unwrap_or_default();
    (!found.is_empty()).then(|| found.swap_remove(address).doi)
}

/// A DOI in a text.
struct Found {
    doi: Doi,
    /// Whether it follows the host of the resolver.
    is_address: bool,
}

fn found_in(text: &str) -> Vec<Found> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(at) = text[from..].find("10.").map(|at| from + at) {
        from = at + 3;
        let before = text[..at].chars().next_back();
        if before.is_some_and(|before| before.is_alphanumeric() || before == '.') {
            continue;
        }
        let word = doi_at(&text[at..]);
        from = at + word.len().max(3);
        let host = text.get(at.saturating_sub(8)..at).unwrap_or_default();
        let is_address = host.eq_ignore_ascii_case("doi.org/");
        let decoded = if is_address {
            // In an address, a question mark of the DOI itself is written as %3F.
            let word = word.split('?').next().unwrap_or_default();
            percent_decode_str(word).decode_utf8_lossy()
        } else {
            word.into()
        };
        found.extend(decoded.parse().map(|doi| Found { doi, is_address }));
    }
    found
}

/// The DOI at the beginning of a text, without the punctuation after it.
fn doi_at(text: &str) -> &str {
    /// Longer words are not DOIs.
    const MAX_BYTES: usize = 500;
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '"' | '“' | '”' | '{' | '}' | '|');
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    work::count(text.len());
    let mut doi = text.split(ends).next().unwrap_or_default();
    doi = doi.split("#DI:").next().unwrap_or_default();
    // "[10.9999/x](https://doi.org/10.9999/x)".
    doi = doi.split("](").next().unwrap_or_default();
    // Old DOIs contain "<1::AID-"; a tag begins with a letter or a slash.
    let is_tag = |(at, _): &(usize, &str)| {
        doi[at + 1..].starts_with(|c: char| c.is_alphabetic() || c == '/')
    };
    doi = doi.match_indices('<').find(is_tag).map_or(doi, |(at, _)| &doi[..at]);
    loop {
        let shorter = doi.trim_end_matches(['.', ';', ':', '\'', '’', '‘', '»', '_', '\\', '#']);
        let unopened = |open, close| {
            shorter.ends_with(close)
                && shorter.matches(close).count() > shorter.matches(open).count()
        };
        if !(unopened('(', ')') || unopened('[', ']') || unopened('<', '>')) {
            return shorter;
        }
        doi = &shorter[..shorter.len() - 1];
    }
}

/// The longest line end that is examined, in bytes.
const MAX_BYTES: usize = 500;

/// Returns how many bytes to skip after a line end, if `before`, the text before it, ends within a DOI
/// that continues after it; `None` if it does not.
///
/// The DOI continues
///
/// - after `10.9999/`, and after a `/`, `-` or `_`;
/// - after a full stop, if the next word contains a digit;
/// - after another character, if the next word contains a digit and the line is at least 40 characters
///   long, since a line of running text is broken only where it is full.
///
/// A date, a year, an identifier or an address is never the continuation of a DOI.
pub(super) fn continuation_of_doi(before: &str, after: &str) -> Option<usize> {
    let before = before.trim_end_matches(' ');
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(MAX_BYTES))..];
    let line = near.rsplit('\n').next().unwrap_or_default();
    let suffix = suffix_of_last_doi(line)?;
    let next_line = after.trim_start_matches([' ', '\t', '>']);
    let word = first_word(next_line);
    if !can_continue_a_doi(word) {
        return None;
    }
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let continues = match suffix.chars().next_back() {
        None | Some('/' | '-' | '_') => true,
        Some('.') => has_digit,
        Some(last) => last.is_alphanumeric() && has_digit && is_full(line),
    };
    continues.then(|| after.len() - next_line.len())
}

/// Whether a line is as long as a line that was broken because it was full.
fn is_full(line: &str) -> bool {
    const MIN_CHARS: usize = 40;
    line.chars().count() >= MIN_CHARS
}

/// The suffix, possibly empty, of the DOI with which a line ends: `US/FOOL2` of `doi:10.9999/US/FOOL2`.
fn suffix_of_last_doi(line: &str) -> Option<&str> {
    let word = line.rsplit(is_end_of_doi).next().unwrap_or_default();
    let start = word.rmatch_indices("10.").map(|(at, _)| at).find(|at| {
        !word[..*at].ends_with(|before: char| before.is_alphanumeric() || before == '.')
    })?;
    let (registrant, suffix) = word[start + 3..].split_once('/')?;
    let is_registrant = !registrant.is_empty()
        && registrant.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_registrant.then_some(suffix)
}

/// Whether a character cannot be within a DOI in running text.
fn is_end_of_doi(character: char) -> bool {
    character.is_whitespace() || matches!(character, ',' | '"' | '“' | '”' | '{' | '}' | '|' | '<')
}

/// The first word of a line, without the punctuation after it.
fn first_word(line: &str) -> &str {
    let near = &line[..line.floor_char_boundary(MAX_BYTES)];
    let word = near.split(is_end_of_doi).next().unwrap_or_default();
    word.trim_end_matches(['.', ';', ':', ')', ']', '\''])
}

fn can_continue_a_doi(word: &str) -> bool {
    /// A longer run of hexadecimal digits is an identifier.
    const MAX_DIGITS: usize = 27;
    let is_year = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    let is_year = is_year && word.bytes().all(|byte| byte.is_ascii_digit());
    let digits = word.bytes().take_while(u8::is_ascii_hexdigit).count();
    word.starts_with(char::is_alphanumeric)
        && !word.contains(':')
        && !is_year
        && digits <= MAX_DIGITS
        && date(word).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doi_continues_on_the_next_line() {
        let full = "Tilmes, C., FOO Level 2, https://doi.org/10.9999/US/FOOL";
        let cases = [
            ("https://doi.org/10.9999/", "x (DI:7)"),
            ("https://doi.org/10.9999/US/", "  > FOOL2.v2 (DI:7)"),
            ("doi:10.9999/US-", "FOOL (DI:7)"),
            ("doi:10.9999/US- ", "FOOL (DI:7)"),
            ("doi:10.9999/FOO_", "L2."),
            ("doi:10.9999/FOOL2.", "v2, 2001-01-05"),
            ("doi:10.9999/FOOL2.", "002, 2001-01-05"),
            (full, "2.v2 (DI:7)"),
            (full, "2), x"),
        ];
        for (before, after) in cases {
            let skipped = continuation_of_doi(before, after);
            assert_eq!(skipped, Some(after.len() - after.trim_start_matches([' ', '>']).len()));
        }
    }

    #[test]
    fn text_after_a_complete_doi_is_not_joined_to_it() {
        let full = "Tilmes, C., FOO Level 2, https://doi.org/10.9999/US/FOOL2.v2";
        let cases = [
            ("doi:10.9999/x", "v2"),
            ("doi:10.9999/x,", "2001-01-05"),
            ("doi:10.9999/x.", "Tilmes, C."),
            ("doi:10.9999/x.", "2001. Title"),
            ("10.9999", "x"),
            ("a/", "b"),
            ("1.10.9999/", "x"),
            ("doi:10.9999/x/", ""),
            ("doi:10.9999/x/", "\nx"),
            ("doi:10.9999/x/", "DI:763122197bfb3ffbf0da14adbfb1b13b"),
            (full, "763122197bfb3ffbf0da14adbfb1b13b"),
            (full, "(DI:763122197bfb3ffbf0da14adbfb1b13b)"),
            (full, "DI:763122197bfb3ffbf0da14adbfb1b13b"),
            (full, "2001-01-05, DI:7"),
            (full, "20010105, DI:7"),
            (full, "Accessed 2026-01-01"),
            (full, "https://x.org/1"),
            (full, "2001"),
        ];
        for (before, after) in cases {
            assert_eq!(continuation_of_doi(before, after), None, "{before}, {after}");
        }
    }
}
