//! From an identifier to every dataset and interval in which it was in force.

use serde::{Serialize, Serializer};

use super::granules::GranulePages;
use super::select::{select_at, with_instance};
use super::view::{Snapshot, dataset_of};
use crate::model::{
    Criteria, DatasetName, Identifier, Instance, Moment, Set, Subset, Timestamp,
};
use crate::registry::error::{Error, Result};
use crate::store::{self, SubsetKey};

/// Instances that are read at once.
const PAGE_ROWS: u32 = 1_024;

/// A place in the history of a dataset where an identifier was in force: as an instance, or as a
/// subset that was cited.
///
/// Its JSON has the fields of the command line's `resolve`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The set.
    pub set: Set,
}

#[derive(Serialize)]
struct Row<'a> {
    kind: &'static str,
    dataset: &'a DatasetName,
    from: Timestamp,
    until: Option<Timestamp>,
    identifier: Identifier,
    granules: u64,
    instance: Option<&'a Instance>,
    subset: Option<&'a Subset>,
}

impl Serialize for Resolved {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let instance = self.set.instance();
        let (kind, of) = match &self.set {
            Set::Instance(instance) => ("instance", Some(instance)),
            Set::Subset { .. } => ("subset", None),
        };
        let row = Row {
            kind,
            dataset: &instance.dataset,
            from: instance.timestamp,
            until: instance.until,
            identifier: self.set.identifier(),
            granules: self.set.granules(),
            instance: of,
            subset: self.set.subset(),
        };
        row.serialize(serializer)
    }
}

/// What an identifier resolved to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resolution {
    /// Where it was in force: instances by dataset and time, then subsets.
    pub rows: Vec<Resolved>,
    /// How many of them agree with the time asked for; all, where none was.
    pub agreeing: u64,
}

impl Snapshot {
    /// Every interval in which an identifier was in force, by dataset and time, and then the subsets
    /// that it was cited for; those of one dataset, if one is named.
    ///
    /// A day agrees with each identifier that was in force during it: a citation that morning was
    /// true, whatever changed in the afternoon. A subset agrees wherever the same criteria select
    /// the same set: outside the interval of its first citation that costs a pass over the dataset.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`]; [`Error::Inconsistent`]: a subset was cited as of a time at which its
    /// dataset had no change. An identifier that is unknown is not an error: it has no rows.
    pub fn resolve(
        &self,
        identifier: Identifier,
        dataset: Option<&DatasetName>,
        at: Option<Moment>,
    ) -> Result<Resolution> {
        self.ask(|read| {
            let mut resolution = Resolution::default();
            for instance in instances(read, identifier, dataset)? {
                let agrees = at.is_none_or(|at| instance.is_in_force_during(at));
                resolution.agreeing += u64::from(agrees);
                resolution.rows.push(Resolved { set: Set::Instance(instance) });
            }
            for (key, subset) in read.subsets_with(identifier)? {
                if dataset.is_some_and(|dataset| *dataset != subset.dataset) {
                    continue;
                }
                let set = with_instance(read, subset.clone())?;
                let agrees = match at {
                    None => true,
                    Some(at) => {
                        set.instance().is_in_force_during(at)
                            || selects_it_during(read, key, &subset, at)?
                    }
                };
                resolution.agreeing += u64::from(agrees);
                resolution.rows.push(Resolved { set });
            }
            Ok(resolution)
        })
    }

    /// In how many intervals an identifier was in force as an instance.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub fn count_intervals(&self, identifier: Identifier) -> Result<u64> {
        self.ask(|read| Ok(read.count_instances_with(identifier)?))
    }
}

fn instances(
    read: &store::Snapshot,
    identifier: Identifier,
    dataset: Option<&DatasetName>,
) -> Result<Vec<Instance>> {
    if let Some(name) = dataset {
        let (key, _) = dataset_of(read, name)?;
        return Ok(read.instances_of_with(key, identifier)?);
    }
    let mut instances: Vec<Instance> = Vec::new();
    loop {
        let after = instances.last().map(|last| (&last.dataset, last.timestamp));
        let mut page = read.instances_with(identifier, after, PAGE_ROWS)?;
        let is_over = page.len() < PAGE_ROWS as usize;
        instances.append(&mut page);
        if is_over {
            return Ok(instances);
        }
    }
}

/// Whether the criteria of a subset select its set at some time of a moment.
fn selects_it_during(
    read: &store::Snapshot,
    key: SubsetKey,
    subset: &Subset,
    at: Moment,
) -> Result<bool> {
    let (dataset, _) = dataset_of(read, &subset.dataset)?;
    let selected = match select_at(read, dataset, &subset.dataset, at) {
        Ok(selected) => selected,
        Err(Error::BeforeHistory { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    let instances = [selected.instance().clone()].into_iter().chain(selected.others);
    for instance in instances {
        let at = instance.timestamp;
        let pages = match &subset.criteria {
            Criteria::Patterns(patterns) => GranulePages::selected(dataset, at, patterns.clone()),
            Criteria::Named => GranulePages::named(dataset, at, key),
        };
        match pages.identify(read) {
            Ok((identifier, _)) if identifier == subset.identifier => return Ok(true),
            // One that is named was not held then.
            Ok(_) | Err(Error::Inconsistent { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}
