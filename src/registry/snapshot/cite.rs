//! What a citation is made of.

use super::select::{Selected, Selection, select};
use super::view::{Snapshot, dataset_of};
use crate::model::{Dataset, DatasetName, Identifier, Instance, Set, Timestamp};
use crate::registry::error::{Error, Result};
use crate::store;

/// What a citation of a dataset, or of a subset of one, is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cited {
    /// The dataset's record.
    pub record: Dataset,
    /// What is cited.
    pub set: Set,
    /// The other instances that were in force during the day asked for.
    pub others: Vec<Instance>,
    /// The instance before it. `None`: it is the first.
    pub previous: Option<Instance>,
    /// The instance after it. `None`: it is the latest.
    pub next: Option<Instance>,
    /// The records of mirrors that held the same set.
    pub mirrors: Vec<Dataset>,
}

impl Snapshot {
    /// What a citation of an instance is made of, or of a subset that was cited before.
    ///
    /// Each of `mirrors` must have held the same set at some time: that is looked up, not assumed.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::select`]; [`Error::NotIdentical`]: a mirror never held the set.
    pub fn cite(&self, selection: &Selection, mirrors: &[DatasetName]) -> Result<Cited> {
        self.ask(|read| cited(read, select(read, selection)?, mirrors))
    }
}

/// What a citation of a set is made of.
pub(in crate::registry) fn cited(
    read: &store::Snapshot,
    selected: Selected,
    mirrors: &[DatasetName],
) -> Result<Cited> {
    let Selected { set, others } = selected;
    let (dataset, record) = dataset_of(read, set.dataset())?;
    let instance = set.instance();
    let previous = match Timestamp::from_micros(instance.timestamp.as_micros() - 1) {
        Some(before) => read.instance_at(dataset, before)?,
        None => None,
    };
    let next = match instance.until {
        Some(until) => read.instance_at(dataset, until)?,
        None => None,
    };
    let mirrors = mirrors
        .iter()
        .map(|name| mirror_of(read, name, set.identifier()))
        .collect::<Result<_>>()?;
    Ok(Cited { record, set, others, previous, next, mirrors })
}

/// The record of a mirror, if it ever held the set.
fn mirror_of(
    read: &store::Snapshot,
    name: &DatasetName,
    identifier: Identifier,
) -> Result<Dataset> {
    let (dataset, record) = dataset_of(read, name)?;
    if read.instances_of_with(dataset, identifier)?.is_empty() {
        return Err(Error::NotIdentical { name: name.clone(), identifier });
    }
    Ok(record)
}
