//! Finds identifiers and digests in a text, including those that are broken over lines, lack a digit, or are in
//! an address that selects a part of a set.

use std::ops::Range;

use percent_encoding::percent_decode_str;

use crate::model::{Digest, DigestPrefix, Identifier, strip_prefix_of_any_case};

/// A field of a citation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ParsedField<T> {
    /// The value.
    Read(T),
    /// The text of the field, which cannot be read.
    Unreadable(String),
}

/// The number of hexadecimal digits of an identifier.
const DIGITS: usize = 32;

/// The name of a set in a text, and its location, which includes its prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub location: Range<usize>,
    pub name: Name,
    /// The patterns that select a part of the set. `None` means the whole set.
    pub part: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    Identifier(ParsedField<Identifier>),
    Digest(ParsedField<DigestPrefix>),
}

impl Mark {
    fn identifier(location: Range<usize>, identifier: ParsedField<Identifier>) -> Self {
        Mark { location, name: Name::Identifier(identifier), part: None }
    }
}

/// The identifiers with a `DI:`, in their order. If there are none: the bare identifiers, else the related
/// ones, else the first digest.
pub(super) fn marks(text: &str) -> Vec<Mark> {
    let words = text.as_bytes().windows(2).enumerate();
    let prefixes = words.filter(|(_, word)| word.eq_ignore_ascii_case(b"DI"));
    let prefixes = prefixes.filter_map(|(start, _)| {
        let after = &text[start + 2..];
        let digits = after.strip_prefix(':').or_else(|| strip_prefix_of_any_case(after, "%3A"))?;
        Some((start, text.len() - digits.len()))
    });
    let (mut marks, mut related) = (Vec::new(), Vec::new());
    let mut end = 0;
    for (start, digits) in prefixes {
        let before = text[..start].chars().next_back();
        if start < end || before.is_some_and(char::is_alphanumeric) {
            continue;
        }
        if let Some(mark) = mark_at(text, start, digits) {
            end = mark.location.end;
            if before == Some('#') { related.push(mark) } else { marks.push(mark) }
        }
    }
    let digest = if marks.is_empty() { first_digest(text) } else { None };
    if marks.is_empty() {
        // Half of a digest that is broken over two lines is not an identifier.
        let is_in_digest = |mark: &Mark| {
            digest.as_ref().is_some_and(|(digest, _)| digest.contains(&mark.location.start))
        };
        marks = bare_identifiers(text);
        marks.retain(|mark| !is_in_digest(mark));
    }
    match (marks.is_empty(), related.is_empty()) {
        (false, _) => marks,
        (true, false) => related,
        (true, true) => {
            let digest = digest.map(|(location, digest)| (location, Name::Digest(digest)));
            digest.map(|(location, name)| Mark { location, name, part: None }).into_iter().collect()
        }
    }
}

/// The first digest in a text.
pub(super) fn first_digest(text: &str) -> Option<(Range<usize>, ParsedField<DigestPrefix>)> {
    let prefix = Digest::PREFIX;
    let words = text.as_bytes().windows(prefix.len()).enumerate();
    let mut starts = words.filter(|(start, word)| {
        word.eq_ignore_ascii_case(prefix.as_bytes())
            && text[start + prefix.len()..].starts_with(|c: char| c.is_ascii_hexdigit())
            // Such as the digest of a container image, `name@sha256:…`.
            && !text[..*start].ends_with(|before: char| before.is_alphanumeric() || before == '@')
    });
    let (start, _) = starts.next()?;
    let from = start + prefix.len();
    if let Some((digits, end)) = broken_digits(text, from, 64)
        && let Ok(digest) = format!("{prefix}{digits}").parse()
    {
        return Some((start..end, ParsedField::Read(digest)));
    }
    let rest = &text[from..];
    let end = from + rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
    let word = &text[start..end];
    let shown = || word.chars().take(80).collect();
    Some((
        start..end,
        word.parse().map_or_else(|_| ParsedField::Unreadable(shown()), ParsedField::Read),
    ))
}

/// The last digest in a text.
pub(super) fn last_digest(text: &str) -> Option<ParsedField<DigestPrefix>> {
    let (mut rest, mut last) = (text, None);
    while let Some((location, digest)) = first_digest(rest) {
        (rest, last) = (&rest[location.end..], Some(digest));
    }
    last
}

/// The identifier whose `DI:` is from `start` to `after`. `None` means that other text follows.
fn mark_at(text: &str, start: usize, after: usize) -> Option<Mark> {
    let digits_from = text.len() - text[after..].trim_start().len();
    if let Some((digits, end)) = broken_digits(text, digits_from, DIGITS)
        && let Ok(identifier) = digits.parse()
    {
        let query = query(&text[end..]);
        let mark = Mark::identifier(start..end + query.len(), ParsedField::Read(identifier));
        return Some(Mark { part: selected_part(query), ..mark });
    }
    let length = length_of_attempt(&text[digits_from..])?;
    let end = digits_from + length;
    let shown = text[digits_from..end].chars().take(40).collect::<String>();
    Some(Mark::identifier(start..end, ParsedField::Unreadable(format!("DI:{shown}"))))
}

