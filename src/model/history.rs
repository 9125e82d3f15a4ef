//! The history of a dataset: ingests and deletions, and the instances in force between them.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::content::Content;
use super::dataset_name::DatasetName;
use super::granule_id::GranuleId;
use super::identifier::{Digest, Identifier, LineCheck};
use super::message::{SourceLocation, quoted};
use super::time::Moment;
use super::time::Timestamp;

/// The state of a dataset from one change to the next: one row of its history.
///
/// Its fields, in this order, are those of `instance` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// The dataset.
    pub dataset: DatasetName,
    /// When the change took effect: the first instant of the interval in force.
    pub timestamp: Timestamp,
    /// When the next change took effect: the first instant after the interval in force. `None`
    /// means that the instance is still in force.
    pub until: Option<Timestamp>,
    /// The identifier of the granules held.
    pub identifier: Identifier,
    /// The digest of the granules held and of the records of their files.
    pub digest: Digest,
    /// The number of granules held.
    pub granules: u64,
    /// The number of granules that the change ingested.
    pub ingested: u64,
    /// The number of granules that the change deleted.
    pub deleted: u64,
    /// The number of granules, held before and after the change, whose files got additional metadata.
    pub described: u64,
    /// The number of granules, held before and after the change, that got other files or different content.
    pub replaced: u64,
    /// When the change was recorded in this registry.
    pub recorded: Timestamp,
    /// Who recorded it. `None` means that this is not known. Like `recorded`, it is stored in this registry
    /// only, and is not exported.
    pub recorded_by: Option<String>,
    /// The archivist's note on the change. `None` means that there is no note.
    pub note: Option<String>,
    /// Later notes about the instance, oldest first.
    #[serde(default)]
    pub annotations: Vec<Annotation>,
}

impl Instance {
    /// A change is prompt if it was recorded at most this long (one hour) after it took effect. Changes are
    /// prompt in a dataset that is recorded as it changes, but not in a history that is built afterwards.
    pub(crate) const PROMPT_MICROS: i64 = 3_600 * 1_000_000;

    /// The period in force as text: `FROM until UNTIL`.
    pub fn in_force(&self) -> String {
        match self.until {
            Some(until) => format!("{} until {until}", self.timestamp),
            None => format!("{} until now", self.timestamp),
        }
    }

    /// The numbers of granules that the change ingested, deleted, described and replaced.
    pub fn counts(&self) -> ChangeCounts {
        let Instance { ingested, deleted, described, replaced, .. } = *self;
        ChangeCounts { ingested, deleted, described, replaced }
    }

    /// Whether it was in force at an instant, or at any time of a day.
    pub(crate) fn is_in_force_during(&self, at: Moment) -> bool {
        self.timestamp <= at.last_instant()
            && self.until.is_none_or(|until| at.first_instant() < until)
    }
}

/// The numbers of granules that changes ingest, delete, describe and replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ChangeCounts {
    /// The number of granules that are ingested.
    pub ingested: u64,
    /// The number of granules that are deleted.
    pub deleted: u64,
    /// The number of granules that stay held and whose files get additional metadata.
    pub described: u64,
    /// The number of granules that stay held and get other files or different checksums.
    pub replaced: u64,
}

impl ChangeCounts {
    /// Counts one more granule.
    pub(crate) fn add_one(&mut self, kind: EventKind) {
        *match kind {
            EventKind::Ingested => &mut self.ingested,
            EventKind::Deleted => &mut self.deleted,
            EventKind::Described => &mut self.described,
            EventKind::Replaced => &mut self.replaced,
        } += 1;
    }
}

impl AddAssign for ChangeCounts {
    fn add_assign(&mut self, other: ChangeCounts) {
        let ChangeCounts { ingested, deleted, described, replaced } = other;
        self.ingested += ingested;
        self.deleted += deleted;
        self.described += described;
        self.replaced += replaced;
    }
}

