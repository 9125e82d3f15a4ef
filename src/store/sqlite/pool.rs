//! Connections that are kept open between two uses.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use crate::store::Error;

/// Idle connections that are kept; more are closed when they are returned.
const MAX_IDLE: usize = 8;

/// The idle connections of a registry.
pub(super) struct Pool {
    idle: Mutex<Vec<Connection>>,
    returned: Condvar,
}

impl Pool {
    /// A pool that begins with one connection.
    pub fn of(connection: Connection) -> Self {
        Pool { idle: Mutex::new(vec![connection]), returned: Condvar::new() }
    }

    /// An idle connection. `None` if there is none.
    pub fn take(&self) -> Option<Connection> {
        self.idle().pop()
    }

    /// The next connection that is returned, for a registry that can have only one.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`]: none was returned within `busy_wait`.
    pub fn wait(&self, busy_wait: Duration) -> Result<Connection, Error> {
        let wait = self.returned.wait_timeout_while(self.idle(), busy_wait, |idle| idle.is_empty());
        let (mut idle, _) = wait.unwrap_or_else(PoisonError::into_inner);
        idle.pop().ok_or(Error::Busy)
    }

    /// Takes a connection back; closes it if there are enough.
    pub fn put_back(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE {
            idle.push(connection);
            self.returned.notify_one();
        }
    }

    /// Closes the idle connections, and returns one of them.
    pub fn into_one(self) -> Option<Connection> {
        self.idle.into_inner().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// No panic leaves the list half changed, so a poisoned lock is as good as any.
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
