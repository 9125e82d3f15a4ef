//! The time for which a pasted citation cites its granules, and the spellings of a date.

use super::{Stated, work};
use crate::model::{Day, Moment};

const PHRASES: [&str; 2] = ["as held at ", "as held on "];

/// The date of a statement directly after an identifier: `DI:…, as held at 2001-01-05`.
pub(super) fn adjacent_date(after: &str) -> Option<Stated<Moment>> {
    /// A statement that ends later is not directly after the identifier.
    const MAX_BYTES: usize = 200;
    let after = one_spaced(&after[..after.floor_char_boundary(MAX_BYTES)]);
    let text = after.trim_start_matches([' ', ',', ')', ']', '}', '"', '.']);
    let phrases = PHRASES.into_iter().chain(["as of "]);
    let starts = |phrase: &&str| {
        text.get(..phrase.len()).is_some_and(|start| start.eq_ignore_ascii_case(phrase))
    };
    stated_date(&text[phrases.into_iter().find(starts)?.len()..])
}

/// The date of the last statement in a text.
pub(super) fn last_date(text: &str) -> Option<Stated<Moment>> {
    nearest_date(text, "")
}

/// The date of the statement nearest to an identifier between two texts.
pub(super) fn nearest_date(before: &str, after: &str) -> Option<Stated<Moment>> {
    let (before, after) = (one_spaced(before), one_spaced(after));
    let (lower_before, lower_after) = (before.to_ascii_lowercase(), after.to_ascii_lowercase());
    let last = PHRASES.iter().filter_map(|phrase| Some(lower_before.rfind(phrase)? + phrase.len()));
    let first = PHRASES.iter().filter_map(|phrase| Some((lower_after.find(phrase)?, phrase.len())));
    let last = last.max().and_then(|at| Some((before.len() - at, stated_date(&before[at..])?)));
    let first =
        first.min().and_then(|(at, length)| Some((at, stated_date(&after[at + length..])?)));
    // The distance of the statement before the identifier is measured from the end of its date.
    const DATE_BYTES: usize = 10;
    match (last, first) {
        (Some((back, last)), Some((on, first))) => {
            Some(if back.saturating_sub(DATE_BYTES) <= on { last } else { first })
        }
        (last, first) => last.or(first).map(|(_, date)| date),
    }
}

/// The date in another cell of a table row; `None` if there is not exactly one.
pub(super) fn date_in_row(before: &str, after: &str) -> Option<Stated<Moment>> {
    const SEPARATORS: [char; 2] = ['|', '\t'];
    let before = before.rsplit('\n').next().unwrap_or_default().split(SEPARATORS);
    let after = after.split('\n').next().unwrap_or_default().split(SEPARATORS);
    // The identifier is in the last cell of the first part and the first cell of the second.
    let cells = || before.clone().rev().skip(1).chain(after.clone().skip(1)).map(str::trim);
    let only = |dates: &mut dyn Iterator<Item = Moment>| match (dates.next(), dates.next()) {
        (Some(date), None) => Some(date),
        _ => None,
    };
    // Among dates in several spellings, the one that follows ISO 8601 counts.
    let iso = only(&mut cells().filter_map(|cell| cell.parse().ok()));
    iso.or_else(|| only(&mut cells().filter_map(date))).map(Stated::Read)
}

/// The date at the beginning of a text. Text that begins like a date but cannot be read as one is
/// returned as unreadable.
fn stated_date(text: &str) -> Option<Stated<Moment>> {
    let text = text.trim_start_matches(['"', '\'', '(']);
    if let Some((moment, length)) = leading_date(text) {
        return Some(match time_after(&text[length..]) {
            None => Stated::Read(moment),
            Some(time) => Stated::Unreadable(text[..length + time].to_owned()),
        });
    }
    if begins_with_month(text) {
        let shown = text.split([';', ')', '\n']).next().unwrap_or_default();
        let words: Vec<&str> = shown.split(' ').take(3).collect();
        let shown = words.join(" ");
        return Some(Stated::Unreadable(shown.trim_end_matches([',', '.']).to_owned()));
    }
    text.starts_with(|first: char| first.is_ascii_digit()).then(|| {
        let shown = text.split([',', ';', ')']).next().unwrap_or_default();
        Stated::Unreadable(shown.chars().take(30).collect())
    })
}

