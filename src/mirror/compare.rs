//! Compares a mirror with its primary.

use serde::Serialize;

use super::error::Result;
use super::primary::Primary;
use crate::model::{DatasetName, Granule, Identifier, Instance, Moment, Timestamp};
use crate::registry::{Counts, Granules, Merge, Registry, Selection, Side, Snapshot};

/// The result of comparing a mirror with its primary, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// They hold the same granules.
    Identical,
    /// The primary once held the mirror's set, or the mirror has no history yet.
    Behind,
    /// The mirror once held the primary's set.
    Ahead,
    /// Each has a set that the other never held.
    Diverged,
}

/// When an identifier was in force, and how many changes ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The time of the change that began the interval.
    pub since: Timestamp,
    /// The time of the change that ended it. `None` means that it is still in force.
    pub until: Option<Timestamp>,
    /// The number of changes since then.
    pub changes_ago: u64,
}

/// A mirror and its primary, compared by their histories only, before any granule is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorStatus {
    /// The result, in one word.
    pub status: Status,
    /// The instance in force in the mirror. `None` means that nothing was ever ingested.
    pub mirror: Option<Instance>,
    /// The instance of the primary with which it is compared.
    pub primary: Instance,
    /// If the mirror is behind, when its identifier was in force in the primary; if it is ahead,
    /// when the primary's identifier was in force in the mirror. `None` otherwise, and if the
    /// mirror has no history and the primary was never empty.
    pub standing: Option<Standing>,
}

/// A granule that only the mirror or only the primary has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MirrorDifference {
    /// Only the primary has it.
    Missing(Granule),
    /// Only the mirror has it.
    Unexpected(Granule),
}

/// The granules that only a mirror or only its primary has, in canonical order.
///
/// The rows themselves are compared, in one pass over both sets with a page of each in memory. If
/// the result contradicts the two identifiers, or the number of rows of a side is not the number
/// that its history counts, the last item is the error
/// [`registry::Error::Inconsistent`](crate::Error::Inconsistent).
pub struct MirrorDifferences {
    sides: Merge<Box<dyn Iterator<Item = crate::Result<Granule>>>, Granules>,
    identifiers: (Identifier, Identifier),
    counts: Counts,
    is_over: bool,
}

/// Compares the set that a mirror holds with that of its primary as of a time (`None` means its
/// latest change). Returns the status and the differences, which can still be read after both
/// snapshots were dropped. A mirror that does not exist, or has no history, holds nothing.
///
/// # Errors
///
/// Those of [`Snapshot::select`] for the primary.
pub fn compare(
    mirror: &Registry,
    dataset: &DatasetName,
    primary: &Primary,
    at: Option<Moment>,
) -> Result<(MirrorStatus, MirrorDifferences)> {
    let here = mirror.snapshot()?;
    let there = primary.registry().snapshot()?;
    let selection = Selection::Dataset { name: primary.dataset().clone(), at };
    let selected = there.select(&selection)?.set;
    let latest = match here.has_dataset(dataset)? {
        true => here.dataset(dataset)?.latest,
        false => None,
    };
    let status = status(&here, latest, &there, selected.instance().clone())?;
    let held_here: Box<dyn Iterator<Item = crate::Result<Granule>>> = match &status.mirror {
        Some(latest) => Box::new(here.granules(&crate::model::Set::Instance(latest.clone()))?),
        None => Box::new(std::iter::empty()),
    };
    let held = status.mirror.as_ref().map_or(Identifier::EMPTY, |latest| latest.identifier);
    let differences = MirrorDifferences {
        sides: Merge::of(held_here, there.granules(&selected)?),
        identifiers: (held, status.primary.identifier),
        counts: Counts::default(),
        is_over: false,
    };
    Ok((status, differences))
}

/// Behind takes precedence over ahead: if each once held the other's set, the history of the
/// primary decides.
fn status(
    here: &Snapshot,
    latest: Option<Instance>,
    there: &Snapshot,
    primary: Instance,
) -> Result<MirrorStatus> {
    let held = latest.as_ref().map_or(Identifier::EMPTY, |latest| latest.identifier);
    let ahead = |latest: &Instance| last_in_force(here, primary.identifier, latest);
    let (status, standing) = if held == primary.identifier {
        (Status::Identical, None)
    } else if let Some(standing) = last_in_force(there, held, &primary)? {
        (Status::Behind, Some(standing))
    } else if latest.is_none() {
        (Status::Behind, None)
    } else if let Some(standing) = latest.as_ref().map(ahead).transpose()?.flatten() {
        (Status::Ahead, Some(standing))
    } else {
        (Status::Diverged, None)
    };
    Ok(MirrorStatus { status, mirror: latest, primary, standing })
}

/// The last interval, up to an instance, in which an identifier was in force in its dataset.
fn last_in_force(
    snapshot: &Snapshot,
    identifier: Identifier,
    up_to: &Instance,
) -> Result<Option<Standing>> {
    let found = snapshot.history_with(&up_to.dataset, identifier)?;
    let Some(last) = found.into_iter().rfind(|it| it.timestamp <= up_to.timestamp) else {
        return Ok(None);
    };
    let changes = |up_to: Timestamp| snapshot.count_history(&last.dataset, Some(up_to));
    let changes_ago = changes(up_to.timestamp)? - changes(last.timestamp)?;
    Ok(Some(Standing { since: last.timestamp, until: last.until, changes_ago }))
}

impl MirrorDifferences {
    /// The counts of what was read so far; those of the whole comparison once the iterator has
    /// ended. The left side is the mirror.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Reads the remaining differences, and returns the counts.
    ///
    /// # Errors
    ///
    /// Those of the iterator.
    pub fn finish(mut self) -> Result<Counts> {
        self.by_ref().try_for_each(|difference| difference.map(drop))?;
        Ok(self.counts)
    }
}

impl Iterator for MirrorDifferences {
    type Item = Result<MirrorDifference>;

    fn next(&mut self) -> Option<Result<MirrorDifference>> {
        while !self.is_over {
            let side = match self.sides.next() {
                Some(Ok(side)) => side,
                Some(Err(error)) => {
                    self.is_over = true;
                    return Some(Err(error.into()));
                }
                None => {
                    self.is_over = true;
                    let (here, there) = self.identifiers;
                    return self.counts.check(here, there).err().map(|error| Err(error.into()));
                }
            };
            self.counts.count(&side);
            match side {
                Side::Left(granule) => return Some(Ok(MirrorDifference::Unexpected(granule))),
                Side::Right(granule) => return Some(Ok(MirrorDifference::Missing(granule))),
                Side::Both(..) => {}
            }
        }
        None
    }
}
