//! The registry as an SQLite file.
//!
//! The files `files`, `connection`, `schema`, `open` and `create` open, create, copy and replace it; each uses
//! only those before it. `session` contains an open registry.
//!
//! # Locking
//!
//! Every write transaction begins IMMEDIATE: it holds the only write lock from its first statement, so it
//! cannot fail halfway because another process wrote first. A second writer waits for the lock at most for the
//! busy wait of the registry, and then fails with [`ErrorKind::Busy`]. Readers see the state as of their first
//! statement; they neither wait for a writer nor block one (WAL).
//!
//! # Durability
//!
//! `synchronous=FULL`: a change that was acknowledged has reached the disk, provided that the disk does not lie
//! about it. A new registry is written to a temporary file beside its path, without a write-ahead log and
//! without syncs. When it is complete, it is synced and renamed. So a file at the path is a complete registry,
//! or was not created by this crate. Processes that create the same registry do not race, and a crash leaves no
//! incomplete file.
//!
//! # Compatibility
//!
//! `application_id` marks a file as a registry. `user_version` is the number of migrations that have been
//! applied to it. Migrations run in one transaction, which reads the version under the write lock. A file with
//! any other schema is rejected and not changed.
//!
//! # Untrusted files
//!
//! A registry may come from anyone. Before anything is read, its schema is checked: all objects with the names
//! of the migrations' objects, and all indexes on their tables, must be the ones that the migrations create. No
//! trigger or view in the file is run. A value that is longer than any that this program writes is an error,
//! and is not allocated.
//!
//! # Filesystems
//!
//! WAL needs shared memory, so a registry can be used from one host at a time, and not over NFS or SMB. A
//! registry that cannot be written (on a read-only medium, or in somebody else's directory) is read without
//! locks, provided that it has no `-wal` file. If the file changed during the read, the result is rejected.

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
