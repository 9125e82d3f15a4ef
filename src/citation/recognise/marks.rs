//! The identifiers in a passage, and where they are.

use std::ops::Range;

use super::pasted::Stated;
use super::work;
use crate::model::Identifier;

/// The hexadecimal digits of an identifier.
const DIGITS: usize = 32;

/// An identifier, and where it is; the location includes its prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub location: Range<usize>,
    pub identifier: Stated<Identifier>,
}

/// The identifiers of a record, in their order.
pub(super) fn marks_of_record(text: &str) -> Vec<Mark> {
    merged(prefixed_or_bare(text), garbled(text, Prefix::Required))
}

/// The identifiers of running text, in their order.
///
/// The last member of a tuple may be an identifier without its `DI:`.
pub(super) fn marks_of_running_text(text: &str) -> Vec<Mark> {
    let marks = merged(prefixed_or_bare(text), garbled(text, Prefix::Optional));
    let mut members = bare_identifiers(text);
    members.retain(|bare| is_last_member(text, &bare.location));
    merged(marks, members)
}

/// Merges two ordered lists in one pass. Marks of the second list that overlap one of the first are
/// left out.
fn merged(marks: Vec<Mark>, others: Vec<Mark>) -> Vec<Mark> {
    let mut merged: Vec<Mark> = Vec::with_capacity(marks.len() + others.len());
    let mut others = others.into_iter().peekable();
    for mark in marks {
        while let Some(other) = others.next_if(|other| other.location.start < mark.location.end) {
            work::count(1);
            let previous_end = merged.last().map_or(0, |previous| previous.location.end);
            if previous_end <= other.location.start && other.location.end <= mark.location.start {
                merged.push(other);
            }
        }
        work::count(1);
        merged.push(mark);
    }
    let end = merged.last().map_or(0, |last| last.location.end);
    merged.extend(others.inspect(|_| work::count(1)).filter(|other| other.location.start >= end));
    merged
}

