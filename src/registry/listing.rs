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
/// [`Listing::read`] reads a file or a directory, and a [`ListingBuilder`] accepts one granule at a time. A
/// list does not change, and clones share it. Lists of more than about 8 MiB are in a temporary file. An id
/// that is listed more than once counts once, except for a citation, which rejects it.
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

/// The identifier, the digest and the size of a list.
///
/// Its fields, in this order, are those of a listing that the command line's `show` prints as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ListingSummary {
    /// The identifier of the listed granules, each counted once.
    pub identifier: Identifier,
    /// The digest of the listed granules and of the metadata of their files.
    pub digest: Digest,
    /// The number of distinct granules.
    pub granules: u64,
    /// The number of entries that repeat an earlier one.
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
    /// [`ErrorKind::TooLong`](crate::ErrorKind::TooLong): the metadata of the files is too long.
    pub fn add(&mut self, entry: impl Into<ListingEntry>) -> Result<()> {
        let ListingEntry { granule_id, producer_granule, content, location } = entry.into();
        let (at, kind) = (Timestamp::EPOCH, EventKind::Ingested);
        self.staging.add(&Event { at, kind, granule_id, producer_granule, content, location })
    }

    /// The number of added ids, including repeated ones.
    pub fn count(&self) -> u64 {
        self.staging.count()
    }

    /// The list of the granules that were added.
    pub fn finish(self) -> Listing {
        self.finish_reading(Vec::new())
    }

    /// Like [`ListingBuilder::finish`], with the warnings about a list that was read.
    pub(crate) fn finish_reading(self, warnings: Vec<Warning>) -> Listing {
        Listing { staging: Arc::new(self.staging), warnings: warnings.into() }
    }
}

impl Listing {
    /// Warnings about the file or directory that was read, such as ids that look like comments, and skipped
    /// files.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.staging.is_empty()
    }

    /// The number of listed ids, including repeated ones.
    pub fn count(&self) -> u64 {
        self.staging.count()
    }

    /// The number of repeated entries, given the number of distinct `granules`. A row with another file of a
    /// granule is not a repetition. Costs a pass over the list if it has file metadata and repeated ids.
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

    /// Computes the identifier and the digest of the listed granules. They are those of a dataset that holds
    /// exactly these granules, with these files.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be read;
    /// [`ErrorDetail::FileMetadata`](crate::error::ErrorDetail::FileMetadata): an id is listed twice, with
    /// different checksums or sizes.
    pub fn identify(&self) -> Result<ListingSummary> {
        self.identify_watched(&Watcher::new())
    }

    /// The same with a watcher, which observes the work and can cancel it.
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

    /// The listed granules in canonical order, without repetitions, with their files.
    ///
    /// # Errors
    ///
    /// Those of [`Listing::identify`]; the iterator returns them, too.
    pub fn files(&self) -> Result<impl Iterator<Item = Result<Granule>> + use<>> {
        Ok(self.distinct()?.map(|entry| {
            let ListingEntry { granule_id, content, .. } = entry?;
            Ok(Granule { granule_id, content: content.unwrap_or_default() })
        }))
    }

    /// Whether the list has file metadata.
    pub fn states_files(&self) -> bool {
        self.staging.contents() > 0
    }

    /// The number of entries that are read ahead at once. It is small if the list has file metadata, which may
    /// be megabytes for one granule.
    pub(in crate::registry) fn entries_ahead(&self) -> usize {
        if self.states_files() { 64 } else { 4_096 }
    }

    /// Rejects a listing in which one id is a directory in the path of another. Costs a pass over the list.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotAList`](crate::ErrorKind::NotAList): an id is a directory of another; those of
    /// [`Listing::repeated`].
    pub fn refuse_directories(&self) -> Result<()> {
        refuse_directories(self.sorted()?)
    }

    /// The listed granules in canonical order, including repeated ones, with their source locations.
    ///
    /// # Errors
    ///
    /// Those of [`Listing::identify`]; the iterator returns them, too.
    pub fn entries(&self) -> Result<impl Iterator<Item = Result<ListingEntry>> + use<>> {
        Ok(self.sorted()?.map(|event| {
            let Event { granule_id, producer_granule, content, location, .. } = event?;
            Ok(ListingEntry { granule_id, producer_granule, content, location })
        }))
    }

    /// The listed granules in canonical order, including repeated ones.
    pub(in crate::registry) fn sorted(&self) -> Result<Sorted> {
        self.staging.sorted()
    }

    /// The listed granules in canonical order, without repetitions: the first entry of each, with all files of
    /// the granule.
    pub(in crate::registry) fn distinct(
        &self,
    ) -> Result<impl Iterator<Item = Result<ListingEntry>> + use<>> {
        let merged = MergedEvents::of(self.sorted()?);
        Ok(merged.map(|merged| entry_of(merged?)))
    }
}

/// The entry of a granule whose entries were merged.
fn entry_of(merged: MergedEvent) -> Result<ListingEntry> {
    if let Some(error) = merged.invalid_files {
        return Err(error);
    }
    let Event { granule_id, producer_granule, content, location, .. } = merged.event;
    Ok(ListingEntry { granule_id, producer_granule, content, location })
}
