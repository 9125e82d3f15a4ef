//! The permits for reading the registry, and the time that reading may take.
//!
//! A permit and a deadline belong to the task that works, on a thread of its own: the deadline begins
//! when the task is queued, a task whose client has gone stops within a page, and the permit is given
//! back when the task has ended, not when its client has gone.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::config::ServerLimits;
use super::problem::Problem;
use accession::CancelToken;

/// How much longer than its time work is waited for.
const GRACE: Duration = Duration::from_secs(1);

/// What work costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// A few look-ups, or a page of a list.
    Page,
    /// It grows with the sets, so it has a budget, and only a few such tasks run at the same time.
    Comparison,
    /// A list with patterns, or a count of files: it reads a whole set and may find nothing. It has the budget of a
    /// comparison and permits of its own, so that slow ones make neither comparisons nor lists wait.
    Search,
    /// A part of a list that is sent. It takes as much of a processor as there is, so there are few permits: pages
    /// and probes do not wait for many readers of lists.
    List,
    /// A subset that is selected and stored: readers do not wait for it.
    Registration,
}

/// How many subsets are registered at the same time.
const REGISTRATIONS: usize = 2;

/// How many parts of lists are read at the same time.
const LISTS: usize = 2;

/// How much work may run at the same time, and for how long.
pub struct Permits {
    /// Those of each cost, in the order of [`Cost`].
    permits: [Arc<Semaphore>; 5],
    limits: ServerLimits,
}

impl Permits {
    /// Those of a server.
    pub fn new(limits: ServerLimits) -> Self {
        let ServerLimits { readers, comparisons, searches, .. } = limits;
        let most = [readers, comparisons, searches, LISTS, REGISTRATIONS];
        Permits { permits: most.map(|most| Arc::new(Semaphore::new(most))), limits }
    }

    /// Runs a task on a thread of its own, where a disk may be waited for, as soon as there is a permit.
    pub async fn run<T: Send + 'static>(
        &self,
        cost: Cost,
        deadline: &Deadline,
        task: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let queued =
            tokio::time::timeout_at(deadline.until().into(), self.of(cost).acquire_owned());
        // The permits are never closed.
        let permit = queued.await.map_err(|_| Problem::busy())?.map_err(|_| Problem::busy())?;
        let work = move || {
            let _permit = permit;
            task()
        };
        // Slightly longer than the time of the work, which stops by itself unless it waits for a server that
        // has stopped responding. Then the permit stays with it until that goes on.
        let until = deadline.until() + GRACE;
        let done = tokio::time::timeout_at(until.into(), tokio::task::spawn_blocking(work)).await;
        done.map_err(|_| Problem::busy())?.map_err(|error| Problem::internal(error.to_string()))
    }

    /// The permits for work of a cost.
    pub fn of(&self, cost: Cost) -> Arc<Semaphore> {
        Arc::clone(&self.permits[cost as usize])
    }

    /// How long work may take, from when it is queued.
    pub fn time(&self, cost: Cost) -> Duration {
        match cost {
            Cost::Page | Cost::List | Cost::Registration => self.limits.request_time,
            Cost::Comparison | Cost::Search => self.limits.budget,
        }
    }
}

/// When work must stop: at a time, or as soon as its client does not wait for it any more.
pub struct Deadline {
    until: Mutex<Instant>,
    token: CancelToken,
}

/// The client waits for the work until this is dropped.
pub struct Waiting(CancelToken);

impl Deadline {
    /// A deadline that begins now.
    pub fn after(time: Duration) -> Arc<Self> {
        let (until, token) = (Instant::now() + time, CancelToken::new());
        token.cancel_at(until);
        Arc::new(Deadline { until: Mutex::new(until), token })
    }

    /// Sets the time anew, for work that goes on in several steps.
    pub fn restart(&self, time: Duration) {
        let until = Instant::now() + time;
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
        self.token.cancel_at(until);
    }

    /// The time at which the work must stop.
    pub fn until(&self) -> Instant {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What cancels the work.
    pub fn token(&self) -> &CancelToken {
        &self.token
    }

    /// Cancels the work once the result is dropped.
    pub fn waiting(&self) -> Waiting {
        Waiting(self.token.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
