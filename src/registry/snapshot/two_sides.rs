//! The granules in which two sides differ, in lists that can be read more than once.

use std::sync::Arc;

use super::differences::{ContentDifference, Difference, DifferenceCounts, Differences};
use super::spelling::{Side, SpellingPairs};
use crate::disk::{Spool, scratch};
use crate::error::Result;
use crate::model::{ContentMatch, GranuleId};

/// How two sides differ: how many granules they have in common and alone, and which. The lists are kept in
/// temporary files if they are long.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct TwoSides {
    /// How many granules both have, and one alone, and what was found of their files.
    pub counts: DifferenceCounts,
    /// How many granules of one side differ only in Unicode normalisation or letter case from one of the other side,
    /// as far as 100,000 spellings show it.
    pub spelling_pairs: u64,
    left: Arc<Spool>,
    right: Arc<Spool>,
    other: Arc<Spool>,
    contradictions: Arc<Spool>,
}

impl TwoSides {
    /// Reads all differences of two sides, which are somewhere in words, such as `on the left`. At most so
    /// many granules of each list are kept.
    ///
    /// # Errors
    ///
    /// Those of [`Differences`]; [`ErrorKind::Temporary`](crate::ErrorKind::Temporary).
    pub fn read(mut differences: Differences, places: [&str; 2], most: u64) -> Result<Self> {
        let mut sides = TwoSides::lists(&mut differences, places, most)?;
        sides.counts = differences.finish()?;
        Ok(sides)
    }

    /// As [`TwoSides::read`], without the counts.
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

    /// The granules that both sides have and of which a file has other bytes.
    pub fn other_content(&self) -> impl Iterator<Item = Result<GranuleId>> + use<> {
        ids_of(&self.other)
    }

    /// In what each of [`TwoSides::other_content`] differs, in words.
    pub fn contradictions(&self) -> impl Iterator<Item = Result<String>> + use<> {
        let records = Spool::shared_records(&self.contradictions);
        records.map(|record| String::from_utf8(record?).map_err(|_| scratch::unreadable()))
    }
}

fn ids_of(spool: &Arc<Spool>) -> impl Iterator<Item = Result<GranuleId>> + use<> {
    let records = Spool::shared_records(spool);
    records.map(|record| GranuleId::from_bytes(&record?).map_err(|_| scratch::unreadable()))
}
