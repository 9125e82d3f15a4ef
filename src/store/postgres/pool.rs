//! Idle connections, which are kept open for the next use.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::connection::Connection;
use crate::store::Error;

/// The greatest number of idle connections that are kept; a further one is closed when it is
/// returned.
const MAX_IDLE: usize = 8;

/// The idle connections of a registry.
#[derive(Default)]
pub(super) struct Pool {
    idle: Mutex<Vec<Connection>>,
    returned: Condvar,
}

impl Pool {
    /// Takes an idle connection that is not known to be lost. `None` means that there are none.
    pub fn take(&self) -> Option<Connection> {
        let mut idle = self.idle();
        while let Some(connection) = idle.pop() {
            if !connection.is_closed() {
                return Some(connection);
            }
        }
        None
    }

    /// Waits for the connection that is returned next, of a registry that has only one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: none was returned within `busy_wait`.
    pub fn wait(&self, busy_wait: Duration) -> Result<Connection, Error> {
        let wait = self.returned.wait_timeout_while(self.idle(), busy_wait, |idle| idle.is_empty());
        let (mut idle, _) = wait.unwrap_or_else(PoisonError::into_inner);
        idle.pop().ok_or_else(Error::busy)
    }

    /// Returns a connection, or closes it if there are enough.
    pub fn put_back(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE {
            idle.push(connection);
            self.returned.notify_one();
        }
    }

    /// A panic cannot leave the list in an inconsistent state, so a poisoned lock is used as well.
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
