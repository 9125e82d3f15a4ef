//! Refuses a change that deletes or adds more than is likely, where it replaces the set of a dataset.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, EventKind, GranuleId, Limits, quoted};

/// What a change deletes and adds, to be compared with limits.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    /// The limits that were asked for, which come before those of the dataset.
    limits: Limits,
    deleted: Side,
    added: Side,
}

/// How many granules there are, and the first of them.
#[derive(Debug, Default)]
struct Side {
    count: u64,
    first: Vec<GranuleId>,
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
        };
        side.count += 1;
        if side.first.len() < MAX_NAMED {
            side.first.push(granule_id.clone());
        }
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
            let what = format!(
                "{} of the {held} granules of {} would be deleted",
                self.deleted.count, dataset
            );
            return Err(self.deleted.refused(ErrorKind::TooManyDeletions, what, most));
        }
        let most = limits.additions(held);
        if self.added.count > most {
            let what = format!(
                "{} granules would be added to the {held} of {}",
                self.added.count, dataset
            );
            return Err(self.added.refused(ErrorKind::TooManyAdditions, what, most));
        }
        Ok(())
    }
}

impl Side {
    fn refused(&self, kind: ErrorKind, what: String, most: u64) -> Error {
        let named: Vec<String> =
            self.first.iter().map(|id| quoted(id.as_str()).to_string()).collect();
        let more = match self.count - self.first.len() as u64 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Error::new(
            kind,
            format!("{what}, more than the {most} that are allowed: {}{more}", named.join(", ")),
        )
    }
}
