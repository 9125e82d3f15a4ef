//! How a mirror compares with its primary.

use serde::Serialize;

use super::error::Result;
use super::primary::Primary;
use crate::model::{DatasetName, Granule, Identifier, Instance, Moment, Timestamp};
use crate::registry::{Counts, Granules, Merge, Registry, Selection, Side, Snapshot};

/// How a mirror compares with its primary, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// They hold the same granules.
    Identical,
    /// What the mirror holds, the primary once held; or the mirror has no history yet.
    Behind,
    /// What the primary holds, the mirror once held.
    Ahead,
    /// Neither.
    Diverged,
}

/// When an identifier was in force, and how long ago that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Since when.
    pub since: Timestamp,
    /// Until when. `None`: it still is.
    pub until: Option<Timestamp>,
    /// How many changes there were since.
    pub changes_ago: u64,
}

/// A mirror and its primary, as far as their histories say: before any granule is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorStatus {
    /// In one word.
    pub status: Status,
    /// What is in force here. `None`: nothing was ever ingested.
    pub mirror: Option<Instance>,
    /// What it is compared with.
    pub primary: Instance,
    /// Behind: when the mirror's identifier was in force at the primary. Ahead: when the primary's
    /// was in force here. `None` otherwise, and for a mirror without a history whose primary never
    /// was empty.
    pub standing: Option<Standing>,
}

/// A granule that only the mirror or only the primary has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MirrorDifference {
    /// The primary has it and the mirror has not.
    Missing(Granule),
    /// The mirror has it and the primary has not.
    Unexpected(Granule),
}

/// The granules that only one of a mirror and its primary has, in canonical order.
///
/// The rows themselves are compared, in one pass over both with a page of each in memory. They must
/// agree with the two identifiers, else the last item is an error
/// ([`registry::Error::Inconsistent`](crate::Error::Inconsistent)), as it is where either side has
/// not as many rows as its history counts.
pub struct MirrorDifferences {
    sides: Merge<Box<dyn Iterator<Item = crate::Result<Granule>>>, Granules>,
    identifiers: (Identifier, Identifier),
    counts: Counts,
    is_over: bool,
}

/// Compares what a mirror holds with its primary as of a time (`None`: its latest change): decides
/// on one snapshot of each what is compared, and returns the status and the differences, which can
/// be read when both snapshots are gone. A dataset that is not here, or has no history, holds
/// nothing.
///
/// # Errors
///
/// As [`Snapshot::select`] on the primary.
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

/// Behind takes precedence over ahead: where histories go back and forth, the primary's counts.
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

/// When an identifier was last in force in the dataset of an instance, up to that instance.
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
    /// The counts of what was read so far: of everything, once the iterator has ended. The left
    /// side is the mirror's.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Reads what is left, and returns the counts.
    ///
    /// # Errors
    ///
    /// As the iterator.
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
