//! The registry that a server reads.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::config::Limits;
use super::problem::Problem;
use crate::registry::{Error, Monitor, Registry, Result};

/// The registry, which is opened again when another file has replaced it.
pub struct Source {
    open: Box<dyn Fn() -> Result<Registry> + Send + Sync>,
    current: Mutex<Opened>,
    readers: Semaphore,
    comparisons: Semaphore,
    limits: Limits,
}

/// The registry as it was opened.
#[derive(Clone)]
struct Opened {
    registry: Registry,
    /// How many were opened before it: what was learnt from one of them does not hold for another.
    generation: u64,
}

/// A registry within one request.
pub struct Reading {
    /// The registry, which stops when the request has taken too long.
    pub registry: Registry,
    /// The number of registries that were opened before it.
    pub generation: u64,
    until: Instant,
}

impl Reading {
    /// The registry, for work that goes on after the request.
    pub fn unlimited(&self) -> Registry {
        self.registry.with_monitor(Arc::new(Unlimited))
    }

    /// Fails if the request has taken too long.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`].
    pub fn check_time(&self) -> Result<()> {
        if Instant::now() < self.until { Ok(()) } else { Err(Error::Interrupted) }
    }
}

/// Stops the work of a request that has taken too long.
struct Deadline(Instant);

impl Monitor for Deadline {
    fn begin(&self, _: &'static str, _: &'static str, _: Option<u64>) {}

    fn advance(&self, _: u64) -> ControlFlow<()> {
        if Instant::now() < self.0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn end(&self) {}
}

/// Stops nothing.
struct Unlimited;

impl Monitor for Unlimited {
    fn begin(&self, _: &'static str, _: &'static str, _: Option<u64>) {}

    fn advance(&self, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn end(&self) {}
}

impl Source {
    /// Opens the registry.
    pub fn open(
        open: Box<dyn Fn() -> Result<Registry> + Send + Sync>,
        limits: Limits,
    ) -> Result<Self> {
        let registry = open()?;
        Ok(Source {
            open,
            current: Mutex::new(Opened { registry, generation: 0 }),
            readers: Semaphore::new(limits.readers),
            comparisons: Semaphore::new(limits.comparisons),
            limits,
        })
    }

    /// Reads the registry on a thread of its own, where a disk may be waited for. `work` is done
    /// again if another file has replaced the registry meanwhile.
    pub async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Fn(&Reading) -> Result<T> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = self.readers.acquire().await;
        let _permit = permit.map_err(|_| Problem::busy())?;
        self.run(self.limits.request_time, work).await
    }

    /// As [`Source::read`], for work whose cost grows with the sets: it has a budget, and only a
    /// few such tasks run at the same time.
    pub async fn compare<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Fn(&Reading) -> Result<T> + Send + 'static,
    ) -> Result<T, Problem> {
        let waited = tokio::time::timeout(self.limits.budget, self.comparisons.acquire()).await;
        let _permit = waited.map_err(|_| Problem::busy())?.map_err(|_| Problem::busy())?;
        self.run(self.limits.budget, work).await
    }

    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        time: Duration,
        work: impl Fn(&Reading) -> Result<T> + Send + 'static,
    ) -> Result<T, Problem> {
        let source = Arc::clone(self);
        let joined = tokio::task::spawn_blocking(move || source.attempt(time, work)).await;
        let result = joined.map_err(|error| Problem::internal(error.to_string()))?;
        Ok(result?)
    }

    /// Does the work and, if the registry was replaced, opens it and does the work again.
    fn attempt<T>(&self, time: Duration, work: impl Fn(&Reading) -> Result<T>) -> Result<T> {
        let until = Instant::now() + time;
        let opened = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match work(&opened.reading(until)) {
            Err(error) if matches!(error.kind(), "replaced" | "changed") => {
                let opened = self.reopen(opened.generation)?;
                work(&opened.reading(until))
            }
            result => result,
        }
    }

    /// Opens the registry again, unless another request has done so.
    fn reopen(&self, generation: u64) -> Result<Opened> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.generation == generation {
            let registry = (self.open)()?;
            tracing::info!(generation = generation + 1, "the registry was replaced: opened again");
            *current = Opened { registry, generation: generation + 1 };
        }
        Ok(current.clone())
    }
}

impl Opened {
    fn reading(&self, until: Instant) -> Reading {
        Reading {
            registry: self.registry.with_monitor(Arc::new(Deadline(until))),
            generation: self.generation,
            until,
        }
    }
}
