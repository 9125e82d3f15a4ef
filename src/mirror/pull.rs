//! Pulls the primary's set into a mirror, in one change that is verified before it is committed.

use super::MirrorStatus;
use super::compare::{Outcome, compare};
use super::differences::MirrorDifference;
use super::primary::Primary;
use crate::error::Result;
use crate::model::{DatasetName, Entry, EventKind, Granule, Limits, Moment, Withdrawal};
use crate::registry::{Applied, Change, ChangeOptions, Guard, Registry, Stamp};

/// The options of a pull.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PullOptions {
    /// The time as of which the primary is read. `None` means its latest change.
    pub primary_at: Option<Moment>,
    /// Whether the mirror is created if it does not exist.
    pub create_dataset: bool,
    /// Which mirrors may be changed.
    pub policy: PullPolicy,
    /// Whether the change is rolled back after everything was checked and computed.
    pub dry_run: bool,
}

/// Which mirrors a pull may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PullPolicy {
    /// Those that follow the primary: without a history, identical or behind. Any other mirror has
    /// granules that the primary never held together, and is not changed.
    #[default]
    Follow,
    /// Any mirror, unless the change would delete or add more granules than the limits allow: these
    /// or, where there are none, those of the mirror or the default.
    Reset(Limits),
}

impl PullPolicy {
    /// Whether a mirror with this status may be changed.
    fn allows(self, before: &MirrorStatus) -> bool {
        match (self, before.status) {
            (PullPolicy::Reset(_), _) => true,
            (PullPolicy::Follow, status) => status.refusal().is_none(),
        }
    }
}

/// The result of a pull.
#[derive(Debug)]
pub struct Pulled {
    /// The status of the mirror before the pull.
    pub before: MirrorStatus,
    /// The change. `None` means that the mirror was identical, or may not be changed.
    pub applied: Option<Applied>,
    /// The name that the primary's dataset has now, if it was asked for by a former one.
    pub primary_renamed: Option<DatasetName>,
    /// When and why the primary withdrew its dataset.
    pub primary_withdrawn: Option<Withdrawal>,
    agrees: bool,
}

impl Pulled {
    /// Whether the mirror now holds the primary's set, and follows the primary's history.
    pub fn is_identical(&self) -> bool {
        self.agrees
    }
}

/// Makes a mirror hold the primary's set, in one change, which is committed only if the resulting
/// identifier is the primary's. The mirror keeps its own timestamps and its own history.
///
/// If the policy does not allow the mirror to be changed, nothing is changed, which is not an error
/// ([`Pulled::is_identical`]). What was read of a log is remembered with the change, in one
/// transaction: neither is committed without the other. A primary from which the mirror was pulled, or
/// to which it was already identical, is its default from then on. A mirror that is added gets the
/// primary's record, under its own name.
///
/// More than about 8 MiB of differences are kept in a temporary file.
///
/// # Errors
///
/// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): the mirror does not exist, and is not to be created; those of
/// [`compare`](super::compare()) for the primary; a refused change: the time is refused, another process
/// has changed the mirror since and the identifier differs, or, with
/// [`PullPolicy::Reset`], more granules would be deleted or added than is allowed.
pub fn pull(
    mirror: &Registry,
    dataset: &DatasetName,
    primary: &Primary,
    options: PullOptions,
    stamp: &Stamp,
) -> Result<Pulled> {
    if !options.create_dataset && !mirror.snapshot()?.has_dataset(dataset)? {
        return Err(crate::error::Error::dataset_unknown(dataset));
    }
    let comparison = compare(mirror, dataset, primary, options.primary_at)?;
    let before = comparison.status().clone();
    let primary_renamed = comparison.primary_renamed().cloned();
    let primary_withdrawn = comparison.primary_withdrawn().cloned();
    let pulled = Pulled { before, applied: None, primary_renamed, primary_withdrawn, agrees: true };
    let before = &pulled.before;
    // Remembered where the mirror is not changed.
    let remember = |outcome| match options.dry_run {
        false => comparison.remember(mirror, dataset, stamp, outcome),
        true => Ok(()),
    };
    if !options.policy.allows(before) {
        remember(Outcome::Compared)?;
        return Ok(Pulled { agrees: false, ..pulled });
    }
    let mut change = Change::new();
    let mut guard = match options.policy {
        PullPolicy::Reset(limits) => Guard::new(limits),
        PullPolicy::Follow => Guard::new(Limits::NONE),
    };
    for difference in comparison.differences()? {
        match difference? {
            MirrorDifference::Missing(granule) => {
                guard.count(EventKind::Ingested, &granule.granule_id);
                change.ingest(entry(granule))?;
            }
            MirrorDifference::Unexpected(granule_id) => {
                guard.count(EventKind::Deleted, &granule_id);
                change.delete(granule_id)?;
            }
        }
    }
    if guard.is_empty() {
        remember(Outcome::Pulled)?;
        return Ok(pulled);
    }
    change.options = ChangeOptions {
        expected: Some(before.primary.identifier),
        create_dataset: options.create_dataset,
        record: Some(comparison.record().clone()),
        dry_run: options.dry_run,
        ..ChangeOptions::default()
    };
    let remembered = comparison.remembered(Outcome::Pulled);
    let applied =
        mirror.change_and_remember(dataset, &change, stamp, remembered.as_ref(), &guard)?;
    Ok(Pulled { applied: Some(applied), ..pulled })
}

fn entry(granule: Granule) -> Entry {
    let Granule { granule_id, producer_granule, .. } = granule;
    Entry { granule_id, producer_granule, content: None, location: None }
}
