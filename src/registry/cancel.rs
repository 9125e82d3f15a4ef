//! A token that cancels long work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::error::{Error, Result};

/// Cancels long work. Clones are the same token: the work has one, and its caller another.
///
/// Cancelled work fails with [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted), and changes nothing. It
/// ends at the next page, statement, or few thousand granules, not at once.
///
/// # Examples
///
/// ```
/// use accession::CancelToken;
///
/// let token = CancelToken::new();
/// assert!(token.check().is_ok());
/// token.clone().cancel();
/// assert!(token.is_cancelled());
/// ```
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_cancelled: Arc<AtomicBool>,
    /// `None` means never.
    cancelled_at: Mutex<Option<Instant>>,
}

/// The work is cancelled while the flag is true. A signal handler may set the flag.
impl From<Arc<AtomicBool>> for CancelToken {
    fn from(is_cancelled: Arc<AtomicBool>) -> Self {
        CancelToken(Arc::new(State { is_cancelled, cancelled_at: Mutex::default() }))
    }
}

impl CancelToken {
    /// A token that cancels nothing yet.
    pub fn new() -> Self {
        CancelToken::default()
    }

    /// Cancels the work.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Cancels the work at a time, which replaces any time set before.
    pub fn cancel_at(&self, at: Instant) {
        *self.0.cancelled_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
    }

    /// Whether the work is cancelled.
    pub fn is_cancelled(&self) -> bool {
        let at = || *self.0.cancelled_at.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.is_cancelled.load(Ordering::Relaxed) || at().is_some_and(|at| Instant::now() >= at)
    }

    /// Checks that the work is not cancelled.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted).
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::interrupted()) } else { Ok(()) }
    }
}
