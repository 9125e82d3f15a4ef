//! The DOIs in a passage.

use percent_encoding::percent_decode_str;

use super::work;
use crate::model::Doi;

/// The DOIs of a text, in their order.
pub(super) fn dois(text: &str) -> Vec<Doi> {
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
