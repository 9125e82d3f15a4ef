//! An open registry, in either store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::access::{Access, Watch};
use super::name::Kind;
#[cfg(feature = "postgres")]
use super::postgres;
use super::snapshot::{Of, Snapshot};
use super::transaction::Transaction;
use super::{Error, ErrorKind, Result, sqlite};

/// An open registry. Clones share its connections.
#[derive(Clone)]
pub(crate) enum Store {
    Sqlite(Arc<sqlite::Store>),
    #[cfg(feature = "postgres")]
    Postgres(Arc<postgres::Store>),
}

/// A new registry that is not visible until it is put in place.
pub(crate) enum New {
    Sqlite(sqlite::NewFile),
    #[cfg(feature = "postgres")]
    Postgres(postgres::NewDatabase),
}

/// A copy that nobody else uses until it is finished.
pub(crate) enum Copy {
    Sqlite(sqlite::NewFile),
    #[cfg(feature = "postgres")]
    Postgres,
}

/// Whether there is something at the path or the address of a registry: a registry, or another file.
///
/// # Errors
///
/// [`ErrorKind::RegistryAddress`], [`ErrorKind::Unreachable`]; [`ErrorKind::Denied`].
pub(crate) fn exists(name: &Path) -> Result<bool> {
    match Kind::of(name)? {
        Kind::File => Ok(name.exists()),
        #[cfg(feature = "postgres")]
        Kind::Server => postgres::Store::exists(name),
    }
}

impl Store {
    /// Opens the registry at a path or an address.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryMissing`], [`ErrorKind::NotARegistry`], [`ErrorKind::Newer`] and what opening a file, or
    /// connecting to a server, may return.
    pub fn open(name: &Path, access: Access, busy_wait: Duration) -> Result<Self> {
        Ok(match Kind::of(name)? {
            Kind::File => Store::of(sqlite::Store::open(name, access, busy_wait)?),
            #[cfg(feature = "postgres")]
            Kind::Server => {
                Store::Postgres(Arc::new(postgres::Store::open(name, access, busy_wait)?))
            }
        })
    }

    /// Creates a registry in memory, which is deleted when it is dropped.
    pub fn in_memory(busy_wait: Duration) -> Result<Self> {
        Ok(Store::of(sqlite::Store::in_memory(busy_wait)?))
    }

    /// Creates a registry in a temporary file without a name, which is deleted when it is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`].
    pub fn temporary(busy_wait: Duration) -> Result<Self> {
        Ok(Store::of(sqlite::Store::temporary(busy_wait)?))
    }

    /// Creates a registry for a path or an address, which is visible there once it is put in place.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryExists`], [`ErrorKind::Orphaned`], [`ErrorKind::ReservedName`], [`ErrorKind::Denied`].
    pub fn create(name: &Path, busy_wait: Duration) -> Result<(Self, New)> {
        Ok(match Kind::of(name)? {
            Kind::File => {
                let (store, file) = sqlite::Store::create(name, busy_wait)?;
                (Store::of(store), New::Sqlite(file))
            }
            #[cfg(feature = "postgres")]
            Kind::Server => {
                let (store, new) = postgres::Store::create(name, busy_wait)?;
                (Store::Postgres(Arc::new(store)), New::Postgres(new))
            }
        })
    }

    /// Creates the target of a copy of the registry with a name: a file with the permissions of that
    /// registry, if it is in one. On a server, what an earlier attempt has copied is kept.
    ///
    /// # Errors
    ///
    /// Those of [`Store::create`]; [`ErrorKind::UnfinishedCopy`]: there is an unfinished copy of another
    /// registry.
    pub fn create_copy(name: &Path, source: &Path, busy_wait: Duration) -> Result<(Self, Copy)> {
        Ok(match Kind::of(name)? {
            Kind::File => {
                let (store, file) = sqlite::Store::create(name, busy_wait)?;
                match Kind::of(source)? {
                    Kind::File => file.take_permissions_of(source)?,
                    #[cfg(feature = "postgres")]
                    Kind::Server => {}
                }
                (Store::of(store), Copy::Sqlite(file))
            }
            #[cfg(feature = "postgres")]
            Kind::Server => {
                let source = source.to_string_lossy();
                let store = postgres::Store::create_copy(name, &source, busy_wait)?;
                (Store::Postgres(Arc::new(store)), Copy::Postgres)
            }
        })
    }

    fn of(store: sqlite::Store) -> Self {
        Store::Sqlite(Arc::new(store))
    }