/// One holding period of a granule in a dataset. A granule that was deleted and ingested again has several.
///
/// Its fields, in this order, are those of the rows of `granules` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// The id.
    #[serde(rename = "granule")]
    pub granule_id: GranuleId,
    /// The time of the change that ingested it. The granule is held from this instant.
    pub ingested: Timestamp,
    /// The time of the change that deleted it. The granule is held until just before this instant. `None` means
    /// that it is still held.
    pub deleted: Option<Timestamp>,
    /// The producer's id, if the registry uses a unique id instead. `None` means that it does not.
    pub producer_granule: Option<GranuleId>,
}

/// When a dataset was withdrawn, and why. Its identifiers still resolve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawal {
    /// When it was withdrawn.
    pub timestamp: Timestamp,
    /// Why it was withdrawn. `None` means that no reason was given.
    pub note: Option<String>,
}

impl Withdrawal {
    /// A sentence that the dataset was withdrawn, and why.
    pub fn of(&self, dataset: &DatasetName) -> String {
        let why = self.note.as_deref().map(|why| format!(": {}", quoted(why)));
        format!("{dataset} was withdrawn at {}{}", self.timestamp, why.unwrap_or_default())
    }
}

/// A period in which a granule was held in a dataset.
///
/// Its fields are those of `find` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FoundPeriod {
    /// The dataset.
    pub dataset: DatasetName,
    /// The granule.
    pub granule: GranuleId,
    /// The time of ingest.
    pub ingested: Timestamp,
    /// The time of deletion: the first instant at which it was not held. `None` means that it is still held.
    pub deleted: Option<Timestamp>,
    /// When the dataset was withdrawn, and why. `None` means that it is not withdrawn.
    pub withdrawn: Option<Withdrawal>,
    /// Where the granule can be fetched. `None` means that it is not known.
    pub url: Option<String>,
}

impl FoundPeriod {
    /// The position after this period, from which the next page continues.
    pub fn position(&self) -> FoundPosition<'_> {
        FoundPosition { dataset: &self.dataset, granule_id: &self.granule, ingested: self.ingested }
    }
}

/// A position in the order of [`FoundPeriod`]s. A page begins after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundPosition<'a> {
    /// The dataset of the last period before the page.
    pub dataset: &'a DatasetName,
    /// Its granule.
    pub granule_id: &'a GranuleId,
    /// Its time of ingest.
    pub ingested: Timestamp,
}

/// What happens to one granule at an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When it took effect.
    pub at: Timestamp,
    /// What happens to the granule.
    pub kind: EventKind,
    /// The granule.
    pub granule_id: GranuleId,
    /// The producer's id. `None` if it is the same as `granule_id`.
    pub producer_granule: Option<GranuleId>,
    /// The records of the granule's files. `None` means that the event has none.
    pub content: Option<Content>,
    /// Where the event was read, for messages. `None` means that it was not read from a file or an argument.
    pub location: Option<SourceLocation>,
}

/// What happens to a granule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// It is deleted.
    Deleted,
    /// It is ingested.
    Ingested,
    /// It stays held, and its files get additional metadata. When a change is made, its events need not
    /// distinguish `Described` and `Replaced`: the recorded content decides.
    Described,
    /// It stays held, and gets other files or different content.
    Replaced,
}

impl EventKind {
    /// The kinds in the order of the sides of a change.
    pub const SIDES: [Self; 4] =
        [EventKind::Ingested, EventKind::Deleted, EventKind::Described, EventKind::Replaced];

    /// The index of this kind in [`EventKind::SIDES`].
    pub fn side(self) -> usize {
        EventKind::SIDES.into_iter().position(|kind| kind == self).unwrap_or(0)
    }
}

/// A granule in a change or a list, and where it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingEntry {
    /// The granule's id.
    pub granule_id: GranuleId,
    /// The producer's id. `None` means that it is the same as `granule_id`.
    pub producer_granule: Option<GranuleId>,
    /// The records of its files. `None` means that the entry has none.
    pub content: Option<Content>,
    /// Where it was read, for messages. `None` means that this is not known.
    pub location: Option<SourceLocation>,
}

