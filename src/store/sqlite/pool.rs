//! Idle connections, which are kept open for the next use.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use crate::store::{Error, ErrorKind};

/// The greatest number of idle connections that are kept; a further one is closed when it is
/// returned.
const MAX_IDLE: usize = 8;

/// The idle connections of a registry.
pub(super) struct Pool {
    idle: Mutex<Vec<Connection>>,
    returned: Condvar,
}

impl Pool {
    /// Creates a pool with one connection.
    pub fn of(connection: Connection) -> Self {
        Pool { idle: Mutex::new(vec![connection]), returned: Condvar::new() }
    }

    /// Takes an idle connection. `None` means that there are none.
    pub fn take(&self) -> Option<Connection> {
        self.idle().pop()
    }

    /// Waits for the next connection that is returned, in a registry that can have only one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: no connection was returned within `busy_wait`.
    pub fn wait(&self, busy_wait: Duration) -> Result<Connection, Error> {
        let wait = self.returned.wait_timeout_while(self.idle(), busy_wait, |idle| idle.is_empty());
        let (mut idle, _) = wait.unwrap_or_else(PoisonError::into_inner);
        idle.pop().ok_or_else(|| {
            let message = "the registry has only one connection, which a snapshot or another operation still uses";
            Error::stored(ErrorKind::Busy, message)
        })
    }

    /// Returns a connection to the pool, or closes it if the pool is full.
    pub fn put_back(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE {
            idle.push(connection);
            self.returned.notify_one();
        }
    }

    /// Closes all idle connections but one, which is returned.
    pub fn into_one(self) -> Option<Connection> {
        self.idle.into_inner().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// A panic cannot leave the list in an inconsistent state, so a poisoned lock is used as well.
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody else can be writing to a registry that has only one connection.
    #[test]
    fn the_only_connection_of_a_registry_is_in_use_by_itself() {
        let pool = Pool::of(Connection::open_in_memory().unwrap());
        let connection = pool.take().unwrap();
        let error = pool.wait(Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        assert!(!error.to_string().contains("another process"), "{error}");
        pool.put_back(connection);
        assert!(pool.wait(Duration::ZERO).is_ok());
    }
}
