//! Resolves an identifier to every dataset and period in which it was in force. Also finds the facts for its
//! citation, and cited subsets.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};

use super::cursor::{Position, SetCursor, SetEntries};
use super::select::{Selected, Selection};
use super::view::{
    Snapshot, all_known, as_known, dataset_of, instance_of, instances, subset_as_known,
};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Annotation, DatasetName, DatasetRecord, Digest, DigestPrefix, GranuleId, Identifier, Instance,
    Moment, Set, Subset, Timestamp, Withdrawal,
};
use crate::registry::proof::Proof;
use crate::store;
use crate::store::SubsetKey;

/// A period in which an identifier was in force in a dataset: consecutive instances with it, between which only
/// the recorded files changed. For a cited subset, the period of the set from which it was selected.
///
/// Its JSON has the fields of a period that the command line's `show` prints.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Period {
    /// The latest instance of the period, or the subset with the instance of its first citation.
    pub set: Set,
    /// The instances of the period, at least one, in order of time.
    pub instances: Vec<Instance>,
    /// Why it agrees with the requested time. `None` means that it does not. If no time was requested, it
    /// agrees as known now.
    pub agreement: Option<Agreement>,
    /// When and why the dataset was withdrawn. `None` means that it is not withdrawn.
    pub withdrawn: Option<Withdrawal>,
    /// Whether it was read from a published site. A site does not publish when and by whom changes were
    /// recorded, so the JSON has neither field.
    pub is_of_site: bool,
}

/// A part of a [`Period`] in which the set had one digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DigestPeriod {
    /// The digest.
    pub digest: Digest,
    /// The first instant at which the set had it.
    pub from: Timestamp,
    /// The first instant at which the set no longer had it. `None` means that it still has it.
    pub until: Option<Timestamp>,
}

impl Period {
    /// When the identifier came into force.
    pub fn from(&self) -> Timestamp {
        self.instances.first().unwrap_or(self.set.instance()).timestamp
    }

    /// When another identifier replaced it. `None` means that it is still in force.
    pub fn until(&self) -> Option<Timestamp> {
        self.instances.last().unwrap_or(self.set.instance()).until
    }

    /// Whether it was in force at an instant, or at any time of a day.
    pub(crate) fn is_in_force_during(&self, at: Moment) -> bool {
        self.instances.iter().any(|instance| instance.is_in_force_during(at))
    }

    /// When it was in force, in words: `FROM until UNTIL`.
    pub fn in_force(&self) -> String {
        let until = match (self.until(), &self.withdrawn) {
            (Some(until), _) => until.to_string(),
            (None, Some(withdrawal)) => format!("it was withdrawn at {}", withdrawal.timestamp),
            (None, None) => "now".to_owned(),
        };
        format!("{} until {until}", self.from())
    }

    /// The digests that the set had, in order of time. For a subset, only the digest of its first citation is
    /// known.
    pub fn digests(&self) -> Vec<DigestPeriod> {
        if let Set::Subset { subset, instance } = &self.set {
            let (from, until) = (instance.timestamp, instance.until);
            return vec![DigestPeriod { digest: subset.digest, from, until }];
        }
        DigestPeriod::of(&self.instances)
    }

    /// When the set had its digest. For a subset, only the period of its first citation is known.
    pub fn digest_period(&self) -> DigestPeriod {
        let Instance { timestamp, until, .. } = *self.set.instance();
        let own = DigestPeriod { digest: self.set.digest(), from: timestamp, until };
        self.digests().into_iter().rfind(|period| period.from <= timestamp).unwrap_or(own)
    }

    /// The annotations of the instances of the period, in order of the instances.
    pub fn annotations(&self) -> impl Iterator<Item = &Annotation> {
        self.instances.iter().flat_map(|instance| &instance.annotations)
    }
}

impl Periods {
    /// The distinct digests that the sets had at the end of a day, or at an instant.
    pub(crate) fn digests_at(&self, at: Moment) -> BTreeSet<Digest> {
        let at = at.last_instant();
        let is_then = |period: &DigestPeriod| {
            period.from <= at && period.until.is_none_or(|until| at < until)
        };
        let periods = self.rows.iter().flat_map(Period::digests).filter(is_then);
        periods.map(|period| period.digest).collect()
    }
}

