//! Finds the citations in a text, and the DOI and date that belong to each.

use std::collections::HashSet;
use std::ops::Range;

use super::dates::{
    adjacent_date, date_in_row, date_of_members, is_within_date, last_date, looks_like_a_date,
    nearest_date, one_spaced, preceding_date,
};
use super::dois::{doi_of_record, dois};
use super::marks::{Mark, marks_of_record, marks_of_running_text};
use super::passages::{Passage, PassageKind, passages};
use super::{Pasted, Stated};
use crate::model::{DatasetName, Doi, Moment};

/// Finds the citations in a text, in their order. A citation that a record repeats is returned
/// once.
///
/// Costs time in proportion to the length of the text.
///
/// # Examples
///
/// ```
/// use accession::citation::recognise::{Stated, find};
///
/// let text = "{ doi:10.9999/US/FOOL2, 5 January 2001, DI:763122197bfb3ffbf0da14adbfb1b13b }";
/// let found = find(text);
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].date, Some(Stated::Read("2001-01-05".parse()?)));
/// # Ok::<(), accession::model::TimestampError>(())
/// ```
pub fn find(text: &str) -> Vec<Pasted> {
    passages(text).iter().flat_map(citations_of).collect()
}

/// The bytes before and after an identifier in which its DOI and its date are looked for.
const NEAR_BYTES: usize = 2_000;

fn citations_of(passage: &Passage) -> Vec<Pasted> {
    match passage.kind {
        PassageKind::Record => citations_of_record(passage),
        PassageKind::RunningText => citations_of_running_text(&passage.text),
    }
}

/// The citations of a record. Repetitions are left out, unless they state another date.
fn citations_of_record(record: &Passage) -> Vec<Pasted> {
    let text = record.text.as_str();
    let marks = marks_of_record(text);
    let first_doi = || doi_of_record(&text[..text.floor_char_boundary(NEAR_BYTES)]);
    let doi = record.doi.clone().or_else(first_doi);
    let dates: Vec<_> =
        neighbours(&marks, text).map(|(mark, between)| date_at(mark, text, &between)).collect();
    let identifiers: HashSet<_> = marks.iter().map(|mark| &mark.identifier).collect();
    let dated = marks.iter().zip(&dates).filter(|(_, date)| date.is_some());
    let dated: HashSet<_> = dated.map(|(mark, _)| &mark.identifier).collect();
    // A title may state a date as well, so the date directly after an identifier takes precedence.
    let elsewhere = if identifiers.len() == 1 && dated.is_empty() { last_date(text) } else { None };
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for (Mark { identifier, .. }, date) in marks.iter().zip(dates) {
        let is_dated_elsewhere = date.is_none() && dated.contains(identifier);
        let date = date.or_else(|| elsewhere.clone());
        if !is_dated_elsewhere && seen.insert((identifier, format!("{date:?}"))) {
            let (identifier, doi) = (identifier.clone(), doi.clone());
            found.push(Pasted { identifier, doi, dataset: None, date });
        }
    }
    found
}

fn citations_of_running_text(text: &str) -> Vec<Pasted> {
    let marks = marks_of_running_text(text);
    neighbours(&marks, text).map(|(mark, between)| citation_at(mark, text, &between)).collect()
}

/// Each identifier, and the range between the previous one and the next one.
fn neighbours<'marks>(
    marks: &'marks [Mark],
    text: &str,
) -> impl Iterator<Item = (&'marks Mark, Range<usize>)> {
    let end = text.len();
    marks.iter().enumerate().map(move |(index, mark)| {
        let previous = index.checked_sub(1).map_or(0, |previous| marks[previous].location.end);
        let next = marks.get(index + 1).map_or(end, |next| next.location.start);
        (mark, previous..next)
    })
}

/// The text near an identifier, before and after it, between its neighbours.
fn near<'text>(mark: &Mark, text: &'text str, between: &Range<usize>) -> (&'text str, &'text str) {
    let Range { start, end } = mark.location;
    let from = text.ceil_char_boundary(between.start.max(start.saturating_sub(NEAR_BYTES)));
    let to = text.floor_char_boundary(between.end.min(end + NEAR_BYTES));
    (&text[from..start], &text[end..to])
}

/// The date that is stated directly beside an identifier.
fn date_at(mark: &Mark, text: &str, between: &Range<usize>) -> Option<Stated<Moment>> {
    let (before, after) = near(mark, text, between);
    let members = Members::around(before, after).unwrap_or_default();
    date_beside(members.date, before, after)
}

/// The citation of an identifier in running text.
fn citation_at(mark: &Mark, text: &str, between: &Range<usize>) -> Pasted {
    let (mut before, whole_after) = near(mark, text, between);
    // The text after the previous identifier belongs to that one, up to its full stop.
    if between.start > 0
        && mark.location.start - before.len() == between.start
        && let Some(end) = full_stop(before)
    {
        before = &before[end + 1..];
    }
    let after = &whole_after[..full_stop(whole_after).unwrap_or(whole_after.len())];
    let Members { doi, dataset, date } = Members::around(before, whole_after).unwrap_or_default();
    let doi = match (doi, &dataset) {
        (None, None) => dois(before).pop().or_else(|| dois(after).into_iter().next()),
        (doi, _) => doi,
    };
    let date = date_beside(date, before, after)
        .or_else(|| nearest_date(before, after))
        .or_else(|| date_in_row(before, whole_after));
    Pasted { identifier: mark.identifier.clone(), doi, dataset, date }
}

