//! Makes a dataset hold exactly another set: that of a full listing, or an earlier set of its own.

use std::collections::BTreeMap;

use super::applied::{ChangeReport, ReturnedGranules};
use super::target::{ChangeOptions, Conduct, Target};
use crate::error::{Error, ErrorDetail, ErrorKind, Result};
use crate::model::{
    Confirmation, Coverage, DatasetName, EventKind, GranuleId, Holding, Instance, ListingEntry,
    RefusedListing, Set, Timestamp, plural,
};
use crate::registry::contents::ContentsAt;
use crate::registry::handle::{End, Registry};
use crate::registry::listing::Listing;
use crate::registry::look_ups::LookUps;
use crate::registry::proof::Claim;
use crate::registry::snapshot::{Position, Selection, SetCursor, dataset_of, select};
use crate::registry::staging::Staging;
use crate::store::{DatasetKey, Transaction, View};

impl Registry {
    /// Makes a dataset hold exactly the listed set, in one change.
    ///
    /// Costs one pass over the listing and the dataset in parallel, and the cost of [`Registry::change`] for
    /// the difference. The memory depends on neither. `skipped.repeated` counts repeated ids of the listing. If
    /// the dataset already holds the set, nothing changes, which is not an error. An accepted listing is
    /// recorded as a [`Confirmation`]. A listing that a guard refuses is recorded as a [`RefusedListing`],
    /// until one is accepted. A wrong time is an error of the caller, and is not recorded.
    /// [`ChangeOptions::expect`] overrules the guards.
    ///
    /// # Errors
    ///
    /// The error of a refused change: the time is rejected, unless it is that of the last change and nothing
    /// changes; the listing is empty (`empty`), unless the dataset is empty again; or more would be deleted or
    /// added than [`ChangeOptions::limits`] allow (`too-many-deletions`, `too-many-additions`);
    /// [`ErrorKind::DatasetUnknown`]; [`ErrorKind::Damaged`]: the granules held are not those of the identifier
    /// in force.
    pub fn sync(
        &self,
        dataset: &DatasetName,
        listing: &Listing,
        options: &ChangeOptions,
    ) -> Result<ChangeReport> {
        let options = &options.clone().limits(options.limits.unwrap_or_default());
        self.guarded(dataset, options, || self.synced(dataset, listing, options))
    }

    /// Makes the change of a listing. If it is refused, records this.
    pub(super) fn guarded(
        &self,
        dataset: &DatasetName,
        options: &ChangeOptions,
        change: impl FnOnce() -> Result<ChangeReport>,
    ) -> Result<ChangeReport> {
        change().map_err(|error| {
            let is_of_listing = options.limits.is_some() && error.rejects_listing();
            if !is_of_listing || options.dry_run {
                return error;
            }
            // The refusal is the error. It is returned even if it cannot be recorded.
            let noted = self.note_refused_listing(dataset, &error.reason());
            if noted.unwrap_or(false) { error.repeated(dataset) } else { error }
        })
    }

    /// Records that a listing of a dataset was refused, and why, until one is accepted. Returns whether the
    /// previous listing was refused, too.
    pub fn note_refused_listing(&self, dataset: &DatasetName, reason: &str) -> Result<bool> {
        /// The greatest length of a recorded reason, which may name granules.
        const MOST_CHARS: usize = 300;
        self.unwatched().write(|transaction| {
            let (key, _) = dataset_of(transaction, dataset)?;
            let mut reason = reason.to_owned();
            if let Some((end, _)) = reason.char_indices().nth(MOST_CHARS) {
                reason.truncate(end);
                reason.push('…');
            }
            let is_repeated = transaction.refusal(key)?.is_some();
            let (recorded, _) = self.record(transaction, None, Timestamp::MIN)?;
            transaction.put(key, &RefusedListing { recorded, reason })?;
            Ok((is_repeated, End::Commit))
        })
    }

    /// Deletes the record of a refused listing of a dataset: all its listings were accepted.
    pub fn forget_refused_listing(&self, dataset: &DatasetName) -> Result<()> {
        self.unwatched().write(|transaction| {
            let (key, _) = dataset_of(transaction, dataset)?;
            if transaction.refusal(key)?.is_none() {
                return Ok(((), End::RollBack));
            }
            Ok((transaction.delete_refusal(key)?, End::Commit))
        })
    }

