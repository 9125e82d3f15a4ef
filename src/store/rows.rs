//! The rows, keys and options that cross the boundary between the registry and its store.

use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::model::{
    Annotation, Content, Correction, DatasetMetadata, DatasetName, FailedAttempt, GranuleId,
    Instance, LastPull, Limits, Timestamp, Withdrawal,
};

/// How long a writer waits for another writer by default.
pub(crate) const BUSY_WAIT: Duration = Duration::from_secs(10);

/// Returns whether long work should stop. It is called now and then from the thread that does the
/// work.
pub(crate) type Watch = Arc<dyn Fn() -> bool + Send + Sync>;

/// The key of a dataset, valid only in its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DatasetKey(pub(in crate::store) i64);

/// What is locked for what does not belong to a dataset: a new dataset, payment ids.
pub(crate) const REGISTRY: DatasetKey = DatasetKey(0);

/// The key of a cited subset, valid only in its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SubsetKey(pub(in crate::store) u64);

/// The key of a log that a mirror has read, valid only in its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceKey(pub(in crate::store) u64);

/// A primary that was read for a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSource {
    /// Where it is: a URL or an absolute path.
    pub source: String,
    /// When its log was last read and continued what was read before.
    pub read: Timestamp,
    /// When the dataset was last identical to it. `None` means that it never was.
    pub identical: Option<Timestamp>,
    /// When the dataset was last pulled from it, or found to be identical by a pull. `None` means
    /// never.
    pub pulled: Option<LastPull>,
    /// The last attempt, if it failed. `None` means that it succeeded.
    pub failed: Option<FailedAttempt>,
    /// Whether the last pull left files whose recorded checksums or sizes contradict this primary.
    pub contradicts: bool,
    /// When its log was last imported: the dataset is a replica of it. `None` means never.
    pub imported: Option<Timestamp>,
}

/// Some consecutive changes of a dataset, as far as a plot needs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The time of the first of them.
    pub first: Timestamp,
    /// The time of the last of them.
    pub last: Timestamp,
    /// The least number of granules held after any of them.
    pub least: u64,
    /// The greatest number of granules held after any of them.
    pub most: u64,
    /// The number of granules held after the last of them.
    pub held: u64,
    /// How many granules they added together.
    pub added: u64,
    /// How many granules they deleted together.
    pub deleted: u64,
    /// How many they are.
    pub changes: u64,
}

/// Whether datasets that were withdrawn are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawn {
    /// They are listed.
    Listed,
    /// They are left out.
    LeftOut,
}

/// An annotation as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredAnnotation {
    /// The timestamp of its instance.
    pub timestamp: Timestamp,
    /// 1, 2, … of the instance.
    pub number: u64,
    pub annotation: Annotation,
}

/// An instance as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredInstance {
    pub instance: Instance,
    /// Whether its row agrees with its checksum.
    pub is_sound: bool,
}

/// A dataset whose record was not read.
#[derive(Debug)]
pub(crate) struct NamedDataset {
    pub key: DatasetKey,
    pub name: DatasetName,
    /// When it was withdrawn, and why. `None` means that it is not withdrawn.
    pub withdrawn: Option<Withdrawal>,
}

/// A dataset as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredDataset {
    pub key: DatasetKey,
    pub dataset: DatasetMetadata,
    /// When it was withdrawn, and why. `None` means that it is not withdrawn.
    pub withdrawn: Option<Withdrawal>,
    pub limits: Limits,
    /// The corrections of its history, oldest first.
    pub corrections: Vec<Correction>,
}

/// A holding period as it is stored, with values that have not been checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Period<'row> {
    /// The bytes of the id.
    pub granule_id: &'row [u8],
    /// The time of ingest, in microseconds since 1970-01-01T00:00:00Z.
    pub ingested: i64,
    /// The time of deletion, in the same unit. `None` means that the granule is still held.
    pub deleted: Option<i64>,
    /// The bytes of the producer's id. `None` means that it is the same, or was not read.
    pub producer_granule: Option<&'row [u8]>,
}

/// A holding period to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewPeriod<'id> {
    pub granule_id: &'id GranuleId,
    pub ingested: Timestamp,
    pub deleted: Option<Timestamp>,
    pub producer_granule: Option<&'id GranuleId>,
}

/// What is known of the files of a granule from an instant on, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredContent {
    pub granule_id: GranuleId,
    /// When the change took effect that states it.
    pub since: Timestamp,
    /// All that is known.
    pub content: Content,
}

/// The checks at a root directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RootState {
    /// The name of the directory.
    pub root: String,
    /// Every file that was held then was checked since this time. `None` means that no check has come to the
    /// end of the dataset.
    pub since: Option<Timestamp>,
    /// When the check of all files began that has not come to the end yet. `None` means that none is under
    /// way.
    pub started: Option<Timestamp>,
    /// How many files it has checked; if none is under way, the last one.
    pub files: u64,
    /// How many bytes it has read.
    pub bytes: u64,
    /// The last granule that it has checked. `None` means that it has checked none.
    #[serde(skip)]
    pub(crate) cursor: Option<String>,
    /// The run that is checking files, and until when. `None` means that none is.
    #[serde(skip)]
    pub(crate) lock: Option<(String, Timestamp)>,
}

/// The numbers of files of a dataset that are not as recorded, each counted at every root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FindingCounts {
    /// Files that do not exist.
    pub missing: u64,
    /// Files with another size or checksum, and files that cannot be read.
    pub damaged: u64,
    /// All of them.
    pub all: u64,
    /// The number of different files of granules among them, each counted once for all roots.
    pub files: u64,
}

/// A file that is not as it is recorded: what the last check of it has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OpenFinding {
    /// The name of the root directory.
    pub root: String,
    /// The granule. Empty, or `null` in JSON, if no granule has the file.
    #[serde(serialize_with = "null_if_empty")]
    pub granule: String,
    /// The path below the root.
    pub path: String,
    /// What is wrong: `missing`, `size`, `checksum`, …
    pub status: String,
    /// What is recorded. `None` means nothing.
    pub expected: Option<String>,
    /// What was found instead. `None` means nothing.
    pub found: Option<String>,
    /// When it was first found like this.
    pub first_seen: Timestamp,
}

fn null_if_empty<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    Some(text).filter(|text| !text.is_empty()).serialize(serializer)
}

/// What was stated of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredStatement {
    /// Its place among all statements, from 0.
    pub number: u64,
    pub dataset: DatasetKey,
    /// The subset that it is of. `None` means a whole instance.
    pub subset: Option<SubsetKey>,
    /// When the change of the instance took effect.
    pub since: Timestamp,
    /// The statement, of which nothing else here is a copy that counts.
    pub text: String,
}

/// A checkpoint of the tree of statements that was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeHead {
    /// How many statements the tree has.
    pub size: u64,
    /// The checkpoint with its signatures.
    pub note: String,
    /// The policy by which witnesses were asked, or the key alone.
    pub policy: String,
    /// When it was signed.
    pub signed: Timestamp,
}

/// The last payment id that a worker issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkerRow {
    /// The number of the worker.
    pub worker: u32,
    /// The name of the layout of its ids.
    pub layout: String,
    /// The instant of second 0.
    pub epoch: Timestamp,
    /// The last second for which it issued ids, counted from the epoch.
    pub last_second: u64,
    /// The next counter in that second.
    pub next_counter: u32,
}
