//! The history of a dataset.

use std::io;

use super::{Registry, dataset_of};
use crate::model::{DatasetName, Instance};
use crate::{Error, Result};

impl Registry {
    /// Shows the instances of a dataset in order of time, each with the interval it was in force.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`]; [`Error::Output`]: what `show` returned.
    pub fn history(
        &mut self,
        dataset: &DatasetName,
        mut show: impl FnMut(Instance) -> io::Result<()>,
    ) -> Result<()> {
        self.reading(|read, _| {
            let (key, _) = dataset_of(read, dataset)?;
            read.each_instance_of(key, |instance| Ok::<_, Error>(show(instance)?))
        })
    }
}