impl DigestPeriod {
    /// The digests of consecutive instances.
    pub fn of(instances: &[Instance]) -> Vec<Self> {
        let alike = instances.chunk_by(|one, next| one.digest == next.digest);
        let periods = alike.filter_map(|alike| {
            let (first, last) = (alike.first()?, alike.last()?);
            Some(DigestPeriod { digest: first.digest, from: first.timestamp, until: last.until })
        });
        periods.collect()
    }
}

#[derive(Serialize)]
struct Row<'a> {
    kind: &'static str,
    dataset: &'a DatasetName,
    from: Timestamp,
    until: Option<Timestamp>,
    identifier: Identifier,
    granules: u64,
    digests: Vec<DigestPeriod>,
    instance: Option<InstanceRow<'a>>,
    subset: Option<&'a Subset>,
    annotations: Vec<&'a Annotation>,
    withdrawn: Option<&'a Withdrawal>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum InstanceRow<'a> {
    Recorded(&'a Instance),
    Published(PublishedInstance<'a>),
}

/// The fields of an instance that a site publishes.
#[derive(Serialize)]
struct PublishedInstance<'a> {
    dataset: &'a DatasetName,
    timestamp: Timestamp,
    until: Option<Timestamp>,
    identifier: Identifier,
    digest: Digest,
    granules: u64,
    ingested: u64,
    deleted: u64,
    described: u64,
    replaced: u64,
    note: Option<&'a str>,
    annotations: &'a [Annotation],
}

impl<'a> PublishedInstance<'a> {
    fn of(instance: &'a Instance) -> Self {
        PublishedInstance {
            dataset: &instance.dataset,
            timestamp: instance.timestamp,
            until: instance.until,
            identifier: instance.identifier,
            digest: instance.digest,
            granules: instance.granules,
            ingested: instance.ingested,
            deleted: instance.deleted,
            described: instance.described,
            replaced: instance.replaced,
            note: instance.note.as_deref(),
            annotations: &instance.annotations,
        }
    }
}

impl Serialize for Period {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, instance) = match &self.set {
            Set::Instance(instance) if self.is_of_site => {
                ("instance", Some(InstanceRow::Published(PublishedInstance::of(instance))))
            }
            Set::Instance(instance) => ("instance", Some(InstanceRow::Recorded(instance))),
            Set::Subset { .. } => ("subset", None),
        };
        let row = Row {
            kind,
            dataset: self.set.dataset(),
            from: self.from(),
            until: self.until(),
            identifier: self.set.identifier(),
            granules: self.set.granule_count(),
            digests: self.digests(),
            instance,
            subset: self.set.subset(),
            annotations: self.annotations().collect(),
            withdrawn: self.withdrawn.as_ref(),
        };
        row.serialize(serializer)
    }
}

/// Why an identifier agrees with a time (docs/reference/commands.md, Times).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agreement {
    /// It was in force according to the registry at that time. A change that was recorded later contradicts
    /// this.
    AsKnownThen,
    /// It was in force according to the registry now.
    AsKnownNow,
}

/// The result of resolving an identifier.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Periods {
    /// The periods in which the identifier was in force: those of instances by dataset and time, then those of
    /// subsets.
    pub rows: Vec<Period>,
}

impl Snapshot {
    /// Returns every period in which an identifier was in force, by dataset and time, and then the subsets that
    /// were cited with it. If a dataset is given, returns only those of that dataset.
    ///
    /// A day agrees with each identifier that was in force at any time of it: a citation in the morning was
    /// correct, whatever changed in the afternoon. A time also agrees if the identifier was in force according
    /// to the registry at that time, whatever was recorded later. For a subset, only the period of its first
    /// citation is known ([`Periods::is_unknown_then`]).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): a subset was cited as of a time at which
    /// its dataset had no change. An unknown identifier is not an error: it has no rows.
    pub fn periods(
        &self,
        identifier: Identifier,
        dataset: Option<&DatasetName>,
        at: Option<Moment>,
    ) -> Result<Periods> {
        self.periods_with(identifier, None, dataset, at)
    }

    /// Like [`Snapshot::periods`], for a digest: the periods and the subsets that had it.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::periods`], and those of [`Snapshot::select`] for a digest. An unknown digest has
    /// kind `identifier-unknown`.
    pub fn periods_of_digest(
        &self,
        prefix: &DigestPrefix,
        dataset: Option<&DatasetName>,
        at: Option<Moment>,
    ) -> Result<Periods> {
        let set = self.select(&Selection::Digest(prefix.clone()))?.set;
        self.periods_with(set.identifier(), Some(prefix), dataset, at)
    }