/// The identifiers with a `DI:`; if there are none, the bare ones; if there are none of these
/// either, the related ones.
fn prefixed_or_bare(text: &str) -> Vec<Mark> {
    let bytes = text.as_bytes();
    let prefixes =
        bytes.windows(3).enumerate().filter(|(_, word)| word.eq_ignore_ascii_case(b"DI:"));
    let (mut marks, mut related) = (Vec::new(), Vec::new());
    let mut end = 0;
    for (start, _) in prefixes {
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

/// The identifier whose `DI:` begins at `start`; `None` if the text after it is not meant as one.
fn mark_at(text: &str, start: usize) -> Option<Mark> {
    let after = &text[start + 3..];
    let digits_from = start + 3 + (after.len() - after.trim_start().len());
    let read = broken_digits(text, digits_from).or_else(|| grouped_digits(text, digits_from));
    if let Some((digits, end)) = read
        && let Ok(identifier) = digits.parse()
    {
        return Some(Mark { location: start..end, identifier: Stated::Read(identifier) });
    }
    let length = length_of_attempt(&text[digits_from..])?;
    let end = digits_from + length;
    let shown = text[digits_from..end].chars().take(40).collect::<String>();
    let identifier = Stated::Unreadable(format!("DI:{shown}"));
    Some(Mark { location: start..end, identifier })
}

/// The 32 digits from `start` on, which may be broken over lines or once by a space; and their end.
fn broken_digits(text: &str, start: usize) -> Option<(String, usize)> {
    let (mut digits, mut at) = (String::new(), start);
    loop {
        let length = hexadecimal_length(&text[at..], DIGITS - digits.len());
        digits.push_str(&text[at..at + length]);
        at += length;
        // The rest of it may be on the next line, after a hyphen or without one.
        let rest = text[at..].strip_prefix('-').unwrap_or(&text[at..]);
        let rest = rest.trim_start_matches([' ', '\t', '\r']);
        let next = match rest.strip_prefix('\n') {
            Some(line) => line.trim_start_matches([' ', '\t', '>']),
            // A PDF reader may replace a line break by a space, which counts only before exactly the
            // missing digits.
            None if is_word_of(DIGITS - digits.len(), rest) => rest,
            None => break,
        };
        if digits.len() == DIGITS || length == 0 {
            break;
        }
        at = text.len() - next.len();
    }
    let is_whole = digits.len() == DIGITS && !text[at..].starts_with(char::is_alphanumeric);
    is_whole.then_some((digits, at))
}

/// The 32 digits from `start` on, in groups of equal length that are separated by one space or
/// hyphen; and their end.
fn grouped_digits(text: &str, start: usize) -> Option<(String, usize)> {
    let length = hexadecimal_length(&text[start..], DIGITS);
    if !matches!(length, 2 | 4 | 8 | 16) {
        return None;
    }
    let (mut digits, mut at) = (String::new(), start);
    loop {
        let group = text.get(at..at + length)?;
        digits.push_str(group);
        at += length;
        if hexadecimal_length(group, length) != length {
            return None;
        }
        if digits.len() == DIGITS {
            break;
        }
        at += text[at..].strip_prefix([' ', '-']).map(|_| 1)?;
    }
    (!text[at..].starts_with(char::is_alphanumeric)).then_some((digits, at))
}

/// The length of the text after a `DI:` that is meant as an identifier, although it cannot be read as
/// one; `None` if it is other text.
fn length_of_attempt(text: &str) -> Option<usize> {
    /// Shorter words after `DI:` are ordinary words,
    const MIN_CHARS: usize = 16;
    /// unless they are the first digits of an identifier,
    const MIN_DIGITS: usize = 6;
    /// of which an ellipsis may follow even fewer.
    const MIN_DIGITS_BEFORE_ELLIPSIS: usize = 3;
    let length = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    let (word, rest) = text.split_at(length);
    let min_digits = if rest.starts_with("..") || rest.starts_with('…') {
        MIN_DIGITS_BEFORE_ELLIPSIS
    } else {
        MIN_DIGITS
    };
    let is_begun = length >= min_digits
        && hexadecimal_length(word, length) == length
        && word.bytes().any(|byte| byte.is_ascii_digit());
    if word.chars().count() >= MIN_CHARS {
        return Some(length);
    }
    // Groups of digits that are not 32 in all.
    let groups = length_of_groups(text);
    let digits = text[..groups].bytes().filter(u8::is_ascii_hexdigit).count();
    let decimal_digits = text[..groups].bytes().filter(u8::is_ascii_digit).count();
    if digits >= MIN_CHARS && decimal_digits >= MIN_DIGITS {
        return Some(groups);
    }
    is_begun.then_some(length)
}

/// The length of the hexadecimal words at the beginning of a text that are separated by one space
/// or hyphen, as far as an identifier could reach.
fn length_of_groups(text: &str) -> usize {
    const MAX_BYTES: usize = 2 * DIGITS;
    let mut end = 0;
    loop {
        let from = if end == 0 { 0 } else { end + 1 };
        let Some(rest) = text.get(from..) else { return end };
        let length = hexadecimal_length(rest, MAX_BYTES);
        if length == 0 || rest[length..].starts_with(char::is_alphanumeric) {
            return end;
        }
        end = from + length;
        if end > MAX_BYTES || !text[end..].starts_with([' ', '-']) {
            return end;
        }
    }
}

/// The number of hexadecimal digits at the beginning of a text, counted up to `max`.
fn hexadecimal_length(text: &str, max: usize) -> usize {
    let length = text.bytes().take(max).take_while(u8::is_ascii_hexdigit).count();
    work::count(length + 1);
    length
}

/// Whether a text begins with a word of exactly `length` hexadecimal digits, if that is longer than
/// a word has by chance.
fn is_word_of(length: usize, text: &str) -> bool {
    const MIN_CHARS: usize = 6;
    length >= MIN_CHARS
        && hexadecimal_length(text, length) == length
        && !text[length..].starts_with(char::is_alphanumeric)
}

/// Whether a location is the last member of a tuple: between a separator and the closing brace.
fn is_last_member(text: &str, location: &Range<usize>) -> bool {
    text[location.end..].trim_start().starts_with('}')
        && text[..location.start].trim_end().ends_with([',', ';'])
}

/// The words of 32 hexadecimal digits.
fn bare_identifiers(text: &str) -> Vec<Mark> {
    let identifier = |(start, word): (usize, &str)| {
        let is_of_something_else = text[..start].ends_with([':', '#']);
        let identifier =
            word.parse().ok().filter(|_| word.len() == DIGITS && !is_of_something_else)?;
        let location = start..start + word.len();
        Some(Mark { location, identifier: Stated::Read(identifier) })
    };
    words(text).filter_map(identifier).collect()
}

/// The words of a text, and where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive(|character: char| !character.is_alphanumeric()).map(move |part| {
        work::count(part.len());
        let word = part.trim_end_matches(|character: char| !character.is_alphanumeric());
        let location = start;
        start += part.len();
        (location, word)
    })
}

