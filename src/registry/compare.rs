//! Whether two sets of granules are the same, and where they differ.

use std::cmp::Ordering;
use std::io;

use super::selection::select;
use super::{Registry, Selection};
use crate::model::{DatasetName, Granule, GranuleId, Identifier, Instance};
use crate::{Error, Result};

/// A granule that one side has and the other has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Only the left side has it.
    OnlyLeft(GranuleId),
    /// Only the right side has it.
    OnlyRight(GranuleId),
}

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The instance on the left.
    pub left: Instance,
    /// The instance on the right.
    pub right: Instance,
    /// How many granules both have.
    pub matched: u64,
    /// How many only the left has.
    pub only_left: u64,
    /// How many only the right has.
    pub only_right: u64,
}

impl Comparison {
    /// Whether both sides have the same granules.
    pub fn is_identical(&self) -> bool {
        self.only_left == 0 && self.only_right == 0
    }
}

impl Registry {
    /// Compares two sets of granules; shows each difference, in canonical order.
    ///
    /// The rows themselves are compared, in one pass over both with a page of each in memory, and
    /// must bear out what the two identifiers say.
    ///
    /// # Errors
    ///
    /// As [`Registry::select`]; [`Error::Output`]: what `show` returned; [`Error::Inconsistent`]:
    /// equal sets under different identifiers, or the other way round.
    pub fn compare(
        &mut self,
        left: &Selection,
        right: &Selection,
        mut show: impl FnMut(Difference) -> io::Result<()>,
    ) -> Result<Comparison> {
        self.reading(|read, _| {
            let (left, right) = (select(read, left)?, select(read, right)?);
            let (held_left, held_right) = (left.granules(read), right.granules(read));
            let (left, right) = (left.selected.instance, right.selected.instance);
            let counts = merge(held_left, held_right, |side| {
                show(match side {
                    Side::Left(granule) => Difference::OnlyLeft(granule.granule_id),
                    Side::Right(granule) => Difference::OnlyRight(granule.granule_id),
                })?;
                Ok(())
            })?;
            counts.bear_out(left.identifier, right.identifier)?;
            let Counts { matched, only_left, only_right } = counts;
            Ok(Comparison { left, right, matched, only_left, only_right })
        })
    }

    /// Compares what a dataset here holds now with a set of another registry: each on one
    /// consistent state. A dataset without a history, or that is not here, holds nothing.
    ///
    /// # Errors
    ///
    /// As [`Registry::compare`].
    pub(crate) fn compare_with(
        &mut self,
        dataset: &DatasetName,
        other: &mut Registry,
        right: &Selection,
        mut show: impl FnMut(Side) -> Result<()>,
    ) -> Result<(Option<Instance>, Instance, Counts)> {
        self.reading(|read, _| {
            let left = match read.dataset(dataset)? {
                None => None,
                Some((key, _)) => read.latest_instance(key)?.map(|latest| (key, latest)),
            };
            other.reading(|other, _| {
                let right = select(other, right)?;
                let held_here = left.iter().flat_map(|(key, latest)| {
                    read.granules_held(*key, latest.timestamp).map(|granule| Ok(granule?))
                });
                let held_there = right.granules(other);
                let right = right.selected.instance;
                let counts = merge(held_here, held_there, &mut show)?;
                let identifier =
                    left.as_ref().map_or(Identifier::EMPTY, |(_, latest)| latest.identifier);
                counts.bear_out(identifier, right.identifier)?;
                Ok((left.map(|(_, latest)| latest), right, counts))
            })
        })
    }
}

/// A granule that only one side has.
#[derive(Debug, Clone)]
pub(crate) enum Side {
    /// The left.
    Left(Granule),
    /// The right.
    Right(Granule),
}

/// How many granules both sides have, and how many only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub matched: u64,
    pub only_left: u64,
    pub only_right: u64,
}

impl Counts {
    /// Equal sets have equal identifiers, and different ones different ones.
    fn bear_out(self, left: Identifier, right: Identifier) -> Result<()> {
        let is_same = self.only_left == 0 && self.only_right == 0;
        if is_same == (left == right) {
            return Ok(());
        }
        Err(Error::Inconsistent {
            what: format!(
                "the identifiers {left} and {right} do not bear out the granules they stand for"
            ),
        })
    }
}

/// Merges two streams of granules in canonical order; tells of those that only one has.
fn merge(
    mut left: impl Iterator<Item = Result<Granule>>,
    mut right: impl Iterator<Item = Result<Granule>>,
    mut tell: impl FnMut(Side) -> Result<()>,
) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut next_left = left.next().transpose()?;
    let mut next_right = right.next().transpose()?;
    loop {
        let order = match (&next_left, &next_right) {
            (None, None) => return Ok(counts),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => left.granule_id.cmp(&right.granule_id),
        };
        if order != Ordering::Greater {
            let granule = std::mem::replace(&mut next_left, left.next().transpose()?);
            if let (Ordering::Less, Some(granule)) = (order, granule) {
                counts.only_left += 1;
                tell(Side::Left(granule))?;
            }
        }
        if order != Ordering::Less {
            let granule = std::mem::replace(&mut next_right, right.next().transpose()?);
            if let (Ordering::Greater, Some(granule)) = (order, granule) {
                counts.only_right += 1;
                tell(Side::Right(granule))?;
            }
        }
        counts.matched += u64::from(order == Ordering::Equal);
    }
}
