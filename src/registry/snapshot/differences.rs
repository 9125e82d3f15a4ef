//! What only one of two lists in canonical order has: the merge of both, and the comparison of sets.

use std::iter::Peekable;

use super::granules::Granules;
use super::select::Selection;
use super::view::Snapshot;
use crate::chain::{Hashing, Sweep};
use crate::error::{Error, Result};
use crate::model::{Event, Granule, GranuleId, IdPage, Identifier, Set};
use crate::registry::handle::Registry;
use crate::registry::listing::{Identified, Listing};
use crate::registry::monitor::Work;
use crate::registry::parallel::Ahead;
use crate::registry::proof::Claim;

/// An item with an id, by which lists are sorted.
pub(crate) trait HasGranuleId: 'static {
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

/// A list in canonical order.
pub(crate) trait SortedById {
    /// What is listed.
    type Item;

    /// Why it cannot be read.
    type Error;

    /// The id of the next item. `None` after the last one.
    fn peek_id(&mut self) -> Result<Option<&str>, Self::Error>;

    /// Takes the next item. `None` after the last one.
    fn take_next(&mut self) -> Result<Option<Self::Item>, Self::Error>;

    /// Leaves out the next item, whose id was looked at.
    fn skip_next(&mut self) {
        // Its error would have been returned with its id.
        drop(self.take_next());
    }
}

