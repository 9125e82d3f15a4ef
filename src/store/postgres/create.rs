//! New registries on a server, and copies that are not finished.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::address::Address;
use super::connection::{Connection, value};
use super::parameter::text;
use super::pool::Pool;
use super::schema;
use super::session::{Stage, Store, state};
use super::settings;
use crate::store::{Access, Error, ErrorKind, Result};

/// A new registry that is complete when it is put in place.
pub(crate) struct NewDatabase {
    address: Address,
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
    pub fn create(name: &Path, busy_wait: Duration) -> Result<(Self, NewDatabase)> {
        let address = Address::parse(name)?;
        let connection = Connection::open(&address)?;
        let chosen = connection.begin(&["SHOW synchronous_commit".to_owned()])?;
        let synchronous_commit = chosen.into_iter().flatten().next().unwrap_or_default();
        connection.begin(&settings::writing(busy_wait, &synchronous_commit, []))?;
        schema::create(&connection)?;
        let path = PathBuf::from(address.to_string());
        let new = NewDatabase { address: address.clone() };
        let store = Store {
            pool: Pool::default(),
            address,
            access: Access::Write,
            busy_wait,
            synchronous_commit,
            path,
            stage: Stage::New,
            machines: OnceLock::new(),
        };
        store.pool.put_back(connection);
        Ok((store, new))
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
            Ok((store, new)) => {
                let store = Arc::new(store);
                let connection = store.pool.take().ok_or_else(Error::busy)?;
                connection.execute(MARK, &[text(source)])?;
                store.pool.put_back(connection);
                new.put_in_place(&store)?;
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
        connection.begin(&settings::writing(self.busy_wait, &self.synchronous_commit, []))?;
        connection.defer(FINISH, &[])?;
        connection.run("COMMIT")?;
        self.pool.put_back(connection);
        Ok(())
    }
}

impl NewDatabase {
    /// Commits the registry.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: a clone of the store is in use. [`ErrorKind::RegistryExists`]: another process has
    /// created a registry.
    pub fn put_in_place(self, store: &Arc<Store>) -> Result<()> {
        const ID: &str = "
            SELECT registry_id::text
            FROM accession.registry";
        let connection = store.pool.take().ok_or_else(Error::busy)?;
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