    /// The path or the address, without its password, that the registry was opened by, or that a new
    /// one will have. `None` means that it is in memory.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Store::Sqlite(store) => store.path(),
            #[cfg(feature = "postgres")]
            Store::Postgres(store) => Some(store.path()),
        }
    }

    /// Begins a read transaction.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`]: there is another registry at the path now.
    pub fn snapshot(&self, watch: Option<&Watch>) -> Result<Snapshot> {
        Ok(Snapshot::new(match self {
            Store::Sqlite(store) => Of::Sqlite(store.snapshot(watch)?),
            #[cfg(feature = "postgres")]
            Store::Postgres(store) => Of::Postgres(store.snapshot(watch)?),
        }))
    }

    /// Begins a write transaction. Waits for another writer up to the busy wait: of the registry, or
    /// on a server of the dataset that it looks at first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: another writer did not finish in time; [`ErrorKind::ReadOnly`].
    pub fn transaction(&self, watch: Option<&Watch>) -> Result<Transaction> {
        Ok(Transaction::of(match self {
            Store::Sqlite(store) => Of::Sqlite(store.transaction(watch)?),
            #[cfg(feature = "postgres")]
            Store::Postgres(store) => Of::Postgres(store.transaction(watch)?),
        }))
    }

    /// Whether several threads should read the registry at the same time, each with a connection of
    /// its own. A server has a limited number of connections for all its users.
    pub fn has_many_connections(&self) -> bool {
        match self {
            Store::Sqlite(store) => store.has_many_connections(),
            #[cfg(feature = "postgres")]
            Store::Postgres(_) => false,
        }
    }

    /// Whether it is in a file, or in memory, rather than on a server.
    pub fn is_file(&self) -> bool {
        matches!(self, Store::Sqlite(_))
    }

    /// Spreads the registry over the machines of a cluster. Returns how many tables were
    /// distributed, 0 if they had been before.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotAServer`], [`ErrorKind::NoCitus`], [`ErrorKind::Busy`], [`ErrorKind::Denied`].
    pub fn distribute(&self) -> Result<u64> {
        match self {
            Store::Sqlite(_) => Err(Error::stored(
                ErrorKind::NotAServer,
                "the distribution of tables is for a registry on a server, and this one is a file",
            )),
            #[cfg(feature = "postgres")]
            Store::Postgres(store) => store.distribute(),
        }
    }

    /// The only handle of a registry in a file, to close it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: a clone of the store is still in use. [`ErrorKind::NotAFile`].
    pub fn into_file(self) -> Result<sqlite::Store> {
        match self {
            Store::Sqlite(store) => Arc::try_unwrap(store).map_err(|_| Error::busy()),
            #[cfg(feature = "postgres")]
            Store::Postgres(_) => Err(Error::not_a_file("a file to put in place")),
        }
    }
}

impl New {
    /// Makes the registry visible, atomically.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryExists`]: another process has created a registry there. [`ErrorKind::Busy`]: a clone of
    /// the store is still in use.
    pub fn put_in_place(self, store: Store) -> Result<()> {
        match (self, store) {
            (New::Sqlite(file), store) => file.put_in_place(store.into_file()?),
            #[cfg(feature = "postgres")]
            (New::Postgres(new), Store::Postgres(store)) => new.put_in_place(&store),
            #[cfg(feature = "postgres")]
            (New::Postgres(_), Store::Sqlite(_)) => Err(Error::replaced()),
        }
    }
}

impl Copy {
    /// Ends the writing of a copy, and returns it for verification.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`], and the errors of writing.
    pub fn reopen(&self, store: Store, busy_wait: Duration) -> Result<Store> {
        match self {
            Copy::Sqlite(file) => {
                file.close(store.into_file()?)?;
                Ok(Store::of(sqlite::Store::open(file.path(), Access::Read, busy_wait)?))
            }
            #[cfg(feature = "postgres")]
            Copy::Postgres => Ok(store),
        }
    }

    /// Makes a verified copy available to everybody.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryExists`]: another process has created a registry there.
    pub fn finish(self, store: Store) -> Result<()> {
        match (self, store) {
            (Copy::Sqlite(file), store) => {
                drop(store);
                file.put_closed_in_place()
            }
            #[cfg(feature = "postgres")]
            (Copy::Postgres, Store::Postgres(store)) => store.finish_copy(),
            #[cfg(feature = "postgres")]
            (Copy::Postgres, Store::Sqlite(_)) => Err(Error::replaced()),
        }
    }
}
