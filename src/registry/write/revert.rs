//! Makes a dataset hold an earlier set again.

use super::addition::{Conduct, Expected};
use super::lookup::Unknown;
use super::replace::{difference, ingest};
use super::single::{Applied, Target};
use super::stamp::Stamp;
use crate::model::{DatasetName, Identifier, Moment};
use crate::registry::error::Result;
use crate::registry::handle::{End, Registry};
use crate::registry::proof::Claim;
use crate::registry::snapshot::{GranulePages, GranulesWithin, Selection, select};

/// The set that a dataset is to hold again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revert {
    selection: To,
    note: Option<String>,
    is_dry_run: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum To {
    At(Moment),
    Identifier(Identifier),
}

impl Revert {
    /// The set that it held at a time. A day means its last instant.
    pub fn to(at: Moment) -> Self {
        Revert { selection: To::At(at), note: None, is_dry_run: false }
    }

    /// The set that it held when this identifier was in force.
    pub fn to_identifier(identifier: Identifier) -> Self {
        Revert { selection: To::Identifier(identifier), note: None, is_dry_run: false }
    }

    /// Sets the note that is stored with the change.
    pub fn note(&mut self, note: Option<String>) {
        self.note = note;
    }

    /// Rolls the change back after everything was checked and computed.
    pub fn dry_run(&mut self) {
        self.is_dry_run = true;
    }
}

impl Registry {
    /// Makes a dataset hold an earlier set again, in one new change, so the history contains both.
    /// The identifier is that of the earlier set. If the dataset already holds the set, nothing
    /// changes, which is not an error.
    ///
    /// Costs one pass over both sets, and the cost of [`Registry::change`] for the difference.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`](crate::Snapshot::select) in this dataset;
    /// [`Error::Store`](crate::Error::Store) of kind `damaged`: the granules of either set are not
    /// those of its identifier.
    pub fn revert(
        &self,
        dataset: &DatasetName,
        revert: &Revert,
        stamp: &Stamp<'_>,
    ) -> Result<Applied> {
        self.write(|transaction| {
            let target = Target::find(self, transaction, dataset, &Unknown::Refuse, stamp)?;
            let selection = match &revert.selection {
                To::At(at) => Selection::Dataset { name: dataset.clone(), at: Some(*at) },
                To::Identifier(identifier) => Selection::Identifier {
                    identifier: *identifier,
                    dataset: Some(dataset.clone()),
                },
            };
            let set = select(transaction, &selection)?.set;
            let wanted = GranulesWithin::of(transaction, GranulePages::of(transaction, &set)?);
            let wanted = wanted.map(|granule| granule.map(ingest));
            let (events, _) = difference(&target, wanted, Some(Claim::of(self, &set)))?;
            let expected = Expected {
                identifier: (!events.is_empty()).then(|| set.identifier()),
                note: revert.note.clone(),
                location: None,
            };
            let applied = target.apply(&events, Conduct::Revert, &expected, stamp)?;
            let is_kept = applied.instance.is_some() && !revert.is_dry_run;
            Ok((applied, if is_kept { End::Commit } else { End::RollBack }))
        })
    }
}