    /// The digest with these first digits, if the set of an identifier ever had it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::IdentifierUnknown`](crate::ErrorKind::IdentifierUnknown): the identifier is unknown,
    /// or its set never had the digest.
    pub fn digest_of(&self, identifier: Identifier, prefix: &DigestPrefix) -> Result<Digest> {
        if let Some(row) = self.periods_with(identifier, Some(prefix), None, None)?.rows.first() {
            return Ok(row.set.digest());
        }
        if self.periods(identifier, None, None)?.rows.is_empty() {
            return Err(Error::identifier_unknown(identifier, None));
        }
        let message = format!("{identifier} never had the digest {prefix}");
        Err(Error::new(ErrorKind::IdentifierUnknown, message).about(prefix))
    }

    /// Like [`Snapshot::periods`], for an identifier together with a digest (`None` means any).
    pub(crate) fn periods_with(
        &self,
        identifier: Identifier,
        digest: Option<&DigestPrefix>,
        dataset: Option<&DatasetName>,
        at: Option<Moment>,
    ) -> Result<Periods> {
        let has_it = |of_set: Digest| digest.is_none_or(|prefix| prefix.begins(of_set));
        self.ask(|read| {
            let mut resolution = Periods::default();
            let dataset = dataset.map(|dataset| dataset_of(read, dataset)).transpose()?;
            let key = dataset.as_ref().map(|(key, _)| *key);
            let instances = instances(read, identifier, key).map(|it| as_known(read, it?));
            let instances = instances.filter_map(Result::transpose);
            let with_digest =
                instances.filter(|it| it.as_ref().map_or(true, |it| has_it(it.digest)));
            for period in periods(with_digest) {
                resolution.add(read, period?, at)?;
            }
            for (_, subset) in read.subsets_with(identifier)? {
                let is_of_other = |(_, present): &(_, DatasetName)| *present != subset.dataset;
                if dataset.as_ref().is_some_and(is_of_other) || !has_it(subset.digest) {
                    continue;
                }
                if let Some(set) = subset_as_known(read, subset)? {
                    resolution.add(read, period_of(read, set)?, at)?;
                }
            }
            add_withdrawals(read, &mut resolution.rows)?;
            Ok(resolution)
        })
    }

