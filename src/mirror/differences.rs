//! The granules that only one of a mirror and its primary has.

use super::plan::Reading;
use crate::error::{Error, Result};
use crate::model::{Granule, GranuleId, Set};
use crate::registry::{Counts, Ids, Only, Outcomes, Registry, Walk};

/// A granule that only the mirror or only the primary has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MirrorDifference {
    /// The primary has it and the mirror has not.
    Missing(Granule),
    /// The mirror has it and the primary has not.
    Unexpected(GranuleId),
}

/// The granules that only one of a mirror and its primary has, in canonical order.
///
/// The rows of the mirror are compared with what the log makes of them, in one pass over both, and hashed
/// on the way. They must be those of the two identifiers, else the last item is an error: about the
/// registry (of kind `damaged`), or about the log of the primary
/// ([`ErrorKind::NotAsExpected`](crate::ErrorKind::NotAsExpected)).
pub struct MirrorDifferences<'a> {
    walk: Walk<Ids, Outcomes<'a>>,
    reading: &'a Reading,
    is_over: bool,
}

impl<'a> MirrorDifferences<'a> {
    /// Of the set that a mirror holds (`None`: nothing), and a log.
    pub(super) fn of(mirror: &Registry, held: Option<&Set>, reading: &'a Reading) -> Result<Self> {
        let held = match held {
            Some(set) => mirror.snapshot()?.ids(set)?,
            None => (Ids::ahead(std::iter::empty()), None),
        };
        let outcomes = reading.replay.outcomes(reading.begins_with_mirror())?;
        let walk = Walk::of(mirror, held, (outcomes, None));
        Ok(MirrorDifferences { walk, reading, is_over: false })
    }

    /// The counts of what was read so far: of everything, once the iterator has ended. The left
    /// side is the mirror's.
    pub fn counts(&self) -> Counts {
        self.walk.counts()
    }

    /// Reads what is left, and returns the counts.
    ///
    /// # Errors
    ///
    /// As the iterator.
    pub fn finish(mut self) -> Result<Counts> {
        self.by_ref().try_for_each(|difference| difference.map(drop))?;
        Ok(self.counts())
    }

    /// Compares what the log makes of the mirror, once it was read, with the identifier of the primary.
    fn prove(&self) -> Result<()> {
        let (change, location) =
            self.reading.selected.as_ref().expect("a log without one is refused");
        let (expected, identifier) = (change.identifier, self.walk.right());
        if identifier == expected {
            return Ok(());
        }
        let error = Error::not_as_expected(change.timestamp, identifier, expected);
        Err(error.at(Some(location.clone())))
    }
}

impl Iterator for MirrorDifferences<'_> {
    type Item = Result<MirrorDifference>;

    fn next(&mut self) -> Option<Result<MirrorDifference>> {
        if self.is_over {
            return None;
        }
        let next = match self.walk.next() {
            Some(only) => Some(only.map(|only| match only {
                Only::Left(granule_id) => MirrorDifference::Unexpected(granule_id),
                Only::Right(granule) => MirrorDifference::Missing(granule),
            })),
            None => self.prove().err().map(Err),
        };
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}
