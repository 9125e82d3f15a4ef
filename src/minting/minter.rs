//! A payment id generator that the threads of a process share.

use std::time::Duration;

use super::payment::{MAX_BEHIND_SECONDS, PaymentId, SECONDS, Scheme, Worker};
use crate::error::{Error, Result};
use crate::model::Timestamp;

/// The model checker needs its own atomics, to try every order of the threads.
#[cfg(accession_loom)]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(accession_loom))]
use std::sync::atomic::{AtomicU64, Ordering};

/// The clock of a [`PaymentMinter`]. The library has no clock of its own.
pub trait Clock {
    /// Returns the present time.
    fn now(&self) -> Timestamp;

    /// Waits for this long. No lock is held during the wait.
    fn wait(&self, duration: Duration);
}

/// Issues the payment ids of one worker to all threads of one process, each id once.
///
/// The last id issued is one atomic word, so no thread holds a lock, even while it waits for the
/// next second. The first id is of the second after the minter was made, so a process that is
/// restarted within a second does not repeat an id. Where the clock may have gone back between two
/// runs, use [`crate::Registry::lease_payment_ids`], which keeps the last second in the registry.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, SystemTime, UNIX_EPOCH};
///
/// use accession::minting::payment::Scheme;
/// use accession::minting::{Clock, PaymentMinter};
/// use accession::Timestamp;
///
/// struct SystemClock;
///
/// impl Clock for SystemClock {
///     fn now(&self) -> Timestamp {
///         let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
///         Timestamp::from_micros(since.as_micros() as i64).expect("it is before 9999")
///     }
///
///     fn wait(&self, duration: Duration) {
///         std::thread::sleep(duration);
///     }
/// }
///
/// let scheme = Scheme::default();
/// let minter = PaymentMinter::new(scheme, scheme.worker(7)?, SystemClock)?;
/// assert!(minter.mint()? < minter.mint()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PaymentMinter<C> {
    scheme: Scheme,
    worker: Worker,
    clock: C,
    /// The last second for which an id was issued and, in the low [`COUNTER_BITS`], the next
    /// counter in that second.
    last: AtomicU64,
}

/// The number of bits of the counter in the word. The other bits have room for 36^6 seconds.
const COUNTER_BITS: u32 = 16;

impl<C: Clock> PaymentMinter<C> {
    /// Creates a minter for one worker. There must be no other minter for that worker.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::PaymentId`](crate::ErrorKind::PaymentId).
    pub fn new(scheme: Scheme, worker: Worker, clock: C) -> Result<Self> {
        let second = scheme.second_at(clock.now())?;
        let spent = pack(second, scheme.layout.counters());
        Ok(PaymentMinter { scheme, worker, clock, last: AtomicU64::new(spent) })
    }

    /// Issues the next id, for the present second, or for the last one if the clock was set back by
    /// a few seconds. Waits for the next second if all ids of a second have been issued.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ClockBehind`](crate::ErrorKind::ClockBehind);
    /// [`ErrorKind::PaymentId`](crate::ErrorKind::PaymentId).
    pub fn mint(&self) -> Result<PaymentId> {
        loop {
            // The last id is read before the clock. In the other order, a thread that is suspended
            // between the two would find ids of later seconds and report that the clock is behind.
            let seen = self.last.load(Ordering::Acquire);
            let now = self.clock.now();
            let second = self.scheme.second_at(now)?;
            let (last, counter) = unpack(seen);
            let (second, counter) = if second > last {
                (second, 0)
            } else if last - second > MAX_BEHIND_SECONDS {
                return Err(Error::clock_behind(last - second, self.worker));
            } else if counter < self.scheme.layout.counters() {
                (last, counter)
            } else {
                self.wait_until_after(last, now)?;
                continue;
            };
            // If another thread has taken this counter, try again.
            let next = pack(second, counter + 1);
            let taken =
                self.last.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Acquire);
            if taken.is_ok() {
                return Ok(self.scheme.encode(second, self.worker, counter));
            }
        }
    }

    fn wait_until_after(&self, last: u64, now: Timestamp) -> Result<()> {
        let after_last = || Error::after_last_second(now, self.scheme);
        if last + 1 >= SECONDS {
            return Err(after_last());
        }
        let next = self.scheme.instant_of(last + 1).ok_or_else(after_last)?;
        let micros = u64::try_from(next.as_micros() - now.as_micros()).unwrap_or(0);
        self.clock.wait(Duration::from_micros(micros.max(1)));
        Ok(())
    }
}

fn pack(second: u64, counter: u32) -> u64 {
    second << COUNTER_BITS | u64::from(counter)
}

fn unpack(word: u64) -> (u64, u32) {
    (word >> COUNTER_BITS, (word & ((1 << COUNTER_BITS) - 1)) as u32)
}