    /// At most `limit` periods in which an identifier was in force as that of an instance, by dataset and time.
    /// Only instances after `after` are included (`None` means all).
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read. An unknown identifier is not an error.
    pub fn intervals_after(
        &self,
        identifier: Identifier,
        after: Option<(&DatasetName, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<Period>> {
        self.ask(|read| {
            let instances = read.all_with(identifier, after).map(|it| as_known(read, it?));
            let periods = periods(instances.filter_map(Result::transpose));
            let mut periods = periods.take(limit as usize).collect::<Result<Vec<_>>>()?;
            add_withdrawals(read, &mut periods)?;
            Ok(periods)
        })
    }

    /// The period of the identifier of a set, which includes this set.
    pub fn period(&self, set: Set) -> Result<Period> {
        self.ask(|read| {
            let mut period = period_of(read, set)?;
            add_withdrawals(read, std::slice::from_mut(&mut period))?;
            Ok(period)
        })
    }

    /// The subsets that were cited with an identifier, each with the instance from which it was first selected.
    /// They are in order of dataset and of the time of the first citation.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): a subset was cited as of a time at which
    /// its dataset had no change.
    pub fn subsets_with(&self, identifier: Identifier, limit: usize) -> Result<Vec<Set>> {
        self.ask(|read| {
            let subsets = read.subsets_with(identifier)?.into_iter();
            let sets = subsets.map(|(_, subset)| subset_as_known(read, subset));
            sets.filter_map(Result::transpose).take(limit).collect()
        })
    }
}

/// The periods of instances with one identifier, which must be in order of dataset and time.
fn periods(
    instances: impl Iterator<Item = Result<Instance>>,
) -> impl Iterator<Item = Result<Period>> {
    let mut instances = instances.peekable();
    std::iter::from_fn(move || {
        let mut latest = match instances.next()? {
            Ok(instance) => instance,
            Err(error) => return Some(Err(error)),
        };
        let mut of_period = Vec::new();
        let continues = |latest: &Instance, next: &Instance| {
            next.dataset == latest.dataset && latest.until == Some(next.timestamp)
        };
        while let Some(Ok(next)) =
            instances.next_if(|next| next.as_ref().is_ok_and(|next| continues(&latest, next)))
        {
            of_period.push(std::mem::replace(&mut latest, next));
        }
        of_period.push(latest.clone());
        Some(Ok(Period {
            set: Set::Instance(latest),
            instances: of_period,
            agreement: Some(Agreement::AsKnownNow),
            withdrawn: None,
            is_of_site: false,
        }))
    })
}

/// Sets for each period whether its dataset was withdrawn. The periods must be in order of dataset.
fn add_withdrawals(read: &store::View, periods: &mut [Period]) -> Result<()> {
    for of_dataset in periods.chunk_by_mut(|one, next| one.set.dataset() == next.set.dataset()) {
        let withdrawn = read.withdrawal_of(of_dataset[0].set.dataset())?;
        of_dataset.iter_mut().for_each(|period| period.withdrawn.clone_from(&withdrawn));
    }
    Ok(())
}

/// The period of a set: that of its instance, or that of the instance from which the subset was selected.
/// Withdrawals are not read.
fn period_of(read: &store::View, set: Set) -> Result<Period> {
    let Instance { dataset, identifier, timestamp, .. } = set.instance();
    let (key, _) = dataset_of(read, dataset)?;
    let instances = all_known(read, read.instances_of_with(key, *identifier)?)?;
    let has_it = |period: &Period| period.instances.iter().any(|it| it.timestamp == *timestamp);
    for period in periods(instances.into_iter().map(Ok)) {
        let period = period?;
        if has_it(&period) {
            return Ok(Period { set, ..period });
        }
    }
    let instances = vec![set.instance().clone()];
    let agreement = Some(Agreement::AsKnownNow);
    Ok(Period { set, instances, agreement, withdrawn: None, is_of_site: false })
}

impl Periods {
    /// Whether no row agrees with the requested time, but one is that of a subset. The same criteria may have
    /// selected that subset at that time, too, since it is stored once, with the instance of its first
    /// citation.
    pub fn is_unknown_then(&self) -> bool {
        self.agreement().is_none() && self.rows.iter().any(|row| row.set.subset().is_some())
    }

    /// Why the result agrees with the requested time: as known now, if any row agrees in that way. `None` means
    /// that no row agrees.
    pub fn agreement(&self) -> Option<Agreement> {
        self.rows.iter().filter_map(|row| row.agreement).max()
    }

    fn add(&mut self, read: &store::View, row: Period, at: Option<Moment>) -> Result<()> {
        let mut agrees = at.is_none().then_some(Agreement::AsKnownNow);
        if let Some(at) = at {
            for instance in &row.instances {
                agrees = agrees.max(agreement(read, instance, at)?);
            }
        }
        self.rows.push(Period { agreement: agrees, ..row });
        Ok(())
    }
}

/// How an instance agrees with a moment: whether it was in force during it, and according to which state of the
/// registry.
fn agreement(read: &store::View, instance: &Instance, at: Moment) -> Result<Option<Agreement>> {
    if instance.is_in_force_during(at) {
        return Ok(Some(Agreement::AsKnownNow));
    }
    // According to the registry at the time, the instance was in force from the recording of its change until
    // the recording of the next one. Neither is earlier than the time at which the change took effect.
    let known_from = instance.timestamp.max(instance.recorded);
    let Some(until) = instance.until else { return Ok(None) };
    let (dataset, _) = dataset_of(read, &instance.dataset)?;
    let next = read.instance_at(dataset, until)?;
    let known_until = next.map_or(until, |next| next.timestamp.max(next.recorded));
    let was_known = known_from <= at.last_instant() && at.first_instant() < known_until;
    Ok((was_known && known_from < known_until).then_some(Agreement::AsKnownThen))
}

/// The facts for the citation of a dataset, or of a subset.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CitationFacts {
    /// The dataset, with the facts for warnings: it was withdrawn, its latest change is in the future, or no
    /// listing has confirmed it for long.
    pub dataset: DatasetRecord,
    /// The cited set, and the period in which its identifier was in force. For a subset, the period of the set
    /// from which it was selected.
    pub period: Period,
    /// The instances with other identifiers that were in force during the requested day.
    pub others: Vec<Instance>,
    /// The instance before the period. `None` means that there was none.
    pub previous: Option<Instance>,
    /// The instance after the period. `None` means that the identifier is still in force.
    pub next: Option<Instance>,
}

impl CitationFacts {
    /// The instance just before the cited one, in the same period or before it. `None` means that there was
    /// none.
    pub fn instance_before(&self) -> Option<&Instance> {
        let Period { set, instances, .. } = &self.period;
        let timestamp = set.instance().timestamp;
        let before = instances.iter().rev().find(|other| other.timestamp < timestamp);
        before.or(self.previous.as_ref())
    }

