//! Limits what a change may delete, add and replace. This guards against a listing that was truncated, or
//! belongs to another dataset. The default limits are in [`Limits`].
//!
//! A guard does not end a change. Its refusal is returned when the result is known ([`Target::accept`]), so
//! that it can name the set to expect.

use super::odd_ids::OddIds;
use super::target::{Conduct, Target};
use super::unlike::Likeness;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    ContentConflict, Event, EventKind, GranuleId, Limits, SourceLocation, plural, quoted,
};

/// The greatest number of granules that are named as examples of each of ingests, deletions and replacements.
pub(crate) const MAX_EXAMPLES: usize = 3;

/// The deletions, additions and replacements of a change, which are compared with limits.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// The limits of deletions and additions. `None` means that they are not guarded.
    limits: Option<Limits>,
    deleted: Side,
    added: Side,
    likeness: Likeness,
    /// The new ids that contain a blank. `None` means that they are not guarded.
    odd_ids: Option<OddIds>,
    replacements: Option<Replacements>,
}

/// The number of granules, and the first of them as text.
#[derive(Debug, Default)]
struct Side {
    count: u64,
    named: Vec<String>,
}

impl Guard {
    /// The guard of a change. Imports and reverts repeat what has happened, and have no guard. A pull follows a
    /// history, and has limits only.
    pub fn of(target: &Target<'_>, conduct: Conduct) -> Self {
        let limits = target.options.limits.map(|limits| limits.or(target.limits));
        match conduct {
            Conduct::Change(_) => Guard {
                limits,
                likeness: Likeness::with(target, limits.is_some()),
                odd_ids: limits.map(|_| OddIds::default()),
                replacements: Some(Replacements::default()),
                ..Guard::default()
            },
            Conduct::Pull(_) => Guard { limits, ..Guard::default() },
            Conduct::Computed | Conduct::Revert | Conduct::History => Guard::default(),
        }
    }

    /// Prepares the comparison of ids, before the first row is changed.
    pub fn begin(&mut self, target: &Target<'_>) -> Result<()> {
        self.likeness.begin(target)
    }

    /// Counts a granule that the change deletes or adds. Ids that were typed are not counted: the user means
    /// them.
    pub fn count(&mut self, target: &Target<'_>, event: &Event, kind: EventKind) -> Result<()> {
        let is_typed = matches!(event.location, Some(SourceLocation::Argument { .. }));
        if self.limits.is_none() || is_typed {
            return Ok(());
        }
        let name = || quoted(event.granule_id.as_str()).to_string();
        match kind {
            EventKind::Deleted => self.deleted.add(name),
            EventKind::Ingested => {
                self.added.add(name);
                self.likeness.compare(target, &event.granule_id)?;
                if let Some(odd_ids) = &mut self.odd_ids {
                    odd_ids.observe(event);
                }
            }
            // The engine knows which of these events replace something.
            EventKind::Described | EventKind::Replaced => {}
        }
        Ok(())
    }

    /// Counts a granule for which an event has different contents than recorded.
    pub fn count_replaced(&mut self, event: &Event, contradiction: &ContentConflict) {
        if let Some(replacements) = &mut self.replacements {
            replacements.add(event, contradiction);
        }
    }

    /// Whether the change replaces contents.
    pub fn has_replacements(&self) -> bool {
        self.replacements.as_ref().is_some_and(|it| it.replaced.count > 0)
    }

    /// The reason to reject the change. `None` means that it is accepted.
    pub fn refusal(&self, target: &Target<'_>) -> Result<Option<Error>> {
        let of_numbers = self.limits.and_then(|limits| self.refusal_of_numbers(target, limits));
        if let Some(refusal) = of_numbers.or_else(|| self.refusal_of_unlike(target)) {
            return Ok(Some(refusal));
        }
        if let Some(odd_ids) = &self.odd_ids
            && let Some(refusal) = odd_ids.refusal(target)?
        {
            return Ok(Some(refusal));
        }
        let limits = target.options.limits.unwrap_or_default().or(target.limits);
        let replacements = self.replacements.as_ref();
        Ok(replacements.and_then(|replacements| replacements.refusal(target, limits)))
    }

    fn refusal_of_numbers(&self, target: &Target<'_>, limits: Limits) -> Option<Error> {
        let (dataset, held) = (&target.name, target.held());
        let most = limits.deletions(held);
        if held > 0 && self.deleted.count > most {
            let deleted = self.deleted.count;
            let what = format!("{deleted} of the {held} granules of {dataset} would be deleted");
            return Some(self.deleted.refused(ErrorKind::TooManyDeletions, &what, most));
        }
        let most = limits.additions(held);
        if self.added.count > most {
            let added = plural(self.added.count, "granule");
            let what = format!("{added} would be added to the {held} of {dataset}");
            return Some(self.added.refused(ErrorKind::TooManyAdditions, &what, most));
        }
        None
    }

    fn refusal_of_unlike(&self, target: &Target<'_>) -> Option<Error> {
        let held = self.likeness.unlike()?;
        let (added, dataset) = (plural(self.added.count, "new id"), &target.name);
        let listed = self.added.listed(", ", " and ");
        let verb = if self.added.count == 1 { "does not look" } else { "do not look" };
        let message =
            format!("{added} {verb} like those that {dataset} holds, such as {held}: {listed}");
        Some(Error::new(ErrorKind::Unlike, message))
    }
}

impl Side {
    /// Counts a granule. Names it if it is one of the first.
    fn add(&mut self, name: impl FnOnce() -> String) {
        self.count += 1;
        if self.named.len() < MAX_EXAMPLES {
            self.named.push(name());
        }
    }

    /// The first granules, and the number of further ones.
    fn listed(&self, comma: &str, and: &str) -> String {
        let named = self.named.join(comma);
        match self.count - self.named.len() as u64 {
            0 => named,
            more => format!("{named}{and}{more} more"),
        }
    }

    fn refused(&self, kind: ErrorKind, what: &str, most: u64) -> Error {
        let listed = self.listed(", ", " and ");
        Error::new(kind, format!("{what}, more than the {most} that are allowed: {listed}"))
            .counting(self.count)
    }
}

/// The granules that get different contents than recorded. A granule that comes back after its deletion is
/// compared with its last contents.
#[derive(Debug, Default)]
struct Replacements {
    replaced: Side,
    first: Option<GranuleId>,
}

impl Replacements {
    fn add(&mut self, event: &Event, contradiction: &ContentConflict) {
        self.replaced.add(|| {
            let location = event.location.as_ref();
            let place = location.map_or(String::new(), |location| format!("{location}: "));
            format!("{place}{contradiction}")
        });
        self.first.get_or_insert_with(|| event.granule_id.clone());
    }

    /// The refusal, which names the first granules, if more are replaced than the limits allow for the granules
    /// held.
    fn refusal(&self, target: &Target<'_>, limits: Limits) -> Option<Error> {
        let (dataset, held) = (&target.name, target.held());
        let most = limits.replacements(held);
        let replaced = self.replaced.count;
        let granule_id = self.first.as_ref().filter(|_| replaced > most)?;
        let granules = plural(replaced, "granule");
        let question = if replaced >= held && replaced > 1 {
            "; everything that is held contradicts: is it another algorithm?"
        } else {
            ""
        };
        let listed = self.replaced.listed("; ", "; and ");
        let message = format!(
            "the files of {granules} of {dataset} would be replaced, and at most {most} may be: {listed}{question}"
        );
        let refusal = Error::new(ErrorKind::ContentContradicts, message).of(granule_id.clone());
        Some(refusal.counting(replaced))
    }
}
