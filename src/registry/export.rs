//! The whole history of a dataset, change by change: all that is needed to rebuild it elsewhere.

use super::{Registry, dataset_of};
use crate::model::{Dataset, DatasetName, Event, Identifier, Instance};
use crate::{Error, Result};

/// A part of a history, in order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exported {
    /// The dataset, how many changes follow, and the identifier after the last.
    Head {
        /// Its record.
        dataset: Dataset,
        /// How many changes it has had.
        instances: u64,
        /// The identifier now in force; none without a change.
        latest: Option<Identifier>,
    },
    /// A granule that came or went with the change that follows.
    Event(Event),
    /// A change, after its events: what it led to.
    Change(Instance),
}

impl Registry {
    /// Shows the history of a dataset from its head on: of each change its events, ingests first
    /// and by id, and then the change. Memory: that of the history, not of the granules.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`]; what `show` returned; [`Error::Inconsistent`]: a granule came or went
    /// when the dataset had no change.
    pub fn export(
        &mut self,
        dataset: &DatasetName,
        mut show: impl FnMut(Exported) -> Result<()>,
    ) -> Result<()> {
        self.reading(|read, _| {
            let (key, record) = dataset_of(read, dataset)?;
            let mut instances = Vec::new();
            read.each_instance_of(key, |instance| {
                instances.push(instance);
                Ok::<_, Error>(())
            })?;
            show(Exported::Head {
                dataset: record,
                instances: instances.len() as u64,
                latest: instances.last().map(|latest| latest.identifier),
            })?;
            let mut changes = instances.into_iter().peekable();
            read.each_event(key, |event| {
                while let Some(done) = changes.next_if(|change| change.timestamp < event.at) {
                    show(Exported::Change(done))?;
                }
                if changes.peek().is_none_or(|change| change.timestamp != event.at) {
                    let what = format!(
                        "{} came or went at {}, when {dataset} had no change",
                        event.granule_id, event.at
                    );
                    return Err(Error::Inconsistent { what });
                }
                show(Exported::Event(event))
            })?;
            changes.try_for_each(|change| show(Exported::Change(change)))
        })
    }
}
