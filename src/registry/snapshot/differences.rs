//! Compares two sets: walks over two lists in canonical order, and finds granules that only one of them has, or
//! whose files have different content.

use std::cmp::Ordering;
use std::iter::Peekable;

use super::cursor::{Cursor, Failure, ListPages, SetEntries, granule_id_of};
use crate::chain::{Hashing, Sweep};
use crate::error::Result;
use crate::model::{
    Content, ContentMatch, EncodedFiles, GranuleId, IdPage, Identifier, ListingEntry, Set,
};
use crate::registry::handle::Registry;
use crate::registry::listing::Listing;
use crate::registry::log::Outcomes;
use crate::registry::observer::{OpenWork, Work};
use crate::registry::parallel::Ahead;
use crate::registry::proof::Claim;

impl<I: Iterator<Item = Result<ListingEntry>>> Cursor for Peekable<I> {
    fn peek(&mut self) -> Result<Option<&str>> {
        if let Some(Err(error)) = self.next_if(Result::is_err) {
            return Err(error);
        }
        let next = Peekable::peek(self).and_then(|next| next.as_ref().ok());
        Ok(next.map(|entry| entry.granule_id.as_str()))
    }

    fn take(&mut self) -> Result<Option<ListingEntry>> {
        self.next().transpose()
    }

    fn known(&mut self) -> Result<Option<EncodedFiles<'_>>> {
        let next = Peekable::peek(self).and_then(|next| next.as_ref().ok());
        Ok(next.and_then(|entry| entry.content.as_ref()).map(Content::encoded))
    }
}

/// The numbers of granules whose files were compared, among those that both sides have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[non_exhaustive]
pub struct ContentCounts {
    /// The number of granules that could be compared: their files have a checksum algorithm in common.
    pub compared: u64,
    /// The number of granules without a common algorithm.
    pub not_comparable: u64,
    /// The number of granules with different content, or without a file on the right.
    #[serde(skip)]
    pub other: u64,
}

impl ContentCounts {
    /// Counts a granule that both have.
    pub(crate) fn add(&mut self, compared: &ContentMatch) {
        match compared {
            ContentMatch::Unknown => {}
            ContentMatch::Equal => self.compared += 1,
            ContentMatch::NotComparable => self.not_comparable += 1,
            ContentMatch::Other(_) => {
                self.compared += 1;
                self.other += 1;
            }
        }
    }
}

/// A granule that only one of two sets has, or that both have with recorded files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Only {
    /// Only the left one has it.
    Left(GranuleId),
    /// Only the right one has it.
    Right(ListingEntry),
    /// Both sets have it. The right list has metadata of its files, and files are recorded on the left (if the
    /// left is read) or on the right. The last value is what was recorded on the right before it was replaced.
    Both(Content, ListingEntry, Option<Vec<Content>>),
}

/// A walk over two lists in canonical order, side by side, which finds what only one of two sets has. The right
/// list has the items of the right set, or the effect of events on the left set.
///
/// Both sets are hashed on the way; common granules are hashed once. If the granules are not those of the
/// claimed sets, the last item is an error of kind `damaged`.
pub(crate) struct Walk<L, R: ?Sized> {
    registry: Registry,
    /// `None` before the first item and after the last.
    progress: Option<OpenWork>,
    left: L,
    right: Box<R>,
    /// The sets that the lists are claimed to be. `None` means unknown.
    claims: [Option<Claim>; 2],
    /// `None` means that only a part of both lists is read, or that they are over.
    hashing: Option<Hashing>,
    /// Without the counts of contents. The identifier of the right side is set when both lists are read.
    counts: DifferenceCounts,
    is_over: bool,
}

impl<L: Cursor, R: Cursor + ?Sized> Walk<L, R> {
    /// Begins a walk, which reports to the observer of `registry`.
    pub fn of(registry: &Registry, left: L, right: Box<R>, claims: [Option<Claim>; 2]) -> Self {
        let hashing = Some(Hashing::of(Sweep::over(2)));
        Walk { hashing, claims, ..Walk::of_a_part(registry, left, right) }
    }

    /// Begins a walk over a part of both lists, without verification.
    pub fn of_a_part(registry: &Registry, left: L, right: Box<R>) -> Self {
        Walk {
            registry: registry.clone(),
            progress: None,
            left,
            right,
            claims: [None, None],
            hashing: None,
            counts: DifferenceCounts::default(),
            is_over: false,
        }
    }

