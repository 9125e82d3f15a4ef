//! Where identifiers stand in a pasted text.

use std::ops::Range;

use super::pasted::Stated;
use crate::model::Identifier;

/// An identifier, and where it stands, its `DI:` included.
pub(super) struct Mark {
    pub location: Range<usize>,
    pub identifier: Stated<Identifier>,
}

/// Where a text has identifiers, in their order.
pub(super) fn marks(text: &str) -> Vec<Mark> {
    let bytes = text.as_bytes();
    let starts = bytes.windows(3).enumerate().filter(|(_, mark)| mark.eq_ignore_ascii_case(b"DI:"));
    let (mut marks, mut related) = (Vec::new(), Vec::new());
    let mut end = 0;
    for (start, _) in starts {
        let before = text[..start].chars().next_back();
        if start < end || before.is_some_and(char::is_alphanumeric) {
            continue;
        }
        if let Some(mark) = mark_at(text, start) {
            end = mark.location.end;
            if before == Some('#') { related.push(mark) } else { marks.push(mark) }
        }
    }
    if marks.is_empty() {
        marks = bare_identifiers(text);
    }
    if marks.is_empty() { related } else { marks }
}

/// The mark whose `DI:` stands at `start`; none if nothing behind it looks like an identifier.
fn mark_at(text: &str, start: usize) -> Option<Mark> {
    /// Shorter words behind `DI:` are words,
    const MIN_CHARS: usize = 16;
    /// but for the beginning of an identifier.
    const MIN_DIGITS: usize = 6;
    let behind = &text[start + 3..];
    let digits_from = start + 3 + (behind.len() - behind.trim_start().len());
    let (mut digits, mut at) = (String::new(), digits_from);
    loop {
        let word = text[at..].bytes().take_while(u8::is_ascii_hexdigit).take(32 - digits.len());
        let length = word.count();
        digits.push_str(&text[at..at + length]);
        at += length;
        // The rest of it may stand on the next line, behind a hyphen or none.
        let rest = text[at..].strip_prefix('-').unwrap_or(&text[at..]);
        let rest = rest.trim_start_matches([' ', '\t', '\r']);
        let behind = match rest.strip_prefix('\n') {
            Some(line) => line.trim_start_matches([' ', '\t', '>']),
            // A line break that a reader of PDF made a space of: only before just what lacks.
            None if is_word_of(32 - digits.len(), rest) => rest,
            None => break,
        };
        if digits.len() == 32 || length == 0 {
            break;
        }
        at = text.len() - behind.len();
    }
    let ends = !text[at..].starts_with(char::is_alphanumeric);
    if let (true, Ok(identifier)) = (ends, digits.parse::<Identifier>()) {
        return Some(Mark { location: start..at, identifier: Stated::Read(identifier) });
    }
    let word = &text[digits_from..];
    let word = &word[..word.find(|c: char| !c.is_alphanumeric()).unwrap_or(word.len())];
    let is_begun = word.len() >= MIN_DIGITS
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && word.bytes().any(|byte| byte.is_ascii_digit());
    if word.chars().count() < MIN_CHARS && !is_begun {
        return None;
    }
    let shown = format!("DI:{}", word.chars().take(40).collect::<String>());
    let location = start..digits_from + word.len();
    Some(Mark { location, identifier: Stated::Unreadable(shown) })
}

/// Adds the last members of tuples that are an identifier without its `DI:`.
pub(super) fn add_bare_members(marks: &mut Vec<Mark>, text: &str) {
    for bare in bare_identifiers(text) {
        let is_last = text[bare.location.end..].trim_start().starts_with('}');
        let is_member = text[..bare.location.start].trim_end().ends_with([',', ';']);
        let next = marks.partition_point(|mark| mark.location.start < bare.location.start);
        let is_apart = next == 0 || marks[next - 1].location.end <= bare.location.start;
        if is_last
            && is_member
            && is_apart
            && marks.get(next).is_none_or(|mark| mark.location != bare.location)
        {
            marks.insert(next, bare);
        }
    }
}

/// Whether a text starts with a word of that many hexadecimal characters, more than a word has by
/// chance.
fn is_word_of(length: usize, text: &str) -> bool {
    const MIN_CHARS: usize = 6;
    let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    length >= MIN_CHARS && digits == length && !text[digits..].starts_with(char::is_alphanumeric)
}

/// Words of 32 hexadecimal characters.
fn bare_identifiers(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut start = 0;
    for part in text.split_inclusive(|character: char| !character.is_alphanumeric()) {
        let word = part.trim_end_matches(|character: char| !character.is_alphanumeric());
        if let (32, Ok(identifier)) = (word.len(), word.parse())
            && !text[..start].ends_with([':', '#'])
        {
            let location = start..start + word.len();
            marks.push(Mark { location, identifier: Stated::Read(identifier) });
        }
        start += part.len();
    }
    marks
}
