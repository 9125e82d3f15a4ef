//! The granules that only one of a mirror and its primary has.

use super::plan::Reading;
use crate::error::{Error, Result};
use crate::model::{Content, ContentMatch, Entry, GranuleId, Set};
use crate::registry::{
    Ahead, Claim, ContentCounts, Counts, EntriesAhead, Only, Outcomes, Registry, Replayed,
    SetEntries, Walk,
};

/// What one of a mirror and its primary has and the other has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MirrorDifference {
    /// The primary has the granule and the mirror has not.
    Missing(Entry),
    /// The mirror has the granule and the primary has not.
    Unexpected(GranuleId),
    /// Both have it, and something else is known of its files.
    Content(OtherContent),
}

/// What is known of the files of a granule on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherContent {
    /// The granule.
    pub granule_id: GranuleId,
    /// What is known here.
    pub known: Content,
    /// What the primary states.
    pub stated: Content,
    /// Whether the log says that other bytes replaced those that were known.
    pub is_replaced: bool,
    /// How both compare.
    pub compared: ContentMatch,
}

/// The granules that only one of a mirror and its primary has, or of which something else is known, in
/// canonical order.
///
/// The rows of the mirror are compared with what the log makes of them, in one pass over both, and hashed
/// on the way. They must be those of the two identifiers, else the last item is an error: about the
/// registry (of kind `damaged`), or about the log of the primary
/// ([`ErrorKind::NotAsExpected`](crate::ErrorKind::NotAsExpected)).
pub struct MirrorDifferences<'a> {
    walk: Walk<EntriesAhead, Outcomes<'a>>,
    reading: &'a Reading,
    contents: ContentCounts,
    is_over: bool,
}

impl<'a> MirrorDifferences<'a> {
    /// Of the set that a mirror holds (`None`: nothing), and a log.
    pub(super) fn of(mirror: &Registry, held: Option<&Set>, reading: &'a Reading) -> Result<Self> {
        let entries = match held {
            Some(set) => mirror.snapshot()?.entries(set)?,
            None => SetEntries::of(Ahead::of(std::iter::empty(), 1)),
        };
        let outcomes = reading.replay.outcomes(reading.begins_with_mirror())?;
        let walk = Walk::of(
            mirror,
            entries,
            Box::new(outcomes),
            [held.map(|set| Claim::of(mirror, set)), None],
        );
        let contents = ContentCounts::default();
        Ok(MirrorDifferences { walk, reading, contents, is_over: false })
    }

    /// Compares what is known here of a granule that both have with what the primary states. `None` means
    /// that it is the same.
    fn content(&mut self, known: Content, replayed: Replayed) -> Option<OtherContent> {
        let Replayed { granule, content, is_replaced } = replayed;
        let (granule_id, stated) = (granule.granule_id, content.unwrap_or_default());
        let compared = known.compare(&granule_id, &stated);
        self.contents.add(&compared);
        let other = OtherContent { granule_id, known, stated, is_replaced, compared };
        (other.known != other.stated).then_some(other)
    }

    /// Of how many granules the bytes were compared so far.
    pub fn contents(&self) -> ContentCounts {
        self.contents
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
    pub fn finish(&mut self) -> Result<Counts> {
        self.try_for_each(|difference| difference.map(drop))?;
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
        Err(error.at(location.clone()))
    }
}

impl MirrorDifferences<'_> {
    fn step(&mut self) -> Result<Option<MirrorDifference>> {
        while let Some(only) = self.walk.next().transpose()? {
            return Ok(Some(match only {
                Only::Left(granule_id) => MirrorDifference::Unexpected(granule_id),
                Only::Right(Replayed { granule, content, .. }) => {
                    MirrorDifference::Missing(Entry {
                        granule_id: granule.granule_id,
                        producer_granule: granule.producer_granule,
                        content,
                        location: None,
                    })
                }
                Only::Both(known, replayed) => match self.content(known, replayed) {
                    Some(other) => MirrorDifference::Content(other),
                    None => continue,
                },
            }));
        }
        self.prove().map(|()| None)
    }
}

impl Iterator for MirrorDifferences<'_> {
    type Item = Result<MirrorDifference>;

    fn next(&mut self) -> Option<Result<MirrorDifference>> {
        if self.is_over {
            return None;
        }
        let next = self.step().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}
