//! One generator that the threads of a process share.

use std::time::Duration;

use super::payment::{MAX_BEHIND_SECONDS, PaymentError, PaymentId, SECONDS, Scheme, Worker};
use crate::model::Timestamp;

/// Under the model checker the atomics are its own, so that it can try every order.
#[cfg(accession_loom)]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(accession_loom))]
use std::sync::atomic::{AtomicU64, Ordering};

/// What a [`PaymentMinter`] knows of time; the library has no clock of its own.
pub trait Clock {
    /// What it is now.
    fn now(&self) -> Timestamp;

    /// Waits; called with nothing locked.
    fn wait(&self, duration: Duration);
}

/// Issues payment ids of one worker to all threads of one process, each id once.
///
/// What was issued last is one atomic word, so no thread holds a lock, least of all while it waits
/// for the next second. The first id is of the second after the minter was made: a process that
/// begins anew within a second repeats none. For workers that must not repeat whatever the clock
/// did meanwhile, [`crate::Registry::lease_payment_ids`] keeps the last second in the registry.
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
    /// The last second an id was issued of, and the next counter in it, below [`COUNTER_BITS`].
    last: AtomicU64,
}

/// Bits of the counter within the word; 36^6 seconds fit into the rest.
const COUNTER_BITS: u32 = 16;

impl<C: Clock> PaymentMinter<C> {
    /// A minter for one worker; nobody else may mint for it.
    ///
    /// # Errors
    ///
    /// [`PaymentError::BeforeEpoch`], [`PaymentError::AfterLast`].
    pub fn new(scheme: Scheme, worker: Worker, clock: C) -> Result<Self, PaymentError> {
        let second = scheme.second_at(clock.now())?;
        let spent = pack(second, scheme.layout.counters());
        Ok(PaymentMinter { scheme, worker, clock, last: AtomicU64::new(spent) })
    }

    /// The next id: of this second, or of the last one if the clock went back by a few seconds; once
    /// all ids of a second are issued, waits for the next.
    ///
    /// # Errors
    ///
    /// [`PaymentError::ClockBehind`]; [`PaymentError::BeforeEpoch`], [`PaymentError::AfterLast`].
    pub fn mint(&self) -> Result<PaymentId, PaymentError> {
        loop {
            // First what was issued, and then the clock: the other way round, a thread that was
            // held up between the two would find ids of later seconds, and blame the clock.
            let seen = self.last.load(Ordering::Acquire);
            let now = self.clock.now();
            let second = self.scheme.second_at(now)?;
            let (last, counter) = unpack(seen);
            let (second, counter) = if second > last {
                (second, 0)
            } else if last - second > MAX_BEHIND_SECONDS {
                let (seconds, worker) = (last - second, self.worker.number());
                return Err(PaymentError::ClockBehind { seconds, worker });
            } else if counter < self.scheme.layout.counters() {
                (last, counter)
            } else {
                self.wait_until_after(last, now)?;
                continue;
            };
            // Whoever was faster took this counter: then look again.
            let next = pack(second, counter + 1);
            let taken =
                self.last.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Acquire);
            if taken.is_ok() {
                return Ok(self.scheme.encode(second, self.worker, counter));
            }
        }
    }

    fn wait_until_after(&self, last: u64, now: Timestamp) -> Result<(), PaymentError> {
        let after_last = || PaymentError::AfterLast { now, epoch: self.scheme.epoch };
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
