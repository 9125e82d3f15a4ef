//! Whether two sets of granules are the same, and where they differ.

use std::cmp::Ordering;
use std::io;

use super::selection::select;
use super::{Registry, Selection};
use crate::model::{GranuleId, Instance};
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
            let (left_key, left) = select(read, left)?;
            let (right_key, right) = select(read, right)?;
            let (left, right) = (left.instance, right.instance);
            let mut comparison =
                Comparison { left, right, matched: 0, only_left: 0, only_right: 0 };
            let ids = |key, instance: &Instance| {
                let granules = read.granules_held(key, instance.timestamp);
                granules.map(|granule| Ok(granule?.granule_id))
            };
            merge(
                ids(left_key, &comparison.left.clone()),
                ids(right_key, &comparison.right.clone()),
                |side| {
                    match side {
                        None => comparison.matched += 1,
                        Some(difference) => {
                            match difference {
                                Difference::OnlyLeft(_) => comparison.only_left += 1,
                                Difference::OnlyRight(_) => comparison.only_right += 1,
                            }
                            show(difference)?;
                        }
                    }
                    Ok(())
                },
            )?;
            if comparison.is_identical()
                != (comparison.left.identifier == comparison.right.identifier)
            {
                return Err(Error::Inconsistent {
                    what: format!(
                        "the identifiers {} and {} do not bear out the granules they stand for",
                        comparison.left.identifier, comparison.right.identifier
                    ),
                });
            }
            Ok(comparison)
        })
    }
}

/// Merges two streams of ids in canonical order: `tell` hears `None` for an id that both have.
pub(crate) fn merge(
    mut left: impl Iterator<Item = Result<GranuleId>>,
    mut right: impl Iterator<Item = Result<GranuleId>>,
    mut tell: impl FnMut(Option<Difference>) -> Result<()>,
) -> Result<()> {
    let mut next_left = left.next().transpose()?;
    let mut next_right = right.next().transpose()?;
    loop {
        let order = match (&next_left, &next_right) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => left.cmp(right),
        };
        match order {
            Ordering::Less => {
                tell(next_left.take().map(Difference::OnlyLeft))?;
                next_left = left.next().transpose()?;
            }
            Ordering::Greater => {
                tell(next_right.take().map(Difference::OnlyRight))?;
                next_right = right.next().transpose()?;
            }
            Ordering::Equal => {
                tell(None)?;
                next_left = left.next().transpose()?;
                next_right = right.next().transpose()?;
            }
        }
    }
}