    /// The next granule that only one set has, or that both have with files. `None` after the last one, if the
    /// claims are true.
    fn step(&mut self) -> Result<Option<Only>> {
        let registry = &self.registry;
        let progress = self.progress.get_or_insert_with(|| registry.begin(Work::Compare, None));
        while let Some((is_left, is_listed)) = have_next(&mut self.left, &mut *self.right)? {
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
            if is_left
                && is_right
                && is_listed
                && let Some(stated) = self.right.known()?
            {
                let known = self.left.known()?;
                if !stated.is_empty() || !known.is_some_and(EncodedFiles::is_empty) {
                    let known = Content::from(known.unwrap_or_default());
                    self.left.skip()?;
                    let replaced = self.right.replaced();
                    let both = |right| Only::Both(known, right, replaced);
                    return Ok(self.right.take()?.map(both));
                }
            }
            if is_listed {
                self.right.skip()?;
            }
            if is_left && !is_right {
                let granule_id = self.left.peek()?.map(granule_id_of).transpose()?;
                self.left.skip()?;
                return Ok(granule_id.map(Only::Left));
            }
            if is_left {
                self.left.skip()?;
            }
        }
        let Some(hashing) = self.hashing.take() else { return Ok(None) };
        let sweep = hashing.finish().sweep;
        self.counts.right = sweep.latest();
        let DifferenceCounts { matched, only_left, only_right, .. } = self.counts;
        let granules = [matched + only_left, matched + only_right];
        for ((claim, identifier), granules) in
            self.claims.iter().zip(sweep.identifiers()).zip(granules)
        {
            claim.as_ref().map_or(Ok(()), |claim| claim.check(identifier, granules))?;
        }
        Ok(None)
    }
}

/// Whether the left and the right list have the next id. `None` after the last one.
fn have_next(
    left: &mut impl Cursor,
    right: &mut (impl Cursor + ?Sized),
) -> Result<Option<(bool, bool)>> {
    let order = match (left.peek()?, right.peek()?) {
        (None, None) => return Ok(None),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (Some(left), Some(right)) => left.cmp(right),
    };
    Ok(Some((order.is_le(), order.is_ge())))
}

impl<L: Cursor, R: Cursor + ?Sized> Iterator for Walk<L, R> {
    type Item = Result<Only>;

    fn next(&mut self) -> Option<Result<Only>> {
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

/// A difference between two sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Only the left side has the granule.
    OnlyLeft(GranuleId),
    /// Only the right side has it.
    OnlyRight(ListingEntry),
    /// Both have it, with different recorded files. Only a comparison of files finds it.
    OtherContent(ContentDifference),
}

/// The recorded files of a granule on both sides, if they differ.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContentDifference {
    /// The granule.
    pub granule_id: GranuleId,
    /// The recorded files on the left.
    pub known: Content,
    /// The recorded or listed files on the right.
    pub stated: Content,
    /// The earlier files of the granule, as far as they were read. Only for a log in which these files were
    /// replaced, or the granule was deleted meanwhile; otherwise `None`.
    pub replaced: Option<Vec<Content>>,
    /// The result of comparing both.
    pub(crate) compared: ContentMatch,
}

impl ContentDifference {
    /// Whether a file has different content (another size, or another checksum of the same algorithm), or is
    /// missing on the right.
    pub fn is_conflict(&self) -> bool {
        matches!(self.compared, ContentMatch::Other(_))
    }
}

/// The granules of a set, which are read ahead.
type EntriesAhead = SetEntries<Ahead<Result<IdPage>>>;

/// The right side of a comparison.
type AnySide = dyn Cursor + Send;

/// The granules that only a set or only another side has, or whose recorded files differ, in canonical order.
/// The other side is a set, a [`Listing`], or the effect of a log on a mirror.
///
/// The rows themselves are compared, in one pass over both sides with a page of each in memory, and hashed on
/// the way. If they do not have the identifiers of the sets, the last item is an error of kind `damaged`; for a
/// log, of kind [`ErrorKind::NotAsExpected`](crate::ErrorKind::NotAsExpected).
pub struct Differences {
    walk: Walk<EntriesAhead, AnySide>,
    contents: ContentCounts,
    changed: Option<ChangedMeanwhile>,
    failure: Failure,
}

crate::model::debug_fields!(Differences: contents);

/// The counts of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DifferenceCounts {
    /// The number of granules that both sides have.
    pub matched: u64,
    /// The number of granules that only the left side has.
    pub only_left: u64,
    /// The number of granules that only the right side has.
    pub only_right: u64,
    /// The number of granules that were left out, since they changed while the listing on the right was made
    /// ([`Registry::compare_scanned`]).
    pub changed: u64,
    /// The numbers of common granules whose files were compared.
    pub contents: ContentCounts,
    /// The identifier of the right side, if it was read from its first granule.
    pub right: Identifier,
}

