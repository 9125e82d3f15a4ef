//! A registry file in use: snapshots for reading, transactions for writing.

use std::ops::{ControlFlow, Deref};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use super::create::TemporaryRegistry;
use super::identity::Identity;
use super::open::{self, Opened};
use super::pool::Pool;
use super::restore::TargetLock;
use super::schema::{self, Age};
use super::{backup, files, restore};
use crate::store::{Access, Error, Result, Watch};

/// Virtual-machine instructions of SQLite between two checks whether to stop: about a millisecond.
const STEPS_BETWEEN_CHECKS: i32 = 50_000;

/// An open registry.
pub(crate) struct Store {
    pool: Pool,
    identity: Identity,
    /// The path with which it was opened.
    path: Option<PathBuf>,
    busy_wait: Duration,
}

/// A new registry in a temporary file, which is not visible until it is put in place.
pub(crate) struct NewFile {
    file: TemporaryRegistry,
}

/// One consistent state of the registry. It should be short-lived (see the documentation of the
/// module `store`).
pub(crate) struct Snapshot {
    lease: Lease,
}

/// A snapshot that [`Store::transaction`] began, as the statements that write see it.
pub(crate) struct Transaction<'snapshot> {
    snapshot: &'snapshot Snapshot,
}

/// A connection that is returned to its pool when dropped.
struct Lease {
    connection: Option<Connection>,
    store: Arc<Store>,
    /// Whether it was leased for a change.
    is_writing: bool,
}

impl Store {
    /// Opens the registry at `path`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryMissing`], [`ErrorKind::NotARegistry`], [`ErrorKind::Newer`], [`ErrorKind::Older`] and the
    /// errors of opening a file.
    pub fn open(path: &Path, access: Access, busy_wait: Duration) -> Result<Self> {
        let opened = open::open(path, access, busy_wait)?;
        Ok(Store { path: Some(path.to_owned()), ..Store::of(opened, busy_wait) })
    }

    /// Creates a registry in memory, which is deleted when it is dropped.
    pub fn in_memory(busy_wait: Duration) -> Result<Self> {
        Ok(Store::of(open::in_memory()?, busy_wait))
    }

    /// Creates a registry in an unnamed temporary file, which is deleted when it is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`].
    pub fn temporary(busy_wait: Duration) -> Result<Self> {
        Ok(Store::of(open::temporary()?, busy_wait))
    }

    /// Creates a registry in a temporary file beside `target`, to be put in place when it is
    /// complete.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryExists`], [`ErrorKind::Orphaned`], [`ErrorKind::ReservedName`].
    pub fn create(target: &Path, busy_wait: Duration) -> Result<(Self, NewFile)> {
        let (connection, file) = TemporaryRegistry::create(target, busy_wait)?;
        let identity = Identity::of_connection(Access::Write, busy_wait);
        let store = Store::of(Opened { connection, identity }, busy_wait);
        Ok((Store { path: Some(target.to_owned()), ..store }, NewFile { file }))
    }

    fn of(opened: Opened, busy_wait: Duration) -> Self {
        let Opened { connection, identity } = opened;
        Store { pool: Pool::of(connection), identity, path: None, busy_wait }
    }

    /// The path with which the registry was opened, or that a new one will have. `None` means that
    /// it is in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Whether more than one connection can be opened: not to a registry in memory, nor to a
    /// migrated copy or a new registry.
    pub fn has_many_connections(&self) -> bool {
        self.identity.file().is_some()
    }

    /// Begins a read transaction.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`]: another file has replaced the registry.
    pub fn snapshot(self: &Arc<Self>, watch: Option<&Watch>) -> Result<Snapshot> {
        let lease = self.lease(watch)?;
        lease.connection().execute_batch("BEGIN DEFERRED")?;
        let snapshot = Snapshot { lease };
        // SQLite begins the transaction with its first read, which must not be later than the
        // caller's first query. This also detects a registry that a newer version has migrated.
        check_same_schema(snapshot.connection())?;
        snapshot.check_same_file()?;
        Ok(snapshot)
    }

    /// Begins a write transaction, of which nothing is stored until [`Snapshot::commit`]. Waits for
    /// another writer up to the busy wait.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: another writer did not finish in time; [`ErrorKind::ReadOnly`].
    pub fn transaction(self: &Arc<Self>, watch: Option<&Watch>) -> Result<Snapshot> {
        let mut lease = self.lease(watch)?;
        lease.is_writing = true;
        // A statement that adds many rows could be undone alone, for which SQLite keeps the pages that
        // it changes. They stay in memory (they are few): a change must not need a temporary file of
        // SQLite, whose directory can be full or unusable.
        lease.connection().execute_batch("PRAGMA temp_store = MEMORY; BEGIN IMMEDIATE")?;
        let snapshot = Snapshot { lease };
        check_same_schema(snapshot.connection())?;
        snapshot.check_same_file()?;
        Ok(snapshot)
    }

    fn lease(self: &Arc<Self>, watch: Option<&Watch>) -> Result<Lease> {
        let mut connection = match self.pool.take() {
            Some(connection) => connection,
            None => match self.identity.open_again()? {
                Some(connection) => connection,
                // The registry can have only one connection.
                None => self.pool.wait(self.busy_wait)?,
            },
        };
        let handler = watch.cloned().map(|watch| move || watch());
        connection.progress_handler(STEPS_BETWEEN_CHECKS, handler)?;
        Ok(Lease { connection: Some(connection), store: Arc::clone(self), is_writing: false })
    }
}

