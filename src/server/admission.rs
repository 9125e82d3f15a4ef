//! Which connections may be used: as many as the limit says, and some that wait.
//!
//! Connections beyond the limit are accepted, too, so that the probes of an operator are answered
//! while all others are in use or stalled. A request for anything else waits on such a connection
//! until one within the limit is closed. If too many wait, the one that came first is refused.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// How many connections beyond the limit are accepted.
const WAITING: usize = 64;

/// The connections that are open.
pub struct Admission {
    permits: Arc<Semaphore>,
    waiting: VecDeque<Waiting>,
}

/// A connection beyond the limit, and how it is refused.
struct Waiting {
    permit: Weak<OnceLock<OwnedSemaphorePermit>>,
    refuse: watch::Sender<bool>,
}

/// A connection that was accepted.
#[derive(Clone)]
pub struct Admitted {
    permits: Arc<Semaphore>,
    permit: Arc<OnceLock<OwnedSemaphorePermit>>,
    refused: watch::Receiver<bool>,
}

/// The connection waited, and others came after it.
pub struct Refused;

impl Admission {
    /// No connection, and a limit.
    pub fn new(limit: usize) -> Self {
        Admission { permits: Arc::new(Semaphore::new(limit)), waiting: VecDeque::new() }
    }

    /// Admits a connection that was accepted: at once, or to wait.
    pub fn admit(&mut self) -> Admitted {
        let (refuse, refused) = watch::channel(false);
        let permit = Arc::new(OnceLock::new());
        let admitted = Admitted { permits: Arc::clone(&self.permits), permit, refused };
        match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => drop(admitted.permit.set(permit)),
            Err(_) => self.wait(Waiting { permit: Arc::downgrade(&admitted.permit), refuse }),
        }
        admitted
    }

    fn wait(&mut self, one: Waiting) {
        // Others have ended, or are within the limit by now.
        let waits =
            |one: &Waiting| one.permit.upgrade().is_some_and(|permit| permit.get().is_none());
        self.waiting.retain(waits);
        if self.waiting.len() == WAITING
            && let Some(first) = self.waiting.pop_front()
        {
            first.refuse.send_replace(true);
        }
        self.waiting.push_back(one);
    }
}

impl Admitted {
    /// Waits until the connection is within the limit.
    ///
    /// # Errors
    ///
    /// It is refused.
    pub async fn within_limit(&self) -> Result<(), Refused> {
        if self.is_within_limit() {
            return Ok(());
        }
        tokio::select! {
            permit = Arc::clone(&self.permits).acquire_owned() => {
                // A second one, of a request on the same connection, is given back.
                permit.map(|permit| drop(self.permit.set(permit))).map_err(|_| Refused)
            }
            () = self.refused() => Err(Refused),
        }
    }

    /// Waits until the connection is refused, if ever.
    pub async fn refused(&self) {
        let mut refused = self.refused.clone();
        if refused.wait_for(|is_refused| *is_refused).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn is_within_limit(&self) -> bool {
        self.permit.get().is_some()
    }
}
