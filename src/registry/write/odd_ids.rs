//! Whether new ids of a listing have blanks, and hardly any id that the dataset holds has: such a line mostly has
//! columns, or is the message of a program.

use super::target::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Event, SourceLocation, Timestamp, plural, quoted};
use crate::registry::snapshot::{Position, SetCursor};
use crate::store::View;

/// One id of so many that are held must have a blank, so that new ones may have one.
const USUAL: u64 = 100;

/// The new ids with a blank.
#[derive(Debug, Default)]
pub(super) struct OddIds {
    count: u64,
    /// The first, as messages have it, and where it was read.
    first: Option<(String, SourceLocation)>,
}

impl OddIds {
    /// Observes an id that is added. One that was not read from a line is the name of a file, or was typed.
    pub fn observe(&mut self, added: &Event) {
        let id = added.granule_id.as_str();
        if let Some(location @ SourceLocation::Line { .. }) = &added.location
            && id.contains(' ')
        {
            self.count += 1;
            self.first.get_or_insert_with(|| (quoted(id).to_string(), location.clone()));
        }
    }

    /// Why the ids are refused. `None` means that they are not.
    ///
    /// Costs a pass over the ids held before the change if a new one has a blank, up to the first that are
    /// sufficient.
    pub fn refusal(&self, target: &Target<'_>) -> Result<Option<Error>> {
        let held = target.held();
        let Some((example, location)) = self.first.as_ref().filter(|_| held > 0) else {
            return Ok(None);
        };
        if are_usual(target)? {
            return Ok(None);
        }
        let (new, dataset) = (plural(self.count, "new id"), &target.name);
        let verb = if self.count == 1 { "has" } else { "have" };
        let message = format!(
            "{new} {verb} a blank, and fewer than 1 % of the {held} that {dataset} holds have one: {example}"
        );
        let hint = "write one id a line, without other columns (inputs.md, Ids with blanks)";
        Ok(Some(Error::new(ErrorKind::NotAList, message).at(location.clone()).with_hint(hint)))
    }
}

/// Whether one of a hundred ids that were held before the change has a blank.
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
