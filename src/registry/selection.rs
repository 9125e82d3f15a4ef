//! Which instance of a dataset somebody means, and its granules.

use std::io;

use super::{Registry, dataset_of};
use crate::model::{DatasetName, Granule, GranuleId, Identifier, Instance, Moment};
use crate::store::{DatasetKey, Read};
use crate::{Error, Result};

/// A set of granules, as a person names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// What a dataset held.
    Dataset {
        /// Which dataset.
        name: DatasetName,
        /// When; none: now. A day means what was in force when it ended.
        at: Option<Moment>,
    },
    /// The granules of an identifier.
    Identifier {
        /// Which one.
        identifier: Identifier,
        /// The dataset it must have been in force in; none: any, since the set is the same.
        dataset: Option<DatasetName>,
    },
}

/// The instance that a [`Selection`] means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// The instance.
    pub instance: Instance,
    /// The others that were in force during the day asked for, in order of time.
    pub others: Vec<Instance>,
}

impl Registry {
    /// Finds the instance that is meant. Costs a few look-ups by key, whatever the history's size.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`], [`Error::NoHistory`], [`Error::BeforeHistory`],
    /// [`Error::UnknownIdentifier`].
    pub fn select(&mut self, selection: &Selection) -> Result<Selected> {
        self.reading(|read, _| Ok(select(read, selection)?.1))
    }

    /// Shows every stay of the granules that a producer called so, whether they are held still or
    /// not; returns how many.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`]; [`Error::Output`]: what `show` returned.
    pub fn granules_of_producer(
        &mut self,
        dataset: &DatasetName,
        producer_granule: &GranuleId,
        mut show: impl FnMut(Granule) -> io::Result<()>,
    ) -> Result<u64> {
        self.reading(|read, _| {
            let (key, _) = dataset_of(read, dataset)?;
            let mut stays = 0;
            read.each_of_producer(key, producer_granule, |granule| {
                stays += 1;
                Ok::<_, Error>(show(granule)?)
            })?;
            Ok(stays)
        })
    }

    /// Shows the granules that are meant, in canonical order; returns their instance.
    ///
    /// # Errors
    ///
    /// As [`Registry::select`], and [`Error::Output`]: what `show` returned.
    pub fn granules(
        &mut self,
        selection: &Selection,
        mut show: impl FnMut(Granule) -> io::Result<()>,
    ) -> Result<Selected> {
        self.reading(|read, _| {
            let (key, selected) = select(read, selection)?;
            for granule in read.granules_held(key, selected.instance.timestamp) {
                show(granule?)?;
            }
            Ok(selected)
        })
    }
}

/// Finds the instance that is meant, and the key of its dataset.
pub(super) fn select(read: &Read<'_>, selection: &Selection) -> Result<(DatasetKey, Selected)> {
    match selection {
        Selection::Dataset { name, at } => {
            let (key, _) = dataset_of(read, name)?;
            let latest = read.latest_instance(key)?;
            let latest = latest.ok_or_else(|| Error::NoHistory { name: name.clone() })?;
            let selected = match at {
                None => Selected { instance: latest, others: Vec::new() },
                Some(at) => select_at(read, key, name, *at)?,
            };
            Ok((key, selected))
        }
        Selection::Identifier { identifier, dataset } => {
            if let Some(name) = dataset {
                dataset_of(read, name)?;
            }
            let mut last: Option<Instance> = None;
            read.each_instance_with(*identifier, |instance| {
                let is_asked_for = dataset.as_ref().is_none_or(|name| *name == instance.dataset);
                // The most recent, so that granules are shown as they were seen last.
                if is_asked_for
                    && last.as_ref().is_none_or(|last| last.timestamp <= instance.timestamp)
                {
                    last = Some(instance);
                }
                Ok::<_, Error>(())
            })?;
            let unknown =
                || Error::UnknownIdentifier { identifier: *identifier, dataset: dataset.clone() };
            let instance = last.ok_or_else(unknown)?;
            let (key, _) = dataset_of(read, &instance.dataset)?;
            Ok((key, Selected { instance, others: Vec::new() }))
        }
    }
}

fn select_at(read: &Read<'_>, key: DatasetKey, name: &DatasetName, at: Moment) -> Result<Selected> {
    let (first, last) = (at.first_instant(), at.last_instant());
    let Some(instance) = read.instance_at(key, last)? else {
        let begins = read.first_instance(key)?.map(|first| first.timestamp);
        return Err(match begins {
            Some(begins) => Error::BeforeHistory { name: name.clone(), at, begins },
            None => Error::NoHistory { name: name.clone() },
        });
    };
    let mut others = Vec::new();
    if instance.timestamp > first {
        others.extend(read.instance_at(key, first)?);
        others.extend(read.instances_between(key, first, last)?);
        others.retain(|other| other.timestamp != instance.timestamp);
    }
    Ok(Selected { instance, others })
}
