//! A registry file in use: snapshots for reading, transactions for writing.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use super::open::{self, Access, Source};
use super::pool::Pool;
use crate::store::{Error, Result};

/// Virtual-machine instructions of SQLite between two questions whether to go on: about a
/// millisecond.
const STEPS_BETWEEN_CHECKS: i32 = 50_000;

/// Whether long work is to stop, asked every now and then from the thread that does it.
pub(crate) type Watch = Arc<dyn Fn() -> bool + Send + Sync>;

/// An open registry.
pub(crate) struct Store {
    pool: Pool,
    source: Origin,
}

/// Where further connections come from.
enum Origin {
    File(Source),
    /// One connection is all there is.
    Memory {
        busy_wait: Duration,
    },
}

/// One consistent state of the registry, for as long as this lives. Short-lived: see the module.
pub(crate) struct Snapshot {
    lease: Lease,
}

/// A change of the registry: nothing of it exists until [`Transaction::commit`], all of it after.
pub(crate) struct Transaction {
    snapshot: Snapshot,
}

/// A connection that goes back to its pool.
struct Lease {
    connection: Option<Connection>,
    store: Arc<Store>,
}

impl Store {
    /// Opens the registry at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`], [`Error::NotARegistry`], [`Error::Newer`], [`Error::Older`] and what
    /// opening a file can fail with.
    pub fn open(path: &Path, access: Access, busy_wait: Duration) -> Result<Self> {
        let (connection, source) = open::open(path, access, busy_wait)?;
        Ok(Store { pool: Pool::of(connection), source: Origin::File(source) })
    }

    /// Creates a registry in memory, which is gone when it is dropped.
    pub fn in_memory(busy_wait: Duration) -> Result<Self> {
        let connection = open::in_memory(busy_wait)?;
        Ok(Store { pool: Pool::of(connection), source: Origin::Memory { busy_wait } })
    }

    /// A registry that is being created, in the one connection it has so far.
    pub(super) fn of_new(connection: Connection, source: Source) -> Self {
        Store { pool: Pool::of(connection), source: Origin::File(source) }
    }

    /// The path that the registry was opened by. `None` in memory.
    pub fn path(&self) -> Option<&Path> {
        match &self.source {
            Origin::File(source) => Some(source.path()),
            Origin::Memory { .. } => None,
        }
    }

    /// Begins to read.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`]: the path leads to another file by now.
    pub fn snapshot(self: &Arc<Self>, watch: Option<&Watch>) -> Result<Snapshot> {
        let lease = self.lease(watch)?;
        lease.connection().execute_batch("BEGIN DEFERRED")?;
        let snapshot = Snapshot { lease };
        // The transaction begins with its first read, and that must not be later than the caller's
        // first question. A registry that a newer program migrated meanwhile is noticed here too.
        super::migrate::check_unchanged(snapshot.connection())?;
        snapshot.check_same_file()?;
        Ok(snapshot)
    }

    /// Begins to write; waits for another writer as long as the busy wait says.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`]; [`Error::ReadOnly`].
    pub fn transaction(self: &Arc<Self>, watch: Option<&Watch>) -> Result<Transaction> {
        let lease = self.lease(watch)?;
        lease.connection().execute_batch("BEGIN IMMEDIATE").map_err(|error| {
            match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    Error::Busy { waited: self.busy_wait() }
                }
                _ => error.into(),
            }
        })?;
        let transaction = Transaction { snapshot: Snapshot { lease } };
        super::migrate::check_unchanged(transaction.connection())?;
        transaction.check_same_file()?;
        Ok(transaction)
    }

    fn lease(self: &Arc<Self>, watch: Option<&Watch>) -> Result<Lease> {
        let mut connection = match (self.pool.take(), &self.source) {
            (Some(connection), _) => connection,
            (None, Origin::File(source)) => source.connect()?,
            (None, Origin::Memory { busy_wait }) => self.pool.wait(*busy_wait)?,
        };
        let handler = watch.cloned().map(|watch| move || watch());
        connection.progress_handler(STEPS_BETWEEN_CHECKS, handler)?;
        Ok(Lease { connection: Some(connection), store: Arc::clone(self) })
    }

    fn busy_wait(&self) -> Duration {
        match &self.source {
            Origin::File(source) => source.busy_wait(),
            Origin::Memory { busy_wait } => *busy_wait,
        }
    }

    /// Ends all use of a new registry, and returns its one connection.
    pub(super) fn into_connection(self) -> Option<Connection> {
        self.pool.into_one()
    }
}

impl Snapshot {
    /// Refuses what was read if the path no longer leads to the file it was read from, or if that
    /// file changed where it is read without locks.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`], [`Error::Changed`].
    pub fn check_same_file(&self) -> Result<()> {
        match &self.lease.store.source {
            Origin::File(source) => source.check(),
            Origin::Memory { .. } => Ok(()),
        }
    }

    /// The path of the registry. `None` in memory.
    pub fn path(&self) -> Option<PathBuf> {
        self.lease.store.path().map(Path::to_owned)
    }

    pub(super) fn connection(&self) -> &Connection {
        self.lease.connection()
    }
}

impl Transaction {
    /// Makes the change durable.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`]: the registry was moved or removed meanwhile. Nothing is changed.
    pub fn commit(self) -> Result<()> {
        self.check_same_file()?;
        Ok(self.connection().execute_batch("COMMIT")?)
    }
}

impl Deref for Transaction {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}

impl Lease {
    fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("a lease has its connection until it is dropped")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        // A watch must not end the rollback.
        let mut is_reusable = connection.progress_handler(0, None::<fn() -> bool>).is_ok();
        if !connection.is_autocommit() {
            is_reusable &= connection.execute_batch("ROLLBACK").is_ok();
        }
        // A connection that cannot even roll back is closed, which does it. One in memory is the
        // registry itself, so it goes back whatever happened.
        if is_reusable || matches!(self.store.source, Origin::Memory { .. }) {
            self.store.pool.put_back(connection);
        }
    }
}
