//! An open registry, in either store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::access::{Access, Watch};
use super::snapshot::Snapshot;
use super::transaction::Transaction;
use super::{Error, Result, sqlite};

/// An open registry. Clones share its connections.
#[derive(Clone)]
pub(crate) enum Store {
    Sqlite(Arc<sqlite::Store>),
}

/// A new registry that is not visible until it is put in place.
pub(crate) enum New {
    Sqlite(sqlite::NewFile),
}

impl Store {
    /// Opens the registry at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`], [`Error::NotARegistry`], [`Error::Newer`] and what opening a file may
    /// return.
    pub fn open(path: &Path, access: Access, busy_wait: Duration) -> Result<Self> {
        Ok(Store::of(sqlite::Store::open(path, access, busy_wait)?))
    }

    /// Creates a registry in memory, which is deleted when it is dropped.
    pub fn in_memory(busy_wait: Duration) -> Result<Self> {
        Ok(Store::of(sqlite::Store::in_memory(busy_wait)?))
    }

    /// Creates a registry in a temporary file without a name, which is deleted when it is dropped.
    ///
    /// # Errors
    ///
    /// [`Error::Temporary`].
    pub fn temporary(busy_wait: Duration) -> Result<Self> {
        Ok(Store::of(sqlite::Store::temporary(busy_wait)?))
    }

    /// Creates a registry for `target`, which is visible there once it is put in place.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`], [`Error::Orphaned`], [`Error::ReservedName`].
    pub fn create(target: &Path, busy_wait: Duration) -> Result<(Self, New)> {
        let (store, file) = sqlite::Store::create(target, busy_wait)?;
        Ok((Store::of(store), New::Sqlite(file)))
    }

    fn of(store: sqlite::Store) -> Self {
        Store::Sqlite(Arc::new(store))
    }

    /// The path with which the registry was opened, or that a new one will have. `None` means that
    /// it is in memory.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Store::Sqlite(store) => store.path(),
        }
    }

    /// Begins a read transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`]: there is another registry at the path now.
    pub fn snapshot(&self, watch: Option<&Watch>) -> Result<Snapshot> {
        match self {
            Store::Sqlite(store) => Ok(Snapshot::Sqlite(store.snapshot(watch)?)),
        }
    }

    /// Begins a write transaction. Waits for another writer up to the busy wait.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`]: another writer did not finish in time; [`Error::ReadOnly`].
    pub fn transaction(&self, watch: Option<&Watch>) -> Result<Transaction> {
        match self {
            Store::Sqlite(store) => {
                Ok(Transaction::of(Snapshot::Sqlite(store.transaction(watch)?)))
            }
        }
    }

    /// The only handle of a registry in a file, to close it.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`]: a clone of the store is still in use.
    pub fn into_file(self) -> Result<sqlite::Store> {
        match self {
            Store::Sqlite(store) => Arc::try_unwrap(store).map_err(|_| Error::Busy),
        }
    }
}

impl New {
    /// Makes the registry visible, atomically.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`]: another process has created a registry there. [`Error::Busy`]: a clone of
    /// the store is still in use.
    pub fn put_in_place(self, store: Store) -> Result<()> {
        match self {
            New::Sqlite(file) => file.put_in_place(store.into_file()?),
        }
    }
}
