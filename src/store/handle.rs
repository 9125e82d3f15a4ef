//! An open registry, in either store, and its name: the path of a file, or the address of a server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "postgres")]
use super::postgres;
use super::rows::{Access, Watch};
use super::session::{StoreSession, Transaction, View};
use super::sqlite::{self, NewFile};
use super::{Error, Result};
use crate::error::Detail;

/// An open registry. Clones share its connections.
#[derive(Clone)]
pub(crate) struct Store {
    opened: Opened,
    #[cfg(test)]
    fault: Option<Arc<super::faulty::Fault>>,
}

#[derive(Clone)]
enum Opened {
    File(Arc<sqlite::FileStore>),
    #[cfg(feature = "postgres")]
    Server(Arc<postgres::ServerStore>),
}

/// What is the same for either store.
macro_rules! of_opened {
    ($opened:expr, $store:ident => $result:expr) => {
        match $opened {
            Opened::File($store) => $result,
            #[cfg(feature = "postgres")]
            Opened::Server($store) => $result,
        }
    };
}

/// A new registry, or a copy, that nobody else uses until it is put in place.
pub(crate) enum NewStore {
    File(NewFile),
    #[cfg(feature = "postgres")]
    Server(Arc<postgres::ServerStore>),
}

/// Whether there is something at the path or the address of a registry: a registry, or another file.
///
/// # Errors
///
/// [`ErrorKind::Address`](super::ErrorKind::Address),
/// [`ErrorKind::Unreachable`](super::ErrorKind::Unreachable);
/// [`ErrorKind::Denied`](super::ErrorKind::Denied).
pub(crate) fn exists(name: &Path) -> Result<bool> {
    match kind_of(name)? {
        Kind::File => Ok(name.exists()),
        #[cfg(feature = "postgres")]
        Kind::Server => postgres::ServerStore::exists(name),
    }
}

impl Store {
    fn of(opened: Opened) -> Self {
        Store {
            opened,
            #[cfg(test)]
            fault: None,
        }
    }

    /// Opens the registry at a path or an address.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryMissing`](super::ErrorKind::RegistryMissing),
    /// [`ErrorKind::NotARegistry`](super::ErrorKind::NotARegistry),
    /// [`ErrorKind::OtherSchema`](super::ErrorKind::OtherSchema) and what opening a file, or connecting to a
    /// server, may return.
    pub fn open(name: &Path, access: Access, busy_wait: Duration) -> Result<Self> {
        Ok(Store::of(match kind_of(name)? {
            Kind::File => Opened::File(Arc::new(sqlite::FileStore::open(name, access, busy_wait)?)),
            #[cfg(feature = "postgres")]
            Kind::Server => {
                Opened::Server(Arc::new(postgres::ServerStore::open(name, access, busy_wait)?))
            }
        }))
    }

    /// Creates a registry in memory, which is deleted when it is dropped.
    pub fn in_memory(busy_wait: Duration) -> Result<Self> {
        Ok(Store::of(Opened::File(Arc::new(sqlite::FileStore::in_memory(busy_wait)?))))
    }

    /// Creates a registry for a path or an address, which can be used there once it is put in place:
    /// an empty one, or the target of a copy of the registry with a name (`copy_of`). A file gets the
    /// permissions of that registry, if it is in one. On a server it is all one transaction.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](super::ErrorKind::AlreadyExists),
    /// [`ErrorKind::Misplaced`](super::ErrorKind::Misplaced),
    /// [`ErrorKind::InvalidPath`](super::ErrorKind::InvalidPath),
    /// [`ErrorKind::Denied`](super::ErrorKind::Denied).
    pub fn create(
        name: &Path,
        copy_of: Option<&Path>,
        busy_wait: Duration,
    ) -> Result<(Self, NewStore)> {
        match kind_of(name)? {
            Kind::File => {
                let (store, file) = sqlite::FileStore::create(name, busy_wait)?;
                let is_file = |source: &&Path| check_is_file(source, "permissions").is_ok();
                copy_of
                    .filter(is_file)
                    .map_or(Ok(()), |source| file.take_permissions_of(source))?;
                Ok((Store::of(Opened::File(Arc::new(store))), NewStore::File(file)))
            }
            #[cfg(feature = "postgres")]
            Kind::Server => {
                let store = Arc::new(postgres::ServerStore::create(name, busy_wait)?);
                Ok((Store::of(Opened::Server(Arc::clone(&store))), NewStore::Server(store)))
            }
        }
    }

