//! Whether the registry responds, asked again and again, so that a probe of the server waits for nobody.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::permits::Deadline;
use super::problem::Problem;
use super::source::Source;
use crate::error::Result;
use crate::registry::Withdrawn;

/// How long after a probe the next one begins.
const PAUSE: Duration = Duration::from_secs(2);

/// The greatest age of a probe that is reported.
const MAX_AGE: Duration = Duration::from_secs(5);

/// The last probe of the registry.
pub struct Health(Mutex<(Instant, Result<(), Problem>)>);

impl Health {
    /// Probes the registry now, which was opened just before, and from now on in the background, on
    /// a thread that ends with the registry.
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

    /// The result of the last probe. Waits for nobody.
    ///
    /// # Errors
    ///
    /// The registry could not be read, or has not answered for some time.
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

/// Reads a record. `None` means that the server has ended.
fn probe(source: &Weak<Source>) -> Option<Result<(), Problem>> {
    let source = source.upgrade()?;
    let deadline = Deadline::after(MAX_AGE);
    let read = source.attempt(&deadline, |reading| {
        reading.registry.snapshot()?.datasets(None, Withdrawn::Listed, 1).map(drop)
    });
    Some(read.map_err(Problem::from))
}
