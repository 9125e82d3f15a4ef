//! Making unique granule ids out of the ids of producers.

use accession::minting::unique_granule::{CollectionId, HashLength, unique};
use accession::{Entry, Timestamp};
use anyhow::Result;

use super::usage::UsageError;

/// How producer ids become unique granule ids.
pub struct Uniquify {
    /// The collection of the granules.
    pub collection: CollectionId,
    /// How many characters of the hash are appended.
    pub hash_length: HashLength,
    /// Whether the current time is hashed too, so that each id differs from all earlier ones.
    pub hashes_time: bool,
}

impl Uniquify {
    /// Returns an entry under its unique id, with its producer id. `index` is its number in the
    /// change, from 0.
    ///
    /// # Errors
    ///
    /// The hash is not that long, or the id becomes too long; with its source location.
    pub fn apply(&self, entry: Entry, index: u128, now: Timestamp) -> Result<Entry> {
        let now_nanos = u128::try_from(now.as_micros()).unwrap_or(0) * 1_000;
        // Each id is hashed with a nanosecond of its own.
        let nanoseconds = self.hashes_time.then_some(now_nanos + index);
        let producer = entry.granule_id;
        let granule_id = unique(&producer, &self.collection, self.hash_length, nanoseconds)
            .map_err(|cause| match &entry.location {
                Some(location) => UsageError::new(format!("{location}: {cause}")),
                None => UsageError::new(cause.to_string()),
            })?;
        Ok(Entry { granule_id, producer_granule: Some(producer), ..entry })
    }
}
