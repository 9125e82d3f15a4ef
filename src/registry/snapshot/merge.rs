//! Merges two lists in canonical order.

use std::cmp::Ordering;
use std::iter::Peekable;

use crate::model::{Event, Granule, GranuleId};

/// An item with an id, by which lists are sorted.
pub(crate) trait HasGranuleId {
    /// The id.
    fn granule_id(&self) -> &str;
}

impl HasGranuleId for Granule {
    fn granule_id(&self) -> &str {
        self.granule_id.as_str()
    }
}

impl HasGranuleId for Event {
    fn granule_id(&self) -> &str {
        self.granule_id.as_str()
    }
}

impl HasGranuleId for GranuleId {
    fn granule_id(&self) -> &str {
        self.as_str()
    }
}

/// On which side an id was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Side<L, R> {
    /// Only on the left.
    Left(L),
    /// Only on the right.
    Right(R),
    /// On both.
    Both(L, R),
}

/// Two lists in canonical order, merged: each id once, with the side or sides that have it.
pub(crate) struct Merge<L: Iterator, R: Iterator> {
    left: Peekable<L>,
    right: Peekable<R>,
}

impl<L: Iterator, R: Iterator> Merge<L, R> {
    /// Merges two lists.
    pub fn of(left: L, right: R) -> Self {
        Merge { left: left.peekable(), right: right.peekable() }
    }
}

impl<L, R, T, U, E> Iterator for Merge<L, R>
where
    L: Iterator<Item = Result<T, E>>,
    R: Iterator<Item = Result<U, E>>,
    T: HasGranuleId,
    U: HasGranuleId,
{
    type Item = Result<Side<T, U>, E>;

    fn next(&mut self) -> Option<Self::Item> {
        let order = match (self.left.peek(), self.right.peek()) {
            (None, None) => return None,
            (Some(Ok(left)), Some(Ok(right))) => left.granule_id().cmp(right.granule_id()),
            // An error is returned next, whichever side it is on.
            (Some(Err(_)), _) | (Some(_), None) => Ordering::Less,
            (_, Some(Err(_))) | (None, Some(_)) => Ordering::Greater,
        };
        match order {
            Ordering::Less => self.left.next().map(|left| left.map(Side::Left)),
            Ordering::Greater => self.right.next().map(|right| right.map(Side::Right)),
            Ordering::Equal => match (self.left.next()?, self.right.next()?) {
                (Ok(left), Ok(right)) => Some(Ok(Side::Both(left, right))),
                (Err(error), _) | (_, Err(error)) => Some(Err(error)),
            },
        }
    }
}