/// The date beside an identifier: of a statement within the same braces, of another member of its
/// tuple, of a statement after the braces, or before a comma.
fn date_beside(
    of_tuple: Option<Stated<Moment>>,
    before: &str,
    after: &str,
) -> Option<Stated<Moment>> {
    let inside = after.split('}').next().unwrap_or_default();
    adjacent_date(inside)
        .or(of_tuple)
        .or_else(|| adjacent_date(after))
        .or_else(|| preceding_date(before))
}

/// The location of the first full stop that ends a sentence, unlike the one in `Aug. 25`.
fn full_stop(text: &str) -> Option<usize> {
    text.match_indices('.').map(|(at, _)| at).find(|at| {
        let rest = &text[at + 1..];
        rest.starts_with([' ', '\n']) && !is_within_date(&text[..*at], rest)
    })
}

/// The characters that separate the members of a tuple.
const SEPARATORS: [char; 2] = [',', ';'];

/// The members beside the identifier, as far as they could be recognised.
#[derive(Default)]
struct Members {
    doi: Option<Doi>,
    dataset: Option<DatasetName>,
    date: Option<Stated<Moment>>,
}

impl Members {
    /// The members beside an identifier that is between two texts; `None` if it is not in braces with
    /// at least one other member.
    fn around(before: &str, after: &str) -> Option<Self> {
        let opens = before.rfind('{').filter(|at| !before[*at..].contains('}'))?;
        let closes = after.find('}')?;
        let before = one_spaced(&before[opens + 1..]);
        let after = one_spaced(&after[..closes]);
        if before.ends_with(char::is_alphanumeric) {
            return None;
        }
        let members = before.split(SEPARATORS).chain(after.split(SEPARATORS));
        let members: Vec<&str> = members.map(unquoted).collect();
        // The texts before and after the identifier count as one member each.
        if members.len() < 3 {
            return None;
        }
        let date = date_of_members(&members).map(Stated::Read);
        let unread = members.iter().find(|member| looks_like_a_date(member));
        let unread = unread.map(|member| Stated::Unreadable((*member).to_owned()));
        let doi = doi_of_member(&before).or_else(|| doi_of_member(&format!("{after},")));
        let doi = doi.or_else(|| dois(&before).into_iter().chain(dois(&after)).next());
        let first = members.first().filter(|first| doi.is_none() && !looks_like_a_date(first));
        let dataset = first.and_then(|first| first.parse::<DatasetName>().ok());
        Some(Members { doi, dataset, date: date.or(unread) })
    }
}

/// The DOI that is a member, with its punctuation: `doi:10.9999/a,b.`. Each member ends with a
/// separator.
fn doi_of_member(members: &str) -> Option<Doi> {
    let is_doi =
        |word: &&str| word.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("doi:"));
    let word = members.split(' ').find(is_doi)?;
    // If no space follows the separators, the date is in the same word.
    let is_date = |(at, _): &(usize, &str)| looks_like_a_date(&word[at + 1..]);
    let date = word.match_indices(SEPARATORS).find(is_date);
    let doi = match date {
        Some((at, _)) => &word[..at],
        None => word.strip_suffix(SEPARATORS)?,
    };
    doi.parse().ok()
}

/// A member without quotes around it.
fn unquoted(member: &str) -> &str {
    member.trim().trim_matches(['"', '\'', '“', '”', '‘', '’']).trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::citation::recognise::work;

    const DIGITS: &str = "763122197bfb3ffbf0da14adbfb1b13b";

    /// Texts of `size` repetitions that once made recognising quadratic, or could.
    fn texts(size: usize) -> Vec<String> {
        let items = vec![format!("\"DI:{DIGITS}, as held at 2001-01-05\""); size];
        vec![
            format!("[{}]", items.join(",")),
            format!("cff-version: 1\n{}", format!("v: DI:{DIGITS}\n").repeat(size)),
            format!(
                "{}{}",
                format!("{{ x, {DIGITS} }} ").repeat(size),
                format!("DI:{DIGITS} ").repeat(size)
            ),
            format!("DI:{DIGITS} {}", format!("{} ", &DIGITS[1..]).repeat(size)),
            "@a{".repeat(size * 10),
            format!("10.1000/a{}", ")".repeat(size * 30)),
            format!("https://doi.org/10.1000/a {DIGITS} ").repeat(size),
            "https://doi.org/10.1000/a/\n".repeat(size),
            "DI:".repeat(size * 10),
            "DI:7631 ".repeat(size),
            "<a".repeat(size * 15),
            format!("DI:{}", "a\n".repeat(size * 15)),
        ]
    }

    #[test]
    fn twice_the_text_costs_twice_the_steps() {
        for (text, twice) in texts(1_000).iter().zip(texts(2_000)) {
            let (steps, twice_steps) =
                (work::steps_of(|| find(text)), work::steps_of(|| find(&twice)));
            let shown = &text[..20];
            assert!(steps > 0, "{shown}: counts nothing");
            assert!(
                twice_steps <= 2 * steps + 10_000,
                "{shown}: {steps} steps, of twice the text {twice_steps}"
            );
        }
    }
}
