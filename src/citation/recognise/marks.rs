//! The identifiers in a passage, and where they are.

use std::ops::Range;

use super::Stated;
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
    prefixed_or_bare(text)
}

/// The identifiers of running text, in their order.
///
/// The last member of a tuple may be an identifier without its `DI:`.
pub(super) fn marks_of_running_text(text: &str) -> Vec<Mark> {
    let mut marks = prefixed_or_bare(text);
    marks.extend(bare_identifiers(text).filter(|bare| is_last_member(text, &bare.location)));
    marks.sort_by_key(|mark| mark.location.start);
    let mut end = 0;
    marks.retain(|mark| {
        let is_apart = mark.location.start >= end;
        end = end.max(mark.location.end);
        is_apart
    });
    marks
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
        marks = bare_identifiers(text).collect();
    }
    if marks.is_empty() { related } else { marks }
}

/// The identifier whose `DI:` begins at `start`; `None` if the text after it is not meant as one.
fn mark_at(text: &str, start: usize) -> Option<Mark> {
    let after = &text[start + 3..];
    let digits_from = start + 3 + (after.len() - after.trim_start().len());
    if let Some((digits, end)) = broken_digits(text, digits_from)
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
    is_begun.then_some(length)
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
fn bare_identifiers(text: &str) -> impl Iterator<Item = Mark> {
    let identifier = move |(start, word): (usize, &str)| {
        let is_of_something_else = text[..start].ends_with([':', '#']);
        let identifier =
            word.parse().ok().filter(|_| word.len() == DIGITS && !is_of_something_else)?;
        let location = start..start + word.len();
        Some(Mark { location, identifier: Stated::Read(identifier) })
    };
    words(text).filter_map(identifier)
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
    fn what_is_meant_as_an_identifier_and_cannot_be_read_is_reported() {
        let groups = format!("{} {} {}", &DIGITS[..8], &DIGITS[8..16], &DIGITS[16..24]);
        let cases = [
            (format!("DI:{}", &DIGITS[1..]), "!DI:…"),
            (format!("DI:{DIGITS}0"), "!DI:7…0"),
            (format!("DI:{}", DIGITS.replace('0', "O")), "!DI:763122197bfb3ffbfOda14adbfb1b13b"),
            (format!("DI:{groups}"), "!DI:76312219"),
            ("DI:763…".to_owned(), "!DI:763"),
            ("DI:7631...".to_owned(), "!DI:7631"),
        ];
        for (unreadable, expected) in cases {
            for text in
                [format!("DI:{DIGITS}, {unreadable}, x"), format!("{unreadable} DI:{DIGITS}")]
            {
                let mut shown = shown(marks_of_running_text(&text));
                let good = shown.iter().position(|shown| shown == "A").unwrap();
                shown.remove(good);
                assert_eq!(shown, [expected], "{text}");
            }
        }
    }

    #[test]
    fn other_words_are_not_identifiers() {
        let others = [
            format!("md5:{DIGITS}"),
            format!("https://x.org/{}/y", &DIGITS[1..]),
            DIGITS[1..].to_owned(),
            "DI: a 2001 inventory".to_owned(),
            "DI: 2001-01-05".to_owned(),
            "DI: 10.9999/x".to_owned(),
            "DI:…".to_owned(),
        ];
        for other in others {
            let text = format!("DI:{DIGITS} {other}");
            assert_eq!(shown(marks_of_running_text(&text)), ["A"], "{text}");
        }
    }

    #[test]
    fn the_last_member_of_a_tuple_counts_once_with_and_without_its_prefix() {
        let text = format!("{{ x, {DIGITS} }} {{ y, DI: {DIGITS} }} DI:{DIGITS} {DIGITS}");
        assert_eq!(shown(marks_of_running_text(&text)), ["A", "A", "A"]);
    }
}
