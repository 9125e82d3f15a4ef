//! As of when a pasted citation says that its granules were held.

use super::parts::near_end;
use super::pasted::Stated;
use crate::model::Moment;

const PHRASES: [&str; 2] = ["as held at ", "as held on "];

/// The date of the statement right behind an identifier: `DI:…, as held at 2001-01-05`.
pub(super) fn adjacent_date(behind: &str) -> Option<Stated<Moment>> {
    let behind = one_spaced(&behind[..near_end(behind, 200)]);
    let text = behind.trim_start_matches([' ', ',', ')', ']', '}', '"', '.']);
    let phrases = PHRASES.into_iter().chain(["as of "]);
    let starts = |phrase: &&str| {
        text.get(..phrase.len()).is_some_and(|start| start.eq_ignore_ascii_case(phrase))
    };
    date_at(&text[phrases.into_iter().find(starts)?.len()..])
}

/// The date of the last statement in a text.
pub(super) fn date_in(text: &str) -> Option<Stated<Moment>> {
    date_near(text, "")
}

/// The date of the statement nearest to what stands between two texts.
pub(super) fn date_near(before: &str, behind: &str) -> Option<Stated<Moment>> {
    let (before, behind) = (one_spaced(before), one_spaced(behind));
    let (lower_before, lower_behind) = (before.to_ascii_lowercase(), behind.to_ascii_lowercase());
    let last = PHRASES.iter().filter_map(|phrase| Some(lower_before.rfind(phrase)? + phrase.len()));
    let first =
        PHRASES.iter().filter_map(|phrase| Some((lower_behind.find(phrase)?, phrase.len())));
    let last = last.max().and_then(|at| Some((before.len() - at, date_at(&before[at..])?)));
    let first = first.min().and_then(|(at, length)| Some((at, date_at(&behind[at + length..])?)));
    // The one before is measured from its date on, which is as long as a date is.
    const DATE_BYTES: usize = 10;
    match (last, first) {
        (Some((back, last)), Some((on, first))) => {
            Some(if back.saturating_sub(DATE_BYTES) <= on { last } else { first })
        }
        (last, first) => last.or(first).map(|(_, date)| date),
    }
}

/// The date in another cell of the row of a table, if one is there.
pub(super) fn date_in_row(before: &str, behind: &str) -> Option<Stated<Moment>> {
    const SEPARATORS: [char; 2] = ['|', '\t'];
    let before = before.rsplit('\n').next().unwrap_or_default().split(SEPARATORS);
    let behind = behind.split('\n').next().unwrap_or_default().split(SEPARATORS);
    // The cell of the identifier is the last of these, and the first of those.
    let cells = before.rev().skip(1).chain(behind.skip(1));
    let mut dates = cells.filter_map(|cell| cell.trim().parse().ok());
    dates.next().filter(|_| dates.next().is_none()).map(Stated::Read)
}

/// The date at the beginning of a text; what a digit begins and cannot be read is said.
fn date_at(text: &str) -> Option<Stated<Moment>> {
    let is_of_time =
        |c: char| c.is_ascii_digit() || matches!(c, 'T' | 't' | 'Z' | 'z' | ':' | '+' | '-' | '.');
    let word = |text: &str| {
        let end = text.find(|c: char| !is_of_time(c)).unwrap_or(text.len());
        text[..end].trim_end_matches(['.', ':', '-', '+']).to_owned()
    };
    let text = text.trim_start_matches(['"', '\'', '(']);
    if begins_with_month(text) {
        let shown = text.split([';', ')', '\n']).next().unwrap_or_default();
        let words: Vec<&str> = shown.split(' ').take(3).collect();
        return Some(Stated::Unreadable(words.join(" ").trim_end_matches([',', '.']).to_owned()));
    }
    let date = word(text);
    // "2001-01-05 10:00:00Z", with a space for the T.
    if let Some(rest) = text.get(date.len()..).and_then(|rest| rest.strip_prefix(' '))
        && word(rest).contains(':')
    {
        return match format!("{date} {}", word(rest)).parse() {
            Ok(moment) => Some(Stated::Read(moment)),
            Err(_) => Some(Stated::Unreadable(format!("{date} {}", word(rest)))),
        };
    }
    match date.parse() {
        Ok(moment) => Some(Stated::Read(moment)),
        Err(_) if date.starts_with(|first: char| first.is_ascii_digit()) => {
            let shown = text.split([',', ';', ')']).next().unwrap_or_default();
            Some(Stated::Unreadable(shown.chars().take(30).collect()))
        }
        Err(_) => None,
    }
}

/// Whether a text begins as `January 5, 2001` does, or `Jan. 2001`.
fn begins_with_month(text: &str) -> bool {
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
    let length = text.bytes().take(10).take_while(u8::is_ascii_alphabetic).count();
    let word = text[..length].to_ascii_lowercase();
    let is_month = length >= 3 && MONTHS.iter().any(|month| month.starts_with(&word));
    is_month
        && text[length..].trim_start_matches(['.', ' ']).starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a member of a tuple is there for a date, well written or not.
pub(super) fn looks_like_a_date(member: &str) -> bool {
    let is_of_numbers = member.starts_with(|first: char| first.is_ascii_digit())
        && !member.starts_with("10.")
        && member.contains(['-', '/', '.', ':', ' ']);
    is_of_numbers || begins_with_month(member)
}

/// Words before a date that is not that of the granules: of an access, or the end of what they cover.
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

/// The date of a member of a tuple, which may say that it is one: `"date":"2001-01-05"`.
pub(super) fn date_of_member(member: &str) -> Option<Moment> {
    if let Ok(moment) = member.parse() {
        return Some(moment);
    }
    let (name, value) = member.split_once(':')?;
    let is_quote = |c: char| matches!(c, '"' | '\'' | ' ');
    let name = name.trim_matches(is_quote).to_ascii_lowercase();
    let is_word = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_its_own = is_word && !OTHER_DATES.contains(&name.as_str());
    is_its_own.then(|| value.trim_matches(is_quote).parse().ok())?
}

/// `2001-01-05, DI:…`: the date before the comma before the identifier, but not that of an access.
pub(super) fn date_right_before(before: &str) -> Option<Stated<Moment>> {
    let before = before.trim_end().strip_suffix(',')?.trim_end();
    let mut words = before.rsplit([' ', '\n', '(', '[', ';', ',']);
    let date = words.next()?.parse().ok()?;
    let word = words.next().unwrap_or_default().trim_end_matches(':').to_ascii_lowercase();
    (!OTHER_DATES.contains(&word.as_str())).then_some(Stated::Read(date))
}

/// With one space wherever there is white space, so that phrases may be broken over lines; a date
/// that was broken behind a hyphen is whole again.
pub(super) fn one_spaced(text: &str) -> String {
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