impl NewFile {
    /// Copies the registry at `copy` into a temporary file beside `target`, which can then replace
    /// it. `progress` is called with the number of pages copied and the total number of pages.
    ///
    /// # Errors
    ///
    /// Those of [`Store::open`] for the copy; [`ErrorKind::Full`]; [`ErrorKind::Interrupted`]: `progress`
    /// returned `Break`.
    pub fn copy_of(
        copy: &Path,
        target: &Path,
        busy_wait: Duration,
        progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Self> {
        let file = restore::prepare(copy, target, busy_wait, progress)?;
        Ok(NewFile { file })
    }

    /// The path of the temporary file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Renames the registry to its target, atomically.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryExists`]: another process has created a file there.
    pub fn put_in_place(self, store: Store) -> Result<()> {
        self.close(store)?;
        self.file.put_in_place()
    }

    /// Gives the registry the permissions of the file at a path, if there is one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`].
    pub fn take_permissions_of(&self, path: &Path) -> Result<()> {
        match files::metadata(path)? {
            Some(metadata) => self.file.take_permissions(&metadata),
            None => Ok(()),
        }
    }

    /// Locks the registry at the target, if there is one, so that nobody else changes it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: another process is writing to it.
    pub fn lock_target(&self, busy_wait: Duration) -> Result<TargetLock> {
        restore::lock(self.file.target(), busy_wait)
    }

    /// Renames the file at the target, which is locked, to `TARGET.replaced-SUFFIX`, and then the
    /// registry, to which no connection is open, to the target. Returns the new path of the old file. `None` means that there was no
    /// file. If it fails, the file at the target is the one that was there before.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryExists`]: there is already a file `TARGET.replaced-SUFFIX`; [`ErrorKind::MovedAway`]: it
    /// was renamed, and cannot be renamed back.
    pub fn replace(self, lock: TargetLock, suffix: &str) -> Result<Option<PathBuf>> {
        restore::replace(self.file, lock, suffix)
    }

    /// Closes the connection that filled the registry.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`], and the errors of writing.
    pub fn close(&self, store: Store) -> Result<()> {
        match store.pool.into_one() {
            Some(connection) => self.file.close(connection),
            None => Ok(()),
        }
    }

    /// Renames the registry, to which no connection is open, to its target.
    ///
    /// # Errors
    ///
    /// Those of [`NewFile::put_in_place`].
    pub fn put_closed_in_place(self) -> Result<()> {
        self.file.put_in_place()
    }
}

impl Snapshot {
    /// Checks, after a read, that the path still refers to the file that was read and, if the file
    /// is read without locks, that it has not changed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`], [`ErrorKind::Changed`].
    pub fn check_same_file(&self) -> Result<()> {
        self.lease.store.identity.check()
    }

    /// Copies the registry, in the state of this snapshot, beside `target`, where no file exists
    /// yet. `progress` is called with the number of pages copied and the total number of pages.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ReservedName`], [`ErrorKind::RegistryExists`], [`ErrorKind::Full`]; [`ErrorKind::Interrupted`]:
    /// `progress` returned `Break`.
    pub fn copy_beside(
        &self,
        target: &Path,
        progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<NewFile> {
        let Store { busy_wait, path, .. } = &*self.lease.store;
        let (of, source) = (path.as_deref(), self.connection());
        let file = backup::copy_beside(source, of, target, *busy_wait, progress)?;
        Ok(NewFile { file })
    }

    /// Commits a write transaction, whose changes are durable when this returns.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`]: the registry was moved or removed. Nothing is changed.
    pub fn commit(self) -> Result<()> {
        self.check_same_file()?;
        Ok(self.connection().execute_batch("COMMIT")?)
    }

    pub(super) fn connection(&self) -> &Connection {
        self.lease.connection()
    }
}

impl<'snapshot> Transaction<'snapshot> {
    /// The statements that write, in a snapshot that [`Store::transaction`] began.
    pub fn of(snapshot: &'snapshot Snapshot) -> Self {
        Transaction { snapshot }
    }
}

impl Deref for Transaction<'_> {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        self.snapshot
    }
}

/// Refuses a registry whose schema has changed since it was opened.
fn check_same_schema(connection: &Connection) -> Result<()> {
    match schema::age(connection)? {
        Age::Current => Ok(()),
        Age::Older(_) => Err(Error::replaced()),
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
        // The watch must not interrupt the rollback.
        let mut is_reusable = connection.progress_handler(0, None::<fn() -> bool>).is_ok();
        if !connection.is_autocommit() {
            is_reusable &= connection.execute_batch("ROLLBACK").is_ok();
        }
        if self.is_writing {
            // A reader may sort more than fits into memory.
            is_reusable &= connection.execute_batch("PRAGMA temp_store = DEFAULT").is_ok();
        }
        // A connection that fails to roll back is closed, which rolls back. The only connection of
        // an in-memory registry is the registry itself, so it is always returned.
        if is_reusable || self.store.identity.file().is_none() {
            self.store.pool.put_back(connection);
        }
    }
}
