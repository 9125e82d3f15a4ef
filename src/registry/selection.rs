//! Which instance of a dataset somebody means, and its granules.

use std::io;

use super::{Registry, dataset_of};
use crate::model::{
    Criteria, DatasetName, Granule, GranuleId, Identifier, Instance, Moment, Pattern, Subset,
    Timestamp,
};
use crate::store::{DatasetKey, Read, SubsetKey};
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
    /// The granules of an identifier: of an instance, or of a part that was cited.
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
    /// The instance; of a part, with the identifier and the count of the part.
    pub instance: Instance,
    /// The others that were in force during the day asked for, in order of time.
    pub others: Vec<Instance>,
    /// The part, where the identifier is that of one.
    pub part: Option<Subset>,
}

/// An instance or a part of one, found in the store.
pub(super) struct Found {
    pub dataset: DatasetKey,
    pub selected: Selected,
    /// The row of the part.
    part: Option<SubsetKey>,
}

impl Registry {
    /// Finds the instance that is meant. Costs a few look-ups by key, whatever the history's size.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`], [`Error::NoHistory`], [`Error::BeforeHistory`],
    /// [`Error::UnknownIdentifier`].
    pub fn select(&mut self, selection: &Selection) -> Result<Selected> {
        self.reading(|read, _| Ok(select(read, selection)?.selected))
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
            let found = select(read, selection)?;
            for granule in found.granules(read) {
                show(granule?)?;
            }
            Ok(found.selected)
        })
    }
}

impl Found {
    /// The granules, in canonical order, a page in memory at a time.
    pub fn granules<'read>(
        &self,
        read: &'read Read<'_>,
    ) -> Box<dyn Iterator<Item = Result<Granule>> + 'read> {
        let (dataset, at) = (self.dataset, self.selected.instance.timestamp);
        match (self.part, &self.selected.part) {
            (Some(part), Some(Subset { criteria: Criteria::Named, .. })) => {
                named_granules(read, dataset, at, part)
            }
            (_, Some(Subset { criteria: Criteria::Patterns(patterns), .. })) => {
                selected_granules(read, dataset, at, patterns.clone())
            }
            _ => Box::new(read.granules_held(dataset, at).map(|granule| Ok(granule?))),
        }
    }
}

/// The granules held at an instant that one of the patterns selects, in canonical order.
pub(super) fn selected_granules<'read>(
    read: &'read Read<'_>,
    dataset: DatasetKey,
    at: Timestamp,
    patterns: Vec<Pattern>,
) -> Box<dyn Iterator<Item = Result<Granule>> + 'read> {
    let is_selected = move |granule: &Granule| {
        patterns.iter().any(|pattern| pattern.matches(granule.granule_id.as_str()))
    };
    let held = read.granules_held(dataset, at);
    Box::new(
        held.filter(move |held| held.as_ref().map_or(true, &is_selected)).map(|held| Ok(held?)),
    )
}

/// The granules that a part names, in canonical order.
pub(super) fn named_granules<'read>(
    read: &'read Read<'_>,
    dataset: DatasetKey,
    at: Timestamp,
    part: SubsetKey,
) -> Box<dyn Iterator<Item = Result<Granule>> + 'read> {
    Box::new(read.named_granules(part).map(move |named| {
        let named = named?;
        let held = read.granule_held(dataset, &named, at)?;
        let what = format!("{named} was cited as held at {at}, and was not");
        held.ok_or(Error::Inconsistent { what })
    }))
}

/// Finds the instance that is meant.
pub(super) fn select(read: &Read<'_>, selection: &Selection) -> Result<Found> {
    match selection {
        Selection::Dataset { name, at } => {
            let (dataset, _) = dataset_of(read, name)?;
            let latest = read.latest_instance(dataset)?;
            let latest = latest.ok_or_else(|| Error::NoHistory { name: name.clone() })?;
            let selected = match at {
                None => Selected { instance: latest, others: Vec::new(), part: None },
                Some(at) => select_at(read, dataset, name, *at)?,
            };
            Ok(Found { dataset, selected, part: None })
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
            if let Some(instance) = last {
                let (dataset, _) = dataset_of(read, &instance.dataset)?;
                let selected = Selected { instance, others: Vec::new(), part: None };
                return Ok(Found { dataset, selected, part: None });
            }
            let parts = read.subsets_with(*identifier)?;
            let is_asked_for =
                |part: &Subset| dataset.as_ref().is_none_or(|name| *name == part.dataset);
            match parts.into_iter().find(|(_, part)| is_asked_for(part)) {
                Some((key, part)) => found_part(read, key, part),
                None => {
                    let dataset = dataset.clone();
                    Err(Error::UnknownIdentifier { identifier: *identifier, dataset })
                }
            }
        }
    }
}

/// A part, with the instance it was first cited of.
pub(super) fn found_part(read: &Read<'_>, key: SubsetKey, part: Subset) -> Result<Found> {
    let (dataset, _) = dataset_of(read, &part.dataset)?;
    let instance = read.instance_at(dataset, part.timestamp)?;
    let instance = instance.filter(|instance| instance.timestamp == part.timestamp);
    let missing = || Error::Inconsistent {
        what: format!(
            "a part of {} was cited as of {}, when it had no change",
            part.dataset, part.timestamp
        ),
    };
    let instance = part_of(instance.ok_or_else(missing)?, &part);
    let selected = Selected { instance, others: Vec::new(), part: Some(part) };
    Ok(Found { dataset, selected, part: Some(key) })
}

/// The instance as it is seen through a part: no change brought or took its granules.
pub(super) fn part_of(instance: Instance, part: &Subset) -> Instance {
    Instance {
        identifier: part.identifier,
        granules: part.granules,
        ingested: 0,
        deleted: 0,
        recorded: part.cited,
        note: None,
        ..instance
    }
}

/// The instance in force at a moment, and the others that were in force during it.
pub(super) fn select_at(
    read: &Read<'_>,
    key: DatasetKey,
    name: &DatasetName,
    at: Moment,
) -> Result<Selected> {
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
    Ok(Selected { instance, others, part: None })
}