    /// The path or the address, without its password, that the registry was opened by, or that a new
    /// one will have. `None` means that it is in memory.
    pub fn path(&self) -> Option<&Path> {
        of_opened!(&self.opened, store => store.path())
    }

    /// Begins a read transaction.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`](super::ErrorKind::Replaced): there is another registry at the path now.
    pub fn snapshot(&self, watch: Option<&Watch>) -> Result<View> {
        self.begin(|| of_opened!(&self.opened, store => Ok(Box::new(store.snapshot(watch)?))))
    }

    /// Begins a write transaction. Waits for another writer up to the busy wait: of the registry, or
    /// on a server of the dataset that it looks at first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy): another writer did not finish in time;
    /// [`ErrorKind::Denied`](super::ErrorKind::Denied).
    pub fn transaction(&self, watch: Option<&Watch>) -> Result<Transaction> {
        let begin =
            || of_opened!(&self.opened, store => Ok(Box::new(store.transaction(watch)?) as _));
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

    /// Whether several threads should read the registry at the same time, each with a connection of
    /// its own. A server has a limited number of connections for all its users.
    pub fn has_many_connections(&self) -> bool {
        match &self.opened {
            Opened::File(store) => store.has_many_connections(),
            #[cfg(feature = "postgres")]
            Opened::Server(_) => false,
        }
    }

    /// Whether it is in a file, or in memory, rather than on a server.
    pub fn is_file(&self) -> bool {
        matches!(self.opened, Opened::File(_))
    }

    /// Spreads the registry over the machines of a cluster. Returns how many tables were
    /// distributed, 0 if they had been before.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](super::ErrorKind::Unsupported): the registry is a file, or the extension is
    /// not installed. [`ErrorKind::Busy`](super::ErrorKind::Busy),
    /// [`ErrorKind::Denied`](super::ErrorKind::Denied).
    pub fn distribute(&self) -> Result<u64> {
        match &self.opened {
            Opened::File(_) => Err(Error::stored(
                Detail::NotAServer,
                "this registry is a file; distribute needs one on a PostgreSQL server",
            )),
            #[cfg(feature = "postgres")]
            Opened::Server(store) => store.distribute(),
        }
    }

    /// The same registry, which fails once.
    #[cfg(test)]
    pub fn with_fault(&self, fault: Arc<super::faulty::Fault>) -> Self {
        Store { fault: Some(fault), ..self.clone() }
    }

    /// Closes all connections.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy): a clone of the store is still in use; what the store
    /// reports.
    pub fn close_all(self) -> Result<()> {
        of_opened!(self.opened, store => store.close())
    }

    /// Ends the writing of a registry in a new file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy): a clone of the store is still in use, or the errors of
    /// writing. [`ErrorKind::Unsupported`](super::ErrorKind::Unsupported).
    pub fn close(self, file: &NewFile) -> Result<()> {
        match self.opened {
            Opened::File(store) => file.close(store.into_connection()?),
            #[cfg(feature = "postgres")]
            Opened::Server(_) => Err(Error::not_a_file("a file to put in place")),
        }
    }
}

impl NewStore {
    /// Ends the writing of a copy, and returns it for verification.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy), and the errors of writing.
    pub fn reopen(&self, store: Store, busy_wait: Duration) -> Result<Store> {
        match self {
            NewStore::File(file) => {
                store.close(file)?;
                let reopened = sqlite::FileStore::open(file.path(), Access::Read, busy_wait)?;
                Ok(Store::of(Opened::File(Arc::new(reopened))))
            }
            #[cfg(feature = "postgres")]
            NewStore::Server(_) => Ok(store),
        }
    }

