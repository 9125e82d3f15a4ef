//! What only one of two sets has: the walk over two lists in canonical order, and the comparison of sets.

use std::cmp::Ordering;
use std::iter::Peekable;

use super::select::Selection;
use super::view::Snapshot;
use crate::chain::{Hashing, Sweep};
use crate::error::{Error, Result};
use crate::model::{Event, GranuleId, IdPage, Identifier, Set};
use crate::registry::handle::Registry;
use crate::registry::listing::Listing;
use crate::registry::monitor::Work;
use crate::registry::parallel::Ahead;
use crate::registry::proof::Claim;

/// A list of granules in canonical order.
pub(crate) trait Cursor {
    /// What is listed.
    type Item;

    /// The id of the next item. `None` after the last one.
    fn peek(&mut self) -> Result<Option<&str>>;

    /// Takes the next item. `None` after the last one.
    fn take(&mut self) -> Result<Option<Self::Item>>;

    /// Leaves out the next item, whose id was looked at.
    fn skip(&mut self) {
        // Its error would have been returned with its id.
        drop(self.take());
    }

    /// Whether the set on the right has the next item, whose id was looked at. A list of what becomes of
    /// the set on the left may contain granules that are removed.
    ///
    /// # Errors
    ///
    /// The item contradicts whether the set on the left has it.
    fn is_held(&self, _is_left: bool) -> Result<bool> {
        Ok(true)
    }

    /// Whether the next item, whose id was looked at, is shown even if both sets have it.
    fn says_more(&mut self) -> bool {
        false
    }

    /// Whether the set on the right has what the set on the left has and this list does not mention.
    fn keeps_others(&self) -> bool {
        false
    }
}

impl<I: Iterator<Item = Result<Event>>> Cursor for Peekable<I> {
    type Item = Event;

    fn peek(&mut self) -> Result<Option<&str>> {
        if let Some(Err(error)) = self.next_if(Result::is_err) {
            return Err(error);
        }
        let next = Peekable::peek(self).and_then(|next| next.as_ref().ok());
        Ok(next.map(|event| event.granule_id.as_str()))
    }

    fn take(&mut self) -> Result<Option<Event>> {
        self.next().transpose()
    }

    fn says_more(&mut self) -> bool {
        let next = Peekable::peek(self).and_then(|next| next.as_ref().ok());
        next.is_some_and(|event| event.content.is_some())
    }
}

/// The numbers of granules that both sides, or only one side, of a comparison have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Counts {
    /// How many both sides have.
    pub matched: u64,
    /// How many only the left side has.
    pub only_left: u64,
    /// How many only the right side has.
    pub only_right: u64,
}

impl Counts {
    /// Whether both sides have the same granules.
    pub fn is_identical(&self) -> bool {
        self.only_left == 0 && self.only_right == 0
    }
}

/// A granule that only one of two sets has, or of which the right list says more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Only<R> {
    /// Only the left one has it.
    Left(GranuleId),
    /// Only the right one has it.
    Right(R),
    /// Both have it.
    Both(R),
}

/// One walk over two lists in canonical order, side by side: what only one of two sets has. The right
/// list has the items of the right set, or says what becomes of the left one.
///
/// Both sets are hashed on the way, what they have in common once. The granules must be those of the sets
/// that are claimed: else the last item is an error of kind `damaged`.
pub(crate) struct Walk<L, R> {
    registry: Registry,
    /// `None` before the first item and after the last.
    progress: Option<Work>,
    left: L,
    right: R,
    /// What the lists are said to be. `None` means that it is not known.
    claims: [Option<Claim>; 2],
    /// `None` means that only a part of both lists is read, or that they are over.
    hashing: Option<Hashing>,
    counts: Counts,
    /// The identifier of the set on the right, once both were read.
    identifier: Identifier,
    is_over: bool,
}

impl<L: Cursor<Item = GranuleId>, R: Cursor> Walk<L, R> {
    /// Begins a walk, which reports to the monitor of `registry`.
    pub fn of(registry: &Registry, left: (L, Option<Claim>), right: (R, Option<Claim>)) -> Self {
        let hashing = Some(Hashing::of(Sweep::over(2)));
        let claims = [left.1, right.1];
        Walk { hashing, claims, ..Walk::of_a_part(registry, left.0, right.0) }
    }