impl Default for DifferenceCounts {
    fn default() -> Self {
        DifferenceCounts {
            matched: 0,
            only_left: 0,
            only_right: 0,
            changed: 0,
            contents: ContentCounts::default(),
            right: Identifier::EMPTY,
        }
    }
}

impl DifferenceCounts {
    /// Whether both sides have the same granules.
    pub fn has_same_granules(&self) -> bool {
        self.only_left == 0 && self.only_right == 0
    }

    /// Whether both sides have the same granules, and no compared file has different content or is missing on
    /// the right.
    pub fn is_identical(&self) -> bool {
        self.has_same_granules() && self.contents.other == 0
    }
}

impl Registry {
    /// Compares the granules of two sets by their ids.
    pub fn compare(&self, left: &Set, right: &Set) -> Differences {
        self.compare_sets(left, right, false)
    }

    /// Like [`Registry::compare`], and also compares the recorded files of the granules that both have.
    pub fn compare_files(&self, left: &Set, right: &Set) -> Differences {
        // If the digests are equal, so are the recorded files.
        self.compare_sets(left, right, left.digest() != right.digest())
    }

    fn compare_sets(&self, left: &Set, right: &Set, reads_files: bool) -> Differences {
        let claims = [left, right].map(|set| Some(Claim::of(self, set)));
        let of_left = self.proved_entries(left, reads_files);
        let of_right = Box::new(self.proved_entries(right, reads_files));
        Differences::of(Walk::of(self, of_left, of_right, claims))
    }

    /// Like [`Registry::compare_files`], but only for the differences after an id. The sets are not read in
    /// full, so they are not checked against the two identifiers and digests.
    pub fn compare_after(&self, left: &Set, right: &Set, after: &GranuleId) -> Differences {
        let reads_files = left.digest() != right.digest();
        let entries_after = |set| {
            let pages = ListPages::after(self, set, Some(after));
            let entries = SetEntries::of(Ahead::of(pages, 1));
            if reads_files { entries.with_files(self, set) } else { entries }
        };
        let (of_left, of_right) = (entries_after(left), Box::new(entries_after(right)));
        Differences::of(Walk::of_a_part(self, of_left, of_right))
    }

    /// Compares a set, on the left, with a listing, on the right. Also compares the recorded files with those
    /// of the listing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary).
    pub fn compare_with(&self, left: &Set, listing: &Listing) -> Result<Differences> {
        let listed = Box::new(Ahead::of(listing.distinct()?, listing.entries_ahead()).peekable());
        let claims = [Some(Claim::of(self, left)), None];
        let entries = self.proved_entries(left, listing.states_files());
        Ok(Differences::of(Walk::of(self, entries, listed, claims)))
    }

    /// Compares what a mirror holds (`None`: nothing), on the left, with the effect of a log on it, which is
    /// claimed to be the primary's set.
    pub(crate) fn compare_with_log(
        &self,
        held: Option<&Set>,
        outcomes: Outcomes,
        claim: Claim,
    ) -> Differences {
        let entries = match held {
            Some(set) => self.entries(set),
            None => SetEntries::of(Ahead::of(std::iter::empty(), 1)),
        };
        let claims = [held.map(|set| Claim::of(self, set)), Some(claim)];
        Differences::of(Walk::of(self, entries, Box::new(outcomes), claims))
    }

    /// The granules of a set, with their recorded files, for a walk, which verifies the identifier.
    pub(super) fn entries(&self, set: &Set) -> EntriesAhead {
        self.names(set).with_files(self, set)
    }

    /// The same. If the files are read, their digest is verified.
    fn proved_entries(&self, set: &Set, reads_files: bool) -> EntriesAhead {
        match reads_files {
            true => self.entries(set).proving_files(Claim::of(self, set)),
            false => self.names(set),
        }
    }

    /// The same without the files.
    fn names(&self, set: &Set) -> EntriesAhead {
        SetEntries::of(Ahead::of(ListPages::after(self, set, None), 1))
    }
}

impl Differences {
    fn of(walk: Walk<EntriesAhead, AnySide>) -> Self {
        let (contents, failure) = (ContentCounts::default(), Failure::default());
        Differences { walk, contents, changed: None, failure }
    }