/// Whether a garbled identifier counts without anything like a `DI:` before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefix {
    /// It does not count: records contain the checksums of files and the like.
    Required,
    /// It counts.
    Optional,
}

/// The words that are meant as identifiers, but cannot be read as one or follow a garbled `DI:`.
fn garbled(text: &str, prefix: Prefix) -> Vec<Mark> {
    let mark = |(start, word): (usize, &str)| {
        let read = word.parse::<Identifier>().ok().filter(|_| word.len() == DIGITS);
        if read.is_none() && !is_garbled_identifier(word) {
            return None;
        }
        let end = start + word.len();
        let (location, shown) = match garbled_prefix(&text[..start]) {
            Some(length) => (start - length..end, &text[start - length..end]),
            // A bare identifier that can be read is not garbled.
            None if read.is_some() || prefix == Prefix::Required => return None,
            None if is_joined(text, start, end) => return None,
            None => (start..end, word),
        };
        let identifier = read.map_or_else(|| Stated::Unreadable(shown.to_owned()), Stated::Read);
        Some(Mark { location, identifier })
    };
    words(text).filter_map(mark).collect()
}

/// Whether a word is an identifier with a few digits too many or too few, or with other letters
/// among them: text recognition reads `0` as `O`, for example.
fn is_garbled_identifier(word: &str) -> bool {
    const MAX_DIFFERENCE: usize = 4;
    const MAX_OTHER_LETTERS: usize = 2;
    /// A number, or a word of the letters A to F, is not an identifier.
    const MIN_OF_EACH: usize = 2;
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(|byte| matches!(byte, b'a'..=b'f' | b'A'..=b'F')).count();
    word.is_ascii()
        && word.len().abs_diff(DIGITS) <= MAX_DIFFERENCE
        && word.len() - digits - letters <= MAX_OTHER_LETTERS
        && digits >= MIN_OF_EACH
        && letters >= MIN_OF_EACH
}

/// The length of a garbled `DI:` at the end of a text: `Dl:`, `D1:`, `DI;`, `DI `, `DI:?`.
fn garbled_prefix(text: &str) -> Option<usize> {
    /// A longer prefix is other text.
    const MAX_BYTES: usize = 8;
    let near = &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_BYTES))..];
    let name = near.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '#' | '\n'));
    let start = name.len().checked_sub(2)?;
    let is_name = name.get(start..).is_some_and(|name| {
        ["DI", "Dl", "D1"].iter().any(|prefix| name.eq_ignore_ascii_case(prefix))
    });
    let is_apart = !name.get(..start)?.ends_with(|c: char| c.is_alphanumeric() || c == '#');
    (is_name && is_apart && name.len() < near.len()).then(|| near.len() - start)
}

