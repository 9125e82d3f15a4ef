//! New registries on a server: each is filled in the transaction that creates it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use super::address::ServerAddress;
use super::connection::{Connection, value};
use super::session::{ServerStore, Stage, state};
use super::{schema, transaction};
use crate::store::pool::Pool;
use crate::store::{Access, Error, ErrorKind, Result};

impl ServerStore {
    /// Whether there is a registry at an address.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryAddress`], [`ErrorKind::Unreachable`], [`ErrorKind::Denied`].
    pub fn exists(name: &Path) -> Result<bool> {
        let connection = Connection::open(&ServerAddress::parse(name)?)?;
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
        let address = ServerAddress::parse(name)?;
        let connection = Connection::open(&address)?;
        let chosen = connection.begin(&["SHOW synchronous_commit".to_owned()])?;
        let synchronous_commit = chosen.into_iter().flatten().next().unwrap_or_default();
        connection.begin(&transaction::writing(busy_wait, &synchronous_commit, []))?;
        schema::create(&connection)?;
        let path = PathBuf::from(address.to_string());
        Ok(ServerStore {
            pool: Pool::of(connection),
            address,
            access: Access::Write,
            busy_wait,
            synchronous_commit,
            path,
            stage: Stage::New,
            is_distributed: OnceLock::new(),
        })
    }

    /// Commits a new registry.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: a clone of the store is in use. [`ErrorKind::RegistryExists`]: another process
    /// has created a registry.
    pub fn put_in_place(&self) -> Result<()> {
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
