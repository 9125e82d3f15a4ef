//! What is cited: the facts from which a citation is written, and the subsets that were cited.

use super::cursor::{Position, SetCursor, SetEntries};
use super::resolve::{DigestPeriod, Resolved, digests_of, period_of};
use super::select::{Selected, Selection};
use super::view::{Snapshot, instance_of};
use crate::error::{Error, Result};
use crate::model::{Annotation, DatasetName, GranuleId, Instance, Listed, Set, Subset, Timestamp};
use crate::registry::proof::Proof;
use crate::store;

/// The facts from which a citation of a dataset, or of a subset of one, is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cited {
    /// The dataset, with what a reader of the citation is warned of: that it was withdrawn, or that
    /// its latest change is in the future. When it was last confirmed is not read.
    pub dataset: Listed,
    /// The set that is cited.
    pub set: Set,
    /// The instances with other identifiers that were in force during the requested day.
    pub others: Vec<Instance>,
    /// The instances of the period in which the identifier was in force, or that of the set from which the
    /// subset was selected.
    pub period: Vec<Instance>,
    /// The instance before the period. `None` means that there was none.
    pub previous: Option<Instance>,
    /// The instance after the period. `None` means that the identifier is still in force.
    pub next: Option<Instance>,
}

impl Cited {
    /// When the cited identifier came into force.
    pub fn from(&self) -> Timestamp {
        self.period.first().unwrap_or(self.set.instance()).timestamp
    }

    /// When another one came into force. `None` means that it is still in force.
    pub fn until(&self) -> Option<Timestamp> {
        self.period.last().unwrap_or(self.set.instance()).until
    }

    /// What was noted about the set, each with whether it is questionable.
    pub fn annotations(&self) -> impl Iterator<Item = &Annotation> {
        self.period.iter().flat_map(|instance| &instance.annotations)
    }

    /// The digests that the period had, in order of time.
    pub fn digests(&self) -> Vec<DigestPeriod> {
        digests_of(&self.period)
    }

    /// When the set had its digest. Of a subset, only the period of its first citation is known.
    pub fn digest_period(&self) -> DigestPeriod {
        let Instance { timestamp, until, .. } = *self.set.instance();
        let own = DigestPeriod { digest: self.set.digest(), from: timestamp, until };
        let mut digests = self.digests().into_iter();
        let of_period = digests.rfind(|period| period.from <= timestamp);
        of_period.filter(|_| self.set.subset().is_none()).unwrap_or(own)
    }

    /// The instances just before and after the cited one: of the same period, or of the next ones.
    pub fn neighbours(&self) -> [Option<&Instance>; 2] {
        let timestamp = self.set.instance().timestamp;
        let before = self.period.iter().rev().find(|other| other.timestamp < timestamp);
        let after = self.period.iter().find(|other| other.timestamp > timestamp);
        [before.or(self.previous.as_ref()), after.or(self.next.as_ref())]
    }
}

impl Snapshot {
    /// Returns the facts for the citation of an instance, or of a subset that was cited before. An identifier
    /// alone is cited from the dataset that held it first.
    pub fn cite(&self, selection: &Selection) -> Result<Cited> {
        let selected = match *selection {
            Selection::Identifier { identifier, dataset: None, at: None } => {
                let dataset = self.first_holder(identifier)?;
                self.select(&Selection::Identifier { identifier, dataset, at: None })?
            }
            _ => self.select(selection)?,
        };
        self.ask(|read| cited(read, selected))
    }

    /// The same of the latest set of a period, which was read before.
    #[cfg(feature = "serve")]
    pub(crate) fn cite_period(&self, period: Resolved) -> Result<Cited> {
        let selected = Selected { set: period.set.clone(), others: Vec::new() };
        self.ask(|read| cited_in(read, selected, period))
    }
}

/// The facts for the citation of a set.
pub(in crate::registry) fn cited(read: &store::View, selected: Selected) -> Result<Cited> {
    let period = period_of(read, selected.set.clone())?;
    cited_in(read, selected, period)
}

fn cited_in(read: &store::View, selected: Selected, period: Resolved) -> Result<Cited> {
    let Selected { set, others } = selected;
    let name = set.dataset();
    let (key, dataset) = read.described(name)?.ok_or_else(|| Error::dataset_unknown(name))?;
    let previous = match Timestamp::from_micros(period.from().as_micros() - 1) {
        Some(before) => read.instance_at(key, before)?,
        None => None,
    };
    let next = match period.until() {
        Some(until) => read.instance_at(key, until)?,
        None => None,
    };
    Ok(Cited { dataset, set, others, period: period.instances, previous, next })
}

impl Snapshot {
    /// The subsets of a dataset that were cited, by identifier.
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

    /// A number that grows whenever a subset of the dataset is cited, and perhaps when one of another
    /// dataset is.
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
        let cursor = self.ask(|read| {
            let instance = instance_of(read, subset)?;
            let set = Set::Subset { subset: subset.clone(), instance };
            let cursor = SetCursor::of(&self.read, Position::of(read, &set)?);
            Ok(cursor.proving(Some(Proof::of(&self.registry, &set))))
        })?;
        Ok(SetEntries::of(cursor).map(|entry| Ok(entry?.granule_id)))
    }
}
