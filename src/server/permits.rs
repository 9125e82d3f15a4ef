//! How many tasks work at once, for which clients, and until when.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::client::Client;
use crate::registry::Monitor;

/// A number of permits, such as one for each task that reads the registry, or one for each kibibyte
/// in memory.
pub struct Permits {
    all: Arc<Semaphore>,
    /// How many of them a client may hold: half, and at least one.
    share: u32,
    /// The shares of the clients that hold permits or wait for some.
    clients: Mutex<HashMap<Client, Weak<Semaphore>>>,
}

/// Some permits, which are given back when this is dropped.
pub struct Permit {
    all: OwnedSemaphorePermit,
    /// Those of the client's share. `None` means that the client is not known.
    own: Option<OwnedSemaphorePermit>,
}

impl Permits {
    /// Permits that nobody holds yet.
    pub fn new(count: usize) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
        Permits {
            all: Arc::new(Semaphore::new(count as usize)),
            share: (count / 2).max(1),
            clients: Mutex::default(),
        }
    }

    /// Waits for permits. A client gets at most its share, and waits for its own before it waits
    /// for those of all, so that its requests are not before those of others. `None` is never
    /// returned, since the permits are never closed.
    pub async fn acquire(&self, client: Option<Client>, count: u32) -> Option<Permit> {
        let count = count.min(self.share);
        let own = match client {
            Some(client) => Some(self.share_of(client).acquire_many_owned(count).await.ok()?),
            None => None,
        };
        let all = Arc::clone(&self.all).acquire_many_owned(count).await.ok()?;
        Some(Permit { all, own })
    }

    /// Takes permits if they are there at once.
    pub fn try_acquire(&self, client: Option<Client>, count: u32) -> Option<Permit> {
        let count = count.min(self.share);
        let own = match client {
            Some(client) => Some(self.share_of(client).try_acquire_many_owned(count).ok()?),
            None => None,
        };
        let all = Arc::clone(&self.all).try_acquire_many_owned(count).ok()?;
        Some(Permit { all, own })
    }

    fn share_of(&self, client: Client) -> Arc<Semaphore> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = clients.get(&client).and_then(Weak::upgrade) {
            return share;
        }
        // Those that nobody uses any more.
        clients.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(self.share as usize));
        clients.insert(client, Arc::downgrade(&share));
        share
    }
}

impl Permit {
    /// Gives back all but some of the permits.
    pub fn keep(&mut self, count: u32) {
        for permit in [Some(&mut self.all), self.own.as_mut()].into_iter().flatten() {
            drop(permit.split(permit.num_permits().saturating_sub(count as usize)));
        }
    }
}

/// When work must stop: at a time, or as soon as its client does not wait for it any more.
pub struct Deadline {
    until: Mutex<Instant>,
    is_abandoned: AtomicBool,
}

/// The client waits for the work until this is dropped.
pub struct Waiting(Arc<Deadline>);

impl Deadline {
    /// A deadline that begins now.
    pub fn after(time: Duration) -> Arc<Self> {
        let until = Mutex::new(Instant::now() + time);
        Arc::new(Deadline { until, is_abandoned: AtomicBool::new(false) })
    }

    /// Sets the time anew, for work that goes on in several steps.
    pub fn restart(&self, time: Duration) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + time;
    }

    /// The time at which the work must stop.
    pub fn until(&self) -> Instant {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the work must stop.
    pub fn is_over(&self) -> bool {
        self.is_abandoned.load(Ordering::Relaxed) || Instant::now() >= self.until()
    }

    /// Marks the work as abandoned once the result is dropped.
    pub fn waiting(self: &Arc<Self>) -> Waiting {
        Waiting(Arc::clone(self))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.is_abandoned.store(true, Ordering::Relaxed);
    }
}

impl Monitor for Deadline {
    fn begin(&self, _: &'static str, _: &'static str, _: Option<u64>) {}

    fn advance(&self, _: u64) -> ControlFlow<()> {
        if self.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn end(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::client::Peer;

    fn client(address: &str) -> Option<Client> {
        Client::of(Some(Peer(address.parse().unwrap())), &Default::default(), &[])
    }

    #[test]
    fn no_client_holds_more_than_half() {
        let permits = Permits::new(8);
        let (one, other) = (client("192.0.2.1"), client("192.0.2.2"));
        let mut held = permits.try_acquire(one, 4).unwrap();
        assert!(permits.try_acquire(one, 1).is_none());
        let others = permits.try_acquire(other, 4).unwrap();
        assert!(permits.try_acquire(client("192.0.2.3"), 1).is_none(), "all are held");
        held.keep(3);
        let last = permits.try_acquire(one, 1).unwrap();
        assert!(permits.try_acquire(None, 1).is_none());
        drop((held, others, last));
        // One that is not known may hold all, one request at most half.
        let half = permits.try_acquire(None, 100).unwrap();
        assert_eq!(permits.all.available_permits(), 4);
        assert!(permits.try_acquire(None, 4).is_some());
        drop(half);
        assert!(permits.try_acquire(client("192.0.2.4"), 1).is_some());
        assert_eq!(permits.clients.lock().unwrap().len(), 1, "those that are gone are forgotten");
    }

    #[test]
    fn a_client_gets_the_only_permit() {
        let permits = Permits::new(1);
        let held = permits.try_acquire(client("192.0.2.1"), 1).unwrap();
        assert!(permits.try_acquire(client("192.0.2.2"), 1).is_none());
        drop(held);
        assert!(permits.try_acquire(client("192.0.2.2"), 1).is_some());
    }
}