/// The length of a time of day at the beginning of a text, with what separates it from a date: a
/// date and a time without an offset are not an instant.
fn time_after(text: &str) -> Option<usize> {
    let rest = text.trim_start_matches([' ', ',']);
    let rest = rest.strip_prefix("at ").unwrap_or(rest);
    let is_of_time = |c: char| c.is_ascii_digit() || c == ':';
    let time = &rest[..rest.find(|c| !is_of_time(c)).unwrap_or(rest.len())];
    let hours = time.split(':').next().unwrap_or_default();
    let is_time = matches!(hours.len(), 1 | 2) && time.contains(':');
    is_time.then(|| text.len() - rest.len() + time.trim_end_matches(':').len())
}

/// Whether a member of a tuple is meant as a date, readable or not.
pub(super) fn looks_like_a_date(member: &str) -> bool {
    let is_of_numbers = member.starts_with(|first: char| first.is_ascii_digit())
        && !member.starts_with("10.")
        && member.contains(['-', '/', '.', ':', ' ']);
    let is_compact = || compact_day(member.trim_end_matches([',', ';'])).is_some();
    is_of_numbers || begins_with_month(member) || is_compact()
}

/// Words before a date that is not the time of the granules: the day of an access, or the end of
/// the period that the data cover.
const OTHER_DATES: [&str; 13] = [
    "accessed",
    "retrieved",
    "published",
    "updated",
    "issued",
    "modified",
    "on",
    "to",
    "until",
    "till",
    "through",
    "and",
    "-",
];

/// The date among the members of a tuple, which may have a name: `"date":"2001-01-05"`. A date with
/// a comma in it, `January 5, 2001`, is two members.
pub(super) fn date_of_members(members: &[&str]) -> Option<Moment> {
    let iso = members.iter().find_map(|member| member.parse().ok());
    let any = || members.iter().find_map(|member| date_of_member(member));
    let two = || members.windows(2).find_map(|two| date_of_member(&two.join(", ")));
    iso.or_else(any).or_else(two)
}

fn date_of_member(member: &str) -> Option<Moment> {
    if let Some(moment) = date(member) {
        return Some(moment);
    }
    let (name, value) = member.split_once(':')?;
    let is_quote = |c: char| matches!(c, '"' | '\'' | ' ');
    let name = name.trim_matches(is_quote).to_ascii_lowercase();
    let is_word = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_its_own = is_word && !OTHER_DATES.contains(&name.as_str());
    is_its_own.then(|| date(value.trim_matches(is_quote)))?
}

/// The date before the comma that precedes an identifier: `2001-01-05, DI:…`. The day of an access
/// is not returned.
pub(super) fn preceding_date(before: &str) -> Option<Stated<Moment>> {
    let before = before.trim_end().strip_suffix(',')?.trim_end();
    let (moment, start) = trailing_date(before)?;
    let (before, date) = before.split_at(start);
    // In running text, eight digits are a date only if they are alone between commas.
    let is_alone = || before.trim_end().ends_with([',', ';', '(', '[', '{']);
    if compact_day(date).is_some() && !is_alone() {
        return None;
    }
    let mut words =
        before.strip_suffix([' ', '\n']).unwrap_or(before).rsplit([' ', '\n', '(', '[', ';', ',']);
    let word = words.next().unwrap_or_default().trim_end_matches(':').to_ascii_lowercase();
    (!OTHER_DATES.contains(&word.as_str())).then_some(Stated::Read(moment))
}

/// Replaces runs of white space by one space, so that a phrase may be broken over lines. A date
/// that was broken after a hyphen is joined.
pub(super) fn one_spaced(text: &str) -> String {
    work::count(text.len());
    let mut spaced = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let is_broken_date = spaced.ends_with('-')
            && word.starts_with(|first: char| first.is_ascii_digit())
            && spaced.trim_end_matches('-').ends_with(|last: char| last.is_ascii_digit());
        if !spaced.is_empty() && !is_broken_date {
            spaced.push(' ');
        }
        spaced.push_str(word);
    }
    spaced
}

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
fn leading_date(text: &str) -> Option<(Moment, usize)> {
    let ends = (1..=text.len().min(MAX_BYTES)).rev().filter(|end| is_end_of_date(text, *end));
    ends.filter_map(|end| Some((date(&text[..end])?, end))).next()
}

/// Reads the date at the end of a string. Returns where it begins, too.
fn trailing_date(text: &str) -> Option<(Moment, usize)> {
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
fn compact_day(text: &str) -> Option<Day> {
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
fn begins_with_month(text: &str) -> bool {
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
