//! What is cited: the facts from which a citation is written, and the subsets that were cited.

use super::granules::GranulePages;
use super::select::{Selected, Selection};
use super::view::{Snapshot, with_instance};
use crate::chain::Chain;
use crate::error::{Error, Result};
use crate::model::{
    DatasetName, GranuleId, Identifier, Instance, Listed, Pattern, Set, Subset, Timestamp,
};
use crate::registry::proof::Proof;
use crate::store;

/// The facts from which a citation of a dataset, or of a subset of one, is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cited {
    /// The dataset, with what a reader of the citation is warned of: that it was withdrawn, or that
    /// its latest change is in the future.
    pub dataset: Listed,
    /// The set that is cited.
    pub set: Set,
    /// The other instances that were in force during the requested day.
    pub others: Vec<Instance>,
    /// The instance before the cited one. `None` means that the cited one is the first.
    pub previous: Option<Instance>,
    /// The instance after the cited one. `None` means that the cited one is the latest.
    pub next: Option<Instance>,
}

impl Snapshot {
    /// Returns the facts for the citation of an instance, or of a subset that was cited before.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`].
    pub fn cite(&self, selection: &Selection) -> Result<Cited> {
        let selected = self.select(selection)?;
        self.ask(|read| cited(read, selected))
    }
}

/// The facts for the citation of a set.
pub(in crate::registry) fn cited(read: &store::Snapshot, selected: Selected) -> Result<Cited> {
    let Selected { set, others } = selected;
    let name = set.dataset();
    let (key, dataset) = read.listed(name)?.ok_or_else(|| Error::dataset_unknown(name))?;
    let instance = set.instance();
    let previous = match Timestamp::from_micros(instance.timestamp.as_micros() - 1) {
        Some(before) => read.instance_at(key, before)?,
        None => None,
    };
    let next = match instance.until {
        Some(until) => read.instance_at(key, until)?,
        None => None,
    };
    Ok(Cited { dataset, set, others, previous, next })
}

/// What a pattern selects from a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The identifier of the selected granules.
    pub identifier: Identifier,
    /// How many granules are selected.
    pub granules: u64,
    /// The first of them.
    pub first: Vec<GranuleId>,
}

impl Snapshot {
    /// The subsets of a dataset that were cited, by identifier.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): no dataset has the name.
    pub fn subsets(&self, dataset: &DatasetName) -> Result<Vec<Subset>> {
        self.ask_of(dataset, |read, key| {
            Ok(read.subsets_of(key)?.into_iter().map(|(_, subset)| subset).collect())
        })
    }

    /// The subsets of a dataset that were cited last, the last first, at most `limit` of them, and how many
    /// there are.
    #[cfg(feature = "serve")]
    pub(crate) fn last_subsets(
        &self,
        dataset: &DatasetName,
        limit: u32,
    ) -> Result<(Vec<Subset>, u64)> {
        self.ask_of(dataset, |read, key| {
            Ok((read.last_subsets_of(key, limit)?, read.count_subsets(key)?))
        })
    }

    /// The part of a set that a pattern selects, with at most `most` of its granules. Costs a pass over the
    /// set.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the granules are not those of the set.
    pub fn part(&self, set: &Set, pattern: &Pattern, most: usize) -> Result<Part> {
        let (mut chain, mut granules, mut first) = (Chain::start(), 0, Vec::new());
        for granule in self.granules(set)?.hashed_here() {
            let granule_id = granule?.granule_id;
            if pattern.matches(granule_id.as_str()) {
                chain.push(granule_id.as_str());
                granules += 1;
                if first.len() < most {
                    first.push(granule_id);
                }
            }
        }
        Ok(Part { identifier: chain.identifier(), granules, first })
    }

    /// A number that grows whenever a subset of the dataset is cited, and perhaps when one of another
    /// dataset is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): no dataset has the name.
    pub fn last_subset(&self, dataset: &DatasetName) -> Result<u64> {
        self.ask_of(dataset, |read, key| read.last_subset(key))
    }

    /// The granules of a subset that was cited, in canonical order, proved at the end. They are read
    /// within this snapshot.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::IdentifierUnknown`](crate::ErrorKind::IdentifierUnknown): the subset is not from this
    /// registry.
    pub(crate) fn granules_of_subset(
        &self,
        subset: &Subset,
    ) -> Result<impl Iterator<Item = Result<GranuleId>>> {
        let (set, pages) = self.ask(|read| {
            let set = with_instance(read, subset.clone())?;
            let pages = GranulePages::of(read, &set)?;
            Ok((set, pages))
        })?;
        let mut granules = pages.granules(&self.read);
        let mut proof = Some(Proof::of(&self.registry, &set));
        Ok(std::iter::from_fn(move || match granules.next() {
            Some(Ok(granule)) => {
                if let Some(proof) = &mut proof {
                    proof.add(granule.granule_id.as_str());
                }
                Some(Ok(granule.granule_id))
            }
            Some(Err(error)) => Some(Err(error)),
            None => proof.take()?.finish().err().map(Err),
        }))
    }
}
