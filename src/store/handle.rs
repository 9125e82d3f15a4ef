//! An open registry, in either store.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::location::{Location, Place};
#[cfg(feature = "postgres")]
use super::postgres;
use super::rows::{BUSY_WAIT, Watch};
use super::session::{StoreSession, Transaction, View};
use super::sqlite::{self, NewFile};
use super::{Error, ErrorKind, Result};
use crate::error::ErrorDetail;

/// An open registry. Clones share its connections.
#[derive(Clone)]
pub(crate) struct Store {
    location: Arc<Location>,
    /// Empty until the first change creates the registry.
    opened: Arc<OnceLock<Opened>>,
    /// How long a writer waits for another writer.
    busy_wait: Duration,
    #[cfg(test)]
    fault: Option<Arc<super::faulty::Fault>>,
}

#[derive(Clone)]
enum Opened {
    File(Arc<sqlite::FileStore>),
    #[cfg(feature = "postgres")]
    Server(Arc<postgres::ServerStore>),
}

/// Evaluates one expression for either store.
macro_rules! of_opened {
    ($opened:expr, $store:ident => $result:expr) => {
        match $opened {
            Opened::File($store) => $result,
            #[cfg(feature = "postgres")]
            Opened::Server($store) => $result,
        }
    };
}

/// A new registry or copy, which no other process can use before it is put in place.
pub(crate) enum NewStore {
    File(NewFile),
    #[cfg(feature = "postgres")]
    Server(Arc<postgres::ServerStore>),
}

impl Opened {
    /// Opens the registry at a location.
    fn open(location: &Location) -> Result<Self> {
        Ok(match location.place() {
            Place::File(path) => Opened::File(Arc::new(sqlite::FileStore::open(path)?)),
            #[cfg(feature = "postgres")]
            Place::Server(address) => {
                Opened::Server(Arc::new(postgres::ServerStore::open(address.read()?)?))
            }
            #[cfg(not(feature = "postgres"))]
            Place::Server(address) => match address.read()? {},
        })
    }
}

impl Store {
    fn of(location: &Location, opened: Option<Opened>) -> Self {
        Store {
            location: Arc::new(location.clone()),
            opened: Arc::new(opened.map_or_else(OnceLock::new, OnceLock::from)),
            busy_wait: BUSY_WAIT,
            #[cfg(test)]
            fault: None,
        }
    }

    /// Opens the registry at a location. Writes nothing before the first transaction.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryMissing`], [`ErrorKind::NotARegistry`], [`ErrorKind::OtherSchema`], and the errors
    /// of opening a file or connecting to a server.
    pub fn open(location: &Location) -> Result<Self> {
        Ok(Store::of(location, Some(Opened::open(location)?)))
    }

    /// Opens the registry at a location. If none exists, [`Store::creation`] of the result creates it.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::open`].
    pub fn open_or_create(location: &Location) -> Result<Self> {
        match location.exists()? {
            true => Store::open(location),
            false => Ok(Store::of(location, None)),
        }
    }

    /// Creates a registry in a temporary file, which is deleted when the last clone is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`]: no temporary file can be created.
    pub fn temporary() -> Result<Self> {
        let (store, path) = sqlite::FileStore::temporary()?;
        Ok(Store::of(&Location::of_file(path), Some(Opened::File(Arc::new(store)))))
    }

    /// Creates a registry for a location: an empty one, or the target of a copy of the registry at `copy_of`.
    /// It can be used at the location after it is put in place. A file gets the permissions of the file at
    /// `copy_of`, if that is a file. On a server, everything is one transaction.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`], [`ErrorKind::Misplaced`], [`ErrorKind::InvalidPath`],
    /// [`ErrorKind::Denied`].
    pub fn create(location: &Location, copy_of: Option<&Location>) -> Result<(Self, NewStore)> {
        let (opened, new) = match location.place() {
            Place::File(path) => {
                let (store, file) = sqlite::FileStore::create(path)?;
                if let Some(Place::File(source)) = copy_of.map(Location::place) {
                    file.take_permissions_of(source)?;
                }
                (Opened::File(Arc::new(store)), NewStore::File(file))
            }
            #[cfg(feature = "postgres")]
            Place::Server(address) => {
                let store = Arc::new(postgres::ServerStore::create(address.read()?, BUSY_WAIT)?);
                (Opened::Server(Arc::clone(&store)), NewStore::Server(store))
            }
            #[cfg(not(feature = "postgres"))]
            Place::Server(address) => match address.read()? {},
        };
        Ok((Store::of(location, Some(opened)), new))
    }

