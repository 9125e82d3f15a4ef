//! Idle connections, which are kept open for the next use.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The greatest number of idle connections that are kept; a further one is closed when it is
/// returned.
const MAX_IDLE: usize = 8;

/// The idle connections of a registry.
pub(super) struct Pool<Connection> {
    idle: Mutex<Vec<Connection>>,
    returned: Condvar,
}

impl<Connection> Pool<Connection> {
    /// Creates a pool with one connection.
    pub fn of(connection: Connection) -> Self {
        Pool { idle: Mutex::new(vec![connection]), returned: Condvar::new() }
    }

    /// Takes an idle connection. `None` means that there are none.
    pub fn take(&self) -> Option<Connection> {
        self.idle().pop()
    }

    /// Waits for the connection that is returned next, of a registry that has only one. `None` means
    /// that none was returned within `busy_wait`.
    pub fn wait(&self, busy_wait: Duration) -> Option<Connection> {
        let wait = self.returned.wait_timeout_while(self.idle(), busy_wait, |idle| idle.is_empty());
        let (mut idle, _) = wait.unwrap_or_else(PoisonError::into_inner);
        idle.pop()
    }

    /// Returns a connection, or closes it if there are enough.
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

    #[test]
    fn the_only_connection_is_waited_for_and_no_more_are_kept_than_needed() {
        let pool = Pool::of(0);
        assert_eq!(pool.take(), Some(0));
        assert_eq!(pool.take(), None);
        assert_eq!(pool.wait(Duration::ZERO), None);
        (0..20).for_each(|connection| pool.put_back(connection));
        assert_eq!(pool.wait(Duration::ZERO), Some(7));
        assert_eq!(pool.into_one(), Some(6));
    }
}