/// Whether a word is a part of something longer: an address, a UUID, a file name, `md5:…`.
fn is_joined(text: &str, start: usize, end: usize) -> bool {
    let joins =
        |c: char| matches!(c, ':' | '#' | '/' | '-' | '_' | '=' | '@' | '%' | '.' | '+' | '\\');
    let mut after = text[end..].chars();
    text[..start].ends_with(joins)
        || (after.next().is_some_and(joins) && after.next().is_some_and(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &str = "763122197bfb3ffbf0da14adbfb1b13b";

    fn shown(marks: Vec<Mark>) -> Vec<String> {
        let shown = |mark: Mark| match mark.identifier {
            Stated::Read(identifier) => identifier.to_string().replace(DIGITS, "A"),
            Stated::Unreadable(text) => format!("!{}", text.replace(&DIGITS[1..], "…")),
        };
        marks.into_iter().map(shown).collect()
    }

    #[test]
    fn a_garbled_identifier_beside_a_good_one_is_reported() {
        let groups = |length: usize| -> String {
            let groups: Vec<&str> =
                (0..DIGITS.len()).step_by(length).map(|at| &DIGITS[at..at + length]).collect();
            groups.join(" ")
        };
        let cases = [
            (DIGITS[1..].to_owned(), "!…"),
            (format!("{DIGITS}0"), "!7…0"),
            (DIGITS.replace('0', "O"), "!763122197bfb3ffbfOda14adbfb1b13b"),
            (format!("Dl:{DIGITS}"), "A"),
            (format!("D1: {DIGITS}"), "A"),
            (format!("DI;{DIGITS}"), "A"),
            (format!("DI {DIGITS}"), "A"),
            (format!("DI:?{}", &DIGITS[1..]), "!DI:?…"),
            (format!("Dl:{}", &DIGITS[1..]), "!Dl:…"),
            (format!("DI:{}", groups(4)), "A"),
            (format!("DI:{}", groups(8).replace(' ', "-")), "A"),
            (
                format!("DI:{} {}", &DIGITS[..5], &DIGITS[6..]),
                "!DI:76312 197bfb3ffbf0da14adbfb1b13b",
            ),
            ("DI:763…".to_owned(), "!DI:763"),
            ("DI:7631...".to_owned(), "!DI:7631"),
        ];
        for (garbled, expected) in cases {
            for text in [format!("DI:{DIGITS}, {garbled}, x"), format!("{garbled} DI:{DIGITS}")] {
                let mut shown = shown(marks_of_running_text(&text));
                let good = shown.iter().position(|shown| shown == "A").unwrap();
                shown.remove(good);
                assert_eq!(shown, [expected], "{text}");
            }
        }
    }

    #[test]
    fn other_words_are_not_garbled_identifiers() {
        let others = [
            format!("md5:{DIGITS}"),
            format!("md5:{}", &DIGITS[1..]),
            format!("a1a1a1a1-{}", &DIGITS[4..]),
            format!("https://x.org/{}/y", &DIGITS[1..]),
            format!("{}.nc", &DIGITS[1..]),
            "DI: a 2001 inventory".to_owned(),
            "DI: 2001-01-05".to_owned(),
            "DI: 10.9999/x".to_owned(),
            "12345678901234567890123456789012345".to_owned(),
            "da39a3ee5e6b4b0d3255bfef95601890afd80709".to_owned(),
            "DI:…".to_owned(),
        ];
        for other in others {
            let text = format!("DI:{DIGITS} {other}");
            assert_eq!(shown(marks_of_running_text(&text)), ["A"], "{text}");
        }
        let record = format!("DI:{DIGITS} {} DI:?{}", &DIGITS[1..], &DIGITS[1..]);
        assert_eq!(shown(marks_of_record(&record)), ["A", "!DI:?…"]);
    }

    #[test]
    fn merging_keeps_the_order_and_leaves_out_what_overlaps() {
        let mark = |location: Range<usize>| {
            let identifier = Stated::Unreadable(format!("{location:?}"));
            Mark { location, identifier }
        };
        let merged = merged(
            vec![mark(10..20), mark(30..40)],
            vec![mark(0..5), mark(5..11), mark(12..14), mark(18..25), mark(25..30), mark(40..45)],
        );
        let locations: Vec<Range<usize>> = merged.into_iter().map(|mark| mark.location).collect();
        assert_eq!(locations, [0..5, 10..20, 25..30, 30..40, 40..45]);
    }
}
