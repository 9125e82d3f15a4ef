//! Makes a dataset hold exactly another set: that of a full listing, or an earlier one of its own.

use super::applied::{Applied, CameBack};
use super::engine::Skipped;
use super::files::FileCounts;
use super::guard::Guard;
use super::resume::Effort;
use super::stamp::Stamp;
use super::target::{ChangeOptions, Conduct, Target, ingest};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Confirmation, DatasetName, GranuleId, Identifier, Instance, Limits, Moment, Timestamp,
};
use crate::registry::handle::{End, Registry};
use crate::registry::listing::{Identified, Listing};
use crate::registry::proof::Claim;
use crate::registry::snapshot::{GranulePages, GranulesWithin, Selection, select};
use crate::store::{DatasetKey, Transaction};

/// An earlier set of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlierSet {
    /// The set that it held at a time. A day means its last instant.
    At(Moment),
    /// The set that it held when this identifier was in force.
    Identifier(Identifier),
}

impl Registry {
    /// Makes a dataset hold exactly the listed set, in one change.
    ///
    /// Costs one pass over the listing and the dataset in parallel, and the cost of
    /// [`Registry::change`] for the difference. The memory depends on neither. `skipped.repeated`
    /// counts repeated ids of the listing. If the dataset already holds the set, nothing changes,
    /// which is not an error; that it was the listing is recorded as a [`Confirmation`], unless
    /// that is impossible ([`Applied::not_confirmed`]).
    ///
    /// # Errors
    ///
    /// The error of a refused change: the time is refused, unless it is that of the last change and
    /// nothing changes; the listing is empty (`empty-listing`), or more would be deleted or added than
    /// the limits allow (`too-many-deletions`, `too-many-additions`): those given or, where there are
    /// none, those of the dataset or the default;
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown);
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the granules held are not those of the
    /// identifier in force.
    pub fn sync(
        &self,
        dataset: &DatasetName,
        listing: &Listing,
        limits: Limits,
        options: &ChangeOptions,
        stamp: &Stamp,
    ) -> Result<Applied> {
        // What did not change is known even if the confirmation cannot be stored.
        let mut unchanged = None;
        let synced = self.write(|transaction| {
            unchanged = None;
            let target = Target::lock(self, transaction, dataset, options, stamp)?;
            target.refuse_backfill()?;
            if let Some(refusal) = target.refusal.as_ref().filter(|_| stamp.at != target.last()) {
                return Err(refusal.clone());
            }
            if listing.is_empty() {
                let message = format!(
                    "the listing is empty: {dataset} would lose all of its {} granules",
                    target.held()
                );
                return Err(Error::new(ErrorKind::EmptyListing, message));
            }
            let mut distinct = 0;
            let listed = listing.distinct()?.inspect(|_| distinct += 1);
            let mut guard = Guard::new(limits);
            let events = target.difference(listed, None, &mut guard)?;
            target.check(&guard)?;
            let (key, replaced) = (target.dataset, target.latest.clone());
            let latest = replaced.as_ref().map(|latest| latest.recorded);
            let mut applied = target.apply(&events, Conduct::Change, Some(&listing.files))?;
            applied.skipped.repeated = listing.count() - distinct;
            if let (Some(change), Some(replaced)) = (&applied.instance, replaced) {
                applied.came_back =
                    came_back(transaction, key, guard.first_added(), change, replaced)?;
            }
            if applied.instance.is_some() || options.dry_run {
                return Ok(applied.ended(options));
            }
            // Records of files are not a confirmation: they are stored, or the sync fails.
            unchanged = Some(applied.clone()).filter(|applied| !applied.files.has_any());
            let (recorded, recorded_by) = stamp.record(transaction, latest, Timestamp::MIN)?;
            let confirmation = Confirmation { recorded, recorded_by, granules: distinct };
            transaction.save_confirmation(key, &confirmation)?;
            Ok((applied, End::Commit))
        });
        match (synced, unchanged) {
            (Err(error), Some(applied)) => {
                Ok(Applied { not_confirmed: Some(error.with_causes()), ..applied })
            }
            (synced, _) => synced,
        }
    }

    /// What [`Registry::sync`] returns where nothing changes, without writing: for a registry that cannot
    /// be written. `None` means that something would change. Costs a pass over the listing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown); the error of a registry.
    pub fn sync_without_change(
        &self,
        dataset: &DatasetName,
        listing: &Listing,
    ) -> Result<Option<Applied>> {
        let in_force = self.snapshot()?.dataset(dataset)?.latest;
        let Identified { identifier, repeated, .. } = listing.identify()?;
        let is_same = in_force.as_ref().is_some_and(|latest| latest.identifier == identifier);
        if !is_same || listing.files.count() > 0 {
            return Ok(None);
        }
        Ok(Some(Applied {
            instance: None,
            last: in_force.as_ref().map(|latest| latest.timestamp),
            in_force,
            first_ingested: Vec::new(),
            first_deleted: Vec::new(),
            skipped: Skipped { repeated, ..Skipped::default() },
            created_dataset: false,
            clock_behind_micros: None,
            files: FileCounts::default(),
            came_back: None,
            not_confirmed: None,
            effort: Effort::default(),
        }))
    }

    /// Makes a dataset hold an earlier set again, in one new change, so the history contains both.
    /// The identifier is that of the earlier set. If the dataset already holds the set, nothing
    /// changes, which is not an error.
    ///
    /// Costs one pass over both sets, and the cost of [`Registry::change`] for the difference.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`](crate::Snapshot::select) in this dataset;
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the granules of either set are not those
    /// of its identifier.
    pub fn revert(
        &self,
        dataset: &DatasetName,
        to: EarlierSet,
        options: &ChangeOptions,
        stamp: &Stamp,
    ) -> Result<Applied> {
        self.write(|transaction| {
            let target = Target::lock(self, transaction, dataset, options, stamp)?;
            target.refuse_backfill()?;
            let name = dataset.clone();
            let selection = match to {
                EarlierSet::At(at) => Selection::Dataset { name, at: Some(at) },
                EarlierSet::Identifier(identifier) => {
                    Selection::Identifier { identifier, dataset: Some(name) }
                }
            };
            let set = select(transaction, &selection)?.set;
            let wanted = GranulesWithin::of(transaction, GranulePages::of(transaction, &set)?);
            let wanted = wanted.map(|granule| granule.map(ingest));
            let claim = Some(Claim::of(self, &set));
            let events = target.difference(wanted, claim, &mut Guard::default())?;
            let expected = options.expected.or(Some(set.identifier()));
            let options = &ChangeOptions { expected, ..options.clone() };
            let applied = Target { options, ..target }.apply(&events, Conduct::Revert, None)?;
            Ok(applied.ended(options))
        })
    }
}

/// Whether what a change added had been deleted by the one before, `replaced`, and made the set an
/// earlier one again. Looks at the first granules that it added.
fn came_back(
    transaction: &Transaction,
    dataset: DatasetKey,
    first_added: &[GranuleId],
    change: &Instance,
    replaced: Instance,
) -> Result<Option<CameBack>> {
    if first_added.is_empty() || replaced.deleted == 0 {
        return Ok(None);
    }
    let ids: Vec<&str> = first_added.iter().map(GranuleId::as_str).collect();
    let periods = transaction.periods_among(dataset, &ids)?;
    let lost = periods.iter().filter(|period| period.deleted == Some(replaced.timestamp)).count();
    if lost < ids.len() {
        return Ok(None);
    }
    let mut earlier = transaction.instances_of_with(dataset, change.identifier)?;
    earlier.retain(|instance| instance.timestamp < replaced.timestamp);
    Ok(earlier.pop().map(|earlier| CameBack { earlier, replaced }))
}
