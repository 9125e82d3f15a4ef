//! A list of granules, in any order and of any length.

use std::iter::Peekable;
use std::sync::Arc;

use serde::Serialize;

use super::monitor::{Monitor, Work};
use super::proof::{Recomputed, Recomputing};
use super::snapshot::GranuleFiles;
use super::staging::{Sorted, Staging, is_repetition};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Content, Digest, Entry, Event, EventKind, Identifier, Timestamp, quoted};

/// A list of granules, in any order and of any length, such as the content of a disk, a bucket or a
/// catalogue.
///
/// A list of more than about 8 MiB is kept in a temporary file. An id that is listed more than
/// once counts once, except for a citation, where it is refused.
///
/// # Examples
///
/// ```
/// use accession::{GranuleId, Listing};
///
/// let mut listing = Listing::new();
/// for text in ["B", "A", "B"] {
///     listing.add(text.parse::<GranuleId>()?)?;
/// }
/// let identified = listing.identify()?;
/// assert_eq!(identified.identifier.to_string(), "8f714d3efb0e51ed23fb7eeecca3009b");
/// assert_eq!((identified.granules, identified.repeated), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Listing {
    /// It is shared only with what reads a list to which nothing can be added any more.
    staging: Arc<Staging>,
}

/// The identifier of a list.
///
/// Its fields, in this order, are those of `identify` in the command line's JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Identified {
    /// The identifier of the listed granules, each counted once.
    pub identifier: Identifier,
    /// The digest of the listed granules and of what is stated of their files.
    pub digest: Digest,
    /// The number of different granules.
    pub granules: u64,
    /// How many ids were repetitions of one that was already listed.
    #[serde(skip)]
    pub repeated: u64,
}

impl Listing {
    /// Creates an empty list.
    pub fn new() -> Self {
        Listing::default()
    }

    /// Adds a granule.
    pub fn add(&mut self, entry: impl Into<Entry>) -> Result<()> {
        let Entry { granule_id, producer_granule, content, location } = entry.into();
        let (at, kind) = (Timestamp::EPOCH, EventKind::Ingested);
        let staging = Arc::get_mut(&mut self.staging);
        let staging = staging.expect("nothing reads a list that can be added to");
        staging.add(&Event { at, kind, granule_id, producer_granule, content, location })
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.staging.is_empty()
    }

    /// How many ids were added, repeated ones included.
    pub fn count(&self) -> u64 {
        self.staging.count()
    }

    /// How many entries are repetitions, if so many ids are different. A row that states another file of a
    /// granule repeats nothing. Where rows state files, and ids are repeated, costs a pass over the list.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be read.
    pub fn repeated(&self, granules: u64) -> Result<u64> {
        let ids = self.count().saturating_sub(granules);
        if ids == 0 || !self.states_files() {
            return Ok(ids);
        }
        let (mut previous, mut repeated): (Option<Event>, _) = (None, 0);
        for event in self.sorted()? {
            let event = event?;
            let same = previous.filter(|previous| previous.granule_id == event.granule_id);
            repeated += u64::from(same.is_some_and(|previous| is_repetition(&previous, &event)));
            previous = Some(event);
        }
        Ok(repeated)
    }

    /// Computes the identifier and the digest of the listed granules, which are those of a dataset that
    /// holds exactly these granules, with these files.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be read;
    /// [`ErrorKind::StatedFile`](crate::ErrorKind::StatedFile): an id is listed twice, with other bytes.
    pub fn identify(&self) -> Result<Identified> {
        self.identified(None)
    }

    /// The same with a monitor, which receives reports on the work and can stop it.
    ///
    /// # Errors
    ///
    /// Those of [`Listing::identify`]; [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted).
    pub fn identify_with(&self, monitor: Arc<dyn Monitor>) -> Result<Identified> {
        self.identified(Some(monitor))
    }

    fn identified(&self, monitor: Option<Arc<dyn Monitor>>) -> Result<Identified> {
        let mut work = Work::begin(monitor, "hashing", "granules", Some(self.count()));
        let mut recomputing = Recomputing::start();
        for entry in self.distinct()? {
            let Entry { granule_id, content, .. } = entry?;
            recomputing.add(granule_id.as_str(), content.unwrap_or_default().encoded());
            work.advance()?;
        }
        let Recomputed { identifier, digest, granules } = recomputing.finish();
        Ok(Identified { identifier, digest, granules, repeated: self.repeated(granules)? })
    }

    /// The listed granules in canonical order, each once, with what is stated of its files.
    ///
    /// # Errors
    ///
    /// Those of [`Listing::identify`], also of the iterator.
    pub fn files(&self) -> Result<impl Iterator<Item = Result<GranuleFiles>> + use<>> {
        Ok(self.distinct()?.map(|entry| {
            let Entry { granule_id, content, .. } = entry?;
            Ok(GranuleFiles { granule_id, content: content.unwrap_or_default() })
        }))
    }

    /// Whether something is stated of files.
    pub fn states_files(&self) -> bool {
        self.staging.contents() > 0
    }

    /// How many entries are read ahead at once: few where something is stated of files, since what is stated
    /// of one granule may have megabytes.
    pub(in crate::registry) fn entries_ahead(&self) -> usize {
        if self.states_files() { 64 } else { 4_096 }
    }

    /// The listed granules in canonical order, repeated ones included.
    pub(in crate::registry) fn sorted(&self) -> Result<Sorted<&Staging>> {
        self.staging.sorted()
    }

    /// The listed granules in canonical order, each once, as it was listed first, with all that is stated of
    /// its files. They share the list with its owner.
    pub(in crate::registry) fn distinct(
        &self,
    ) -> Result<impl Iterator<Item = Result<Entry>> + use<>> {
        let mut sorted = Sorted::of(Arc::clone(&self.staging))?.peekable();
        Ok(std::iter::from_fn(move || sorted.next().map(|first| distinct(first?, &mut sorted))))
    }
}

/// The next granule of a sorted list, whose first entry was read.
fn distinct(mut first: Event, sorted: &mut Peekable<Sorted<Arc<Staging>>>) -> Result<Entry> {
    let repeats = |event: &Result<Event>| {
        event.as_ref().is_ok_and(|event| event.granule_id == first.granule_id)
    };
    let granule_id = &first.granule_id;
    let (mut stated, mut last) = (Vec::new(), None);
    while let Some(repeated) = sorted.next_if(repeats).transpose()? {
        let Some(content) = repeated.content else { continue };
        stated.extend(content.files());
        last = repeated.location;
        // However often a granule is listed, its files fit into memory.
        if stated.len() > Content::MAX_STATED {
            let what = format!("the list of the files of {}", quoted(granule_id.as_str()));
            let most = Content::MAX_STATED;
            return Err(Error::too_long(&what, "statements", stated.len(), most).at(last));
        }
    }
    if !stated.is_empty() {
        let mut files = first.content.take().unwrap_or_default().files();
        files.append(&mut stated);
        let content = Content::of(granule_id, files).map_err(|contradiction| {
            let message = contradiction.at_once(granule_id);
            Error::new(ErrorKind::StatedFile, message).at(last)
        })?;
        first.content = Some(content);
    }
    let Event { granule_id, producer_granule, content, location, .. } = first;
    Ok(Entry { granule_id, producer_granule, content, location })
}
