//! The facts from which a citation is written.

use super::datasets::Listed;
use super::select::{Selected, Selection};
use super::view::Snapshot;
use crate::model::{Instance, Set, Timestamp};
use crate::registry::error::{Error, Result};
use crate::store;

/// The facts from which a citation of a dataset, or of a subset of one, is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cited {
    /// The dataset, with what a reader of the citation is warned of: that it was withdrawn, or that
    /// its latest change is in the future.
    pub dataset: Listed,
    /// The set that is cited.
    pub set: Set,
    /// The other instances that were in force during the requested day.
    pub others: Vec<Instance>,
    /// The instance before the cited one. `None` means that the cited one is the first.
    pub previous: Option<Instance>,
    /// The instance after the cited one. `None` means that the cited one is the latest.
    pub next: Option<Instance>,
}

impl Snapshot {
    /// Returns the facts for the citation of an instance, or of a subset that was cited before.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`].
    pub fn cite(&self, selection: &Selection) -> Result<Cited> {
        let selected = self.select(selection)?;
        self.ask(|read| cited(read, selected))
    }
}

/// The facts for the citation of a set.
pub(in crate::registry) fn cited(read: &store::Snapshot, selected: Selected) -> Result<Cited> {
    let Selected { set, others } = selected;
    let name = set.dataset();
    let row = read.listed(name)?.ok_or_else(|| Error::NoDataset { name: name.clone() })?;
    let (key, dataset) = (row.key, Listed::from(row));
    let instance = set.instance();
    let previous = match Timestamp::from_micros(instance.timestamp.as_micros() - 1) {
        Some(before) => read.instance_at(key, before)?,
        None => None,
    };
    let next = match instance.until {
        Some(until) => read.instance_at(key, until)?,
        None => None,
    };
    Ok(Cited { dataset, set, others, previous, next })
}
