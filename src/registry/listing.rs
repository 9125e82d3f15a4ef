//! A list of granules, in any order and of any length.

use std::sync::Arc;

use serde::Serialize;

use super::batches::{MergedEvent, MergedEvents};
use super::directories::refuse_directories;
use super::observer::{Watcher, Work};
use super::proof::{Recomputed, Recomputing};
use super::snapshot::Granule;
use super::staging::{Sorted, Staging};
use crate::error::Result;
use crate::model::{Digest, Event, EventKind, Identifier, ListingEntry, Timestamp, Warning};

/// A list of granules, in any order and of any length, such as the content of a disk, a bucket or a
/// catalogue.
///
/// [`Listing::read`] reads a file or a directory, and a [`ListingBuilder`] takes one granule after the other.
/// A list does not change, and clones share it. More than about 8 MiB are kept in a temporary file. An id that
/// is listed more than once counts once, except for a citation, where it is refused.
///
/// # Examples
///
/// ```
/// use accession::{GranuleId, ListingBuilder};
///
/// let mut builder = ListingBuilder::new();
/// for text in ["B", "A", "B"] {
///     builder.add(text.parse::<GranuleId>()?)?;
/// }
/// let listing = builder.finish();
/// let identified = listing.identify()?;
/// assert_eq!(identified.identifier.to_string(), "8f714d3efb0e51ed23fb7eeecca3009b");
/// assert_eq!((identified.granules, identified.repeated), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Listing {
    staging: Arc<Staging>,
    warnings: Arc<[Warning]>,
}

/// Collects granules for a [`Listing`].
#[derive(Debug, Default)]
pub struct ListingBuilder {
    staging: Staging,
}

/// The identifier of a list.
///
/// Its fields, in this order, are those of a listing that the command line's `show` prints as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ListingSummary {
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

impl ListingBuilder {
    /// Creates a builder without granules.
    pub fn new() -> Self {
        ListingBuilder::default()
    }

    /// Adds a granule.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be written;
    /// [`ErrorKind::TooLong`](crate::ErrorKind::TooLong): the metadata of the files.
    pub fn add(&mut self, entry: impl Into<ListingEntry>) -> Result<()> {
        let ListingEntry { granule_id, producer_granule, content, location } = entry.into();
        let (at, kind) = (Timestamp::EPOCH, EventKind::Ingested);
        self.staging.add(&Event { at, kind, granule_id, producer_granule, content, location })
    }

    /// How many ids were added, repeated ones included.
    pub fn count(&self) -> u64 {
        self.staging.count()
    }

    /// The list of the granules that were added.
    pub fn finish(self) -> Listing {
        self.finish_reading(Vec::new())
    }

    /// As [`ListingBuilder::finish`], of a list that was read.
    pub(crate) fn finish_reading(self, warnings: Vec<Warning>) -> Listing {
        Listing { staging: Arc::new(self.staging), warnings: warnings.into() }
    }
}

impl Listing {
    /// Warnings about the file or directory that was read, such as ids that look like comments, and what was skipped.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.staging.is_empty()
    }

    /// How many ids are listed, repeated ones included.
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
        let mut repeated = 0;
        for merged in MergedEvents::of(self.sorted()?) {
            repeated += merged?.repeated;
        }
        Ok(repeated)
    }

    /// Computes the identifier and the digest of the listed granules, which are those of a dataset that
    /// holds exactly these granules, with these files.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be read;
    /// [`ErrorDetail::FileMetadata`](crate::error::ErrorDetail::FileMetadata): an id is listed twice, with other bytes.
    pub fn identify(&self) -> Result<ListingSummary> {
        self.identify_watched(&Watcher::new())
    }

    /// The same for a watcher, which observes the work and can cancel it.
    ///
    /// # Errors
    ///
    /// Those of [`Listing::identify`]; [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted).
    pub fn identify_watched(&self, watcher: &Watcher) -> Result<ListingSummary> {
        let mut work = watcher.begin(Work::Hash, Some(self.count()));
        let mut recomputing = Recomputing::start();
        for entry in self.distinct()? {
            let ListingEntry { granule_id, content, .. } = entry?;
            recomputing.add(granule_id.as_str(), content.unwrap_or_default().encoded());
            work.advance()?;
        }
        let Recomputed { identifier, digest, granules } = recomputing.finish();
        Ok(ListingSummary { identifier, digest, granules, repeated: self.repeated(granules)? })
    }

    /// The listed granules in canonical order, each once, with its files.
    ///
    /// # Errors
    ///
    /// Those of [`Listing::identify`], also of the iterator.
    pub fn files(&self) -> Result<impl Iterator<Item = Result<Granule>> + use<>> {
        Ok(self.distinct()?.map(|entry| {
            let ListingEntry { granule_id, content, .. } = entry?;
            Ok(Granule { granule_id, content: content.unwrap_or_default() })
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

    /// Refuses a listing with an id that is a directory in the path of another one. Costs a pass over the list.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotAList`](crate::ErrorKind::NotAList): it has one; those of [`Listing::repeated`].
    pub fn refuse_directories(&self) -> Result<()> {
        refuse_directories(self.sorted()?)
    }

    /// The listed granules in canonical order, repeated ones included, with where they were read.
    ///
    /// # Errors
    ///
    /// Those of [`Listing::identify`], also of the iterator.
    pub fn entries(&self) -> Result<impl Iterator<Item = Result<ListingEntry>> + use<>> {
        Ok(self.sorted()?.map(|event| {
            let Event { granule_id, producer_granule, content, location, .. } = event?;
            Ok(ListingEntry { granule_id, producer_granule, content, location })
        }))
    }

    /// The listed granules in canonical order, repeated ones included.
    pub(in crate::registry) fn sorted(&self) -> Result<Sorted> {
        self.staging.sorted()
    }

    /// The listed granules in canonical order, each once, as it was listed first, with all of its files.
    pub(in crate::registry) fn distinct(
        &self,
    ) -> Result<impl Iterator<Item = Result<ListingEntry>> + use<>> {
        let merged = MergedEvents::of(self.sorted()?);
        Ok(merged.map(|merged| entry_of(merged?)))
    }
}

/// A granule of a list, whose entries were merged.
fn entry_of(merged: MergedEvent) -> Result<ListingEntry> {
    if let Some(error) = merged.invalid_files {
        return Err(error);
    }
    let Event { granule_id, producer_granule, content, location, .. } = merged.event;
    Ok(ListingEntry { granule_id, producer_granule, content, location })
}
