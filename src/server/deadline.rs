//! Until when a task works, and for whom.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::registry::Monitor;

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