    /// Leaves out granules that changed while the listing on the right was made. They must be in canonical
    /// order.
    pub(super) fn without(self, changed: ChangedGranules) -> Self {
        let changed = changed.peekable();
        let changed = ChangedMeanwhile { changed, passed: 0, left: 0, right: 0, other: 0 };
        Differences { changed: Some(changed), ..self }
    }

    /// Reads the remaining differences, which verifies both sides, and returns the counts.
    ///
    /// # Errors
    ///
    /// Those of the remaining items. If an earlier item was an error, an error of the same kind.
    pub fn finish(mut self) -> Result<DifferenceCounts> {
        self.try_for_each(|difference| difference.map(drop))?;
        self.failure.check()?;
        let counts = DifferenceCounts { contents: self.contents, ..self.walk.counts };
        self.changed.map_or(Ok(counts), |changed| changed.taken_from(counts))
    }

    fn is_left_out(&mut self, difference: &Difference) -> Result<bool> {
        self.changed.as_mut().map_or(Ok(false), |changed| changed.leave_out(difference))
    }

    /// The difference between both sides in a granule. `None` means that there is none.
    fn difference(&mut self, only: Only) -> Option<Difference> {
        let (known, entry, replaced) = match only {
            Only::Left(granule_id) => return Some(Difference::OnlyLeft(granule_id)),
            Only::Right(entry) => return Some(Difference::OnlyRight(entry)),
            Only::Both(known, entry, replaced) => (known, entry, replaced),
        };
        let (granule_id, stated) = (entry.granule_id, entry.content.unwrap_or_default());
        let compared = known.compare(&granule_id, &stated);
        self.contents.add(&compared);
        let other = ContentDifference { granule_id, known, stated, replaced, compared };
        (other.known != other.stated).then_some(Difference::OtherContent(other))
    }
}

impl Iterator for Differences {
    type Item = Result<Difference>;

    fn next(&mut self) -> Option<Result<Difference>> {
        loop {
            match self.failure.note(self.walk.next())? {
                Ok(only) => match self.difference(only) {
                    None => {}
                    Some(difference) => match self.is_left_out(&difference) {
                        Ok(true) => {}
                        Ok(false) => return Some(Ok(difference)),
                        Err(error) => return self.failure.note(Some(Err(error))),
                    },
                },
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Granules in canonical order, each once.
pub(super) type ChangedGranules = Box<dyn Iterator<Item = Result<ListingEntry>> + Send>;

/// The granules that changed while the listing on the right was made: their differences mean nothing.
struct ChangedMeanwhile {
    changed: Peekable<ChangedGranules>,
    /// The number of them up to the last difference.
    passed: u64,
    /// The numbers of differences that were left out: granules of the left side, of the right side, and with
    /// different content.
    left: u64,
    right: u64,
    other: u64,
}

impl ChangedMeanwhile {
    /// Whether a difference concerns a granule that changed. If so, counts it.
    fn leave_out(&mut self, difference: &Difference) -> Result<bool> {
        let granule_id = match difference {
            Difference::OnlyLeft(granule_id) => granule_id,
            Difference::OnlyRight(entry) => &entry.granule_id,
            Difference::OtherContent(other) => &other.granule_id,
        };
        if !self.has(granule_id)? {
            return Ok(false);
        }
        match difference {
            Difference::OnlyLeft(_) => self.left += 1,
            Difference::OnlyRight(_) => self.right += 1,
            Difference::OtherContent(other) => {
                self.other += u64::from(other.is_conflict());
            }
        }
        Ok(true)
    }

    /// Whether a granule changed. Must be called in canonical order.
    fn has(&mut self, granule_id: &GranuleId) -> Result<bool> {
        let is_up_to = |next: &Result<ListingEntry>| {
            next.as_ref().map_or(true, |next| next.granule_id <= *granule_id)
        };
        while let Some(changed) = self.changed.next_if(is_up_to) {
            self.passed += 1;
            if changed?.granule_id == *granule_id {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The counts without what was left out. A changed granule counts as being on both sides if it is listed,
    /// and is not counted otherwise.
    fn taken_from(self, counts: DifferenceCounts) -> Result<DifferenceCounts> {
        let mut changed = self.passed;
        for rest in self.changed {
            rest?;
            changed += 1;
        }
        let contents =
            ContentCounts { other: counts.contents.other - self.other, ..counts.contents };
        Ok(DifferenceCounts {
            matched: counts.matched + self.right,
            only_left: counts.only_left - self.left,
            only_right: counts.only_right - self.right,
            changed,
            contents,
            ..counts
        })
    }
}
