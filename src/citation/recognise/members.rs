//! The other members of the tuple that contains an identifier.

use super::dates::{date_of_members, looks_like_a_date, one_spaced};
use super::dois::dois;
use super::pasted::Stated;
use crate::model::{DatasetName, Doi, Moment};

/// The characters that separate the members of a tuple.
const SEPARATORS: [char; 2] = [',', ';'];

/// The members beside the identifier, as far as they could be recognised.
#[derive(Default)]
pub(super) struct Members {
    pub doi: Option<Doi>,
    pub dataset: Option<DatasetName>,
    pub date: Option<Stated<Moment>>,
}

impl Members {
    /// The members beside an identifier that is between two texts; `None` if it is not in braces with
    /// at least one other member.
    pub fn around(before: &str, after: &str) -> Option<Self> {
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
        let dataset = first.and_then(|first| DatasetName::from_stored(first).ok());
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
