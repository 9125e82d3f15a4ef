//! What an archive does with its registry.
//!
//! The promises: nothing is ever erased, so every identifier that was ever in force resolves to its
//! exact granules for ever; history is never rewritten, so a change comes after the last one; a
//! change is made completely or not at all, whatever happens.
//!
//! [`Registry`] is cheap to share. Questions are asked on a [`Snapshot`]; what changes something is
//! a method of the registry itself, and one transaction. Time is an argument throughout: nothing
//! here reads a clock of its own.

mod backup;
mod error;
mod handle;
mod listing;
mod monitor;
mod refusal;
mod restore;
mod snapshot;
mod staging;
mod verify;
mod write;

pub use backup::BackedUp;
pub use error::{Error, Result};
pub use handle::{NewRegistry, OpenOptions, Registry};
pub use listing::{Identified, Listing};
pub use monitor::Monitor;
pub use refusal::ChangeError;
pub use restore::{Restored, restore};
pub use snapshot::{
    Agreement, Cited, Counts, DatasetPage, Difference, Differences, Export, Exported, FoundPeriod,
    Granules, History, Listed, ListingDifferences, NotedPeriod, RecordVersion, Resolution,
    Resolved, Selected, Selection, Snapshot,
};
pub(crate) use snapshot::{Merge, Side};
pub use verify::{Code, Finding, Verification, Verified, VerifyWork};
pub use write::{
    Applied, Change, DatasetEdit, Edit, Every, Expected, FirstIds, Import, Imported, Kept, Lease,
    MaxDelete, Named, Revert, Skipped, Stamp, Sync, Wanted, Work,
};

pub use crate::store::{Access, BUSY_WAIT, Error as StoreError, Withdrawn};

/// Limits the memory that SQLite may use in this process, once and for all: for a program that does
/// nothing else with SQLite. A file from a stranger then cannot make it grow.
///
/// # Errors
///
/// [`Error::Store`]: SQLite refuses.
pub fn limit_memory() -> Result<()> {
    Ok(crate::store::limit_memory()?)
}

/// How many bytes of a file [`is_registry`] looks at.
pub(crate) const BEGINNING_BYTES: u64 = crate::store::MAGIC_BYTES;

/// Whether a file that begins with these bytes can be a registry; else it may be a manifest.
pub(crate) fn is_registry(beginning: &[u8]) -> bool {
    crate::store::is_database(beginning)
}
