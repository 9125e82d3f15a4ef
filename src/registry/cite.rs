//! What a citation is made of; and the parts of datasets, which are kept when they are cited.

use super::change::refuse_repetition;
use super::selection::{select, selected_granules};
use super::{End, Entry, Registry, Selected, Selection, dataset_of};
use crate::chain::Chain;
use crate::model::{
    Criteria, Dataset, DatasetName, GranuleId, Identifier, Instance, Moment, Pattern, Subset,
    Timestamp,
};
use crate::store::{DatasetKey, Read};
use crate::{Error, Result};

/// What a citation of a dataset, or of a part of one, is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cited {
    /// The dataset's record.
    pub record: Dataset,
    /// The instance; of a part, with the identifier and the count of the part.
    pub instance: Instance,
    /// The others that were in force during the day asked for.
    pub others: Vec<Instance>,
    /// The part, and the whole that it is of.
    pub part: Option<(Subset, Instance)>,
    /// The instance before it.
    pub previous: Option<Instance>,
    /// The instance after it.
    pub next: Option<Instance>,
    /// The records of mirrors that held the same set.
    pub mirrors: Vec<Dataset>,
}

/// Which granules somebody wants to cite of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Those whose id one of these patterns matches.
    Patterns(Vec<Pattern>),
    /// These.
    Named(Vec<Entry>),
}

impl Registry {
    /// What a citation of an instance is made of, or of a part that was cited before.
    ///
    /// Each of `mirrors` must have held the same set at some time: that is looked up, not believed.
    ///
    /// # Errors
    ///
    /// As [`Registry::select`]; [`Error::NotIdentical`]: a mirror never held the set.
    pub fn cite(&mut self, selection: &Selection, mirrors: &[DatasetName]) -> Result<Cited> {
        self.reading(|read, _| {
            let found = select(read, selection)?;
            cited(read, found.dataset, found.selected, mirrors)
        })
    }

    /// What a citation of a part of a dataset is made of, as of a time; and keeps the part, so that
    /// its identifier resolves from now on. The same criteria over the same set are one part, first
    /// cited when they were first cited.
    ///
    /// Costs a pass over the dataset, before anything is locked: what was held never changes.
    ///
    /// # Errors
    ///
    /// As [`Registry::select`]; [`Error::SelectsNothing`]; [`Error::NotHeldThen`]: a granule that is
    /// named was not held; [`Error::Change`]: one is named twice.
    pub fn cite_part(
        &mut self,
        dataset: &DatasetName,
        at: Option<Moment>,
        wanted: Wanted,
        now: Timestamp,
    ) -> Result<Cited> {
        let selection = Selection::Dataset { name: dataset.clone(), at };
        let (criteria, entries) = match wanted {
            Wanted::Patterns(patterns) => (Criteria::of_patterns(patterns), Vec::new()),
            Wanted::Named(mut entries) => {
                entries.sort_by(|a, b| a.granule_id.cmp(&b.granule_id));
                refuse_repetition(&entries)?;
                ((!entries.is_empty()).then_some(Criteria::Named), entries)
            }
        };
        let (known, key, selected, set) = self.reading(|read, _| {
            let found = select(read, &selection)?;
            let timestamp = found.selected.instance.timestamp;
            let set = match &criteria {
                Some(Criteria::Patterns(patterns)) => {
                    let patterns = patterns.clone();
                    let granules = selected_granules(read, found.dataset, timestamp, patterns);
                    chained(granules.map(|granule| Ok(granule?.granule_id)))?
                }
                Some(Criteria::Named) => {
                    let held = entries.iter().map(|entry| {
                        let held =
                            read.granule_held(found.dataset, &entry.granule_id, timestamp)?;
                        let missing = || Error::NotHeldThen {
                            granule_id: entry.granule_id.clone(),
                            location: entry.location.clone(),
                            dataset: dataset.clone(),
                            at: timestamp,
                        };
                        Ok(held.ok_or_else(missing)?.granule_id)
                    });
                    chained(held)?
                }
                None => (Identifier::EMPTY, 0),
            };
            let same = match &criteria {
                Some(criteria) => read.subset(found.dataset, set.0, criteria)?,
                None => None,
            };
            let known = match same {
                Some(part) => {
                    let selected = Selected { part: Some(part), ..found.selected.clone() };
                    Some(cited(read, found.dataset, selected, &[])?)
                }
                None => None,
            };
            Ok((known, found.dataset, found.selected, set))
        })?;
        if let Some(known) = known {
            return Ok(known);
        }
        let (identifier, granules) = set;
        let timestamp = selected.instance.timestamp;
        let Some(criteria) = criteria.filter(|_| granules > 0) else {
            return Err(Error::SelectsNothing { dataset: dataset.clone(), at: timestamp });
        };
        let part = Subset {
            dataset: dataset.clone(),
            timestamp,
            criteria,
            identifier,
            granules,
            cited: now,
        };
        self.writing(|write, _| {
            // Another process may have been faster.
            let saved = write.subset(key, identifier, &part.criteria)?;
            let (part, end) = match saved {
                Some(saved) => (saved, End::RollBack),
                None => {
                    let named: Vec<GranuleId> =
                        entries.iter().map(|entry| entry.granule_id.clone()).collect();
                    write.insert_subset(key, &part, &named)?;
                    (part, End::Commit)
                }
            };
            let selected = Selected { part: Some(part), ..selected };
            Ok((cited(write, key, selected, &[])?, end))
        })
    }
}

/// The identifier of some granules in canonical order, and how many they are.
fn chained(granules: impl Iterator<Item = Result<GranuleId>>) -> Result<(Identifier, u64)> {
    let (mut chain, mut count) = (Chain::start(), 0);
    for granule_id in granules {
        chain.push(granule_id?.as_str());
        count += 1;
    }
    Ok((chain.identifier(), count))
}

fn cited(
    read: &Read<'_>,
    dataset: DatasetKey,
    selected: Selected,
    mirrors: &[DatasetName],
) -> Result<Cited> {
    let Selected { instance, others, part } = selected;
    let (_, record) = dataset_of(read, &instance.dataset)?;
    let before = Timestamp::from_micros(instance.timestamp.as_micros() - 1);
    let previous = match before {
        Some(before) => read.instance_at(dataset, before)?,
        None => None,
    };
    let next = match instance.until {
        Some(until) => read.instance_at(dataset, until)?,
        None => None,
    };
    let whole = read.instance_at(dataset, instance.timestamp)?;
    let instance = match &part {
        Some(part) => super::selection::part_of(instance, part),
        None => instance,
    };
    let mirrors = mirrors
        .iter()
        .map(|name| mirror_of(read, name, instance.identifier))
        .collect::<Result<_>>()?;
    Ok(Cited { record, instance, others, part: part.zip(whole), previous, next, mirrors })
}

/// The record of a mirror, if it ever held the set.
fn mirror_of(read: &Read<'_>, name: &DatasetName, identifier: Identifier) -> Result<Dataset> {
    let (_, record) = dataset_of(read, name)?;
    let mut held_it = false;
    read.each_instance_with(identifier, |instance| {
        held_it = held_it || instance.dataset == *name;
        Ok::<_, Error>(())
    })?;
    if held_it { Ok(record) } else { Err(Error::NotIdentical { name: name.clone(), identifier }) }
}
