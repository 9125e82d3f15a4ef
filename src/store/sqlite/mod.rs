//! The registry as an SQLite file.
//!
//! These files open, create, copy and replace it, and each uses only those before it: `files`,
//! `connection`, `schema`, `open` and `create`. An open registry is in `session`.
//!
//! # Locking
//!
//! Every write transaction begins IMMEDIATE: it holds the only write lock from its first statement
//! on, so it cannot fail halfway because another process wrote first. A second writer waits for the
//! lock as long as the busy wait of the registry allows, and then fails with [`ErrorKind::Busy`].
//! Readers see the state as of their first statement; they neither wait for a writer nor block one
//! (WAL).
//!
//! # Durability
//!
//! `synchronous=FULL`: a change that was acknowledged has reached the disk, provided that the disk
//! does not lie about it. A new registry is written to a temporary file beside its path, without a
//! write-ahead log and without syncs, and synced and renamed when it is complete. A file at the path is
//! therefore a complete registry, or was not created by this crate: processes that create the same registry
//! do not race, and a crash leaves no incomplete file.
//!
//! # Compatibility
//!
//! `application_id` marks a file as a registry; `user_version` is the number of migrations that
//! have been applied to it. Migrations run in one transaction, which reads the version under the
//! write lock. A file with any other schema is refused and not changed.
//!
//! # Untrusted files
//!
//! A registry may come from anyone. Before anything is read, its schema is checked: all
//! objects with the names of the migrations' objects, and all indexes on their tables, must be
//! those that the migrations create. No trigger or view in the file is run, and a value that is longer
//! than any that is written is an error instead of an allocation.
//!
//! # Filesystems
//!
//! WAL needs shared memory, so a registry can be used from one host at a time, and not over NFS or
//! SMB. A registry that cannot be written (on a read-only medium, or in somebody else's directory)
//! is read without locks, provided that it has no `-wal` file; the result is refused if the file
//! changed during the read.

mod connection;
mod create;
mod error;
mod files;
mod open;
mod schema;
mod session;

pub(crate) use connection::limit_memory;
pub(crate) use create::NewFile;
pub(crate) use files::{MAGIC_BYTES, is_database};
pub(in crate::store) use session::FileStore;

use crate::store::Result;
