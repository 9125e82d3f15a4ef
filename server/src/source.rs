//! The registry that a server reads, and its health. A background thread probes the registry, so that a probe
//! of the server never waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::config::ServerLimits;
use super::permits::{Cost, Deadline, Permits};
use super::problem::Problem;
use accession::Registry;
use accession::Timestamp;
use accession::dataset::Withdrawn;
use accession::{ErrorKind, Result};

/// The registry. If another file has replaced it, it is opened again.
pub struct Source {
    open: Box<dyn Fn() -> Result<Registry> + Send + Sync>,
    /// Locked while the registry is opened again, which may take long.
    opening: Mutex<()>,
    /// Never locked while waiting for anything, because all requests use it.
    current: Mutex<Opened>,
    pub permits: Permits,
}

/// An opened registry.
#[derive(Clone)]
struct Opened {
    registry: Registry,
    /// The number of registries that were opened before it. State derived from one of them is invalid for
    /// another.
    generation: u64,
}

/// A registry within one request.
pub struct RegistryReading {
    /// The registry. Its work is cancelled when the request has timed out, or its client has gone.
    pub registry: Registry,
    /// The number of registries that were opened before it.
    pub generation: u64,
    /// The registry without a deadline, for work that continues after the request.
    pub unlimited: Registry,
    deadline: Arc<Deadline>,
}

impl RegistryReading {
    /// Fails if the request has timed out, or its client has gone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Interrupted`](accession::ErrorKind::Interrupted): the work must stop.
    pub fn check_time(&self) -> Result<()> {
        self.deadline.token().check()
    }
}

impl Source {
    /// Opens the registry.
    pub fn open(
        open: Box<dyn Fn() -> Result<Registry> + Send + Sync>,
        limits: ServerLimits,
    ) -> Result<Self> {
        let registry = open()?;
        Ok(Source {
            open,
            opening: Mutex::default(),
            current: Mutex::new(Opened { registry, generation: 0 }),
            permits: Permits::new(limits),
        })
    }

    /// The current time, by the clock of the registry.
    pub fn now(&self) -> Timestamp {
        self.current().registry.now()
    }

    /// Reads the registry. If another file has replaced it meanwhile, `work` is repeated.
    pub async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Fn(&RegistryReading) -> Result<T> + Send + 'static,
    ) -> Result<T, Problem> {
        self.work(Cost::Page, work).await
    }

    /// Like [`Source::read`], for work whose cost grows with the sets.
    pub async fn compare<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Fn(&RegistryReading) -> Result<T> + Send + 'static,
    ) -> Result<T, Problem> {
        self.work(Cost::Comparison, work).await
    }

    /// Like [`Source::read`], for work whose cost depends on the request.
    pub async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        cost: Cost,
        work: impl Fn(&RegistryReading) -> Result<T> + Send + 'static,
    ) -> Result<T, Problem> {
        let deadline = Deadline::after(self.permits.time(cost));
        let _waiting = deadline.waiting();
        let (source, of) = (Arc::clone(self), Arc::clone(&deadline));
        Ok(self.permits.run(cost, &deadline, move || source.attempt(&of, work)).await??)
    }

    /// Does the work on this thread. If the registry was replaced, opens it again and repeats the work.
    pub fn attempt<T>(
        &self,
        deadline: &Arc<Deadline>,
        work: impl Fn(&RegistryReading) -> Result<T>,
    ) -> Result<T> {
        let opened = self.current().clone();
        match work(&opened.reading(deadline)) {
            Err(error) if error.kind() == ErrorKind::Replaced => {
                let opened = self.reopen(opened.generation)?;
                work(&opened.reading(deadline))
            }
            result => result,
        }
    }

    /// Opens the registry again, unless another request has already done so.
    fn reopen(&self, generation: u64) -> Result<Opened> {
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if self.current().generation == generation {
            let registry = (self.open)()?;
            tracing::info!(generation = generation + 1, "the registry was replaced: opened again");
            *self.current() = Opened { registry, generation: generation + 1 };
        }
        Ok(self.current().clone())
    }

    fn current(&self) -> MutexGuard<'_, Opened> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opened {
    fn reading(&self, deadline: &Arc<Deadline>) -> RegistryReading {
        RegistryReading {
            registry: self.registry.cancelled_by(deadline.token()),
            generation: self.generation,
            unlimited: self.registry.clone(),
            deadline: Arc::clone(deadline),
        }
    }
}

/// The pause between two probes.
const PAUSE: Duration = Duration::from_secs(2);

/// The greatest age of a reported probe.
const MAX_AGE: Duration = Duration::from_secs(5);

/// The result of the latest probe of the registry.
pub struct Health(Mutex<(Instant, Result<(), Problem>)>);

impl Health {
    /// Starts to probe the registry, which was opened just before, on a background thread. The thread ends with
    /// the registry.
    pub fn watch(source: &Arc<Source>) -> Arc<Self> {
        let health = Arc::new(Health(Mutex::new((Instant::now(), Ok(())))));
        let (source, probed) = (Arc::downgrade(source), Arc::clone(&health));
        std::thread::spawn(move || {
            while let Some(result) = probe(&source) {
                *probed.last() = (Instant::now(), result);
                std::thread::sleep(PAUSE);
            }
        });
        health
    }