    fn synced(
        &self,
        dataset: &DatasetName,
        listing: &Listing,
        options: &ChangeOptions,
    ) -> Result<ChangeReport> {
        let registry = &self.with_guarded_clock();
        registry.write(|transaction| {
            let mut target = Target::lock(registry, transaction, dataset, options)?;
            if let Some(refusal) = target.refusal.as_ref().filter(|_| options.at != target.last()) {
                return Err(refusal.clone());
            }
            // A dataset that lost its last granule can be confirmed by an empty listing.
            if listing.is_empty() && target.latest.is_none() {
                let message = format!("the listing is empty: {dataset} has never held a granule");
                return Err(Error::new(ErrorDetail::EmptyListing, message));
            }
            if listing.is_empty() && target.held() > 0 {
                let held = plural(target.held(), "granule");
                let message =
                    format!("the listing is empty: {dataset} would lose all of its {held}");
                let refusal = Error::new(ErrorDetail::EmptyListing, message);
                target.refused = target.refused.or(Some(refusal));
            }
            // A listing that changes nothing is recorded, too, so the clock must be plausible.
            target.refused = target.refused.or(target.clock_refusal.take());
            let mut distinct = 0;
            let listed = listing.distinct()?.inspect(|_| distinct += 1);
            let events = target.difference(listed, None, Coverage::Whole)?;
            let key = target.dataset;
            let latest = target.latest.as_ref().map(|latest| latest.recorded);
            let mut applied = target.apply(&events, Conduct::Change(Coverage::Whole))?;
            applied.skipped.repeated = listing.repeated(distinct)?;
            if let (Some(change), Some(_)) = (applied.instances.last(), applied.last) {
                applied.came_back = came_back(transaction, key, &events, change)?;
            }
            if !options.dry_run && transaction.refusal(key)?.is_some() {
                transaction.delete_refusal(key)?;
            }
            if options.dry_run {
                return Ok(applied.ended(true));
            }
            // If something changed, the clock has been found plausible.
            let latest = applied.instances.last().map(|change| change.recorded).or(latest);
            let (now, recorded_by) = registry.record(transaction, latest, Timestamp::MIN)?;
            let changed = applied.instances.last().map(|change| change.timestamp);
            let recorded = changed.or(options.at).unwrap_or(now);
            let confirmation = Confirmation { recorded, recorded_by, granules: distinct };
            transaction.put(key, &confirmation)?;
            Ok((applied, End::Commit))
        })
    }

    /// Makes a dataset hold an earlier set again, in one new change, so the history contains both. `None` means
    /// the set before the last change. The set is one that this dataset held, whichever dataset the selection
    /// names. The new identifier is that of the earlier set. If the dataset already holds the set, nothing
    /// changes, which is not an error.
    ///
    /// Costs one pass over both sets, and the cost of [`Registry::change`] for the difference.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`](crate::Snapshot::select) in this dataset. Without a selection:
    /// [`ErrorKind::NoHistory`], if there was at most one change; [`ErrorKind::Ambiguous`], if the last change
    /// already went back to the set before the previous one, so it is not clear which change to take back.
    /// [`ErrorKind::Damaged`]: the granules of either set are not those of its identifier.
    /// [`ErrorKind::TooManyDeletions`]: the earlier set is empty, and is not expected
    /// ([`ChangeOptions::expect`]).
    pub fn revert<'a>(
        &self,
        dataset: &DatasetName,
        to: impl Into<Option<&'a Selection>>,
        options: &ChangeOptions,
    ) -> Result<ChangeReport> {
        let to = to.into();
        let registry = &self.with_guarded_clock();
        registry.write(|transaction| {
            let mut target = Target::lock(registry, transaction, dataset, options)?;
            let selected = |selection| Ok::<_, Error>(select(transaction, &selection)?.set);
            let mut set = match to {
                None => Set::Instance(before_last_change(transaction, &target)?),
                Some(Selection::Identifier { identifier, dataset: _, at }) => {
                    let (identifier, dataset, at) = (*identifier, Some(dataset.clone()), *at);
                    selected(Selection::Identifier { identifier, dataset, at })?
                }
                Some(other) => selected(other.clone())?,
            };
            if *set.dataset() != target.name {
                // Another dataset had this digest, too, and later than this one.
                let identifier = set.identifier();
                let mut own = transaction.instances_of_with(target.dataset, identifier)?;
                own.retain(|instance| instance.digest == set.digest());
                let unknown = || Error::identifier_unknown(identifier, Some(dataset));
                set = Set::Instance(own.pop().ok_or_else(unknown)?);
            }
            let at = set.instance().timestamp;
            let mut known = ContentsAt::new(transaction, target.dataset, at)?;
            let read: &View = transaction;
            let wanted = SetCursor::of(read, Position::of(read, &set)?).into_granules();
            let wanted = wanted.map(|granule| {
                let Holding { granule_id, producer_granule, .. } = granule?;
                let content = Some(known.of(granule_id.as_str())?.into());
                Ok(ListingEntry { granule_id, producer_granule, content, location: None })
            });
            let claim = Some(Claim::of(self, &set));
            let events = target.difference(wanted, claim, Coverage::All)?;
            if set.instance().granules == 0 && target.held() > 0 {
                let (held, name) = (target.held(), &target.name);
                let message = format!(
                    "the set is empty: {held} of the {held} granules of {name} would be deleted"
                );
                target.refused = Some(Error::new(ErrorKind::TooManyDeletions, message));
            }
            let expected = options.expected.or(Some(set.identifier()));
            let expected_digest = options.expected_digest.or(Some(set.digest()));
            let options = &options.clone().expected(expected).expected_digest(expected_digest);
            let applied = Target { options, ..target }.apply(&events, Conduct::Revert)?;
            Ok(applied.ended(options.dry_run))
        })
    }
}

