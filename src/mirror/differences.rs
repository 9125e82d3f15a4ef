//! The granules that only one of a mirror and its primary has.

use super::error::Result;
use super::reading::Reading;
use super::status::MirrorStatus;
use crate::chain::Sweep;
use crate::model::{Granule, Identifier, LogChange, SourceLocation};
use crate::registry::{self, Ahead, ChangeError, Counts, Merge, Outcome, Outcomes, Side};

/// A granule that only the mirror or only the primary has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MirrorDifference {
    /// The primary has it and the mirror has not.
    Missing(Granule),
    /// The mirror has it and the primary has not.
    Unexpected(Granule),
}

/// The granules that a mirror or its primary holds. Both are read at the same time.
pub(super) type Held = Ahead<crate::Result<Granule>>;

/// The granules that a thread hands over at once.
const BATCH_GRANULES: usize = 4_096;

/// Reads granules ahead.
pub(super) fn read_ahead(
    granules: impl Iterator<Item = crate::Result<Granule>> + Send + 'static,
) -> Held {
    Ahead::of(granules, BATCH_GRANULES)
}

/// The granules that only one of a mirror and its primary has, in canonical order.
///
/// The rows themselves are compared, in one pass over both with a page of each in memory. They must
/// agree with the two identifiers, else the last item is an error: about the registry
/// ([`Error::Inconsistent`](crate::Error::Inconsistent)), or about the log of the primary
/// ([`ChangeError::NotAsExpected`]).
pub struct MirrorDifferences<'a> {
    sides: Sides<'a>,
    identifiers: (Identifier, Identifier),
    counts: Counts,
    is_over: bool,
}

enum Sides<'a> {
    /// The rows of both.
    Rows(Box<Merge<Held, Held>>),
    /// The rows of the mirror, and what the log of the primary makes of them.
    Log(Box<OfLog<'a>>),
}

struct OfLog<'a> {
    sides: Merge<Held, Outcomes<'a>>,
    /// Whether the events of the log begin with what the mirror holds.
    begins_with_mirror: bool,
    /// The granules of the mirror, and those of the primary.
    sweep: Sweep,
    selected: (&'a LogChange, &'a SourceLocation),
}

/// One step of a comparison: which side has a granule.
enum Step {
    Both,
    Neither,
    Only(MirrorDifference),
}

impl<'a> MirrorDifferences<'a> {
    /// Of a mirror and a registry.
    pub(super) fn of_rows(status: &MirrorStatus, held: Held, there: Held) -> Self {
        MirrorDifferences::of(status, Sides::Rows(Box::new(Merge::of(held, there))))
    }

    /// Of a mirror and a log.
    pub(super) fn of_log(status: &MirrorStatus, held: Held, reading: &'a Reading) -> Result<Self> {
        let sides = Merge::of(held, reading.replay.outcomes()?);
        let begins_with_mirror = reading.begins_with_mirror();
        let (change, location) = reading.selected.as_ref().expect("a log without one is refused");
        let sweep = Sweep::over(2);
        let selected = (change, location);
        let log = OfLog { sides, begins_with_mirror, sweep, selected };
        Ok(MirrorDifferences::of(status, Sides::Log(Box::new(log))))
    }

    fn of(status: &MirrorStatus, sides: Sides<'a>) -> Self {
        let identifiers = (status.held(), status.primary.identifier);
        MirrorDifferences { sides, identifiers, counts: Counts::default(), is_over: false }
    }

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

    /// The next granule of either side. `None` means that there are no more.
    fn step(&mut self) -> Option<crate::Result<Step>> {
        Some(match &mut self.sides {
            Sides::Rows(sides) => sides.next()?.map(|side| match side {
                Side::Left(granule) => Step::Only(MirrorDifference::Unexpected(granule)),
                Side::Right(granule) => Step::Only(MirrorDifference::Missing(granule)),
                Side::Both(..) => Step::Both,
            }),
            Sides::Log(log) => log.sides.next()?.and_then(|side| log.step(side)),
        })
    }

    /// Whether the rows agree with the identifiers.
    fn check(&self) -> crate::Result<()> {
        let (here, there) = self.identifiers;
        let Sides::Log(log) = &self.sides else { return self.counts.check(here, there) };
        let mut computed = log.sweep.identifiers();
        let (Some(mirror), Some(primary)) = (computed.next(), computed.next()) else {
            return Ok(());
        };
        if mirror != here {
            let what = format!(
                "the granules that the mirror holds have the identifier {mirror}, its history says {here}"
            );
            return Err(registry::Error::Inconsistent { what });
        }
        if primary != there {
            let (change, location) = log.selected;
            let location = Some(location.clone());
            let (at, expected, identifier) = (change.timestamp, there, primary);
            return Err(ChangeError::NotAsExpected { location, at, expected, identifier }.into());
        }
        self.counts.check(here, there)
    }
}

impl OfLog<'_> {
    fn step(&mut self, side: Side<Granule, Outcome>) -> crate::Result<Step> {
        let (held, outcome) = match side {
            Side::Left(granule) => (Some(granule), None),
            Side::Right(outcome) => (None, Some(outcome)),
            Side::Both(granule, outcome) => (Some(granule), Some(outcome)),
        };
        if let Some(outcome) = &outcome {
            outcome.check(self.begins_with_mirror && held.is_some())?;
        }
        let is_there = match &outcome {
            Some(outcome) => outcome.is_held,
            None => self.begins_with_mirror,
        };
        let there = outcome.map(|outcome| outcome.granule).filter(|_| is_there);
        Ok(match (held, there) {
            (Some(granule), _) if is_there => {
                self.sweep.hold(granule.granule_id.as_str(), 0..2);
                Step::Both
            }
            (Some(granule), _) => {
                self.sweep.hold(granule.granule_id.as_str(), 0..1);
                Step::Only(MirrorDifference::Unexpected(granule))
            }
            (None, Some(granule)) => {
                self.sweep.hold(granule.granule_id.as_str(), 1..2);
                Step::Only(MirrorDifference::Missing(granule))
            }
            (None, None) => Step::Neither,
        })
    }
}

impl Iterator for MirrorDifferences<'_> {
    type Item = Result<MirrorDifference>;

    fn next(&mut self) -> Option<Result<MirrorDifference>> {
        while !self.is_over {
            match self.step() {
                Some(Ok(Step::Both)) => self.counts.matched += 1,
                Some(Ok(Step::Neither)) => {}
                Some(Ok(Step::Only(difference))) => {
                    match difference {
                        MirrorDifference::Missing(_) => self.counts.only_right += 1,
                        MirrorDifference::Unexpected(_) => self.counts.only_left += 1,
                    }
                    return Some(Ok(difference));
                }
                Some(Err(error)) => {
                    self.is_over = true;
                    return Some(Err(error.into()));
                }
                None => {
                    self.is_over = true;
                    return self.check().err().map(|error| Err(error.into()));
                }
            }
        }
        None
    }
}
