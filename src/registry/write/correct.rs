//! Corrects a history that was recorded with a wrong date, or begins with a wrong change. The dataset gets a
//! new history without the last changes, and another dataset keeps the history with them.

use serde::Serialize;

use super::record::{keep_version, record_of, refuse_withdrawn};
use super::rewind::{Pass, Resume};
use super::target::{ChangeOptions, Target};
use crate::error::{Error, ErrorDetail, ErrorKind, Result};
use crate::model::{
    Correction, DatasetMetadata, DatasetName, Instance, Moment, Subset, Timestamp, Withdrawal,
};
use crate::registry::handle::{End, Registry};
use crate::registry::observer::Work;
use crate::registry::verify::prove_dataset;
use crate::store::{
    DatasetKey, OpenFinding, RootState, StoredAnnotation, StoredDataset, SubsetKey, Transaction,
};

/// The result of the correction of a history.
///
/// Its fields, in this order, are those of `dataset correct` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CorrectionReport {
    /// The dataset, which has the new history.
    pub dataset: DatasetName,
    /// When it was corrected, the time up to which its changes were kept, and the dataset with the earlier
    /// history.
    #[serde(flatten)]
    pub correction: Correction,
    /// The part that was kept, which is in the earlier history, too.
    pub kept: HistoryCounts,
    /// The part that only the earlier history has.
    pub dropped: HistoryCounts,
    /// The latest instance of the new history. `None` means that it has no change.
    pub latest: Option<Instance>,
    /// Whether nothing was stored, because it was a dry run.
    pub dry_run: bool,
}

/// The size of a history, or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HistoryCounts {
    /// The number of changes.
    pub changes: u64,
    /// The number of cited subsets.
    pub subsets: u64,
    /// The number of annotations.
    pub annotations: u64,
}

impl HistoryCounts {
    fn of(transaction: &Transaction, dataset: DatasetKey) -> Result<Self> {
        Ok(HistoryCounts {
            changes: transaction.count_of::<Instance>(dataset)?,
            subsets: transaction.count_of::<(SubsetKey, Subset)>(dataset)?,
            annotations: transaction.count_of::<StoredAnnotation>(dataset)?,
        })
    }

    fn without(self, kept: Self) -> Self {
        HistoryCounts {
            changes: self.changes - kept.changes,
            subsets: self.subsets - kept.subsets,
            annotations: self.annotations - kept.annotations,
        }
    }
}

impl Registry {
    /// Gives a dataset a new history: its history up to a time, with the instances as they were recorded, and
    /// with their files, annotations and subsets. A day means its last instant; `None` keeps no change. Every
    /// identifier is recomputed.
    ///
    /// The history with all changes is kept as a separate dataset, `NAME.before-DATE`, which is withdrawn and
    /// has no DOI. Signed statements belong to that dataset. Every identifier still resolves, and citations
    /// from before the correction are checked against both.
    ///
    /// Costs a copy of the rows of the dataset, and two passes over them, in one transaction. The memory
    /// depends on the number of changes and subsets, not on the number of granules.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`], [`ErrorKind::Withdrawn`]; [`ErrorDetail::FollowsPrimary`]: the dataset is
    /// a mirror; [`ErrorDetail::NothingToCorrect`]: all changes, or none, are after the time;
    /// [`ErrorKind::TooLong`]: the name with its suffix is too long; [`ErrorKind::Damaged`]: the granules do
    /// not match an identifier.
    pub fn correct_dataset(
        &self,
        name: &DatasetName,
        after: Option<Moment>,
        dry_run: bool,
    ) -> Result<CorrectionReport> {
        self.write(|transaction| {
            let old = record_of(transaction, name)?;
            refuse_withdrawn(old.withdrawn.as_ref(), &old.dataset.name)?;
            refuse_mirror(transaction, &old)?;
            let last = after.map(Moment::last_instant);
            check_changes(transaction, &old, after)?;
            let (recorded, _) = self.record(transaction, None, Timestamp::MIN)?;
            // The names and the keys of datasets are assigned under this lock.
            transaction.lock_registry()?;
            let kept_as = unused_name(transaction, &old.dataset.name, recorded)?;
            let correction = Correction::new(recorded, last, kept_as);
            let (kept, new) = exchange(transaction, &old, &correction)?;
            copy_history(self, transaction, &old, &new, last)?;
            keep_version(self, transaction, &kept, "withdrawn")?;
            keep_version(self, transaction, &new, "corrected")?;
            let kept = HistoryCounts::of(transaction, new.key)?;
            let dropped = HistoryCounts::of(transaction, old.key)?.without(kept);
            let dataset = new.dataset.name;
            let latest = transaction.latest_instance(new.key)?;
            let report = CorrectionReport { dataset, correction, kept, dropped, latest, dry_run };
            Ok((report, End::commit_if(!dry_run)))
        })
    }
}

/// Rejects a dataset that is pulled from a primary.
fn refuse_mirror(transaction: &Transaction, stored: &StoredDataset) -> Result<()> {
    let sources = transaction.mirror_sources(stored.key)?;
    match sources.into_iter().find(|(_, source)| source.pulled.is_some()) {
        None => Ok(()),
        Some((_, source)) => {
            let (name, primary) = (&stored.dataset.name, source.source);
            let message = format!("{name} follows {primary}, where its history is corrected");
            Err(Error::new(ErrorDetail::FollowsPrimary, message))
        }
    }
}