impl<I: Iterator<Item = Result<T, E>>, T: HasGranuleId, E: 'static> SortedById for Peekable<I> {
    type Item = T;
    type Error = E;

    fn peek_id(&mut self) -> Result<Option<&str>, E> {
        if let Some(Err(error)) = self.next_if(Result::is_err) {
            return Err(error);
        }
        match self.peek() {
            Some(Ok(next)) => Ok(Some(next.granule_id())),
            _ => Ok(None),
        }
    }

    fn take_next(&mut self) -> Result<Option<T>, E> {
        self.next().transpose()
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

/// What is taken of a merge of two lists.
type Taken<L, R> = Side<<L as SortedById>::Item, <R as SortedById>::Item>;

/// Two lists in canonical order, merged: each id once, with the side or sides that have it.
pub(crate) struct Merge<L, R> {
    left: L,
    right: R,
}

impl<L: SortedById, R: SortedById<Error = L::Error>> Merge<L, R> {
    /// Merges two lists.
    pub fn of(left: L, right: R) -> Self {
        Merge { left, right }
    }

    /// The next id, on the side or sides that have it. `None` after the last one.
    fn peek(&mut self) -> Result<Option<Side<&str, &str>>, L::Error> {
        Ok(match (self.left.peek_id()?, self.right.peek_id()?) {
            (None, None) => None,
            (Some(left), None) => Some(Side::Left(left)),
            (None, Some(right)) => Some(Side::Right(right)),
            (Some(left), Some(right)) => Some(match left.cmp(right) {
                std::cmp::Ordering::Less => Side::Left(left),
                std::cmp::Ordering::Greater => Side::Right(right),
                std::cmp::Ordering::Equal => Side::Both(left, right),
            }),
        })
    }

    fn take(&mut self) -> Result<Option<Taken<L, R>>, L::Error> {
        let side = match self.peek()? {
            None => return Ok(None),
            Some(Side::Left(_)) => self.left.take_next()?.map(Side::Left),
            Some(Side::Right(_)) => self.right.take_next()?.map(Side::Right),
            Some(Side::Both(..)) => {
                let (left, right) = (self.left.take_next()?, self.right.take_next()?);
                left.zip(right).map(|(left, right)| Side::Both(left, right))
            }
        };
        Ok(side)
    }
}

impl<L: SortedById, R: SortedById<Error = L::Error>> Iterator for Merge<L, R> {
    type Item = Result<Side<L::Item, R::Item>, L::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.take().transpose()
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

    pub(crate) fn count<L, R>(&mut self, side: &Side<L, R>) {
        match side {
            Side::Left(_) => self.only_left += 1,
            Side::Right(_) => self.only_right += 1,
            Side::Both(..) => self.matched += 1,
        }
    }
}

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
pub(crate) struct Walk<L, R> {
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

impl<L: SortedById<Error = Error>, R: SortedById<Error = Error>> Walk<L, R> {
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
            sides: Merge::of(left, right),
            claims: [None, None],
            hashing: None,
            counts: Counts::default(),
            right: Identifier::EMPTY,
            is_over: false,
        }
    }

    /// The counts of what was read so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The identifier of the list on the right, once both were read.
    pub fn right(&self) -> Identifier {
        self.right
    }

    /// The next item that only one side has. `None` after the last, if the claims are true.
    fn step(&mut self) -> Result<Option<Only<L::Item, R::Item>>> {
        let registry = &self.registry;
        let progress =
            self.progress.get_or_insert_with(|| registry.begin("comparing", "granules", None));
        while let Some(side) = self.sides.peek()? {
            progress.advance()?;
            self.counts.count(&side);
            let (granule_id, lists) = match side {
                Side::Left(left) => (left, 0..1),
                Side::Right(right) => (right, 1..2),
                Side::Both(left, _) => (left, 0..2),
            };
            if let Some(hashing) = &mut self.hashing {
                hashing.hold(granule_id, lists.clone());
            }
            match (lists.start, lists.end) {
                (0, 1) => return Ok(self.sides.left.take_next()?.map(Only::Left)),
                (1, _) => return Ok(self.sides.right.take_next()?.map(Only::Right)),
                _ => {
                    self.sides.left.skip_next();
                    self.sides.right.skip_next();
                }
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

impl<L: SortedById<Error = Error>, R: SortedById<Error = Error>> Iterator for Walk<L, R> {
    type Item = Result<Only<L::Item, R::Item>>;

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
    walk: Walk<Ids, Ids>,
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
        let ids_after = |set| Ok::<_, Error>(Ids::of_set(self.granules(set)?.after(after)));
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
        let listed = Ids::of(listing.id_pages()?);
        let walk = Walk::of(&self.registry, self.ids(&left)?, (listed, None));
        Ok(Differences { left, right: listing, walk })
    }

    /// The ids of a set, in canonical order, for a walk, which proves the set.
    fn ids(&self, set: &Set) -> Result<(Ids, Option<Claim>)> {
        let ids = Ids::of_set(self.granules(set)?.unproved());
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
    pub fn identified(&self) -> Identified {
        let counts = self.counts();
        let granules = counts.matched + counts.only_right;
        let repeated = self.right.count().saturating_sub(granules);
        Identified { identifier: self.walk.right(), granules, repeated }
    }
}

impl<Right> Iterator for Differences<Right> {
    type Item = Result<Difference>;

    fn next(&mut self) -> Option<Result<Difference>> {
        let difference = |only| match only {
            Only::Left(granule_id) => Difference::OnlyLeft(granule_id),
            Only::Right(granule_id) => Difference::OnlyRight(granule_id),
        };
        Some(self.walk.next()?.map(difference))
    }
}

/// Ids in canonical order, whose pages are read ahead. A comparison of two long lists takes about two
/// thirds of the time with these that it takes with granules, each of which is allocated and checked.
struct Ids {
    pages: Ahead<Result<IdPage>>,
    page: IdPage,
    next: usize,
}

impl Ids {
    fn of(pages: impl Iterator<Item = Result<IdPage>> + Send + 'static) -> Self {
        Ids { pages: Ahead::of(pages, 1), page: IdPage::default(), next: 0 }
    }

    fn of_set(granules: Granules) -> Self {
        Ids::of(granules.into_id_pages())
    }
}

impl SortedById for Ids {
    type Item = GranuleId;
    type Error = Error;

    fn peek_id(&mut self) -> Result<Option<&str>> {
        while self.next == self.page.len() {
            let Some(page) = self.pages.next().transpose()? else { return Ok(None) };
            (self.page, self.next) = (page, 0);
        }
        Ok(self.page.get(self.next))
    }

    fn take_next(&mut self) -> Result<Option<GranuleId>> {
        let unreadable = |_| Error::damaged("an id is not valid");
        let next = self.peek_id()?.map(|id| GranuleId::new(id).map_err(unreadable)).transpose()?;
        self.skip_next();
        Ok(next)
    }

    fn skip_next(&mut self) {
        self.next = self.page.len().min(self.next + 1);
    }
}
