//! Compares several sets and lists side by side: finds the granules that are not the same on all sides.

use super::cursor::{Cursor, granule_id_of};
use crate::error::Result;
use crate::model::{Content, ContentMatch, EncodedFiles, GranuleId, Set};
use crate::registry::handle::Registry;
use crate::registry::listing::Listing;
use crate::registry::observer::{OpenWork, Watcher, Work};
use crate::registry::parallel::Ahead;
use crate::registry::proof::Claim;

/// The state of a granule on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    /// The side has the granule, and its recorded files contradict no earlier side with this state.
    Same,
    /// The side does not have the granule.
    Absent,
    /// The side has the granule, but a file of such an earlier side has different content here, or is missing
    /// here.
    OtherBytes,
}

impl Presence {
    /// The mark of a report: `=`, `-` or `≠`.
    pub const fn mark(self) -> char {
        match self {
            Presence::Same => '=',
            Presence::Absent => '-',
            Presence::OtherBytes => '≠',
        }
    }
}

/// Sets and lists that are compared with each other. It iterates over the granules that are not the same on all
/// sides, in canonical order, each with its state on every side.
///
/// All sides are read in one pass; a thread of its own reads each side ahead. Sets are verified: if the rows
/// that were read do not have the digest of the set, an item is an error of kind `damaged`.
///
/// # Examples
///
/// ```
/// use accession::history::{Presence, SideBySide};
/// use accession::{GranuleId, ListingBuilder, Watcher};
///
/// let mut sides = SideBySide::new(Watcher::new());
/// for ids in [["A", "B"], ["A", "C"], ["A", "B"]] {
///     let mut listing = ListingBuilder::new();
///     ids.into_iter().try_for_each(|id| listing.add(id.parse::<GranuleId>().unwrap()))?;
///     let listing = listing.finish();
///     sides.add_list(&listing)?;
/// }
/// let uneven: Vec<_> = sides.by_ref().collect::<Result<_, _>>()?;
/// assert_eq!(uneven[0].0.as_str(), "B");
/// assert_eq!(uneven[0].1, [Presence::Same, Presence::Absent, Presence::Same]);
/// assert_eq!((uneven.len(), sides.same(), sides.granules()), (2, 1, &[2, 2, 2][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SideBySide {
    watcher: Watcher,
    /// `None` before the first item and after the last.
    progress: Option<OpenWork>,
    sides: Vec<Box<dyn Cursor + Send>>,
    granules: Vec<u64>,
    same: u64,
    /// `None` until a recorded file is found.
    compared: Option<u64>,
    next: String,
    is_over: bool,
}

crate::model::debug_fields!(SideBySide: granules, same);

impl SideBySide {
    /// A comparison without sides.
    pub fn new(watcher: Watcher) -> Self {
        let (sides, granules, next) = (Vec::new(), Vec::new(), String::new());
        let (same, compared, is_over) = (0, None, false);
        SideBySide { watcher, progress: None, sides, granules, same, compared, next, is_over }
    }

    /// Adds a set of a registry.
    pub fn add_set(&mut self, registry: &Registry, set: &Set) {
        self.add(Box::new(registry.entries(set).proving_files(Claim::of(registry, set))));
    }

    /// Adds a list, with its file metadata.
    pub fn add_list(&mut self, listing: &Listing) -> Result<()> {
        self.add(Box::new(Ahead::of(listing.distinct()?, listing.entries_ahead()).peekable()));
        Ok(())
    }

    fn add(&mut self, side: Box<dyn Cursor + Send>) {
        self.sides.push(side);
        self.granules.push(0);
    }

    /// The number of granules that are the same on all sides, among those that were read.
    pub fn same(&self) -> u64 {
        self.same
    }

    /// The number of granules whose files could be compared between two sides, among those that were read.
    /// `None` means that no files are recorded.
    pub fn compared(&self) -> Option<u64> {
        self.compared
    }

    /// The number of granules that were read of each side.
    pub fn granules(&self) -> &[u64] {
        &self.granules
    }

    fn step(&mut self) -> Result<Option<(GranuleId, Vec<Presence>)>> {
        let SideBySide { watcher, progress, sides, granules, same, compared, next, .. } = self;
        let progress = progress.get_or_insert_with(|| watcher.begin(Work::Compare, None));
        loop {
            let mut is_any = false;
            for side in &mut *sides {
                if let Some(granule_id) = side.peek()?
                    && (!is_any || granule_id < next.as_str())
                {
                    next.clear();
                    next.push_str(granule_id);
                    is_any = true;
                }
            }
            if !is_any {
                return Ok(None);
            }
            progress.advance()?;
            let granule_id = granule_id_of(next)?;
            let mut known = Known::default();
            let mut presences = vec![Presence::Absent; sides.len()];
            for ((side, granules), presence) in
                sides.iter_mut().zip(&mut *granules).zip(&mut presences)
            {
                if side.peek()? != Some(next.as_str()) {
                    continue;
                }
                *granules += 1;
                *presence = known.presence(&granule_id, side.known()?);
                side.skip()?;
            }
            if !known.contents.is_empty() {
                *compared.get_or_insert(0) += u64::from(known.is_compared);
            }
            if presences.iter().all(|presence| *presence == Presence::Same) {
                *same += 1;
                continue;
            }
            return Ok(Some((granule_id, presences)));
        }
    }
}

/// The contents of a granule on the sides that contradict no earlier one. A side with only an MD5 may
/// contradict none of them, so each side is compared with all of these.
#[derive(Default)]
struct Known {
    contents: Vec<Content>,
    is_compared: bool,
}

impl Known {
    /// The state of the granule on the next side, given its recorded files there.
    fn presence(&mut self, granule_id: &GranuleId, known: Option<EncodedFiles<'_>>) -> Presence {
        let Some(known) = known.filter(|known| !known.is_empty()) else { return Presence::Same };
        // Mostly all sides have the same records.
        if self.contents.iter().any(|before| before.encoded() == known) {
            self.is_compared = true;
            return Presence::Same;
        }
        let known = Content::from(known);
        for before in &self.contents {
            match before.compare(granule_id, &known) {
                ContentMatch::Other(_) => {
                    self.is_compared = true;
                    return Presence::OtherBytes;
                }
                ContentMatch::Equal => self.is_compared = true,
                ContentMatch::Unknown | ContentMatch::NotComparable => {}
            }
        }
        self.contents.push(known);
        Presence::Same
    }
}

impl Iterator for SideBySide {
    type Item = Result<(GranuleId, Vec<Presence>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let uneven = self.step().transpose();
        if !matches!(uneven, Some(Ok(_))) {
            self.is_over = true;
            self.progress = None;
        }
        uneven
    }
}
