//! The clock of a registry: the only code of the library that reads the present time.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::model::Timestamp;

/// The source of a registry's present time. It is cheap to clone.
///
/// # Examples
///
/// ```
/// use accession::{Clock, Timestamp};
///
/// let now: Timestamp = "2026-01-01T00:00:00Z".parse()?;
/// assert_eq!(Clock::fixed(now).now(), now);
/// assert!(Clock::system().now() > now);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Clock {
    read: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    is_confirmed: bool,
    is_checked_by_guard: bool,
}

impl Clock {
    /// The system clock. A time outside the years 0000 to 9999 is read as the nearest time within them.
    pub fn system() -> Self {
        Clock::new(|| {
            let now = SystemTime::now();
            let nearest = if now < UNIX_EPOCH { Timestamp::MIN } else { Timestamp::MAX };
            now.try_into().unwrap_or(nearest)
        })
    }

    /// A clock that always returns the same time, for tests.
    pub fn fixed(now: Timestamp) -> Self {
        Clock::new(move || now)
    }

    /// A clock that calls a function.
    pub fn new(read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Clock { read: Arc::new(read), is_confirmed: false, is_checked_by_guard: false }
    }

    /// The same clock, known to be right. Otherwise a change is rejected with
    /// [`ErrorKind::ClockAhead`](crate::ErrorKind::ClockAhead) if the clock is more than two years after every
    /// recorded time: such a clock is probably wrong.
    #[must_use]
    pub fn confirmed(self) -> Self {
        Clock { is_confirmed: true, ..self }
    }

    /// Reads the clock.
    pub fn now(&self) -> Timestamp {
        (self.read)()
    }

    /// The same clock for a change whose guard decides if the clock is plausible.
    #[must_use]
    pub(crate) fn checked_by_guard(self) -> Self {
        Clock { is_checked_by_guard: true, ..self }
    }

    /// Whether a guard decides if the clock is plausible, instead of the code that records its time.
    pub(crate) fn is_checked_by_guard(&self) -> bool {
        self.is_checked_by_guard
    }

    /// Whether the clock is known to be right.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (now, is_confirmed) = (self.now(), self.is_confirmed);
        f.debug_struct("Clock").field("now", &now).field("is_confirmed", &is_confirmed).finish()
    }
}
