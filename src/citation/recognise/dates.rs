//! The time for which a pasted citation cites its granules.

use super::Stated;
use super::date_spelling::{begins_with_month, compact_day, date, leading_date, trailing_date};
use super::work;
use crate::model::Moment;

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
