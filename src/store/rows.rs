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

/// Returns whether long work should stop. The thread that does the work calls it now and then.
pub(crate) type Watch = Arc<dyn Fn() -> bool + Send + Sync>;

/// The key of a dataset, valid only in its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DatasetKey(pub(in crate::store) i64);

/// Locks what does not belong to a dataset: adding a dataset, and payment ids.
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
    /// The location of the primary: a URL or an absolute path.
    pub source: String,
    /// The last time that its log was read and continued what was read before.
    pub read: Timestamp,
    /// The last time that the dataset was identical to the primary. `None` means never.
    pub identical: Option<Timestamp>,
    /// The last pull that changed the dataset or found it identical to the primary. `None` means never.
    pub pulled: Option<LastPull>,
    /// The last attempt to read the primary, if it failed. `None` means that it succeeded.
    pub failed: Option<FailedAttempt>,
    /// Whether the last pull left files whose recorded checksums or sizes contradict this primary.
    pub contradicts: bool,
    /// The last time that its log was imported: the dataset is a replica of it. `None` means never.
    pub imported: Option<Timestamp>,
}

/// Some consecutive changes of a dataset, summed up for a plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The time of the first change.
    pub first: Timestamp,
    /// The time of the last change.
    pub last: Timestamp,
    /// The least number of granules held after any of the changes.
    pub least: u64,
    /// The greatest number of granules held after any of the changes.
    pub most: u64,
    /// The number of granules held after the last change.
    pub held: u64,
    /// The number of granules that the changes added together.
    pub added: u64,
    /// The number of granules that the changes deleted together.
    pub deleted: u64,
    /// The number of changes.
    pub changes: u64,
}

/// Whether to list datasets that were withdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawn {
    /// They are listed.
    Listed,
    /// They are left out.
    LeftOut,
}

/// An annotation, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredAnnotation {
    /// The timestamp of its instance.
    pub timestamp: Timestamp,
    /// The number of the annotation among those of its instance: 1, 2, …
    pub number: u64,
    pub annotation: Annotation,
}

/// An instance, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredInstance {
    pub instance: Instance,
    /// Whether its row agrees with its checksum.
    pub is_sound: bool,
}

/// A dataset without its record.
#[derive(Debug)]
pub(crate) struct NamedDataset {
    pub key: DatasetKey,
    pub name: DatasetName,
    /// When it was withdrawn, and why. `None` means that it is not withdrawn.
    pub withdrawn: Option<Withdrawal>,
}

/// A dataset, as it is stored.
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

/// A holding period, as it is stored, with unchecked values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Period<'row> {
    /// The bytes of the id.
    pub granule_id: &'row [u8],
    /// The time of ingest, in microseconds since 1970-01-01T00:00:00Z.
    pub ingested: i64,
    /// The time of deletion, in the same unit. `None` means that the granule is still held.
    pub deleted: Option<i64>,
    /// The bytes of the producer's id. `None` means that it is the same as the id, or was not read.
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

/// The record of the files of a granule since an instant, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredContent {
    pub granule_id: GranuleId,
    /// The time of the change that stored it.
    pub since: Timestamp,
    /// The complete record.
    pub content: Content,
}

/// The progress of the file checks at one root directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RootState {
    /// The name of the directory.
    pub root: String,
    /// Every file that was held then was checked since this time. `None` means that no check has reached the
    /// end of the dataset.
    pub since: Option<Timestamp>,
    /// When the running check of all files began. `None` means that none is running.
    pub started: Option<Timestamp>,
    /// The number of files that the running check has checked or, if none is running, the previous check.
    pub files: u64,
    /// The number of bytes that the same check has read.
    pub bytes: u64,
    /// The last granule that the check has reached. `None` means that it has not reached any.
    #[serde(skip)]
    pub(crate) cursor: Option<String>,
    /// The run that is checking files, and when its lock expires. `None` means that no run is.
    #[serde(skip)]
    pub(crate) lock: Option<(String, Timestamp)>,
}

/// The numbers of files of a dataset that differ from their records, counted at every root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FindingCounts {
    /// Files that do not exist.
    pub missing: u64,
    /// Files with another size or checksum, and files that cannot be read.
    pub damaged: u64,
    /// All files that differ.
    pub all: u64,
    /// The number of different files of granules among them: a file that differs at several roots counts once.
    pub files: u64,
}

/// A file that differs from its record, according to its latest check.
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
    /// The recorded value. `None` means that nothing is recorded.
    pub expected: Option<String>,
    /// The value that was found. `None` means that nothing was found.
    pub found: Option<String>,
    /// When the file was first found in this condition.
    pub first_seen: Timestamp,
}

fn null_if_empty<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    Some(text).filter(|text| !text.is_empty()).serialize(serializer)
}

/// A statement about a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredStatement {
    /// The position of the statement among all statements, from 0.
    pub number: u64,
    pub dataset: DatasetKey,
    /// The subset that the statement is about. `None` means a whole instance.
    pub subset: Option<SubsetKey>,
    /// When the change of the instance took effect.
    pub since: Timestamp,
    /// The text of the statement, which is authoritative: the other fields only index it.
    pub text: String,
}

/// A signed checkpoint of the tree of statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeHead {
    /// The number of statements in the tree.
    pub size: u64,
    /// The checkpoint with its signatures.
    pub note: String,
    /// The policy by which witnesses cosigned the checkpoint, or the key alone.
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
