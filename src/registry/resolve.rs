//! From an identifier to every dataset and interval in which it was in force.

use std::io;

use serde::Serialize;

use super::selection::{part_of, select_at, selected_granules};
use super::{Registry, dataset_of};
use crate::chain::Chain;
use crate::model::{Criteria, DatasetName, Identifier, Instance, Moment, Subset};
use crate::store::{Read, SubsetKey};
use crate::{Error, Result};

/// An interval in which an identifier was in force.
///
/// Its fields are those of `instance` in the command line's JSON, and `selection` where it is the
/// identifier of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resolved {
    /// The instance; of a part, with the identifier and the count of the part.
    #[serde(flatten)]
    pub instance: Instance,
    /// The part of that instance that was cited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Subset>,
}

/// What an identifier resolved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resolution {
    /// In how many intervals it was in force.
    pub intervals: u64,
    /// In how many of them it was in force at the time asked for; all, where none was.
    pub agreeing: u64,
}

impl Registry {
    /// Shows every interval in which an identifier was in force, by dataset and time, and then the
    /// parts that it was cited for; all of one dataset, if one is named.
    ///
    /// A day agrees with each identifier that was in force during it: a citation that morning was
    /// true, whatever came in the afternoon. A part agrees wherever the same criteria select the
    /// same set: outside the interval of its first citation that costs a pass over the dataset.
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
        mut show: impl FnMut(Resolved) -> io::Result<()>,
    ) -> Result<Resolution> {
        self.reading(|read, _| {
            if let Some(name) = dataset {
                dataset_of(read, name)?;
            }
            let mut resolution = Resolution::default();
            let is_asked_for = |name: &DatasetName| dataset.is_none_or(|asked| asked == name);
            read.each_instance_with(identifier, |instance| {
                if is_asked_for(&instance.dataset) {
                    resolution.intervals += 1;
                    let agrees = at.is_none_or(|at| instance.is_in_force_during(at));
                    resolution.agreeing += u64::from(agrees);
                    show(Resolved { instance, selection: None })?;
                }
                Ok::<_, Error>(())
            })?;
            for (key, part) in read.subsets_with(identifier)? {
                if !is_asked_for(&part.dataset) {
                    continue;
                }
                resolution.intervals += 1;
                let (dataset, _) = dataset_of(read, &part.dataset)?;
                let instance = read.instance_at(dataset, part.timestamp)?;
                let Some(instance) = instance else { continue };
                let agrees = match at {
                    None => true,
                    Some(at) => {
                        instance.is_in_force_during(at) || selects_it_during(read, key, &part, at)?
                    }
                };
                resolution.agreeing += u64::from(agrees);
                show(Resolved { instance: part_of(instance, &part), selection: Some(part) })?;
            }
            Ok(resolution)
        })
    }
}

/// Whether the criteria of a part select its set at some time of a moment.
fn selects_it_during(read: &Read<'_>, key: SubsetKey, part: &Subset, at: Moment) -> Result<bool> {
    let (dataset, _) = dataset_of(read, &part.dataset)?;
    let selected = match select_at(read, dataset, &part.dataset, at) {
        Ok(selected) => selected,
        Err(Error::BeforeHistory { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    let instances = [selected.instance].into_iter().chain(selected.others);
    for instance in instances {
        let is_same = match &part.criteria {
            Criteria::Patterns(patterns) => {
                let mut chain = Chain::start();
                for granule in
                    selected_granules(read, dataset, instance.timestamp, patterns.clone())
                {
                    chain.push(granule?.granule_id.as_str());
                }
                chain.identifier() == part.identifier
            }
            Criteria::Named => {
                let mut all_held = true;
                for named in read.named_granules(key) {
                    let held = read.granule_held(dataset, &named?, instance.timestamp)?;
                    all_held = all_held && held.is_some();
                }
                all_held
            }
        };
        if is_same {
            return Ok(true);
        }
    }
    Ok(false)
}