/// Reads at most `all` digits from `start` on, which may be broken over lines or once by a space. Returns them
/// and their end.
fn broken_digits(text: &str, start: usize, all: usize) -> Option<(String, usize)> {
    let (mut digits, mut at) = (String::new(), start);
    loop {
        let length = hexadecimal_length(&text[at..], all - digits.len());
        digits.push_str(&text[at..at + length]);
        at += length;
        // The remaining digits may be on the next line, with or without a hyphen before the break.
        let rest = text[at..].strip_prefix('-').unwrap_or(&text[at..]);
        let rest = rest.trim_start_matches([' ', '\t', '\r']);
        let next = match rest.strip_prefix('\n') {
            Some(line) => line.trim_start_matches([' ', '\t', '>']),
            // A PDF reader may replace a line break by a space. It only counts as one before exactly the
            // missing digits.
            None if is_word_of(all - digits.len(), rest) => rest,
            None => break,
        };
        if digits.len() == all || length == 0 {
            break;
        }
        at = text.len() - next.len();
    }
    let is_whole = digits.len() == all && !text[at..].starts_with(char::is_alphanumeric);
    is_whole.then_some((digits, at))
}

/// The length of the text after a `DI:` that is meant as an identifier but cannot be read as one. `None` means
/// that it is other text.
fn length_of_attempt(text: &str) -> Option<usize> {
    /// Shorter words after `DI:` are ordinary words,
    const MIN_CHARS: usize = 16;
    /// unless they are the first digits of an identifier,
    const MIN_DIGITS: usize = 6;
    /// of which an ellipsis may follow even fewer.
    const MIN_DIGITS_BEFORE_ELLIPSIS: usize = 3;
    let length = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    let (word, rest) = text.split_at(length);
    let is_cut = rest.starts_with("..") || rest.starts_with('…');
    let min_digits = if is_cut { MIN_DIGITS_BEFORE_ELLIPSIS } else { MIN_DIGITS };
    let is_begun = length >= min_digits
        && hexadecimal_length(word, length) == length
        && word.bytes().any(|byte| byte.is_ascii_digit());
    (is_begun || word.chars().count() >= MIN_CHARS).then_some(length)
}

/// The number of hexadecimal digits at the beginning of a text, counted up to `max`.
fn hexadecimal_length(text: &str, max: usize) -> usize {
    text.bytes().take(max).take_while(u8::is_ascii_hexdigit).count()
}

/// Whether a text begins with a word of exactly `length` hexadecimal digits, and that length is unlikely by
/// chance.
fn is_word_of(length: usize, text: &str) -> bool {
    const MIN_CHARS: usize = 6;
    length >= MIN_CHARS
        && hexadecimal_length(text, length) == length
        && !text[length..].starts_with(char::is_alphanumeric)
}

/// The words of 32 hexadecimal digits, except those with another prefix, such as `md5:…`.
fn bare_identifiers(text: &str) -> Vec<Mark> {
    let (mut marks, mut start) = (Vec::new(), 0);
    for part in text.split_inclusive(|character: char| !character.is_alphanumeric()) {
        let word = part.trim_end_matches(|character: char| !character.is_alphanumeric());
        let is_of_something_else = text[..start].ends_with([':', '#']);
        if word.len() == DIGITS
            && !is_of_something_else
            && let Ok(identifier) = word.parse()
        {
            let location = start..start + word.len();
            marks.push(Mark::identifier(location, ParsedField::Read(identifier)));
        }
        start += part.len();
    }
    marks
}

/// The query that selects a part of a set.
pub(super) const SELECT: &str = "?select=";

/// The patterns in a query that selects a part. `None` means that there are none.
fn selected_part(query: &str) -> Option<Vec<String>> {
    let query: String = query.split_whitespace().collect();
    let patterns = query.strip_prefix('?')?.split('&').filter_map(|pattern| {
        let pattern = pattern.strip_prefix(&SELECT[1..]).filter(|pattern| !pattern.is_empty())?;
        Some(percent_decode_str(pattern).decode_utf8_lossy().into_owned())
    });
    Some(patterns.collect::<Vec<_>>()).filter(|patterns| !patterns.is_empty())
}

/// The identifier of a part, in the text after its address: `with the identifier …`.
pub(super) fn identifier_of_part(after: &str) -> Option<ParsedField<Identifier>> {
    after.match_indices("identifier").find_map(|(at, word)| {
        let is_stated = after[..at].trim_end().ends_with("the");
        match mark_at(after, at, at + word.len()).filter(|_| is_stated)?.name {
            Name::Identifier(identifier) => Some(identifier),
            Name::Digest(_) => None,
        }
    })
}

/// The query after an identifier that selects a part of its set. Empty if there is none. In a citation, it may
/// be broken over lines.
fn query(text: &str) -> &str {
    const MAX_BYTES: usize = 2_000;
    let ends = |c: char| matches!(c, ',' | ';' | ')' | '"' | '}' | '<' | '>');
    if !text.starts_with(SELECT) {
        return "";
    }
    let near = &text[..text.floor_char_boundary(MAX_BYTES)];
    let query = near.split(ends).next().unwrap_or_default();
    let after = near[query.len()..].strip_prefix(',').unwrap_or_default();
    let is_broken = query.lines().all(|line| !line.trim().contains(char::is_whitespace));
    if is_broken && after.trim_start().starts_with("as held ") {
        return query;
    }
    let query = text.split(|c: char| c.is_whitespace() || ends(c)).next();
    query.unwrap_or_default().trim_end_matches(['.', ':'])
}