/// Rejects a time if all changes are after it, or none.
fn check_changes(
    transaction: &Transaction,
    stored: &StoredDataset,
    after: Option<Moment>,
) -> Result<()> {
    let (key, name) = (stored.key, &stored.dataset.name);
    let refused = |message: String| Err(Error::new(ErrorDetail::NothingToCorrect, message));
    let (first, latest) = (transaction.first_instance(key)?, transaction.latest_instance(key)?);
    let (Some(first), Some(latest)) = (first, latest) else {
        return refused(format!("{name} has no change to correct"));
    };
    match after {
        Some(after) if latest.timestamp <= after.last_instant() => {
            let last = latest.timestamp;
            refused(format!("{name} has no change after {after}: the last one is of {last}"))
        }
        Some(after) if after.last_instant() < first.timestamp => {
            let first = first.timestamp;
            refused(format!("all changes of {name} are after {after}: the first one is of {first}"))
        }
        _ => Ok(()),
    }
}

/// The name of the earlier history: `NAME.before-DATE`, or with `-2`, `-3`, … if that name is in use.
fn unused_name(
    transaction: &Transaction,
    name: &DatasetName,
    recorded: Timestamp,
) -> Result<DatasetName> {
    let mut number = 1;
    loop {
        let end = if number == 1 { String::new() } else { format!("-{number}") };
        let text = format!("{name}.before-{}{end}", recorded.day());
        let unused = text.parse::<DatasetName>().map_err(|error| {
            let message = format!("the earlier history would be called {text}: {error}");
            Error::new(ErrorKind::TooLong, message)
        })?;
        if transaction.name_and_withdrawal(&unused)?.is_none() {
            return Ok(unused);
        }
        number += 1;
    }
}

/// Moves the names, the DOI and the limits of a dataset to a new one, and withdraws the old one under another
/// name. Returns the old and the new one. The versions of their metadata are not updated yet.
fn exchange(
    transaction: &Transaction,
    old: &StoredDataset,
    correction: &Correction,
) -> Result<(StoredDataset, StoredDataset)> {
    let (name, recorded) = (&old.dataset.name, correction.recorded);
    let note = format!("the history of {name} was corrected on {}", recorded.day());
    let kept = StoredDataset {
        dataset: DatasetMetadata {
            name: correction.kept_as.clone(),
            doi: None,
            ..old.dataset.clone()
        },
        withdrawn: Some(Withdrawal { timestamp: recorded, note: Some(note) }),
        ..old.clone()
    };
    transaction.put(old.key, &kept)?;
    let mut new = transaction.insert_dataset(&old.dataset, old.limits)?;
    new.corrections.clone_from(&old.corrections);
    new.corrections.push(correction.clone());
    transaction.put(new.key, &new)?;
    for (former, renamed) in transaction.names_given_up(old.key)? {
        transaction.keep_name(new.key, &former, renamed)?;
    }
    Ok((kept, new))
}

/// Copies the history of a dataset up to a time into a new one, computes its checkpoints and verifies all of
/// it.
fn copy_history(
    registry: &Registry,
    transaction: &Transaction,
    old: &StoredDataset,
    new: &StoredDataset,
    until: Option<Timestamp>,
) -> Result<()> {
    let mut progress = registry.begin(Work::CopyGranules, None);
    for rows in transaction.history_until(old.key, until, new.key) {
        let rows = rows?;
        transaction.insert_raw(&rows)?;
        progress.advance_by(if rows.are_periods() { rows.count() } else { 0 })?;
    }
    drop(progress);
    copy_checks(transaction, old.key, new.key, until)?;
    let times = transaction.history(new.key, None, Timestamp::MAX);
    let times = times.map(|instance| Ok(instance?.timestamp)).collect::<Result<Vec<_>>>()?;
    if !times.is_empty() {
        let target = Target {
            registry,
            transaction,
            options: &ChangeOptions::new(),
            dataset: new.key,
            name: new.dataset.name.clone(),
            limits: new.limits,
            latest: None,
            is_created: true,
            times,
            results: None,
            now: registry.now(),
            refusal: None,
            refused: None,
            clock_refusal: None,
            clock_behind_micros: None,
        };
        Pass::new(&target, Resume::FROM_FIRST)?.finish()?;
    }
    prove_dataset(registry, transaction, (&new.dataset.name, new.key))
}

/// Copies the progress and the findings of file checks, as far as they apply to the files of the new history.
fn copy_checks(
    transaction: &Transaction,
    old: DatasetKey,
    new: DatasetKey,
    until: Option<Timestamp>,
) -> Result<()> {
    let mut roots: Vec<RootState> = transaction.first(old, u32::MAX)?;
    if roots.is_empty() {
        return Ok(());
    }
    let mut has_other_files = until.is_none();
    for dropped in transaction.history(old, until, Timestamp::MAX) {
        let dropped = dropped?;
        has_other_files |= dropped.deleted + dropped.replaced > 0;
    }
    for root in &mut roots {
        root.lock = None;
        // A check that is under way has read granules of the earlier history.
        if has_other_files || root.started.is_some() {
            let since = root.since.filter(|_| !has_other_files);
            *root = RootState {
                since,
                started: None,
                files: 0,
                bytes: 0,
                cursor: None,
                ..root.clone()
            };
        }
    }
    transaction.insert(new, &roots)?;
    let Some(until) = until else { return Ok(()) };
    for finding in transaction.all::<OpenFinding>(old, Vec::new()) {
        let finding = finding?;
        let granule = [finding.granule.as_str()];
        // The next check looks again for files that belong to no granule.
        if finding.granule.is_empty() {
            continue;
        }
        let periods = transaction.periods_among(old, &granule)?;
        let is_held = periods.iter().any(|it| it.ingested <= until && it.deleted.is_none());
        let known = transaction.last_content_among(old, &granule)?;
        if is_held && known.iter().all(|known| known.since <= until) {
            transaction.insert(new, &[finding])?;
        }
    }
    Ok(())
}
