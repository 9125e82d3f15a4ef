//! The registry as it lies on disk: all SQL, and nothing but SQL.
//!
//! What crosses this seam are the types of [`crate::model`] and streams of ids in canonical order,
//! never SQL or a type of rusqlite's: a second database can stand behind it one day.
//!
//! # Locking
//!
//! Every write begins IMMEDIATE: it holds the one write lock from its first statement on, so that
//! it never finds out half-way that another was faster. A rival waits for [`BUSY_WAIT`] and is then
//! told. Readers see the state as of their first statement and neither wait for a writer nor make
//! one wait (WAL).
//!
//! # Durability
//!
//! `synchronous=FULL`: a change that was acknowledged has reached the disk, as far as the disk
//! tells the truth. A new registry is made beside its place, whole, and then put there in one
//! step: a file at the path is a registry or is not ours. So there is no race between processes
//! that create the same one, and no half-made file after a crash.
//!
//! # Compatibility
//!
//! `application_id` says that a file is a registry, `user_version` how many of `migrations/` it
//! has had. Migrations run in one transaction that reads the version under the write lock. A file
//! of a newer version is refused and left as it is.
//!
//! # Strangers
//!
//! A registry may come from anyone. What stands in its schema under our names, and on our tables,
//! must be what our migrations make of it (`schema`), before anything is read or migrated; no
//! trigger and no view of it runs; and a value of more than a mebibyte is an error instead of memory.
//!
//! # Filesystems
//!
//! WAL needs shared memory, so a registry is used from one host at a time: not over NFS or SMB. A
//! register in a place that cannot be written (read-only medium, somebody else's folder) is read
//! without locks as long as no `-wal` file stands beside it, and the read is refused if the file
//! changed meanwhile.

mod change_log;
mod checkpoint;
mod column;
mod dataset;
mod error;
mod granule;
mod instance;
mod pages;
mod payment;
mod sqlite;
mod staged_event;
mod subset;

use std::ops::{ControlFlow, Deref};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ToSql, Transaction, TransactionBehavior};

pub use dataset::DatasetKey;
pub use error::Error;
pub use granule::{Begin, Stay, Stays};
pub use sqlite::{Access, BUSY_WAIT, TemporaryRegistry, limit_memory};

pub use pages::Pages;
pub use payment::WorkerRow;
pub use staged_event::{Order, Staged};
pub use subset::SubsetKey;

use sqlite::{Identity, Opened, backup, open, schema};

type Result<T> = std::result::Result<T, Error>;

/// An open register file.
pub struct Store {
    connection: Connection,
    path: PathBuf,
    identity: Identity,
}

/// One consistent state of the registry, for as long as this lives.
pub struct Read<'store> {
    transaction: Transaction<'store>,
    identity: &'store Identity,
}

/// A change of the registry: nothing of it is there until [`Write::commit`], all of it after.
pub struct Write<'store> {
    read: Read<'store>,
}

impl Store {
    /// Opens the registry at `path`.
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        Ok(Store::over(open::open(path, access, BUSY_WAIT)?, path))
    }

    /// Creates a registry in memory.
    pub fn in_memory() -> Result<Self> {
        Ok(Store::over(open::in_memory()?, Path::new(":memory:")))
    }

    /// Creates an empty registry in a temporary file beside `target`.
    pub fn create(target: &Path) -> Result<(Self, TemporaryRegistry)> {
        let (connection, temporary) = TemporaryRegistry::create(target, BUSY_WAIT)?;
        let identity = Identity::of_connection(Access::Write, BUSY_WAIT);
        Ok((Store::over(Opened { connection, identity }, target), temporary))
    }

    /// Puts a new registry in the place of its target.
    pub fn put_in_place(self, temporary: TemporaryRegistry) -> Result<()> {
        temporary.close(self.connection)?;
        temporary.put_in_place()
    }

    fn over(opened: Opened, path: &Path) -> Self {
        Store { connection: opened.connection, path: path.to_owned(), identity: opened.identity }
    }

    /// The path the registry was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins to read.
    pub fn read(&mut self) -> Result<Read<'_>> {
        self.give_up_staging()?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
        Ok(Read { transaction, identity: &self.identity })
    }

    /// Begins to write: waits up to [`BUSY_WAIT`] for another writer.
    pub fn write(&mut self) -> Result<Write<'_>> {
        self.give_up_staging()?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        Ok(Write { read: Read { transaction, identity: &self.identity } })
    }
}

impl Read<'_> {
    /// Ends the read; refuses what was read if the file changed meanwhile, where there are no
    /// locks to prevent that.
    pub fn finish(self) -> Result<()> {
        self.identity.check()
    }

    /// Copies the state that this read sees into a temporary file beside `target`.
    pub fn copy_beside(
        &self,
        target: &Path,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<TemporaryRegistry> {
        // So that the transaction, which is deferred, begins.
        self.transaction.pragma_query(None, "schema_version", |_| Ok(()))?;
        backup::copy_beside(&self.transaction, target, BUSY_WAIT, |done, all| {
            progress(done, all);
            ControlFlow::Continue(())
        })
    }

    /// What SQLite's check finds wrong in the tables that are not checked by recomputing: where the
    /// two copies of a row differ (V5). Costs a pass over them; none has a row a granule.
    pub fn integrity_of_records(&self) -> Result<Vec<String>> {
        self.integrity_of([
            "dataset",
            "instance",
            "saved_selection",
            "dataset_name",
            "record_version",
        ])
    }

    /// What SQLite's own check of the file's pages and indexes finds wrong, and which rows belong to
    /// something that is not there; at most 100 findings of a table.
    ///
    /// Where others keep tables or indexes in the file, only ours are checked: theirs may have rules
    /// that take hours to work out, or that fail.
    pub fn integrity(&self) -> Result<Vec<String>> {
        const MAX_FINDINGS: u32 = 100;
        let tables = schema::tables()?;
        let mut findings = match schema::has_others(&self.transaction)? {
            true => self.integrity_of(tables.iter().map(String::as_str))?,
            false => self.integrity_check(MAX_FINDINGS)?,
        };
        for table in tables {
            let (mut rows, mut parent) = (0_u64, String::new());
            self.transaction.pragma(None, "foreign_key_check", &table, |row| {
                rows += 1;
                parent = row.get(2)?;
                Ok(())
            })?;
            if rows > 0 {
                let what = format!("{rows} rows of {table} belong to a {parent} that is not there");
                findings.push(what);
            }
        }
        Ok(findings)
    }

    /// What SQLite's check finds wrong in some tables and their indexes.
    fn integrity_of<'table>(
        &self,
        tables: impl IntoIterator<Item = &'table str>,
    ) -> Result<Vec<String>> {
        let mut findings = Vec::new();
        for table in tables {
            findings.append(&mut self.integrity_check(table)?);
        }
        Ok(findings)
    }

    /// What SQLite's check finds wrong: of a table, or in the file, up to so many findings.
    fn integrity_check(&self, of: impl ToSql) -> Result<Vec<String>> {
        let mut findings: Vec<String> = Vec::new();
        self.transaction.pragma(None, "integrity_check", of, |row| {
            findings.push(row.get(0)?);
            Ok(())
        })?;
        findings.retain(|finding| finding != "ok");
        Ok(findings)
    }
}

impl Write<'_> {
    /// Makes the change lasting.
    pub fn commit(self) -> Result<()> {
        self.read.identity.check()?;
        Ok(self.read.transaction.commit()?)
    }
}

impl<'store> Deref for Write<'store> {
    type Target = Read<'store>;

    fn deref(&self) -> &Read<'store> {
        &self.read
    }
}