    /// Returns the result of the latest probe. It never waits.
    ///
    /// # Errors
    ///
    /// The registry could not be read, or has not responded for some time.
    pub fn now(&self) -> Result<(), Problem> {
        let (at, result) = self.last().clone();
        if at.elapsed() > MAX_AGE {
            let detail = "The registry has not responded for more than 5 seconds.".to_owned();
            return Err(Problem::overload("busy", detail, 5));
        }
        result
    }

    fn last(&self) -> MutexGuard<'_, (Instant, Result<(), Problem>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads one record. `None` means that the server has ended.
fn probe(source: &Weak<Source>) -> Option<Result<(), Problem>> {
    let source = source.upgrade()?;
    let deadline = Deadline::after(MAX_AGE);
    let read = source.attempt(&deadline, |reading| {
        reading.registry.snapshot()?.datasets(None, Withdrawn::Listed, 1).map(drop)
    });
    Some(read.map_err(Problem::from))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    use super::*;
    use accession::Clock;

    fn source(limits: ServerLimits) -> Arc<Source> {
        Arc::new(Source::open(Box::new(|| Registry::temporary(Clock::system())), limits).unwrap())
    }

    #[tokio::test]
    async fn a_task_whose_client_has_gone_keeps_its_permit_and_is_told_to_stop() {
        let limits = ServerLimits {
            readers: 1,
            request_time: Duration::from_millis(50),
            ..ServerLimits::default()
        };
        let source = source(limits);
        let (begun, has_begun) = channel();
        let (finish, is_finished) = channel::<()>();
        let (ended, has_ended) = channel();
        let is_finished = Mutex::new(is_finished);
        let request = {
            let source = Arc::clone(&source);
            tokio::spawn(async move {
                let work = move |reading: &RegistryReading| {
                    begun.send(reading.check_time().is_ok()).unwrap();
                    is_finished.lock().unwrap().recv().unwrap();
                    ended
                        .send(reading.registry.snapshot().err().map(|error| error.kind()))
                        .unwrap();
                    Ok(())
                };
                source.work(Cost::Page, work).await
            })
        };
        while has_begun.try_recv().is_err() {
            tokio::task::yield_now().await;
        }
        // The client hangs up.
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled());
        let refused = source.read(|_| Ok(())).await.unwrap_err();
        assert_eq!(refused.kind, "busy", "the permit belongs to the work");
        finish.send(()).unwrap();
        assert_eq!(has_ended.recv().unwrap(), Some(ErrorKind::Interrupted));
        source.read(|_| Ok(())).await.unwrap();
    }

    #[tokio::test]
    async fn a_registry_that_does_not_respond_is_waited_for_until_the_time_is_over() {
        let limits = ServerLimits {
            readers: 1,
            request_time: Duration::from_millis(50),
            ..ServerLimits::default()
        };
        let source = source(limits);
        let (go_on, goes_on) = channel::<()>();
        let goes_on = Mutex::new(goes_on);
        let hung = source.read(move |_| {
            goes_on.lock().unwrap().recv().unwrap();
            Ok(())
        });
        assert_eq!(hung.await.unwrap_err().kind, "busy");
        assert_eq!(source.read(|_| Ok(())).await.unwrap_err().kind, "busy", "it has the permit");
        // The server continues.
        go_on.send(()).unwrap();
        while source.read(|_| Ok(())).await.is_err() {}
    }

    /// The error of a registry whose file was removed.
    fn replaced() -> accession::Error {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("accession.db");
        let registry = Registry::create(&path, Clock::system()).unwrap();
        std::fs::remove_file(&path).unwrap();
        registry.snapshot().err().unwrap()
    }

    #[tokio::test]
    async fn requests_do_not_wait_while_the_registry_is_opened_again() {
        let (go_on, goes_on) = channel::<()>();
        let (opens, is_opening) = channel();
        let goes_on = Mutex::new(goes_on);
        let opened = AtomicUsize::new(0);
        let open = move || {
            if opened.fetch_add(1, Ordering::Relaxed) > 0 {
                opens.send(()).unwrap();
                goes_on.lock().unwrap().recv().unwrap();
            }
            Registry::temporary(Clock::system())
        };
        let source = Arc::new(Source::open(Box::new(open), ServerLimits::default()).unwrap());
        let replaced = {
            let source = Arc::clone(&source);
            tokio::spawn(async move {
                let work = |reading: &RegistryReading| match reading.generation {
                    0 => Err(replaced()),
                    generation => Ok(generation),
                };
                source.read(work).await
            })
        };
        while is_opening.try_recv().is_err() {
            tokio::task::yield_now().await;
        }
        // Meanwhile, requests read the former registry.
        assert_eq!(source.read(|reading| Ok(reading.generation)).await.unwrap(), 0);
        go_on.send(()).unwrap();
        assert_eq!(replaced.await.unwrap().unwrap(), 1);
        assert_eq!(source.read(|reading| Ok(reading.generation)).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn the_time_of_work_begins_when_it_is_queued() {
        let limits = ServerLimits {
            comparisons: 1,
            budget: Duration::from_millis(200),
            ..ServerLimits::default()
        };
        let source = source(limits);
        let first = source.compare(|_| {
            std::thread::sleep(Duration::from_millis(600));
            Ok(())
        });
        // Its turn comes when its own time is over.
        let second = source.compare(|_| Ok(()));
        let (first, second) = tokio::join!(first, second);
        assert!(first.is_ok());
        assert_eq!(second.unwrap_err().kind, "busy");
    }
}
