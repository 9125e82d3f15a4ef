//! The operations of an archive on its registry.
//!
//! The registry guarantees:
//!
//! - Nothing is ever erased. Every identifier that was ever in force always resolves to its exact granules.
//! - History is never rewritten. A change takes effect after the previous one.
//! - A change is made completely or not at all, whatever happens.
//!
//! [`Registry`] is cheap to share. A [`Snapshot`] reads it. Each operation that changes something is a method
//! of the registry itself, and one transaction. Both use the [`Clock`] given when the registry was opened.

mod author;
mod batches;
mod cancel;
mod clock;
mod contents;
mod copy;
mod directories;
mod error;
mod facts;
mod handle;
mod listing;
mod log;
mod look_ups;
mod observer;
mod parallel;
mod proof;
mod restore;
mod snapshot;
mod staging;
mod statements;
mod status;
mod verify;
mod warnings;
mod work_counts;
mod write;

pub use author::Author;
pub use cancel::CancelToken;
pub use clock::Clock;
pub(crate) use facts::{ChecksumsFact, NamesFact};
pub use facts::{FilesFact, MirrorFacts};
pub use handle::Registry;
pub use listing::{Listing, ListingBuilder, ListingSummary};
pub(crate) use log::{LogChanges, Replay};
pub(crate) use observer::OpenWork;
pub use observer::{Observer, Progress, Watcher, Work};
pub(crate) use parallel::{InOrder, Task};
pub(crate) use proof::Claim;
pub use restore::{MissingFromBackup, RestoreReport};
pub(crate) use snapshot::CitedContents;
pub use snapshot::{
    Agreement, CitationFacts, ContentCounts, ContentDifference, Difference, DifferenceCounts,
    Differences, DigestPeriod, Exported, FileList, FileTotals, Granule, Granules, HeldContents,
    HistoryOptions, Period, Periods, Presence, Selected, Selection, SideBySide, Snapshot, TwoSides,
};
pub use statements::{ProvedSet, PublishedStatements, SignedCheckpoint, StatementLog};
pub use status::{DatasetStatus, FilesChecked, KnownPrimary, Mirrored, StatusThresholds};
pub use verify::{DatasetVerification, Finding, FindingKind, VerificationTotals, Verifications};
pub use write::{
    Annotated, Change, ChangeExamples, ChangeOptions, ChangeReport, CorrectionReport, Edit,
    FileCheck, HistoryCounts, IfMissing, Import, Lease, NewAnnotation, NewCheck, SharedDoi,
    Skipped, SubsetCitation, SubsetMembers, SubsetState,
};
pub(crate) use write::{CitedSubset, CitedSubsets, LoggedAnnotation, LoggedAnnotations};
pub(crate) use write::{PrimaryAnnotations, Remembered, Taken};

pub use crate::error::Error;
pub use crate::model::{DatasetRecord, MetadataVersion};
pub use work_counts::WorkCounts;
pub(crate) use write::MAX_EXAMPLES;

pub use crate::store::Span;
pub use crate::store::{Location, OpenFinding, RootState, Withdrawn};

/// The number of bytes that [`is_registry`] reads of a file.
pub(crate) const BEGINNING_BYTES: u64 = crate::store::MAGIC_BYTES;

/// Whether a file that begins with these bytes can be a registry. If not, it may be a manifest.
pub(crate) fn is_registry(beginning: &[u8]) -> bool {
    crate::store::is_database(beginning)
}