    /// Makes the registry available to everybody, atomically. `store` is what filled it; `None` means
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

/// What the name of a registry is of.
enum Kind {
    /// Of a file: its path.
    File,
    /// Of a registry on a server: its address.
    #[cfg(feature = "postgres")]
    Server,
}

/// What the address of a server begins with, whatever its case.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The kind of registry that a name belongs to.
///
/// # Errors
///
/// [`ErrorKind::Address`], which does not repeat it: it is an address of another kind, or the
/// parameters of one, either of which can contain a password. [`ErrorKind::Unsupported`].
fn kind_of(name: &Path) -> Result<Kind> {
    let text = name.to_string_lossy().to_ascii_lowercase();
    if SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
        #[cfg(feature = "postgres")]
        return Ok(Kind::Server);
        #[cfg(not(feature = "postgres"))]
        return Err(Error::stored(
            super::ErrorKind::Unsupported,
            "this program was built without the feature `postgres`",
        ));
    }
    // libpq also takes `host=… dbname=…`, and people type a scheme with one slash or none. Each can
    // contain a password, and none is the name of a file.
    let is_of_libpq = || {
        let has_parameter = |name: &str| {
            let names = text.match_indices(name).map(|(at, _)| text.split_at(at));
            names.into_iter().any(|(before, rest)| {
                before.chars().next_back().is_none_or(char::is_whitespace)
                    && rest[name.len()..].trim_start().starts_with('=')
            })
        };
        ["host", "hostaddr", "port", "dbname", "user", "password", "passfile", "service", "sslmode"]
            .into_iter()
            .any(has_parameter)
            || ["postgres:", "postgresql:"].iter().any(|scheme| text.starts_with(scheme))
    };
    let states_password =
        || text.split("password").skip(1).any(|rest| rest.trim_start().starts_with('='));
    if text.starts_with("file://") {
        return Err(Error::address("a file is named by its path, without file://"));
    }
    if text.contains("://") || states_password() || is_of_libpq() {
        let what = "it is neither the path of a file nor an address that begins with postgres://";
        return Err(Error::address(what));
    }
    Ok(Kind::File)
}

/// Refuses the address of a server for what only a file can be used for.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`], [`ErrorKind::Address`].
#[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "there are only files"))]
pub(crate) fn check_is_file(name: &Path, what: &str) -> Result<()> {
    match kind_of(name)? {
        Kind::File => Ok(()),
        #[cfg(feature = "postgres")]
        Kind::Server => Err(Error::not_a_file(what)),
    }
}

/// The path or the address of a registry as a message shows it: a path is absolute, with links
/// resolved where it exists; an address is without its password.
pub(crate) fn full_name(name: &Path) -> PathBuf {
    match kind_of(name) {
        Ok(Kind::File) => {
            let path = name.canonicalize().or_else(|_| std::path::absolute(name));
            path.unwrap_or_else(|_| name.to_owned())
        }
        #[cfg(feature = "postgres")]
        Ok(Kind::Server) => postgres::shown(name),
        Err(_) => of_unknown_kind(name),
    }
}

/// The scheme of an address: what follows can contain a password.
fn of_unknown_kind(name: &Path) -> PathBuf {
    let is_of_scheme =
        |character: char| character.is_ascii_alphanumeric() || "+-.".contains(character);
    match name.to_string_lossy().split_once("://") {
        Some((scheme, _)) if scheme.chars().all(is_of_scheme) => format!("{scheme}://").into(),
        _ => PathBuf::from("(an address)"),
    }
}

/// The path or the address of a registry as it was given, but an address without its password.
pub(crate) fn shown_name(name: &Path) -> PathBuf {
    match check_is_file(name, "a path") {
        Ok(()) => name.to_owned(),
        Err(_) => full_name(name),
    }
}

#[cfg(all(test, not(feature = "postgres")))]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_server_needs_the_feature() {
        let error = kind_of(Path::new("postgres://user@localhost/archive")).err().unwrap();
        assert_eq!(error.kind(), super::super::ErrorKind::Unsupported);
        assert!(error.to_string().contains("`postgres`"), "{error}");
    }
}
