//! Bringing a mirror to its primary's set, in one change that proves itself.

use super::compare::{MirrorDifference, MirrorStatus, compare};
use super::error::Result;
use super::primary::Primary;
use crate::model::{DatasetName, Entry, Granule, Moment};
use crate::registry::{self, Applied, Change, Registry, Stamp};

/// How a pull is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PullOptions {
    /// As of when at the primary. `None`: its latest change.
    pub primary_at: Option<Moment>,
    /// What becomes of a mirror that is not there.
    pub unknown: UnknownMirror,
    /// Whether the change is kept.
    pub run: Run,
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
    /// The change. `None`: the mirror was identical.
    pub applied: Option<Applied>,
}

/// Makes a mirror hold what its primary holds: one change, committed only if the identifier that it
/// leads to is the primary's. The mirror keeps its own timestamps and its own history.
///
/// The differences may be any number: beyond some 16 MiB they are kept in a temporary file.
///
/// # Errors
///
/// [`registry::Error::NoDataset`]: the mirror is not there, and is not to be created; as
/// [`compare`] on the primary; [`registry::Error::Change`]: the time, or, if somebody else changed
/// the mirror meanwhile, another identifier.
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
    let mut change = Change::new();
    let mut has_differences = false;
    for difference in differences {
        has_differences = true;
        match difference? {
            MirrorDifference::Missing(granule) => change.ingest(entry(granule))?,
            MirrorDifference::Unexpected(granule) => change.delete(entry(granule))?,
        }
    }
    if !has_differences {
        return Ok(Pulled { before, applied: None });
    }
    change.expect(before.primary.identifier);
    if options.unknown == UnknownMirror::Create {
        change.create_dataset();
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
