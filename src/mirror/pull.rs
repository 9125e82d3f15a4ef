//! Bringing a mirror to its primary's set, in one change that proves itself.

use super::compare::{MirrorDifference, MirrorStatus, Status, compare};
use super::error::Result;
use super::primary::Primary;
use crate::model::{DatasetName, Entry, Granule, Moment};
use crate::registry::{self, Applied, Change, MaxDelete, Registry, Stamp};

/// How a pull is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PullOptions {
    /// As of when at the primary. `None`: its latest change.
    pub primary_at: Option<Moment>,
    /// What becomes of a mirror that is not there.
    pub unknown: UnknownMirror,
    /// Which mirrors are changed.
    pub policy: PullPolicy,
    /// Whether the change is kept.
    pub run: Run,
}

/// Which mirrors a pull changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PullPolicy {
    /// Those that follow the primary: without a history, identical or behind. Any other holds
    /// something that the primary never held, or holds no longer: it stays as it is.
    #[default]
    Follow,
    /// Any mirror, unless more granules would be deleted than is allowed.
    Reset(MaxDelete),
}

impl PullPolicy {
    /// Whether a mirror may be changed.
    fn allows(self, before: &MirrorStatus) -> bool {
        match (self, before.status) {
            (PullPolicy::Reset(_), _) | (_, Status::Identical | Status::Behind) => true,
            (PullPolicy::Follow, Status::Ahead | Status::Diverged) => false,
        }
    }
}

/// What becomes of a pull into a dataset that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownMirror {
    /// It is refused.
    #[default]
    Refuse,
    /// The dataset is added.
    Create,
}

/// Whether the change of a pull is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Run {
    /// It is.
    #[default]
    Commit,
    /// Everything is done, and then undone.
    Rehearse,
}

/// What a pull did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// How the mirror compared before.
    pub before: MirrorStatus,
    /// The change. `None`: the mirror was identical, or may not be changed.
    pub applied: Option<Applied>,
}

impl Pulled {
    /// Whether the mirror holds now what its primary holds.
    pub fn is_identical(&self) -> bool {
        self.applied.is_some() || self.before.status == Status::Identical
    }
}

/// Makes a mirror hold what its primary holds: one change, committed only if the identifier that it
/// leads to is the primary's. The mirror keeps its own timestamps and its own history.
///
/// A mirror that the policy does not allow to be changed stays as it is; that is not an error
/// ([`Pulled::is_identical`]). A mirror that is added takes over the primary's record, under its own
/// name.
///
/// The differences may be any number: beyond some 16 MiB they are kept in a temporary file.
///
/// # Errors
///
/// [`registry::Error::NoDataset`]: the mirror is not there, and is not to be created; as
/// [`compare`] on the primary; [`registry::Error::Change`]: the time, or, if somebody else changed
/// the mirror meanwhile, another identifier; with [`PullPolicy::Reset`], more deletions than are
/// allowed.
pub fn pull(
    mirror: &Registry,
    dataset: &DatasetName,
    primary: &Primary,
    options: PullOptions,
    stamp: &Stamp<'_>,
) -> Result<Pulled> {
    if options.unknown == UnknownMirror::Refuse && !mirror.snapshot()?.has_dataset(dataset)? {
        return Err(registry::Error::NoDataset { name: dataset.clone() }.into());
    }
    let (before, differences) = compare(mirror, dataset, primary, options.primary_at)?;
    if !options.policy.allows(&before) {
        return Ok(Pulled { before, applied: None });
    }
    let mut change = Change::new();
    let (mut ingested, mut deleted) = (0, 0);
    for difference in differences {
        match difference? {
            MirrorDifference::Missing(granule) => {
                ingested += 1;
                change.ingest(entry(granule))?;
            }
            MirrorDifference::Unexpected(granule) => {
                deleted += 1;
                change.delete(entry(granule))?;
            }
        }
    }
    if ingested + deleted == 0 {
        return Ok(Pulled { before, applied: None });
    }
    if let PullPolicy::Reset(max_delete) = options.policy {
        let held = before.mirror.as_ref().map_or(0, |latest| latest.granules);
        max_delete.check_count(dataset, deleted, held)?;
    }
    change.expect(before.primary.identifier);
    if options.unknown == UnknownMirror::Create {
        let record = primary.registry().snapshot()?.dataset(primary.dataset())?.dataset;
        change.create_dataset_with(record);
    }
    if options.run == Run::Rehearse {
        change.dry_run();
    }
    let applied = mirror.change(dataset, &change, stamp)?;
    Ok(Pulled { before, applied: Some(applied) })
}

fn entry(granule: Granule) -> Entry {
    let Granule { granule_id, producer_granule, .. } = granule;
    Entry { granule_id, producer_granule, location: None }
}
