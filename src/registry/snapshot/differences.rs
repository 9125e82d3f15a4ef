//! What only one of two sets has, or of which other bytes are known: the walk over two lists in canonical
//! order, and the comparison of sets.

use std::cmp::Ordering;
use std::iter::Peekable;

use super::cursor::{Cursor, SetEntries, granule_id_of};
use super::select::Selection;
use super::view::Snapshot;
use crate::chain::{Hashing, Sweep};
use crate::disk::Spool;
use crate::error::{Error, Result};
use crate::model::{
    Content, ContentMatch, Contradiction, EncodedFiles, Entry, GranuleId, IdPage, Identifier, Set,
};
use crate::registry::handle::Registry;
use crate::registry::listing::Listing;
use crate::registry::monitor::Work;
use crate::registry::parallel::Ahead;
use crate::registry::proof::Claim;

impl<I: Iterator<Item = Result<Entry>>> Cursor for Peekable<I> {
    type Item = Entry;

    fn peek(&mut self) -> Result<Option<&str>> {
        if let Some(Err(error)) = self.next_if(Result::is_err) {
            return Err(error);
        }
        let next = Peekable::peek(self).and_then(|next| next.as_ref().ok());
        Ok(next.map(|entry| entry.granule_id.as_str()))
    }

    fn take(&mut self) -> Result<Option<Entry>> {
        self.next().transpose()
    }

    fn known(&mut self) -> Result<Option<EncodedFiles<'_>>> {
        let next = Peekable::peek(self).and_then(|next| next.as_ref().ok());
        Ok(next.and_then(|entry| entry.content.as_ref()).map(Content::encoded))
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

/// Of how many granules that two sides have the bytes were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct ContentCounts {
    /// Of how many files of both sides have an algorithm in common.
    pub compared: u64,
    /// Of how many they have none.
    pub not_comparable: u64,
    /// How many have other bytes.
    #[serde(skip)]
    pub other: u64,
}

impl ContentCounts {
    /// Counts a granule that both have.
    pub fn add(&mut self, compared: &ContentMatch) {
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

/// A granule that only one of two sets has, or of whose files something is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Only<R> {
    /// Only the left one has it.
    Left(GranuleId),
    /// Only the right one has it.
    Right(R),
    /// Both have it, and the right list says something of its files, where some are known on the left, which
    /// is read, or on the right.
    Both(Content, R),
}

/// One walk over two lists in canonical order, side by side: what only one of two sets has. The right
/// list has the items of the right set, or says what becomes of the left one.
///
/// Both sets are hashed on the way, what they have in common once. The granules must be those of the sets
/// that are claimed: else the last item is an error of kind `damaged`.
pub(crate) struct Walk<L, R: ?Sized> {
    registry: Registry,
    /// `None` before the first item and after the last.
    progress: Option<Work>,
    left: L,
    right: Box<R>,
    /// What the lists are said to be. `None` means that it is not known.
    claims: [Option<Claim>; 2],
    /// `None` means that only a part of both lists is read, or that they are over.
    hashing: Option<Hashing>,
    counts: Counts,
    /// The identifier of the set on the right, once both were read.
    identifier: Identifier,
    is_over: bool,
}

impl<L: Cursor, R: Cursor + ?Sized> Walk<L, R> {
    /// Begins a walk, which reports to the monitor of `registry`.
    pub fn of(registry: &Registry, left: L, right: Box<R>, claims: [Option<Claim>; 2]) -> Self {
        let hashing = Some(Hashing::of(Sweep::over(2)));
        Walk { hashing, claims, ..Walk::of_a_part(registry, left, right) }
    }

