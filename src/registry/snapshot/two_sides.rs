//! The differences between two sides, in lists that can be read more than once.

use std::sync::Arc;

use super::differences::{ContentDifference, Difference, DifferenceCounts, Differences};
use super::spelling::{Side, SpellingPairs};
use crate::disk::{Spool, scratch};
use crate::error::Result;
use crate::model::{ContentMatch, GranuleId};

/// The differences between two sides: the numbers of common and other granules, and lists of the others. Long
/// lists are in temporary files.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct TwoSides {
    /// The numbers of granules that both sides have, and that only one has, and the results of comparing their
    /// files.
    pub counts: DifferenceCounts,
    /// The number of granules of one side that differ only in Unicode normalisation or letter case from a
    /// granule of the other side. At most 100,000 spellings are compared.
    pub spelling_pairs: u64,
    left: Arc<Spool>,
    right: Arc<Spool>,
    other: Arc<Spool>,
    contradictions: Arc<Spool>,
}

impl TwoSides {
    /// Reads all differences of two sides. `places` are the sides in words, such as `on the left`. Each list
    /// has at most `most` granules.
    ///
    /// # Errors
    ///
    /// Those of [`Differences`]; [`ErrorKind::Temporary`](crate::ErrorKind::Temporary).
    pub fn read(mut differences: Differences, places: [&str; 2], most: u64) -> Result<Self> {
        let mut sides = TwoSides::lists(&mut differences, places, most)?;
        sides.counts = differences.finish()?;
        Ok(sides)
    }

    /// Like [`TwoSides::read`], without the counts.
    pub fn lists(
        differences: impl Iterator<Item = Result<Difference>>,
        places: [&str; 2],
        most: u64,
    ) -> Result<Self> {
        let [mut left, mut right, mut other, mut contradictions] =
            std::array::from_fn(|_| Spool::default());
        let add = |spool: &mut Spool, line: &str| match spool.count() < most {
            true => spool.add(line.as_bytes()).map(drop),
            false => Ok(()),
        };
        let mut pairs = SpellingPairs::default();
        for difference in differences {
            match difference? {
                Difference::OnlyLeft(granule_id) => {
                    pairs.add(Side::Left, granule_id.as_str());
                    add(&mut left, granule_id.as_str())?;
                }
                Difference::OnlyRight(entry) => {
                    pairs.add(Side::Right, entry.granule_id.as_str());
                    add(&mut right, entry.granule_id.as_str())?;
                }
                Difference::OtherContent(ContentDifference { granule_id, compared, .. }) => {
                    if let ContentMatch::Other(found) = compared {
                        add(&mut contradictions, &found.between(places))?;
                        add(&mut other, granule_id.as_str())?;
                    }
                }
            }
        }
        let [left, right, other, contradictions] =
            [left, right, other, contradictions].map(Arc::new);
        let (counts, spelling_pairs) = (DifferenceCounts::default(), pairs.count());
        Ok(TwoSides { counts, spelling_pairs, left, right, other, contradictions })
    }

    /// The same with the sides exchanged.
    #[must_use]
    pub fn swapped(mut self) -> Self {
        std::mem::swap(&mut self.counts.only_left, &mut self.counts.only_right);
        TwoSides { left: self.right, right: self.left, ..self }
    }

    /// The granules that only the left side has.
    pub fn only_left(&self) -> impl Iterator<Item = Result<GranuleId>> + use<> {
        ids_of(&self.left)
    }

    /// The granules that only the right side has.
    pub fn only_right(&self) -> impl Iterator<Item = Result<GranuleId>> + use<> {
        ids_of(&self.right)
    }

    /// The granules that both sides have, and of which a file has different content.
    pub fn other_content(&self) -> impl Iterator<Item = Result<GranuleId>> + use<> {
        ids_of(&self.other)
    }

    /// The difference of each granule of [`TwoSides::other_content`], in words.
    pub fn contradictions(&self) -> impl Iterator<Item = Result<String>> + use<> {
        let records = Spool::shared_records(&self.contradictions);
        records.map(|record| String::from_utf8(record?).map_err(|_| scratch::unreadable()))
    }
}

fn ids_of(spool: &Arc<Spool>) -> impl Iterator<Item = Result<GranuleId>> + use<> {
    let records = Spool::shared_records(spool);
    records.map(|record| GranuleId::from_bytes(&record?).map_err(|_| scratch::unreadable()))
}
