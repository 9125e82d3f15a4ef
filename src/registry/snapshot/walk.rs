//! What only one of two lists has: one walk over both, which also proves them.

use super::counts::Counts;
use super::merge::{HasGranuleId, Merge, Side};
use crate::chain::{Hashing, Sweep};
use crate::model::Identifier;
use crate::registry::error::Result;
use crate::registry::handle::{Registry, Work};
use crate::registry::proof::Claim;

/// An item that only one of two lists has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Only<L, R> {
    /// Only the left list has it.
    Left(L),
    /// Only the right list has it.
    Right(R),
}

/// One walk over two lists in canonical order, side by side: what only one of them has.
///
/// Both are hashed on the way, what they have in common once. The items must be those of the sets
/// that are claimed: else the last item is an error of kind `damaged`.
pub(crate) struct Walk<L: Iterator, R: Iterator> {
    registry: Registry,
    /// `None` before the first item and after the last.
    progress: Option<Work>,
    sides: Merge<L, R>,
    /// What the lists are said to be. `None` means that it is not known.
    claims: [Option<Claim>; 2],
    /// `None` means that only a part of both lists is read, or that they are over.
    hashing: Option<Hashing>,
    counts: Counts,
    right: Identifier,
    is_over: bool,
}

impl<L: Iterator, R: Iterator> Walk<L, R> {
    /// Begins a walk, which reports to the monitor of `registry`.
    pub fn of(registry: &Registry, left: (L, Option<Claim>), right: (R, Option<Claim>)) -> Self {
        Walk {
            registry: registry.clone(),
            progress: None,
            sides: Merge::of(left.0, right.0),
            claims: [left.1, right.1],
            hashing: Some(Hashing::of(Sweep::over(2))),
            counts: Counts::default(),
            right: Identifier::EMPTY,
            is_over: false,
        }
    }

    /// The same walk over a part of both lists, which proves nothing.
    pub fn of_a_part(self) -> Self {
        Walk { hashing: None, ..self }
    }

    /// The counts of what was read so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The identifier of the list on the right, once both were read.
    pub fn right(&self) -> Identifier {
        self.right
    }
}

impl<L, R, T, U> Walk<L, R>
where
    L: Iterator<Item = Result<T>>,
    R: Iterator<Item = Result<U>>,
    T: HasGranuleId,
    U: HasGranuleId,
{
    /// The next item that only one side has. `None` after the last, if the claims are true.
    fn step(&mut self) -> Result<Option<Only<T, U>>> {
        let registry = &self.registry;
        let progress =
            self.progress.get_or_insert_with(|| registry.begin("comparing", "granules", None));
        for side in self.sides.by_ref() {
            progress.advance()?;
            let side = side?;
            self.counts.count(&side);
            if let Some(hashing) = &mut self.hashing {
                match &side {
                    Side::Left(left) => hashing.hold(left.granule_id(), 0..1),
                    Side::Right(right) => hashing.hold(right.granule_id(), 1..2),
                    Side::Both(left, _) => hashing.hold(left.granule_id(), 0..2),
                };
            }
            match side {
                Side::Left(left) => return Ok(Some(Only::Left(left))),
                Side::Right(right) => return Ok(Some(Only::Right(right))),
                Side::Both(..) => {}
            }
        }
        let Some(hashing) = self.hashing.take() else { return Ok(None) };
        let (sweep, _) = hashing.finish();
        self.right = sweep.latest();
        let Counts { matched, only_left, only_right } = self.counts;
        let granules = [matched + only_left, matched + only_right];
        for ((claim, identifier), granules) in
            self.claims.iter().zip(sweep.identifiers()).zip(granules)
        {
            claim.as_ref().map_or(Ok(()), |claim| claim.check(identifier, granules))?;
        }
        Ok(None)
    }
}

impl<L, R, T, U> Iterator for Walk<L, R>
where
    L: Iterator<Item = Result<T>>,
    R: Iterator<Item = Result<U>>,
    T: HasGranuleId,
    U: HasGranuleId,
{
    type Item = Result<Only<T, U>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let only = self.step().transpose();
        if !matches!(only, Some(Ok(_))) {
            self.is_over = true;
            self.progress = None;
        }
        only
    }
}
