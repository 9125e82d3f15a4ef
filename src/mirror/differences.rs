//! The granules that only one of a mirror and its primary has.

use std::iter::Peekable;

use super::MirrorStatus;
use super::plan::Reading;
use crate::chain::{Hashing, Sweep};
use crate::error::Error;
use crate::error::Result;
use crate::model::{Granule, Identifier, LogChange, SourceLocation};
use crate::registry::{Ahead, Claim, Counts, Merge, Outcome, Outcomes, Side};

/// A granule that only the mirror or only the primary has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MirrorDifference {
    /// The primary has it and the mirror has not.
    Missing(Granule),
    /// The mirror has it and the primary has not.
    Unexpected(Granule),
}

/// The granules that a mirror or its primary holds. Both are read at the same time.
pub(super) type Held = Peekable<Ahead<crate::error::Result<Granule>>>;

/// The granules that a thread hands over at once.
const BATCH_GRANULES: usize = 4_096;

/// Reads granules ahead.
pub(super) fn read_ahead(
    granules: impl Iterator<Item = crate::error::Result<Granule>> + Send + 'static,
) -> Held {
    Ahead::of(granules, BATCH_GRANULES).peekable()
}

/// The granules that only one of a mirror and its primary has, in canonical order.
///
/// The rows of the mirror are compared with what the log makes of them, in one pass over both, and hashed
/// on the way. They must be those of the two identifiers, else the last item is an error: about the
/// registry (of kind `damaged`), or about the log of the primary
/// ([`ErrorKind::NotAsExpected`](crate::ErrorKind::NotAsExpected)).
pub struct MirrorDifferences<'a> {
    log: OfLog<'a>,
    counts: Counts,
    is_over: bool,
}

/// What the mirror holds, and the claim that it is a set. `None` means that it holds nothing.
pub(super) type Claimed = (Held, Option<Claim>);

/// The rows of the mirror, and what the log of the primary makes of them.
struct OfLog<'a> {
    sides: Merge<Held, Peekable<Outcomes<'a>>>,
    /// Whether the events of the log begin with what the mirror holds.
    begins_with_mirror: bool,
    /// Of the granules of the mirror, and of those of the primary. `None` once they were compared.
    hashing: Option<Hashing>,
    mirror: Option<Claim>,
    /// The identifier of the primary, and where it was read.
    primary: Identifier,
    selected: (&'a LogChange, &'a SourceLocation),
}

/// One step of a comparison: which side has a granule.
enum Step {
    Both,
    Neither,
    Only(MirrorDifference),
}

impl<'a> MirrorDifferences<'a> {
    /// Of a mirror and a log.
    pub(super) fn of(
        status: &MirrorStatus,
        (held, mirror): Claimed,
        reading: &'a Reading,
    ) -> Result<Self> {
        let sides = Merge::of(held, reading.replay.outcomes()?.peekable());
        let begins_with_mirror = reading.begins_with_mirror();
        let (change, location) = reading.selected.as_ref().expect("a log without one is refused");
        let hashing = Some(Hashing::of(Sweep::over(2)));
        let (primary, selected) = (status.primary.identifier, (change, location));
        let log = OfLog { sides, begins_with_mirror, hashing, mirror, primary, selected };
        Ok(MirrorDifferences { log, counts: Counts::default(), is_over: false })
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
    fn step(&mut self) -> Option<crate::error::Result<Step>> {
        Some(self.log.sides.next()?.and_then(|side| self.log.step(side)))
    }
}

impl OfLog<'_> {
    /// Compares the granules of both, all of which were read, with their identifiers.
    fn prove(&mut self, counts: Counts) -> crate::error::Result<()> {
        let Some(hashing) = self.hashing.take() else { return Ok(()) };
        let (sweep, _) = hashing.finish();
        let mut computed = sweep.identifiers();
        let (Some(mirror), Some(identifier)) = (computed.next(), computed.next()) else {
            return Ok(());
        };
        if let Some(claim) = &self.mirror {
            claim.check(mirror, counts.matched + counts.only_left)?;
        }
        if identifier != self.primary {
            let (change, location) = self.selected;
            let (location, at) = (Some(location.clone()), change.timestamp);
            let expected = self.primary;
            return Err(Error::not_as_expected(at, identifier, expected).at(location));
        }
        Ok(())
    }

    fn hold(&mut self, granule: &Granule, sides: std::ops::Range<usize>) {
        if let Some(hashing) = &mut self.hashing {
            hashing.hold(granule.granule_id.as_str(), sides);
        }
    }

    fn step(&mut self, side: Side<Granule, Outcome>) -> crate::error::Result<Step> {
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
                self.hold(&granule, 0..2);
                Step::Both
            }
            (Some(granule), _) => {
                self.hold(&granule, 0..1);
                Step::Only(MirrorDifference::Unexpected(granule))
            }
            (None, Some(granule)) => {
                self.hold(&granule, 1..2);
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
                    return Some(Err(error));
                }
                None => {
                    self.is_over = true;
                    return self.log.prove(self.counts).err().map(Err);
                }
            }
        }
        None
    }
}
