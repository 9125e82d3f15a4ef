//! Makes unique granule ids from the ids of producers.

use accession::minting::unique_granule::{CollectionId, HashLength, unique};
use accession::{Entry, Timestamp};
use anyhow::Result;

use super::usage::UsageError;

/// The options for making unique granule ids.
pub struct Uniquify {
    /// The collection of the granules.
    pub collection: CollectionId,
    /// The number of characters of the hash that are appended.
    pub hash_length: HashLength,
    /// Whether the current time is hashed too, so that each id differs from all earlier ones.
    pub hashes_time: bool,
}

impl Uniquify {
    /// Returns an entry with its unique id and its producer id. `index` is its zero-based position
    /// in the change.
    ///
    /// # Errors
    ///
    /// The hash is not long enough, or the id becomes too long. The error has the source location.
    pub fn apply(&self, entry: Entry, index: u128, now: Timestamp) -> Result<Entry> {
        let now_nanos = u128::try_from(now.as_micros()).unwrap_or(0) * 1_000;
        // Each id is hashed with a different nanosecond.
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
