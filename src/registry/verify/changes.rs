//! Proves changes while their granule rows are read for something else.

use super::all::refuse_mismatch;
use super::finding::{Verification, VerifyWork};
use super::history::{self, Recomputed, Stated};
use super::rows::Rows;
use crate::chain::{Hashing, Sweep};
use crate::model::{DatasetName, Timestamp};
use crate::registry::error::Result;
use crate::store::{DatasetKey, ProducedPeriod, Snapshot};

/// Calls `show` for every granule row that lasts beyond a time (`None`: for all of them), by id and then
/// by time, and proves every change after that time: its identifier and its counts must be those that
/// the rows give.
///
/// Costs one pass over these rows, which are hashed on another thread. The memory depends on the
/// number of changes.
///
/// # Errors
///
/// Those of `show`; [`Error::Store`](crate::Error::Store) of kind `damaged`: the rows contradict the
/// history, or are not rows of it.
pub(in crate::registry) fn prove_changes(
    read: &Snapshot,
    (dataset, key): (&DatasetName, DatasetKey),
    after: Option<Timestamp>,
    mut show: impl FnMut(ProducedPeriod<'_>) -> Result<()>,
) -> Result<()> {
    let changes = Stated::after(read, key, after)?;
    let mut rows = Rows::after(after, &changes);
    let mut hashing = Hashing::of(Sweep::over(changes.len()));
    read.each_change(key, after, |row| -> Result<()> {
        if let Some((granule_id, span)) = rows.held(row.period) {
            hashing.hold(granule_id, span);
        }
        show(row)
    })?;
    let (sweep, _) = hashing.finish();
    let identifiers = sweep.identifiers().take(changes.len()).collect();
    let recomputed = Recomputed { identifiers, counts: rows.counted() };
    let mut findings = history::compare(&changes, &recomputed, None);
    findings.append(rows.findings);
    let name = Some(dataset.clone());
    refuse_mismatch(Verification::new(name, 0, findings, VerifyWork::default()))
}
