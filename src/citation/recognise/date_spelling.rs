//! The spellings of a date in a citation.

use crate::model::{Day, Moment};

/// The longest string that is read as a date, in bytes.
const MAX_BYTES: usize = 40;

/// The separators between the words of a date: `5 January 2001`, `January 5, 2001`, `5-Jan-2001`.
const BETWEEN_WORDS: [char; 4] = [' ', ',', '.', '-'];

/// Reads a date that is the whole string, in any spelling.
///
/// A day and a month in digits are read only after the year: `5/1/2001` could be either of two days.
pub(super) fn date(text: &str) -> Option<Moment> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let other = || numeric_day(text).or_else(|| compact_day(text)).or_else(|| day_in_words(text));
    text.parse().ok().or_else(|| other().map(Moment::Day))
}

/// Reads the date at the beginning of a string. Returns its length, too.
pub(super) fn leading_date(text: &str) -> Option<(Moment, usize)> {
    let ends = (1..=text.len().min(MAX_BYTES)).rev().filter(|end| is_end_of_date(text, *end));
    ends.filter_map(|end| Some((date(&text[..end])?, end))).next()
}

/// Reads the date at the end of a string. Returns where it begins, too.
pub(super) fn trailing_date(text: &str) -> Option<(Moment, usize)> {
    let first = text.ceil_char_boundary(text.len().saturating_sub(MAX_BYTES));
    let is_start = |start: &usize| {
        text.is_char_boundary(*start)
            && text[*start..].starts_with(char::is_alphanumeric)
            && (*start == 0 || text[..*start].ends_with([' ', '\n', '(', '[', '{', ';', ',']))
    };
    let starts = (first..text.len()).filter(is_start);
    starts.filter_map(|start| Some((date(&text[start..])?, start))).next()
}

/// Reads `20010105`: a year from 1900 to 2199, a month and a day.
pub(super) fn compact_day(text: &str) -> Option<Day> {
    let is_compact = text.len() == 8
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && ["19", "20", "21"].iter().any(|century| text.starts_with(century));
    if !is_compact {
        return None;
    }
    format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..]).parse().ok()
}

/// Reads `2001/01/05`, `2001.1.5` and `2001-1-5`.
fn numeric_day(text: &str) -> Option<Day> {
    let separator = ['/', '.', '-'].into_iter().find(|separator| text.contains(*separator))?;
    let numbers: Vec<&str> = text.split(separator).collect();
    let [year, month, day] = numbers[..] else { return None };
    let month = month.parse().ok().filter(|_| is_one_or_two_digits(month))?;
    day_of(year, month, day)
}

/// Reads `5 January 2001`, `January 5, 2001`, `2001 Jan 5` and `the 5th of January 2001`.
fn day_in_words(text: &str) -> Option<Day> {
    let words = text.split(BETWEEN_WORDS).filter(|word| !matches!(*word, "" | "of" | "the"));
    let words: Vec<&str> = words.collect();
    let [first, second, third] = words[..] else { return None };
    let (year, month, day) = match (month(first), month(second)) {
        (Some(month), _) => (third, month, second),
        (None, Some(month)) if first.len() == 4 => (first, month, third),
        (None, Some(month)) => (third, month, first),
        (None, None) => return None,
    };
    let ordinal = ["st", "nd", "rd", "th"].into_iter().find_map(|end| day.strip_suffix(end));
    day_of(year, month, ordinal.unwrap_or(day))
}

/// The day with a year of four digits, a month from 1 on, and a day of one or two digits.
fn day_of(year: &str, month: usize, day: &str) -> Option<Day> {
    let is_year = year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit());
    if !is_year || !is_one_or_two_digits(day) {
        return None;
    }
    format!("{year}-{month:02}-{day:0>2}").parse().ok()
}