    /// The instance just after the cited one, in the same period or after it. `None` means that the cited one
    /// is the latest.
    pub fn instance_after(&self) -> Option<&Instance> {
        let Period { set, instances, .. } = &self.period;
        let timestamp = set.instance().timestamp;
        let after = instances.iter().find(|other| other.timestamp > timestamp);
        after.or(self.next.as_ref())
    }
}

impl Snapshot {
    /// Returns the facts for the citation of an instance, or of a subset that was cited before. An identifier
    /// without a dataset is cited from the dataset that held it first.
    pub fn cite(&self, selection: &Selection) -> Result<CitationFacts> {
        let selected = match *selection {
            Selection::Identifier { identifier, dataset: None, at: None } => {
                let dataset = self.first_holder(identifier)?;
                self.select(&Selection::Identifier { identifier, dataset, at: None })?
            }
            _ => self.select(selection)?,
        };
        self.ask(|read| cited(read, selected))
    }

    /// The same for the latest set of a period that was read before.
    pub fn cite_period(&self, period: Period) -> Result<CitationFacts> {
        self.ask(|read| cited_in(read, period, Vec::new()))
    }
}

/// The facts for the citation of a set.
pub(in crate::registry) fn cited(read: &store::View, selected: Selected) -> Result<CitationFacts> {
    cited_in(read, period_of(read, selected.set)?, selected.others)
}

fn cited_in(read: &store::View, period: Period, others: Vec<Instance>) -> Result<CitationFacts> {
    let name = period.set.dataset();
    let (key, dataset) = read.listed(name)?.ok_or_else(|| Error::dataset_unknown(name))?;
    let previous = match Timestamp::from_micros(period.from().as_micros() - 1) {
        Some(before) => read.instance_at(key, before)?,
        None => None,
    };
    let next = match period.until() {
        Some(until) => read.instance_at(key, until)?,
        None => None,
    };
    let period = Period { withdrawn: dataset.withdrawn.clone(), ..period };
    Ok(CitationFacts { dataset, period, others, previous, next })
}

impl Snapshot {
    /// The cited subsets of a dataset, by identifier.
    pub fn subsets(&self, dataset: &DatasetName) -> Result<Vec<Subset>> {
        self.ask_of(dataset, |read, key| {
            Ok(read.subsets_of(key)?.into_iter().map(|(_, subset)| subset).collect())
        })
    }

    /// The subsets of a dataset in the order in which they were stored, from a number on. The first subset has
    /// the number 1.
    pub(crate) fn subsets_from(&self, dataset: &DatasetName, first: u64) -> Result<Vec<Subset>> {
        self.ask_of(dataset, |read, key| {
            let found = read.subsets_from(key, first)?;
            Ok(found.into_iter().map(|(_, subset)| subset).collect())
        })
    }

    /// The subsets of a dataset that were cited last, at most `limit`, the latest first.
    pub fn last_subsets(&self, dataset: &DatasetName, limit: u32) -> Result<Vec<Subset>> {
        self.ask_of(dataset, |read, key| read.last_subsets_of(key, limit))
    }

    /// The number of cited subsets of a dataset.
    pub fn count_subsets(&self, dataset: &DatasetName) -> Result<u64> {
        self.ask_of(dataset, |read, key| read.count_of::<(SubsetKey, Subset)>(key))
    }

    /// A number that grows whenever a subset of the dataset is cited. It may grow when a subset of another
    /// dataset is cited.
    pub fn subset_counter(&self, dataset: &DatasetName) -> Result<u64> {
        self.ask_of(dataset, |read, key| read.last_subset(key))
    }

    /// The granules of a cited subset, in canonical order, verified at the end. They are read within this
    /// snapshot.
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
