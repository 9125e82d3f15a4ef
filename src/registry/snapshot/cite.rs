//! The facts from which a citation is written.

use super::select::{Selected, Selection};
use super::view::{Snapshot, dataset_of};
use crate::model::{Dataset, DatasetName, Identifier, Instance, Set, Timestamp};
use crate::registry::error::{Error, Result};
use crate::store;

/// The facts from which a citation of a dataset, or of a subset of one, is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cited {
    /// The dataset's record.
    pub record: Dataset,
    /// The set that is cited.
    pub set: Set,
    /// The other instances that were in force during the requested day.
    pub others: Vec<Instance>,
    /// The instance before the cited one. `None` means that the cited one is the first.
    pub previous: Option<Instance>,
    /// The instance after the cited one. `None` means that the cited one is the latest.
    pub next: Option<Instance>,
    /// The records of mirrors that held the same set.
    pub mirrors: Vec<Dataset>,
}

impl Snapshot {
    /// Returns the facts for the citation of an instance, or of a subset that was cited before.
    ///
    /// Each of `mirrors` must have held the same set at some time, which is checked.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`]; [`Error::NotIdentical`]: a mirror never held the set.
    pub fn cite(&self, selection: &Selection, mirrors: &[DatasetName]) -> Result<Cited> {
        let selected = self.select(selection)?;
        self.ask(|read| {
            for mirror in mirrors {
                self.dataset_of(read, mirror)?;
            }
            cited(read, selected, mirrors)
        })
    }
}

/// The facts for the citation of a set.
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
