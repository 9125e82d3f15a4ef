//! What a change may delete, add and replace: the guards against a listing that was cut, or is of another
//! dataset. The default limits are in [`Limits`].

use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    ContentConflict, DatasetName, Event, EventKind, GranuleId, Limits, plural, quoted,
};

/// The greatest number of granules that are named as examples of those ingested, of those deleted, and of
/// those of which other bytes are stated.
pub(crate) const MAX_EXAMPLES: usize = 3;

/// What a change deletes and adds, to be compared with limits.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    /// The limits that were asked for, which come before those of the dataset.
    limits: Limits,
    deleted: Side,
    added: Side,
}

/// How many granules there are, and the first of them in words.
#[derive(Debug, Default)]
struct Side {
    count: u64,
    named: Vec<String>,
}

/// How many granules an error names.
const MAX_NAMED: usize = 20;

impl Guard {
    /// Guards a change with limits.
    pub fn new(limits: Limits) -> Self {
        Guard { limits, ..Guard::default() }
    }

    /// Counts a granule that the change deletes or adds.
    pub fn count(&mut self, kind: EventKind, granule_id: &GranuleId) {
        let side = match kind {
            EventKind::Deleted => &mut self.deleted,
            EventKind::Ingested => &mut self.added,
            // The engine knows which of them replace something.
            EventKind::Described | EventKind::Replaced => return,
        };
        side.add(MAX_NAMED, || quoted(granule_id.as_str()).to_string());
    }

    /// Whether the change deletes and adds nothing.
    pub fn is_empty(&self) -> bool {
        self.deleted.count == 0 && self.added.count == 0
    }

    /// Refuses the change if it deletes or adds more than the limits allow. `own` are those of the
    /// dataset, which holds so many granules.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooManyDeletions`], [`ErrorKind::TooManyAdditions`].
    pub fn check(&self, dataset: &DatasetName, own: Limits, held: u64) -> Result<()> {
        let limits = self.limits.or(own);
        let most = limits.deletions(held);
        if held > 0 && self.deleted.count > most {
            let deleted = self.deleted.count;
            let what = format!("{deleted} of the {held} granules of {dataset} would be deleted");
            return Err(self.deleted.refused(ErrorKind::TooManyDeletions, &what, most));
        }
        let most = limits.additions(held);
        if self.added.count > most {
            let added = plural(self.added.count, "granule");
            let what = format!("{added} would be added to the {held} of {dataset}");
            return Err(self.added.refused(ErrorKind::TooManyAdditions, &what, most));
        }
        Ok(())
    }
}

impl Side {
    /// Counts a granule, and names it if it is one of the first.
    fn add(&mut self, most: usize, name: impl FnOnce() -> String) {
        self.count += 1;
        if self.named.len() < most {
            self.named.push(name());
        }
    }

    /// The first of them, and how many more there are.
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
    }
}

/// The granules of which other bytes are stated than are known, for the guard: a change that states them of
/// more granules than it may is refused, with the first of them. Of a granule that comes back after its
/// deletion, it is compared with what was known last. An import, a revert and the log of a primary state what
/// has happened, and are not guarded.
#[derive(Debug, Default)]
pub(super) struct Replacements {
    replaced: Side,
    first: Option<GranuleId>,
}

impl Replacements {
    /// Counts a granule of which an event states other bytes.
    pub fn add(&mut self, event: &Event, contradiction: &ContentConflict) {
        self.replaced.add(MAX_EXAMPLES, || {
            let location = event.location.as_ref();
            let place = location.map_or(String::new(), |location| format!("{location}: "));
            format!("{place}{contradiction}")
        });
        self.first.get_or_insert_with(|| event.granule_id.clone());
    }

    /// Refuses them if they are more than the limits allow of the granules that are held.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ContentContradicts`], naming the first of them.
    pub fn check(&self, dataset: &DatasetName, limits: Limits, held: u64) -> Result<()> {
        let most = limits.replacements(held);
        let replaced = self.replaced.count;
        let Some(granule_id) = self.first.as_ref().filter(|_| replaced > most) else {
            return Ok(());
        };
        let granules = plural(replaced, "granule");
        let question = match replaced >= held && replaced > 1 {
            true => "; everything that is held contradicts: is it another algorithm?",
            false => "",
        };
        let listed = self.replaced.listed("; ", "; and ");
        let message = format!(
            "{granules} of {dataset} would get other bytes than are known, and at most {most} may be replaced: \
             {listed}{question}"
        );
        Err(Error::new(ErrorKind::ContentContradicts, message).of(granule_id.clone()))
    }
}