impl From<GranuleId> for ListingEntry {
    fn from(granule_id: GranuleId) -> Self {
        ListingEntry { granule_id, producer_granule: None, content: None, location: None }
    }
}

/// A change in the log of a dataset, and the end of the log after it.
///
/// docs/reference/manifest.md describes the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogChange {
    /// The number of the change in the log, from 1.
    pub number: u64,
    /// When it took effect.
    pub timestamp: Timestamp,
    /// The identifier of the granules held since.
    pub identifier: Identifier,
    /// The digest of the granules held since, with the records of their files.
    pub digest: Digest,
    /// The check of the change's last line, which depends on all earlier lines.
    pub check: LineCheck,
    /// The length of the log up to and including the change's last line, in bytes.
    pub bytes: u64,
    /// The number of granules held since.
    pub granules: u64,
    /// The number of ingested granules.
    pub ingested: u64,
    /// The number of deleted granules.
    pub deleted: u64,
    /// The number of described granules.
    pub described: u64,
    /// The number of replaced granules.
    pub replaced: u64,
    /// The note on the change.
    pub note: Option<String>,
}

impl LogChange {
    /// The greatest length of a note, in bytes of UTF-8.
    pub const MAX_NOTE_BYTES: usize = 64 * 1_024;

    /// The instance after this change, in a dataset with this name. A log does not contain when or by whom a
    /// change was recorded, so the time at which it took effect is used instead.
    pub fn to_instance(&self, dataset: &DatasetName, until: Option<Timestamp>) -> Instance {
        Instance {
            dataset: dataset.clone(),
            timestamp: self.timestamp,
            until,
            identifier: self.identifier,
            digest: self.digest,
            granules: self.granules,
            ingested: self.ingested,
            deleted: self.deleted,
            described: self.described,
            replaced: self.replaced,
            recorded: self.timestamp,
            recorded_by: None,
            note: self.note.clone(),
            annotations: Vec::new(),
        }
    }
}

/// The states of a dataset's identifier and digest after one of its granules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The last id in the chain.
    pub granule_id: GranuleId,
    /// The value of the chain after that id.
    pub chain: Identifier,
    /// The state of the digest after the line of that granule.
    pub list: Vec<u8>,
    /// The number of granules in the chain, so that a pass that resumes here can detect missing
    /// rows.
    pub granules: u64,
}

/// A note about an instance, added after its change was recorded.
///
/// Its fields, in this order, are those of `annotations` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// The note.
    pub note: String,
    /// Whether readers should not rely on the set.
    pub questionable: bool,
    /// When it was recorded.
    pub recorded: Timestamp,
    /// Who recorded it. `None` means that this is not known. It is stored in this registry only, and is not
    /// exported.
    pub recorded_by: Option<String>,
}

impl Annotation {
    /// The greatest length of all notes of one instance, in bytes of UTF-8, plus 64 for each note. The limit
    /// exists because they are read with the instance.
    pub const MAX_BYTES: usize = 64 * 1_024;

    /// The length of some annotations, counted as for [`Annotation::MAX_BYTES`].
    pub(crate) fn bytes_of<'a>(annotations: impl IntoIterator<Item = &'a Annotation>) -> usize {
        annotations.into_iter().map(|annotation| annotation.note.len() + 64).sum()
    }
}

/// A listing of a dataset that was rejected, if no listing was accepted since.
///
/// Its fields, in this order, are those of `refused` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RefusedListing {
    /// When it was rejected.
    #[serde(rename = "at")]
    pub recorded: Timestamp,
    /// The message of the error.
    pub reason: String,
}

/// A listing that the dataset is equal to, either already or after a change.
///
/// Its fields, in this order, are those of `confirmed` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Confirmation {
    /// The time of the listing: when it was recorded, unless the caller named another.
    #[serde(rename = "timestamp")]
    pub recorded: Timestamp,
    /// Who recorded it. `None` means that this is not known.
    pub recorded_by: Option<String>,
    /// The number of granules in the listing.
    pub granules: u64,
}
