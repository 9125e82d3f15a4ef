//! The registry as it is stored: all SQL, and nothing but SQL.
//!
//! What crosses this seam are the types of [`crate::model`], batches of rows, and keyset pages in
//! canonical order: never SQL, never a driver's type, and never a call for each granule. A second
//! database can implement the same three types.
//!
//! - [`Store`] is the registry; it hands out the other two.
//! - [`Snapshot`] is one consistent state of it. It is short-lived: nobody may wait for a terminal
//!   or a socket while one is open, since SQLite cannot reclaim its write-ahead log meanwhile.
//! - [`Transaction`] is one change: nothing of it exists before [`Transaction::commit`], all of it
//!   afterwards. It reads what it has written.
//!
//! # Locking
//!
//! Every write begins IMMEDIATE: it holds the one write lock from its first statement on, so it
//! cannot find out halfway that another process was faster. A second writer waits for the busy wait
//! that the registry was opened with, and then fails with [`Error::Busy`]. Readers see the state as
//! of their first statement; they neither wait for a writer nor make one wait (WAL).
//!
//! # Durability
//!
//! `synchronous=FULL`: a change that was acknowledged has reached the disk, as far as the disk
//! reports the truth. A new registry is written to a temporary file beside its path and renamed
//! when it is complete: a file at the path is a whole registry or is not ours, so processes that
//! create the same one do not race, and a crash leaves no half-made file.
//!
//! # Compatibility
//!
//! `application_id` marks a file as a registry; `user_version` counts the migrations that it has
//! had. Migrations run in one transaction that reads the version under the write lock. A file of a
//! newer version is refused and left as it is.
//!
//! # Untrusted files
//!
//! A registry may come from anyone. What its schema has under our names, and on our tables, must be
//! what our migrations create, before anything is read or migrated; no trigger and no view in it
//! runs; and a value of more than a mebibyte is an error instead of an allocation.
//!
//! # Filesystems
//!
//! WAL needs shared memory, so a registry is used from one host at a time: not over NFS or SMB. A
//! registry that cannot be written (a read-only medium, somebody else's directory) is read without
//! locks as long as it has no `-wal` file, and the read is refused if the file changed meanwhile.

mod error;
mod sqlite;

pub use error::Error;
pub use sqlite::{Access, BUSY_WAIT, Withdrawn};
pub(crate) use sqlite::{
    Begin, DatasetKey, MAGIC_BYTES, NewFile, NewPeriod, Period, Snapshot, Store, StoredEvent,
    StoredPeriod, StoredVersion, SubsetKey, Transaction, Watch, WorkerRow, is_database,
    limit_memory,
};

type Result<T> = std::result::Result<T, Error>;