/// The set that a dataset held before its last change.
fn before_last_change(read: &View, target: &Target<'_>) -> Result<Instance> {
    let name = &target.name;
    let last = target.latest.as_ref().ok_or_else(|| Error::no_history(name))?;
    let Some(before) = instance_before(read, target.dataset, last.timestamp)? else {
        let message = format!("{name} has had one change only, so there is no set before it");
        return Err(Error::new(ErrorDetail::FirstChange, message));
    };
    let earlier = instance_before(read, target.dataset, before.timestamp)?;
    if let Some(earlier) = earlier
        && (earlier.identifier, earlier.digest) == (last.identifier, last.digest)
    {
        let message = format!(
            "the last change of {name}, at {}, went back to the set of {} already",
            last.timestamp, earlier.timestamp
        );
        return Err(Error::new(ErrorKind::Ambiguous, message));
    }
    Ok(before)
}

/// The instance in force before an instant.
fn instance_before(read: &View, dataset: DatasetKey, at: Timestamp) -> Result<Option<Instance>> {
    match Timestamp::from_micros(at.as_micros() - 1) {
        Some(before) => read.instance_at(dataset, before),
        None => Ok(None),
    }
}

/// The greatest time between a deletion and the change with which its granules come back, in microseconds.
const RECENT_MICROS: i64 = 31 * 24 * 3_600 * 1_000_000;

/// The greatest number of granules that are looked up at once.
const BATCH_GRANULES: usize = 4_096;

/// Finds the granules that a change added and that had been deleted recently. Costs one query if nothing had
/// been deleted, else a look-up for each added granule.
fn came_back(
    transaction: &Transaction,
    dataset: DatasetKey,
    events: &Staging,
    change: &Instance,
) -> Result<Option<ReturnedGranules>> {
    let since = change.timestamp.as_micros().saturating_sub(RECENT_MICROS);
    let since = Timestamp::from_micros(since).unwrap_or(Timestamp::MIN);
    if change.ingested == 0 || !transaction.has_deletions(dataset, since, change.timestamp)? {
        return Ok(None);
    }
    let mut deletions: BTreeMap<Timestamp, u64> = BTreeMap::new();
    let mut look_ups = LookUps::up_to(BATCH_GRANULES);
    let mut look_up = |granule_ids: &[GranuleId], look_ups: &mut LookUps| -> Result<()> {
        let ids: Vec<&str> = granule_ids.iter().map(GranuleId::as_str).collect();
        let periods = transaction.periods_among(dataset, &ids)?;
        look_ups.note(ids.len(), size_of_val(periods.as_slice()));
        for of_granule in periods.chunk_by(|a, b| a.granule_id == b.granule_id) {
            let deleted = of_granule.iter().filter_map(|period| period.deleted).max();
            // A granule that is deleted and added at the same time did not come back.
            if let Some(at) = deleted.filter(|at| *at > since && *at < change.timestamp) {
                *deletions.entry(at).or_default() += 1;
            }
        }
        Ok(())
    };
    let mut batch = Vec::new();
    for event in events.sorted()? {
        let event = event?;
        if event.kind == EventKind::Ingested {
            batch.push(event.granule_id);
        }
        if batch.len() >= look_ups.granules() {
            look_up(&std::mem::take(&mut batch), &mut look_ups)?;
        }
    }
    look_up(&batch, &mut look_ups)?;
    let most = deletions.into_iter().max_by_key(|(at, granules)| (*granules, *at));
    let Some((at, granules)) = most else { return Ok(None) };
    let Some(without) = transaction.instance_at(dataset, at)? else { return Ok(None) };
    let mut earlier = transaction.instances_of_with(dataset, change.identifier)?;
    earlier.retain(|instance| instance.timestamp < at);
    Ok(Some(ReturnedGranules { granules, without, earlier: earlier.pop() }))
}
