//! Finds new ids of a listing with blanks, if hardly any id that the dataset holds has one. Such a line mostly
//! has columns, or is the message of a program. The ids of a first listing are compared with each other.

use super::target::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Event, SourceLocation, Timestamp, plural, quoted};
use crate::registry::snapshot::{Position, SetCursor};
use crate::store::View;

/// New ids may have a blank if at least one in this many held ids has one.
const USUAL: u64 = 100;

/// The new ids with a blank.
#[derive(Debug, Default)]
pub(super) struct OddIds {
    /// The number of all new ids.
    added: u64,
    odd: Odd,
    /// The ids that look like a message rather than a name.
    bare: Odd,
}

/// The number of ids, and the first of them.
#[derive(Debug, Default)]
struct Odd {
    count: u64,
    /// The first id, as it is quoted in messages, and its source location.
    first: Option<(String, SourceLocation)>,
}

impl Odd {
    fn add(&mut self, id: &str, location: &SourceLocation) {
        self.count += 1;
        self.first.get_or_insert_with(|| (quoted(id).to_string(), location.clone()));
    }
}

impl OddIds {
    /// Counts an id that is added. An id that was not read from a line is the name of a file, or was typed.
    pub fn observe(&mut self, added: &Event) {
        let id = added.granule_id.as_str();
        self.added += 1;
        if let Some(location @ SourceLocation::Line { .. }) = &added.location
            && id.contains(' ')
        {
            self.odd.add(id, location);
            if is_prose(id) {
                self.bare.add(id, location);
            }
        }
    }

    /// The reason to reject the ids. `None` means that they are accepted.
    ///
    /// If a new id has a blank, costs a pass over the ids held before the change. The pass ends when enough ids
    /// with a blank are found.
    pub fn refusal(&self, target: &Target<'_>) -> Result<Option<Error>> {
        let (held, dataset) = (target.held(), &target.name);
        let odd = if held > 0 { &self.odd } else { &self.bare };
        let Some((example, location)) = &odd.first else { return Ok(None) };
        let (new, verb) =
            (plural(odd.count, "new id"), if odd.count == 1 { "has" } else { "have" });
        let message = if held > 0 {
            if are_usual(target)? {
                return Ok(None);
            }
            format!(
                "{new} {verb} a blank, and fewer than 1 % of the {held} that {dataset} holds have one: {example}"
            )
        } else {
            // If fewer than one in a hundred have blanks, they are names, as real collections have. If more
            // than half have blanks, the ids are of another kind.
            if odd.count * USUAL < self.added || odd.count * 2 > self.added {
                return Ok(None);
            }
            format!(
                "{} of the {} ids {verb} blanks between words: {example}",
                odd.count, self.added
            )
        };
        let hint =
            "write one id a line, without other columns and messages (inputs.md, Ids with blanks)";
        Ok(Some(Error::new(ErrorKind::NotAList, message).at(location.clone()).with_hint(hint)))
    }
}

/// Whether an id has a word of lower-case letters between blanks, and no extension like the name of a file.
fn is_prose(id: &str) -> bool {
    let extension = id.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_file = (1..=6).contains(&extension.len())
        && extension.bytes().all(|it| it.is_ascii_alphanumeric());
    let is_word = |word: &str| {
        let word = word.trim_matches(|it: char| it.is_ascii_punctuation());
        word.len() > 1 && word.bytes().all(|it| it.is_ascii_lowercase())
    };
    !is_file && id.trim().contains(' ') && id.split(' ').any(is_word)
}

/// Whether at least one in a hundred ids that were held before the change has a blank.
fn are_usual(target: &Target<'_>) -> Result<bool> {
    let (view, dataset): (&View, _) = (target.transaction, target.dataset);
    let last = target.last().unwrap_or(Timestamp::MIN);
    let mut with_blank = 0;
    for page in SetCursor::of(view, Position::held(dataset, last)) {
        with_blank += page?.iter().filter(|id| id.contains(' ')).count() as u64;
        if with_blank * USUAL >= target.held() {
            return Ok(true);
        }
    }
    Ok(false)
}
