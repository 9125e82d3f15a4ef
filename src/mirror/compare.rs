//! How a mirror stands to its primary.

use serde::Serialize;

use super::Primary;
use crate::model::{DatasetName, GranuleId, Identifier, Instance, Moment, Timestamp};
use crate::registry::{Counts, Registry, Side};
use crate::{Difference, Result};

/// How a mirror stands to its primary, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The same granules.
    Identical,
    /// What the mirror holds, the primary once held.
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
    /// Until when; none: it is still.
    pub until: Option<Timestamp>,
    /// How many changes there were since.
    pub changes_ago: u64,
}

/// What the comparison of a mirror found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorComparison {
    /// In one word.
    pub status: Status,
    /// What is in force here; none: nothing was ever ingested.
    pub mirror: Option<Instance>,
    /// What it was compared with.
    pub primary: Instance,
    /// How many granules both have.
    pub matched: u64,
    /// How many the primary has and the mirror lacks.
    pub missing: u64,
    /// How many the mirror has and the primary does not.
    pub unexpected: u64,
    /// The first granule in canonical order that only one of them has.
    pub first_difference: Option<GranuleId>,
    /// Behind: when the mirror's identifier was in force at the primary. Ahead: when the primary's
    /// was in force here.
    pub standing: Option<Standing>,
}

/// Compares what a mirror holds with its primary; shows every granule that only one of them has, in
/// canonical order: [`Difference::OnlyLeft`] is unexpected here, [`Difference::OnlyRight`] missing.
///
/// One pass over both, with a page of each in memory.
///
/// # Errors
///
/// As [`Registry::select`] on the primary; what `show` returned.
pub fn compare(
    mirror: &mut Registry,
    dataset: &DatasetName,
    primary: &mut Primary,
    at: Option<Moment>,
    mut show: impl FnMut(Difference) -> Result<()>,
) -> Result<MirrorComparison> {
    let selection = primary.selection(at);
    let mut first_difference = None;
    let (here, there, counts) =
        mirror.compare_with(dataset, primary.registry(), &selection, |side| {
            let difference = match side {
                Side::Left(granule) => Difference::OnlyLeft(granule.granule_id),
                Side::Right(granule) => Difference::OnlyRight(granule.granule_id),
            };
            let (Difference::OnlyLeft(granule_id) | Difference::OnlyRight(granule_id)) =
                &difference;
            first_difference.get_or_insert_with(|| granule_id.clone());
            show(difference)
        })?;
    let Counts { matched, only_left: unexpected, only_right: missing } = counts;
    let (status, standing) = stand(mirror, &here, primary, &there)?;
    Ok(MirrorComparison {
        status,
        mirror: here,
        primary: there,
        matched,
        missing,
        unexpected,
        first_difference,
        standing,
    })
}

/// Behind before ahead: where histories swing to and fro, the primary's word counts.
fn stand(
    mirror: &mut Registry,
    here: &Option<Instance>,
    primary: &mut Primary,
    there: &Instance,
) -> Result<(Status, Option<Standing>)> {
    let held = here.as_ref().map_or(Identifier::EMPTY, |here| here.identifier);
    if held == there.identifier {
        return Ok((Status::Identical, None));
    }
    let name = there.dataset.clone();
    if let Some(standing) = last_in_force(primary.registry(), &name, held, there)? {
        return Ok((Status::Behind, Some(standing)));
    }
    if let Some(here) = here
        && let Some(standing) = last_in_force(mirror, &here.dataset, there.identifier, here)?
    {
        return Ok((Status::Ahead, Some(standing)));
    }
    Ok((Status::Diverged, None))
}

/// When an identifier was last in force in a dataset, up to one of its instances.
fn last_in_force(
    registry: &mut Registry,
    dataset: &DatasetName,
    identifier: Identifier,
    up_to: &Instance,
) -> Result<Option<Standing>> {
    let mut standing: Option<Standing> = None;
    registry.history(dataset, |instance| {
        if instance.timestamp > up_to.timestamp {
            return Ok(());
        }
        if let Some(standing) = &mut standing {
            standing.changes_ago += 1;
        }
        if instance.identifier == identifier {
            let Instance { timestamp: since, until, .. } = instance;
            standing = Some(Standing { since, until, changes_ago: 0 });
        }
        Ok(())
    })?;
    Ok(standing)
}
