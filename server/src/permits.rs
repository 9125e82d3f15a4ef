//! Permits for reading the registry, and time limits for reading it.
//!
//! A permit and a deadline belong to a task, which runs on its own thread. The deadline begins when the task is
//! queued. If the client has gone, the task ends within a page. The permit is returned when the task has ended,
//! not when its client has gone.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::config::ServerLimits;
use super::problem::Problem;
use accession::CancelToken;

/// The additional time for which the result of work is awaited after its deadline.
const GRACE: Duration = Duration::from_secs(1);

/// The cost of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// A few look-ups, or a page of a list.
    Page,
    /// Its cost grows with the sets, so it has a budget, and only a few such tasks run at the same time.
    Comparison,
    /// A list with patterns, or a count of files. It reads a whole set and may find nothing. It has the budget
    /// of a comparison, but its own permits, so that slow ones delay neither comparisons nor lists.
    Search,
    /// A part of a list that is sent. It can use a whole processor, so there are few permits. Pages and probes
    /// therefore do not wait for many readers of lists.
    List,
    /// Selecting and storing a subset. Readers do not wait for it.
    Registration,
}

/// The number of subsets that are registered at the same time.
const REGISTRATIONS: usize = 2;

/// The number of parts of lists that are read at the same time.
const LISTS: usize = 2;

/// Limits how much work runs at the same time, and for how long.
pub struct Permits {
    /// The permits for each cost, in the order of [`Cost`].
    permits: [Arc<Semaphore>; 5],
    limits: ServerLimits,
}

impl Permits {
    /// The permits of a server.
    pub fn new(limits: ServerLimits) -> Self {
        let ServerLimits { readers, comparisons, searches, .. } = limits;
        let most = [readers, comparisons, searches, LISTS, REGISTRATIONS];
        Permits { permits: most.map(|most| Arc::new(Semaphore::new(most))), limits }
    }

    /// Runs a task when a permit is available. It runs on its own thread, which may wait for a disk.
    pub async fn run<T: Send + 'static>(
        &self,
        cost: Cost,
        deadline: &Deadline,
        task: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let queued =
            tokio::time::timeout_at(deadline.until().into(), self.of(cost).acquire_owned());
        // Semaphores of permits are never closed.
        let permit = queued.await.map_err(|_| Problem::busy())?.map_err(|_| Problem::busy())?;
        let work = move || {
            let _permit = permit;
            task()
        };
        // Slightly longer than the time of the work. The work ends by itself, unless it waits for a server that
        // has stopped responding. Then it keeps the permit until it continues.
        let until = deadline.until() + GRACE;
        let done = tokio::time::timeout_at(until.into(), tokio::task::spawn_blocking(work)).await;
        done.map_err(|_| Problem::busy())?.map_err(|error| Problem::internal(error.to_string()))
    }

    /// The permits for work of a cost.
    pub fn of(&self, cost: Cost) -> Arc<Semaphore> {
        Arc::clone(&self.permits[cost as usize])
    }

    /// The time limit for work, from when it is queued.
    pub fn time(&self, cost: Cost) -> Duration {
        match cost {
            Cost::Page | Cost::List | Cost::Registration => self.limits.request_time,
            Cost::Comparison | Cost::Search => self.limits.budget,
        }
    }
}

/// The end of work: a time, or when its client no longer waits for it.
pub struct Deadline {
    until: Mutex<Instant>,
    token: CancelToken,
}

/// Represents a waiting client. Dropping it cancels the work.
pub struct Waiting(CancelToken);

impl Deadline {
    /// Creates a deadline that begins now.
    pub fn after(time: Duration) -> Arc<Self> {
        let (until, token) = (Instant::now() + time, CancelToken::new());
        token.cancel_at(until);
        Arc::new(Deadline { until: Mutex::new(until), token })
    }

    /// Resets the time, for work that continues in several steps.
    pub fn restart(&self, time: Duration) {
        let until = Instant::now() + time;
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
        self.token.cancel_at(until);
    }

    /// The time at which the work must stop.
    pub fn until(&self) -> Instant {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The token that cancels the work.
    pub fn token(&self) -> &CancelToken {
        &self.token
    }

    /// Returns a guard that cancels the work when it is dropped.
    pub fn waiting(&self) -> Waiting {
        Waiting(self.token.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
