//! What stands beside an identifier in the braces of a tuple that somebody pasted.

use super::dates::{date_of_member, looks_like_a_date, one_spaced};
use super::dois::dois;
use super::pasted::Stated;
use crate::model::{DatasetName, Doi, Moment};

/// What stands between the members of a tuple.
const SEPARATORS: [char; 2] = [',', ';'];

/// The other members, as far as they are one of these.
#[derive(Default)]
pub(super) struct Members {
    pub doi: Option<Doi>,
    pub dataset: Option<DatasetName>,
    pub date: Option<Stated<Moment>>,
}

impl Members {
    /// The members of the tuple that an identifier between these two texts is one of: braces with
    /// another member in them.
    pub fn around(before: &str, behind: &str) -> Option<Self> {
        let opens = before.rfind('{').filter(|at| !before[*at..].contains('}'))?;
        let closes = behind.find('}')?;
        let before = one_spaced(&before[opens + 1..]);
        let behind = one_spaced(&behind[..closes]);
        if before.ends_with(char::is_alphanumeric) {
            return None;
        }
        let members = before.split(SEPARATORS).chain(behind.split(SEPARATORS));
        let members: Vec<&str> = members.map(bare).collect();
        // The text before the identifier is one member, that behind it another.
        if members.len() < 3 {
            return None;
        }
        let date = members.iter().find_map(|member| date_of_member(member)).map(Stated::Read);
        let unread = members.iter().find(|member| looks_like_a_date(member));
        let unread = unread.map(|member| Stated::Unreadable((*member).to_owned()));
        let doi = doi_of_member(&before).or_else(|| doi_of_member(&format!("{behind},")));
        let doi = doi.or_else(|| dois(&before).into_iter().chain(dois(&behind)).next());
        let first = members.first().filter(|first| doi.is_none() && !looks_like_a_date(first));
        let dataset = first.and_then(|first| DatasetName::from_stored(first).ok());
        Some(Members { doi, dataset, date: date.or(unread) })
    }
}

/// The DOI that is a member, with all its marks of punctuation, as `doi:10.9999/a,b.`; each member
/// ends with a separator.
fn doi_of_member(members: &str) -> Option<Doi> {
    let is_doi =
        |word: &&str| word.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("doi:"));
    let word = members.split(' ').find(is_doi)?;
    // Where no space stands behind the separators, the date is in the same word.
    let is_date = |(at, _): &(usize, &str)| looks_like_a_date(&word[at + 1..]);
    let date = word.match_indices(SEPARATORS).find(is_date);
    let doi = match date {
        Some((at, _)) => &word[..at],
        None => word.strip_suffix(SEPARATORS)?,
    };
    doi.parse().ok()
}

/// A member without the quotes that somebody put around it.
fn bare(member: &str) -> &str {
    member.trim().trim_matches(['"', '\'', '“', '”', '‘', '’']).trim()
}
