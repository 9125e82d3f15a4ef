//! From an identifier to every dataset and interval in which it was in force.

use std::io;

use super::{Registry, dataset_of};
use crate::model::{DatasetName, Identifier, Instance, Moment};
use crate::{Error, Result};

/// What an identifier resolved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resolution {
    /// In how many intervals it was in force.
    pub intervals: u64,
    /// In how many of them it was in force at the time asked for; all, where none was.
    pub agreeing: u64,
}

impl Registry {
    /// Shows every interval in which an identifier was in force, by dataset and time; all of one
    /// dataset, if one is named.
    ///
    /// A day agrees with each identifier that was in force during it: a citation that morning was
    /// true, whatever came in the afternoon.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`]; [`Error::Output`]: what `show` returned. An identifier that is unknown
    /// is no error: it was in force in no interval.
    pub fn resolve(
        &mut self,
        identifier: Identifier,
        dataset: Option<&DatasetName>,
        at: Option<Moment>,
        mut show: impl FnMut(Instance) -> io::Result<()>,
    ) -> Result<Resolution> {
        self.reading(|read, _| {
            if let Some(name) = dataset {
                dataset_of(read, name)?;
            }
            let mut resolution = Resolution::default();
            read.each_instance_with(identifier, |instance| {
                if dataset.is_some_and(|name| *name != instance.dataset) {
                    return Ok::<_, Error>(());
                }
                resolution.intervals += 1;
                if at.is_none_or(|at| was_in_force_during(&instance, at)) {
                    resolution.agreeing += 1;
                }
                Ok(show(instance)?)
            })?;
            Ok(resolution)
        })
    }
}

fn was_in_force_during(instance: &Instance, at: Moment) -> bool {
    instance.timestamp <= at.last_instant()
        && instance.until.is_none_or(|until| at.first_instant() < until)
}