fn is_one_or_two_digits(text: &str) -> bool {
    matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The number of a month, from 1 on, whose English name is given in full, or as three letters or
/// more.
fn month(name: &str) -> Option<usize> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let starts =
        |month: &str| month.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let index = MONTHS.iter().position(|month| starts(month))?;
    (name.len() >= 3).then_some(index + 1)
}

/// Whether a string begins with a month and a number, as `January 5, 2001` and `Jan. 2001` do.
pub(super) fn begins_with_month(text: &str) -> bool {
    let length = text.bytes().take(10).take_while(u8::is_ascii_alphabetic).count();
    let rest = text[length..].trim_start_matches(['.', ' ']);
    month(&text[..length]).is_some() && rest.starts_with(|first: char| first.is_ascii_digit())
}

/// Whether a full stop between two texts abbreviates a month: `25 Aug. 2022`, `Aug. 25, 2022`.
pub(super) fn is_within_date(before: &str, after: &str) -> bool {
    let start = before.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
    let precedes_digit = after.trim_start().starts_with(|first: char| first.is_ascii_digit());
    precedes_digit && month(&before[start..]).is_some()
}

/// Whether a date can end at this byte: not within a word, and not within a longer number.
fn is_end_of_date(text: &str, end: usize) -> bool {
    if !text.is_char_boundary(end) || !text[..end].ends_with(char::is_alphanumeric) {
        return false;
    }
    let mut rest = text[end..].chars();
    match rest.next() {
        Some('-' | '/' | '.' | ':' | '+') => !rest.next().is_some_and(|c| c.is_ascii_digit()),
        next => !next.is_some_and(char::is_alphanumeric),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_in_every_spelling_that_has_one_meaning() {
        let spellings = [
            "2001-01-05",
            "20010105",
            "2001/01/05",
            "2001.1.5",
            "2001-1-5",
            "5 January 2001",
            "05 Jan 2001",
            "January 5, 2001",
            "Jan. 5 2001",
            "5-JAN-2001",
            "2001 January 5",
            "5th of January 2001",
            "January 5th, 2001",
        ];
        for text in spellings {
            let read = date(text).map(|moment| moment.to_string());
            assert_eq!(read.as_deref(), Some("2001-01-05"), "{text}");
        }
    }

    #[test]
    fn a_string_that_is_not_one_day_is_not_read() {
        let others = [
            "",
            "5/1/2001",
            "05.01.2001",
            "January 2001",
            "Jan. 5",
            "30 February 2001",
            "20011305",
            "12345678",
            "2001-+1-05",
            "2001-001-05",
            "2001-13-05",
            "5 Ja 2001",
            "32 January 2001",
            "5 January 01",
            "5 January 2001 10",
            "January 5, 2001, the last day of the first week",
            "値 January 2001",
        ];
        for text in others {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn a_full_stop_after_an_abbreviated_month_is_within_a_date() {
        assert!(is_within_date("as held at 25 Aug", " 2022"));
        assert!(!is_within_date("as held at 25 Aug", " DI:7"));
        assert!(!is_within_date("as held by US", " 2022"));
    }

    #[test]
    fn a_date_is_read_at_either_end_of_a_string() {
        let leading = |text: &str| leading_date(text).map(|(moment, _)| moment.to_string());
        assert_eq!(leading("5 January 2001, by US").as_deref(), Some("2001-01-05"));
        assert_eq!(leading("2001-01-05 10:00:00Z).").as_deref(), Some("2001-01-05T10:00:00Z"));
        assert_eq!(leading("2001-01-05値"), None);
        assert_eq!(leading("2001-01-05-07"), None);
        assert_eq!(leading("200101051"), None);
        assert_eq!(leading("値"), None);
        let (moment, start) = trailing_date("x, January 5, 2001").unwrap();
        assert_eq!((moment.to_string().as_str(), start), ("2001-01-05", 3));
        assert_eq!(trailing_date("x2001-01-05"), None);
        assert_eq!(trailing_date("値値値値値値値値値値値値値値値値値値 2001"), None);
    }
}
