//! The history of a dataset: what was ingested and deleted, and what was in force between.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::content::Content;
use super::dataset_name::DatasetName;
use super::granule_id::GranuleId;
use super::identifier::{Digest, Identifier, LineCheck};
use super::message::{SourceLocation, quoted};
use super::time::Moment;
use super::time::Timestamp;

/// A dataset between one change and the next: one row of its history.
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
    /// The digest of the granules held and of what is known of their files.
    pub digest: Digest,
    /// How many granules are held.
    pub granules: u64,
    /// How many granules the change ingested.
    pub ingested: u64,
    /// How many granules the change deleted.
    pub deleted: u64,
    /// Of how many granules, held before and after it, the change states more than was known of their files.
    pub described: u64,
    /// Of how many of them it states other bytes, or that a file is no longer among theirs.
    pub replaced: u64,
    /// When the change was recorded in this registry.
    pub recorded: Timestamp,
    /// Who recorded it. `None` means that this is not known. Like `recorded`, it is stored in this
    /// registry only and is not exported.
    pub recorded_by: Option<String>,
    /// The archivist's note on the change. `None` means that there is no note.
    pub note: Option<String>,
    /// What was noted about the instance later, oldest first.
    #[serde(default)]
    pub annotations: Vec<Annotation>,
}

impl Instance {
    /// A change is recorded promptly if it took effect at most an hour before: so are those of a dataset that
    /// is followed as it changes, and not those of a history that is built afterwards.
    pub(crate) const PROMPT_MICROS: i64 = 3_600 * 1_000_000;

    /// When it was in force, in words: `FROM until UNTIL`.
    pub fn in_force(&self) -> String {
        match self.until {
            Some(until) => format!("{} until {until}", self.timestamp),
            None => format!("{} until now", self.timestamp),
        }
    }

    /// How many granules its change ingested, deleted, described and replaced.
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

/// How many granules changes ingest, delete, describe and replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ChangeCounts {
    /// How many granules are ingested.
    pub ingested: u64,
    /// How many granules are deleted.
    pub deleted: u64,
    /// How many granules stay held, and get more metadata of their files.
    pub described: u64,
    /// How many granules stay held, and get other files or other checksums.
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

/// One holding period of a granule in a dataset. A granule that was deleted and ingested again has
/// several.
///
/// Its fields, in this order, are those of the rows of `granules` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// The id.
    #[serde(rename = "granule")]
    pub granule_id: GranuleId,
    /// The time of the change that ingested it: it is held from this instant on.
    pub ingested: Timestamp,
    /// The time of the change that deleted it: it is held until just before this instant. `None`
    /// means that it is still held.
    pub deleted: Option<Timestamp>,
    /// The producer's id. `None` unless the registry holds the granule under a unique id instead.
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
    /// That this dataset was withdrawn, and why, in words.
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
    /// The time of deletion, which is the first instant at which it was not held. `None` means that
    /// it is still held.
    pub deleted: Option<Timestamp>,
    /// When the dataset was withdrawn, and why. `None` means that it is not withdrawn.
    pub withdrawn: Option<Withdrawal>,
    /// Where the granule can be fetched. `None` means that it is not known.
    pub url: Option<String>,
}

impl FoundPeriod {
    /// Where the next page of periods begins: after this one.
    pub fn position(&self) -> FoundPosition<'_> {
        FoundPosition { dataset: &self.dataset, granule_id: &self.granule, ingested: self.ingested }
    }
}

/// A place in the order of [`FoundPeriod`]s, after which a page begins.
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
    /// What is stated of the files of the granule. `None` means that nothing is stated.
    pub content: Option<Content>,
    /// Where the event was read, for messages. `None` if it was not read from a file or an argument.
    pub location: Option<SourceLocation>,
}

/// What happens to a granule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// It is deleted.
    Deleted,
    /// It is ingested.
    Ingested,
    /// It stays held, and more is stated of its files. A change that is made need not say whether it
    /// describes or replaces: that follows from what is known.
    Described,
    /// It stays held, and its files have other bytes, or are other files.
    Replaced,
}

impl EventKind {
    /// The kinds in the order of the sides of a change.
    pub const SIDES: [Self; 4] =
        [EventKind::Ingested, EventKind::Deleted, EventKind::Described, EventKind::Replaced];

    /// Which of the sides it is.
    pub fn side(self) -> usize {
        EventKind::SIDES.into_iter().position(|kind| kind == self).unwrap_or(0)
    }
}

/// A granule that is named in a change or a list, and where it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingEntry {
    /// The granule's id.
    pub granule_id: GranuleId,
    /// The producer's id. `None` means that it is the same as `granule_id`.
    pub producer_granule: Option<GranuleId>,
    /// What is stated of its files. `None` means that nothing is stated.
    pub content: Option<Content>,
    /// Where it was read, for messages. `None` means that this is not known.
    pub location: Option<SourceLocation>,
}

impl From<GranuleId> for ListingEntry {
    fn from(granule_id: GranuleId) -> Self {
        ListingEntry { granule_id, producer_granule: None, content: None, location: None }
    }
}

/// A change as the log of a dataset states it, and where the log ends after it.
///
/// The log is described in docs/reference/manifest.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogChange {
    /// Its number in the log, from 1.
    pub number: u64,
    /// When it took effect.
    pub timestamp: Timestamp,
    /// The identifier of the granules held since.
    pub identifier: Identifier,
    /// The digest of the granules held since, with what is known of their files.
    pub digest: Digest,
    /// The check of its last line, which depends on every line before it.
    pub check: LineCheck,
    /// The length of the log up to and including its last line, in bytes.
    pub bytes: u64,
    /// How many granules are held since.
    pub granules: u64,
    /// How many granules it ingested.
    pub ingested: u64,
    /// How many granules it deleted.
    pub deleted: u64,
    /// How many granules it described.
    pub described: u64,
    /// How many granules it replaced.
    pub replaced: u64,
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

/// The state of a dataset's identifier and of its digest after one of its granules.
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
    /// Whether the set should not be relied on.
    pub questionable: bool,
    /// When it was recorded.
    pub recorded: Timestamp,
    /// Who recorded it. `None` means that this is not known. It is stored in this registry only and is
    /// not exported.
    pub recorded_by: Option<String>,
}

impl Annotation {
    /// The greatest length of the notes of one instance together, in bytes of UTF-8, each with 64 more:
    /// they are read with the instance.
    pub const MAX_BYTES: usize = 64 * 1_024;

    /// The length of some annotations together, as [`Annotation::MAX_BYTES`] counts it.
    pub(crate) fn bytes_of<'a>(annotations: impl IntoIterator<Item = &'a Annotation>) -> usize {
        annotations.into_iter().map(|annotation| annotation.note.len() + 64).sum()
    }
}

/// That a listing of a dataset was refused, and none was accepted since.
///
/// Its fields, in this order, are those of `refused` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RefusedListing {
    /// When it was refused.
    #[serde(rename = "at")]
    pub recorded: Timestamp,
    /// Why, in the words of the error.
    pub reason: String,
}

/// That a dataset holds what a listing has: it did already, or a change made it so.
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
    /// How many granules the listing had.
    pub granules: u64,
}