    /// Begins a walk over a part of both lists, which proves nothing.
    pub fn of_a_part(registry: &Registry, left: L, right: R) -> Self {
        Walk {
            registry: registry.clone(),
            progress: None,
            left,
            right,
            claims: [None, None],
            hashing: None,
            counts: Counts::default(),
            identifier: Identifier::EMPTY,
            is_over: false,
        }
    }

    /// The counts of what was read so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The identifier of the set on the right, once both were read.
    pub fn right(&self) -> Identifier {
        self.identifier
    }

    /// The next granule that only one set has. `None` after the last, if the claims are true.
    fn step(&mut self) -> Result<Option<Only<R::Item>>> {
        let registry = &self.registry;
        let progress =
            self.progress.get_or_insert_with(|| registry.begin("comparing", "granules", None));
        while let Some((is_left, is_listed)) = have_next(&mut self.left, &mut self.right)? {
            progress.advance()?;
            let is_right = match is_listed {
                true => self.right.is_held(is_left)?,
                false => self.right.keeps_others(),
            };
            let (counts, sets) = match (is_left, is_right) {
                (true, true) => (Some(&mut self.counts.matched), 0..2),
                (true, false) => (Some(&mut self.counts.only_left), 0..1),
                (false, true) => (Some(&mut self.counts.only_right), 1..2),
                (false, false) => (None, 0..0),
            };
            if let Some(count) = counts {
                *count += 1;
            }
            let granule_id = if is_left { self.left.peek()? } else { self.right.peek()? };
            if let (Some(hashing), Some(granule_id)) = (&mut self.hashing, granule_id) {
                hashing.hold(granule_id, sets);
            }
            if is_right && !is_left {
                return Ok(self.right.take()?.map(Only::Right));
            }
            if is_left && is_right && is_listed && self.right.says_more() {
                self.left.skip();
                return Ok(self.right.take()?.map(Only::Both));
            }
            if is_listed {
                self.right.skip();
            }
            if is_left && !is_right {
                return Ok(self.left.take()?.map(Only::Left));
            }
            if is_left {
                self.left.skip();
            }
        }
        let Some(hashing) = self.hashing.take() else { return Ok(None) };
        let sweep = hashing.finish().sweep;
        self.identifier = sweep.latest();
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

/// Whether the left one of two lists, and the right one, have the next id. `None` after the last.
fn have_next(left: &mut impl Cursor, right: &mut impl Cursor) -> Result<Option<(bool, bool)>> {
    let order = match (left.peek()?, right.peek()?) {
        (None, None) => return Ok(None),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (Some(left), Some(right)) => left.cmp(right),
    };
    Ok(Some((order.is_le(), order.is_ge())))
}

impl<L: Cursor<Item = GranuleId>, R: Cursor> Iterator for Walk<L, R> {
    type Item = Result<Only<R::Item>>;

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

/// A granule that only one side has.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    /// Only the left side has it.
    OnlyLeft(GranuleId),
    /// Only the right side has it.
    OnlyRight(GranuleId),
}

/// The granules that only a set or only another one, or a [`Listing`], has, in canonical order.
///
/// The rows themselves are compared, in one pass over both sides with a page of each in memory, and
/// hashed on the way. If they are not those of the identifiers of the sets, the last item is an error
/// of kind `damaged`.
pub struct Differences<Right = Set> {
    left: Set,
    right: Right,
    walk: Walk<IdCursor, IdCursor>,
}

impl Snapshot {
    /// Compares two sets of granules. The differences can still be read after this snapshot was
    /// dropped.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`].
    pub fn compare(&self, left: &Selection, right: &Selection) -> Result<Differences> {
        let (left, right) = (self.select(left)?.set, self.select(right)?.set);
        let walk = Walk::of(&self.registry, self.ids(&left)?, self.ids(&right)?);
        Ok(Differences { left, right, walk })
    }

    /// As [`Snapshot::compare`], but only the differences after an id. They are not checked against
    /// the two identifiers, since the sets are not read in full.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`].
    pub fn compare_after(
        &self,
        left: &Selection,
        right: &Selection,
        after: &GranuleId,
    ) -> Result<Differences> {
        let (left, right) = (self.select(left)?.set, self.select(right)?.set);
        let ids_after =
            |set| Ok::<_, Error>(IdCursor::ahead(self.granules(set)?.after(after).into_id_pages()));
        let walk = Walk::of_a_part(&self.registry, ids_after(&left)?, ids_after(&right)?);
        Ok(Differences { left, right, walk })
    }

    /// Compares a set of granules, on the left, with a listing, on the right. The differences can
    /// still be read after this snapshot was dropped.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`]; [`ErrorKind::Temporary`](crate::ErrorKind::Temporary).
    pub fn compare_with(
        &self,
        selection: &Selection,
        listing: Listing,
    ) -> Result<Differences<Listing>> {
        let left = self.select(selection)?.set;
        let listed = IdCursor::ahead(listing.id_pages()?);
        let walk = Walk::of(&self.registry, self.ids(&left)?, (listed, None));
        Ok(Differences { left, right: listing, walk })
    }

    /// The ids of a set, in canonical order, for a walk, which proves the set.
    pub(crate) fn ids(&self, set: &Set) -> Result<(IdCursor, Option<Claim>)> {
        let ids = IdCursor::ahead(self.granules(set)?.unproved().into_id_pages());
        Ok((ids, Some(Claim::of(&self.registry, set))))
    }
}

impl<Right> Differences<Right> {
    /// The set on the left.
    pub fn left(&self) -> &Set {
        &self.left
    }

    /// The set or the listing on the right.
    pub fn right(&self) -> &Right {
        &self.right
    }

    /// Reads the remaining differences, and returns the counts.
    ///
    /// # Errors
    ///
    /// Those of the iterator.
    pub fn finish(mut self) -> Result<Counts> {
        self.by_ref().try_for_each(|difference| difference.map(drop))?;
        Ok(self.counts())
    }

    /// The counts of what was read so far; those of the whole comparison once the iterator has
    /// ended.
    pub fn counts(&self) -> Counts {
        self.walk.counts()
    }
}

impl Differences<Listing> {
    /// The identifier of the listing, once the iterator has ended.
    pub fn identifier(&self) -> Identifier {
        self.walk.right()
    }

    /// How many ids of the listing were repetitions, once the iterator has ended.
    pub fn repeated(&self) -> u64 {
        let counts = self.counts();
        self.right.count().saturating_sub(counts.matched + counts.only_right)
    }
}

impl<Right> Iterator for Differences<Right> {
    type Item = Result<Difference>;

    fn next(&mut self) -> Option<Result<Difference>> {
        loop {
            return Some(Ok(match self.walk.next()? {
                Ok(Only::Left(granule_id)) => Difference::OnlyLeft(granule_id),
                Ok(Only::Right(granule_id)) => Difference::OnlyRight(granule_id),
                Ok(Only::Both(_)) => continue,
                Err(error) => return Some(Err(error)),
            }));
        }
    }
}

/// IdCursor in canonical order, in pages. A comparison of two long lists takes about two thirds of the time
/// with these that it takes with granules, each of which is allocated and checked.
pub(crate) struct IdCursor<Pages = Ahead<Result<IdPage>>> {
    pages: Pages,
    page: IdPage,
    next: usize,
}

impl<Pages> IdCursor<Pages> {
    /// The ids of pages, each of which is read when it is needed.
    pub fn of(pages: Pages) -> Self {
        IdCursor { pages, page: IdPage::default(), next: 0 }
    }
}

impl IdCursor {
    /// The ids of pages, which are read ahead.
    pub fn ahead(pages: impl Iterator<Item = Result<IdPage>> + Send + 'static) -> Self {
        IdCursor::of(Ahead::of(pages, 1))
    }
}

impl<Pages: Iterator<Item = Result<IdPage>>> Cursor for IdCursor<Pages> {
    type Item = GranuleId;

    fn peek(&mut self) -> Result<Option<&str>> {
        while self.next == self.page.len() {
            let Some(page) = self.pages.next().transpose()? else { return Ok(None) };
            (self.page, self.next) = (page, 0);
        }
        Ok(self.page.get(self.next))
    }

    fn take(&mut self) -> Result<Option<GranuleId>> {
        let unreadable = |_| Error::damaged("an id is not valid");
        let next = self.peek()?.map(|id| GranuleId::new(id).map_err(unreadable)).transpose()?;
        self.skip();
        Ok(next)
    }

    fn skip(&mut self) {
        self.next = self.page.len().min(self.next + 1);
    }
}
