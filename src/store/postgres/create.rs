//! New registries on a server, and copies that are not finished.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::address::{Address, shown};
use super::connection::{Connection, value};
use super::session::{Stage, Store, state};
use super::{schema, transaction};
use crate::store::pool::Pool;
use crate::store::session::{Kind, NewStorage, Storage};
use crate::store::{Access, Error, ErrorKind, Result};

/// Registries on servers, by their addresses.
pub(in crate::store) struct Server;

/// A new registry, or a copy, that is complete when it is put in place.
struct NewDatabase {
    store: Arc<Store>,
    is_copy: bool,
}

impl Kind for Server {
    fn exists(&self, name: &Path) -> Result<bool> {
        Store::exists(name)
    }

    fn open(&self, name: &Path, access: Access, busy_wait: Duration) -> Result<Arc<dyn Storage>> {
        Ok(Arc::new(Store::open(name, access, busy_wait)?))
    }

    fn create(
        &self,
        name: &Path,
        copy_of: Option<&Path>,
        busy_wait: Duration,
    ) -> Result<(Arc<dyn Storage>, Box<dyn NewStorage>)> {
        let store = match copy_of {
            None => Store::create(name, busy_wait)?,
            Some(source) => Store::create_copy(name, &source.to_string_lossy(), busy_wait)?,
        };
        let store = Arc::new(store);
        Ok((store.clone(), Box::new(NewDatabase { store, is_copy: copy_of.is_some() })))
    }

    fn check_is_file(&self, what: &'static str) -> Result<()> {
        Err(Error::not_a_file(what))
    }

    fn full_name(&self, name: &Path) -> PathBuf {
        shown(name)
    }
}

impl NewStorage for NewDatabase {
    fn take_permissions_of(&self, _: &Path) -> Result<()> {
        Ok(())
    }

    fn reopen(&self, store: Arc<dyn Storage>, _: Duration) -> Result<Arc<dyn Storage>> {
        Ok(store)
    }

    fn put_in_place(self: Box<Self>, _: Option<Arc<dyn Storage>>) -> Result<()> {
        if self.is_copy { self.store.finish_copy() } else { self.store.put_in_place() }
    }
}

impl Store {
    /// Whether there is a registry at an address.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryAddress`], [`ErrorKind::Unreachable`], [`ErrorKind::Denied`].
    pub fn exists(name: &Path) -> Result<bool> {
        let connection = Connection::open(&Address::parse(name)?)?;
        match state(&connection) {
            Ok(_) => Ok(true),
            Err(error) => match error.kind() {
                ErrorKind::RegistryMissing => Ok(false),
                ErrorKind::NotARegistry => Ok(true),
                _ => Err(error),
            },
        }
    }

    /// Creates a registry at an address, which is visible there once it is put in place.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryExists`]: there is one. [`ErrorKind::Denied`]: the role may not create a schema.
    pub fn create(name: &Path, busy_wait: Duration) -> Result<Self> {
        let address = Address::parse(name)?;
        let connection = Connection::open(&address)?;
        let chosen = connection.begin(&["SHOW synchronous_commit".to_owned()])?;
        let synchronous_commit = chosen.into_iter().flatten().next().unwrap_or_default();
        connection.begin(&transaction::writing(busy_wait, &synchronous_commit, []))?;
        schema::create(&connection)?;
        let path = PathBuf::from(address.to_string());
        Ok(Store {
            pool: Pool::of(connection),
            address,
            access: Access::Write,
            busy_wait,
            synchronous_commit,
            path,
            stage: Stage::New,
            machines: OnceLock::new(),
        })
    }

    /// Creates a registry that is marked as an unfinished copy of another, or opens the one that an
    /// earlier attempt has left. It is visible at once, and refused by everybody else until
    /// [`Store::finish_copy`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryExists`]: there is a registry that is not an unfinished copy of that one.
    pub fn create_copy(name: &Path, source: &str, busy_wait: Duration) -> Result<Self> {
        const MARK: &str = "
            UPDATE accession.registry
            SET copied_from = $1";
        match Store::create(name, busy_wait) {
            Ok(store) => {
                let connection = store.pool.take().ok_or_else(Error::busy)?;
                connection.execute(MARK, &[source.into()])?;
                store.pool.put_back(connection);
                store.put_in_place()?;
            }
            Err(error) if error.kind() == ErrorKind::RegistryExists => {}
            Err(error) => return Err(error),
        }
        let (store, copied_from) = Store::open_unfinished(name, Access::Write, busy_wait)?;
        match copied_from {
            Some(found) if found == source => Ok(store),
            Some(found) => Err(Error::unfinished_copy(&found)),
            None => Err(Error::exists()),
        }
    }

    /// Removes the mark of an unfinished copy.
    ///
    /// # Errors
    ///
    /// Those of the connection.
    pub fn finish_copy(&self) -> Result<()> {
        const FINISH: &str = "
            UPDATE accession.registry
            SET copied_from = NULL";
        let connection = self.connection()?;
        connection.begin(&transaction::writing(self.busy_wait, &self.synchronous_commit, []))?;
        connection.defer(FINISH, &[])?;
        connection.run("COMMIT")?;
        self.pool.put_back(connection);
        Ok(())
    }

    /// Commits a new registry.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: a clone of the store is in use. [`ErrorKind::RegistryExists`]: another process has
    /// created a registry.
    fn put_in_place(&self) -> Result<()> {
        const ID: &str = "
            SELECT registry_id::text
            FROM accession.registry";
        let connection = self.pool.take().ok_or_else(Error::busy)?;
        let row = connection.query_opt(ID, &[])?.ok_or_else(Error::replaced)?;
        let registry_id: String = value(&row, 0)?;
        match connection.run("COMMIT") {
            Err(lost) if lost.kind() == ErrorKind::ConnectionLost => {
                let found = Connection::open(&self.address).and_then(|other| state(&other));
                match found {
                    Ok((stated, _)) if stated.registry_id == registry_id => Ok(()),
                    Ok(_) => Err(Error::exists()),
                    Err(error) if error.kind() == ErrorKind::RegistryMissing => Err(lost),
                    Err(_) => Err(Error::outcome_unknown()),
                }
            }
            result => result,
        }
    }
}