    /// Creates the registry for the first change, or returns `None` if a registry exists. After it is put in
    /// place, this store uses it; if it is dropped before, nothing of it remains.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::create`] except [`ErrorKind::AlreadyExists`]: if another process has created the
    /// registry meanwhile, it is opened.
    pub fn creation(&self) -> Result<Option<(Self, NewStore)>> {
        if self.existing()?.is_some() {
            return Ok(None);
        }
        match Store::create(&self.location, None) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                self.set(Opened::open(&self.location)?);
                Ok(None)
            }
            created => {
                let (store, new) = created?;
                Ok(Some((self.configured(store), new)))
            }
        }
    }

    /// Opens the registry if another process has created it since. `None` means that it does not exist yet.
    fn existing(&self) -> Result<Option<&Opened>> {
        if self.opened.get().is_none() && self.location.exists()? {
            self.set(Opened::open(&self.location)?);
        }
        Ok(self.opened.get())
    }

    fn set(&self, opened: Opened) {
        // If another thread has opened it meanwhile, that thread's connections are used.
        let _ = self.opened.set(opened);
    }

    /// The store to read from. Before the first change, this is an empty registry in memory, one for each read,
    /// so that reads do not wait for each other.
    fn readable(&self) -> Result<Opened> {
        match self.existing()? {
            Some(opened) => Ok(opened.clone()),
            None => Ok(Opened::File(Arc::new(sqlite::FileStore::in_memory()?))),
        }
    }

    /// Another store with the settings of this one.
    fn configured(&self, other: Self) -> Self {
        Store { location: other.location, opened: other.opened, ..self.clone() }
    }

    /// The same registry, whose writers wait this long for another writer.
    #[must_use]
    pub fn with_busy_wait(&self, busy_wait: Duration) -> Self {
        Store { busy_wait, ..self.clone() }
    }

    /// The location of the registry, even if it does not exist yet.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Begins a read transaction.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`](super::ErrorKind::Replaced): another registry is now at the path.
    pub fn snapshot(&self, watch: Option<&Watch>) -> Result<View> {
        let opened = self.readable()?;
        self.begin(
            || of_opened!(&opened, store => Ok(Box::new(store.snapshot(watch, self.busy_wait)?))),
        )
    }

    /// Begins a write transaction. Waits at most the busy wait for another writer: in a file, of the registry;
    /// on a server, of the dataset that the transaction reads first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy): another writer did not finish in time;
    /// [`ErrorKind::Denied`](super::ErrorKind::Denied) and other errors of a registry that cannot be written.
    pub fn transaction(&self, watch: Option<&Watch>) -> Result<Transaction> {
        let opened = self.opened.get().ok_or_else(Error::missing)?;
        let begin = || of_opened!(opened, store => Ok(Box::new(store.transaction(watch, self.busy_wait)?) as _));
        self.begin(begin).map(Transaction::new)
    }

    fn begin(&self, begin: impl FnOnce() -> Result<Box<dyn StoreSession>>) -> Result<View> {
        #[cfg(test)]
        let fault = self.fault.as_ref().map(super::faulty::Fault::begin).transpose()?;
        #[cfg_attr(not(test), expect(unused_mut, reason = "a test makes it fail"))]
        let mut view = View::new(begin()?);
        #[cfg(test)]
        {
            view.fault = fault;
        }
        Ok(view)
    }

    /// Whether several threads should read the registry at the same time, each with its own connection. False
    /// on a server, which has a limited number of connections for all its users.
    pub fn has_many_connections(&self) -> bool {
        match self.opened.get() {
            Some(Opened::File(store)) => store.has_many_connections(),
            #[cfg(feature = "postgres")]
            Some(Opened::Server(_)) => false,
            None => false,
        }
    }

    /// Distributes the registry over the machines of a cluster. Returns the number of tables that were
    /// distributed: 0 if all were distributed before.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](super::ErrorKind::Unsupported): the registry is a file, or the extension is
    /// not installed. [`ErrorKind::Busy`](super::ErrorKind::Busy),
    /// [`ErrorKind::Denied`](super::ErrorKind::Denied).
    pub fn distribute(&self) -> Result<u64> {
        match self.opened.get() {
            None => Err(Error::missing()),
            Some(Opened::File(_)) => Err(Error::stored(
                ErrorDetail::NotAServer,
                "this registry is a file; distribute needs one on a PostgreSQL server",
            )),
            #[cfg(feature = "postgres")]
            Some(Opened::Server(store)) => store.distribute(self.busy_wait),
        }
    }

    /// The same registry, with a fault that fails calls.
    #[cfg(test)]
    pub fn with_fault(&self, fault: Arc<super::faulty::Fault>) -> Self {
        Store { fault: Some(fault), ..self.clone() }
    }

    /// Closes all connections.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy): a clone of the store is still in use. Errors of closing the
    /// connections.
    pub fn close_all(self) -> Result<()> {
        let opened = Arc::into_inner(self.opened).ok_or_else(Error::busy)?;
        opened.into_inner().map_or(Ok(()), |opened| of_opened!(opened, store => store.close()))
    }

    /// Closes a registry that was written to a new file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy): a clone of the store is still in use.
    /// [`ErrorKind::Unsupported`](super::ErrorKind::Unsupported): the registry is on a server. Errors of
    /// writing.
    pub fn close(self, file: &NewFile) -> Result<()> {
        let opened = Arc::into_inner(self.opened).ok_or_else(Error::busy)?;
        match opened.into_inner() {
            None => Err(Error::missing()),
            Some(Opened::File(store)) => file.close(store.into_connection()?),
            #[cfg(feature = "postgres")]
            Some(Opened::Server(_)) => Err(Error::not_a_file("a file to put in place")),
        }
    }
}

impl NewStore {
    /// Finishes writing a copy, and returns it for verification.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy), and the errors of writing.
    pub fn reopen(&self, store: Store) -> Result<Store> {
        match self {
            NewStore::File(file) => {
                let location = Arc::clone(&store.location);
                store.close(file)?;
                let reopened = sqlite::FileStore::open(file.path())?;
                Ok(Store::of(&location, Some(Opened::File(Arc::new(reopened)))))
            }
            #[cfg(feature = "postgres")]
            NewStore::Server(_) => Ok(store),
        }
    }

    /// Makes the registry visible to everybody, atomically. `store` is the store that filled it; `None` means
    /// that it was reopened since, and is not in use.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](super::ErrorKind::AlreadyExists): another process has created a
    /// registry there. [`ErrorKind::Busy`](super::ErrorKind::Busy): a clone of the store is still in use.
    pub fn put_in_place(self, store: Option<Store>) -> Result<()> {
        match self {
            NewStore::File(file) => {
                store.map_or(Ok(()), |store| store.close(&file))?;
                file.put_in_place()
            }
            #[cfg(feature = "postgres")]
            NewStore::Server(created) => created.put_in_place(),
        }
    }
}
