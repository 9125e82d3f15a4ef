//! What only one of two lists has: one walk over both, which also proves the result.

use super::counts::Counts;
use super::merge::{HasGranuleId, Merge, Side};
use crate::chain::Chain;
use crate::model::Identifier;
use crate::registry::error::Result;
use crate::registry::handle::{Registry, Work};

/// An item that only one of two lists has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Only<L, R> {
    /// Only the left list has it.
    Left(L),
    /// Only the right list has it.
    Right(R),
}

/// The identifier of the list on the right.
pub(super) trait RightIdentifier {
    /// Takes note of the next id of the list.
    fn see(&mut self, granule_id: &str);

    /// The identifier, once the whole list was seen.
    fn identifier(&self) -> Identifier;
}

/// An identifier that is known already.
impl RightIdentifier for Identifier {
    fn see(&mut self, _: &str) {}

    fn identifier(&self) -> Identifier {
        *self
    }
}

/// An identifier that is computed on the way.
impl RightIdentifier for Chain {
    fn see(&mut self, granule_id: &str) {
        self.push(granule_id);
    }

    fn identifier(&self) -> Identifier {
        Chain::identifier(self)
    }
}

/// One walk over two lists in canonical order, side by side: what only one of them has.
///
/// The items must agree with the two identifiers: else the last item is
/// [`Error::Inconsistent`](crate::Error::Inconsistent).
pub(super) struct Walk<L: Iterator, R: Iterator, I> {
    registry: Registry,
    /// `None` before the first item and after the last.
    progress: Option<Work>,
    sides: Merge<L, R>,
    left: Identifier,
    right: I,
    counts: Counts,
    /// Whether only a part of both lists is read, which has another identifier.
    is_partial: bool,
    is_over: bool,
}

impl<L: Iterator, R: Iterator, I: RightIdentifier> Walk<L, R, I> {
    /// Begins a walk, which reports to the monitor of `registry`.
    pub fn of(registry: &Registry, left: (L, Identifier), right: (R, I)) -> Self {
        Walk {
            registry: registry.clone(),
            progress: None,
            sides: Merge::of(left.0, right.0),
            left: left.1,
            right: right.1,
            counts: Counts::default(),
            is_partial: false,
            is_over: false,
        }
    }

    /// The same walk over a part of both lists, which is not compared with the identifiers.
    pub fn of_a_part(self) -> Self {
        Walk { is_partial: true, ..self }
    }

    /// The counts of what was read so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The identifier of what was read of the list on the right so far.
    pub fn right(&self) -> Identifier {
        self.right.identifier()
    }
}

impl<L, R, T, U, I> Walk<L, R, I>
where
    L: Iterator<Item = Result<T>>,
    R: Iterator<Item = Result<U>>,
    T: HasGranuleId,
    U: HasGranuleId,
    I: RightIdentifier,
{
    /// The next item that only one side has. `None` after the last, if the identifiers agree.
    fn step(&mut self) -> Result<Option<Only<T, U>>> {
        let registry = &self.registry;
        let progress =
            self.progress.get_or_insert_with(|| registry.begin("comparing", "granules", None));
        for side in self.sides.by_ref() {
            progress.advance()?;
            let side = side?;
            self.counts.count(&side);
            match side {
                Side::Left(left) => return Ok(Some(Only::Left(left))),
                Side::Right(right) => {
                    self.right.see(right.granule_id());
                    return Ok(Some(Only::Right(right)));
                }
                Side::Both(_, right) => self.right.see(right.granule_id()),
            }
        }
        if self.is_partial {
            return Ok(None);
        }
        self.counts.check(self.left, self.right.identifier()).map(|()| None)
    }
}

impl<L, R, T, U, I> Iterator for Walk<L, R, I>
where
    L: Iterator<Item = Result<T>>,
    R: Iterator<Item = Result<U>>,
    T: HasGranuleId,
    U: HasGranuleId,
    I: RightIdentifier,
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
