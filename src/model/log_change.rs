//! A change as the log of a dataset states it.

use super::dataset_name::DatasetName;
use super::identifier::Identifier;
use super::instance::Instance;
use super::timestamp::Timestamp;

/// A change as the log of a dataset states it, and where the log ends after it.
///
/// The log is described in docs/reference/manifest.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogChange {
    /// Its number in the log, from 1.
    pub number: u64,
    /// When it took effect.
    pub timestamp: Timestamp,
    /// The identifier of the granules held since.
    pub identifier: Identifier,
    /// The check of its last line, which depends on every line before it.
    pub check: Identifier,
    /// The length of the log up to and including its last line, in bytes.
    pub bytes: u64,
    /// How many granules are held since.
    pub granules: u64,
    /// How many granules it ingested.
    pub ingested: u64,
    /// How many granules it deleted.
    pub deleted: u64,
    /// The note that was kept with it.
    pub note: Option<String>,
}

impl LogChange {
    /// The greatest length of a note, in bytes of UTF-8.
    pub const MAX_NOTE_BYTES: usize = 64 * 1_024;

    /// The instance that the change led to, in a dataset of this name. A log does not say when or by
    /// whom a change was recorded; the time at which it took effect is used instead.
    pub fn to_instance(&self, dataset: &DatasetName, until: Option<Timestamp>) -> Instance {
        Instance {
            dataset: dataset.clone(),
            timestamp: self.timestamp,
            until,
            identifier: self.identifier,
            granules: self.granules,
            ingested: self.ingested,
            deleted: self.deleted,
            recorded: self.timestamp,
            recorded_by: None,
            note: self.note.clone(),
        }
    }
}