    /// Begins a walk over a part of both lists, which proves nothing.
    pub fn of_a_part(registry: &Registry, left: L, right: Box<R>) -> Self {
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

    /// The next granule that only one set has, or that both have with files. `None` after the last, if the
    /// claims are true.
    fn step(&mut self) -> Result<Option<Only<R::Item>>> {
        let registry = &self.registry;
        let progress =
            self.progress.get_or_insert_with(|| registry.begin("comparing", "granules", None));
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
                    return Ok(self.right.take()?.map(|right| Only::Both(known, right)));
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

/// How two sets differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Only the left side has the granule.
    OnlyLeft(GranuleId),
    /// Only the right side has it.
    OnlyRight(GranuleId),
    /// Both have it, and a file has other bytes. Only a comparison of files finds it.
    OtherBytes(GranuleId, Contradiction),
}

/// The granules of a set, which are read ahead.
pub(crate) type EntriesAhead = SetEntries<Ahead<Result<IdPage>>>;

/// The granules of a set or of a listing.
type AnyEntries = dyn Cursor<Item = Entry> + Send;

/// The granules that only a set or only another one, or a [`Listing`], has, in canonical order.
///
/// The rows themselves are compared, in one pass over both sides with a page of each in memory, and
/// hashed on the way. If they are not those of the identifiers of the sets, the last item is an error
/// of kind `damaged`.
pub struct Differences<Right = Set> {
    left: Set,
    right: Right,
    walk: Walk<EntriesAhead, AnyEntries>,
    files: ContentCounts,
}

impl Snapshot {
    /// Compares which granules two sets have. The differences can still be read after this snapshot was
    /// dropped.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`].
    pub fn compare(&self, left: &Selection, right: &Selection) -> Result<Differences> {
        let (left, right) = (self.select(left)?.set, self.select(right)?.set);
        self.compare_sets(left, right, false)
    }

    /// As [`Snapshot::compare`], and what is known of the files of the granules that both have.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`].
    pub fn compare_files(&self, left: &Selection, right: &Selection) -> Result<Differences> {
        let (left, right) = (self.select(left)?.set, self.select(right)?.set);
        // With equal digests the same is known of them.
        let reads_files = left.digest() != right.digest();
        self.compare_sets(left, right, reads_files)
    }

    fn compare_sets(&self, left: Set, right: Set, reads_files: bool) -> Result<Differences> {
        let claims = [&left, &right].map(|set| Some(Claim::of(&self.registry, set)));
        let of_left = self.proved_entries(&left, reads_files)?;
        let of_right: Box<AnyEntries> = Box::new(self.proved_entries(&right, reads_files)?);
        let walk = Walk::of(&self.registry, of_left, of_right, claims);
        Ok(Differences { left, right, walk, files: ContentCounts::default() })
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
        let entries_after =
            |set| Ok::<_, Error>(SetEntries::of(Ahead::of(self.cursor(set)?.after(after), 1)));
        let of_left = entries_after(&left)?;
        let of_right: Box<AnyEntries> = Box::new(entries_after(&right)?);
        let walk = Walk::of_a_part(&self.registry, of_left, of_right);
        Ok(Differences { left, right, walk, files: ContentCounts::default() })
    }

    /// Compares a set of granules, on the left, with a listing, on the right, and what is known of files with
    /// what the listing states of them. The differences can still be read after this snapshot was dropped.
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
        let listed = Ahead::of(listing.distinct()?, listing.entries_ahead()).peekable();
        let listed: Box<AnyEntries> = Box::new(listed);
        let claims = [Some(Claim::of(&self.registry, &left)), None];
        let entries = self.proved_entries(&left, listing.states_files())?;
        let walk = Walk::of(&self.registry, entries, listed, claims);
        Ok(Differences { left, right: listing, walk, files: ContentCounts::default() })
    }

    /// The granules of a set, with what is known of their files, for a walk, which proves the identifier.
    pub(crate) fn entries(&self, set: &Set) -> Result<EntriesAhead> {
        self.with_files(SetEntries::of(Ahead::of(self.cursor(set)?, 1)), set)
    }

    /// The same, whose digest is proved if their files are read.
    fn proved_entries(&self, set: &Set, reads_files: bool) -> Result<EntriesAhead> {
        match reads_files {
            true => Ok(self.entries(set)?.proving_files(Claim::of(&self.registry, set))),
            false => Ok(SetEntries::of(Ahead::of(self.cursor(set)?, 1))),
        }
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

    /// Of how many granules the bytes were compared so far.
    pub fn files(&self) -> ContentCounts {
        self.files
    }

    fn step(&mut self) -> Result<Option<Difference>> {
        while let Some(only) = self.walk.next().transpose()? {
            let (known, Entry { granule_id, content, .. }) = match only {
                Only::Left(granule_id) => return Ok(Some(Difference::OnlyLeft(granule_id))),
                Only::Right(entry) => return Ok(Some(Difference::OnlyRight(entry.granule_id))),
                Only::Both(known, entry) => (known, entry),
            };
            let compared = known.compare(&granule_id, &content.unwrap_or_default());
            self.files.add(&compared);
            if let ContentMatch::Other(contradiction) = compared {
                return Ok(Some(Difference::OtherBytes(granule_id, contradiction)));
            }
        }
        Ok(None)
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
        self.step().transpose()
    }
}

/// How two sides differ: how many granules they have in common and alone, and which, in temporary files.
#[derive(Debug, Default)]
pub struct TwoSides {
    /// How many granules of each list are kept.
    most: u64,
    /// The granules of both and of one alone.
    pub counts: Counts,
    /// What was found of their files.
    pub contents: ContentCounts,
    /// The granules that only the left side has.
    pub left: Spool,
    /// The granules that only the right side has.
    pub right: Spool,
    /// The granules that both have and of which a file has other bytes.
    pub other: Spool,
    /// In what these contradict each other, in words.
    pub contradictions: Spool,
}

impl TwoSides {
    /// Keeps at most so many granules of each list.
    pub fn keeping(most: u64) -> Self {
        TwoSides { most, ..TwoSides::default() }
    }

    /// Reads all granules that only one of two sets has, or of which a file has other bytes.
    ///
    /// # Errors
    ///
    /// Those of [`Differences`]; [`ErrorKind::Temporary`](crate::ErrorKind::Temporary).
    pub fn read<R>(&mut self, differences: &mut Differences<R>) -> Result<()> {
        for difference in differences.by_ref() {
            match difference? {
                Difference::OnlyLeft(granule_id) => self.add_left(&granule_id)?,
                Difference::OnlyRight(granule_id) => self.add_right(&granule_id)?,
                Difference::OtherBytes(id, contradiction) => self.add_other(&id, &contradiction)?,
            }
        }
        (self.counts, self.contents) = (differences.counts(), differences.files());
        Ok(())
    }

    pub(crate) fn add_left(&mut self, granule_id: &GranuleId) -> Result<()> {
        add(&mut self.left, self.most, granule_id.as_str())
    }

    pub(crate) fn add_right(&mut self, granule_id: &GranuleId) -> Result<()> {
        add(&mut self.right, self.most, granule_id.as_str())
    }

    pub(crate) fn add_other(
        &mut self,
        granule_id: &GranuleId,
        contradiction: &Contradiction,
    ) -> Result<()> {
        add(&mut self.contradictions, self.most, &contradiction.of(granule_id))?;
        add(&mut self.other, self.most, granule_id.as_str())
    }
}

fn add(spool: &mut Spool, most: u64, line: &str) -> Result<()> {
    if spool.count() < most {
        spool.add(line.as_bytes())?;
    }
    Ok(())
}
