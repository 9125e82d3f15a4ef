//! Limits the registration of subsets: which clients may register them, and how many.

use std::sync::{Mutex, PoisonError};

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::config::{Registration, ServerLimits};
use super::problem::Problem;
use accession::Registry;
use accession::Result;
use accession::{Day, Timestamp};

/// The longest body of a registration, in bytes.
pub const BODY_BYTES: usize = 1 << 20;

/// The greatest number of bodies in memory at the same time.
const BODIES: usize = 16;

/// The shared state of all registrations.
pub struct Registering {
    open: Box<dyn Fn() -> Result<Registry> + Send + Sync>,
    /// The digest of the token. Comparing digests does not reveal by its time where two tokens differ.
    token: Option<[u8; 32]>,
    bodies: Semaphore,
    /// The registrations of the latest day that had any.
    today: Mutex<Option<Today>>,
}

/// The registrations of a day.
#[derive(Clone, Copy)]
struct Today {
    day: Day,
    /// The number of new subsets.
    subsets: u64,
    /// The total length of the requests that registered them.
    bytes: u64,
}

impl From<Registration> for Registering {
    fn from(Registration { open, token }: Registration) -> Self {
        let token = token.map(|token| Sha256::digest(token).into());
        Registering { open, token, bodies: Semaphore::new(BODIES), today: Mutex::default() }
    }
}

impl Registering {
    /// Opens the registry.
    ///
    /// # Errors
    ///
    /// The registry cannot be opened.
    pub fn open(&self) -> Result<Registry> {
        (self.open)()
    }

    /// Rejects a client without the token.
    ///
    /// # Errors
    ///
    /// A token is required, and the headers do not contain it.
    pub fn check_token(&self, headers: &HeaderMap) -> std::result::Result<(), Problem> {
        let given = headers.get(AUTHORIZATION).map(|header| header.as_bytes());
        let given = given.and_then(|header| header.split_at_checked(b"Bearer ".len()));
        let given = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer "));
        let given = given.map(|(_, token)| <[u8; 32]>::from(Sha256::digest(token)));
        match self.token.is_none() || given == self.token {
            true => Ok(()),
            false => {
                let detail =
                    "This needs the header Authorization: Bearer with the token of the archive.";
                Err(Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail.to_owned()))
            }
        }
    }

    /// Reserves memory for the body of a request, until the response.
    ///
    /// # Errors
    ///
    /// Too many bodies are in memory.
    pub fn room(&self) -> std::result::Result<SemaphorePermit<'_>, Problem> {
        self.bodies.try_acquire().map_err(|_| Problem::busy())
    }

    /// Counts one new subset on the current day, from a request of `bytes` bytes. `false` means that a daily
    /// limit is reached.
    pub fn take(&self, now: Timestamp, bytes: u64, limits: &ServerLimits) -> bool {
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        let before = today.filter(|today| today.day == now.day());
        let before = before.unwrap_or(Today { day: now.day(), subsets: 0, bytes: 0 });
        let (subsets, bytes) = (before.subsets + 1, before.bytes.saturating_add(bytes));
        if subsets > limits.daily_subsets || bytes > limits.daily_subset_bytes {
            return false;
        }
        *today = Some(Today { subsets, bytes, ..before });
        true
    }

    /// Reverts the count of a subset, because nothing new was stored.
    pub fn give_back(&self, bytes: u64) {
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(today) = today.as_mut() {
            today.subsets = today.subsets.saturating_sub(1);
            today.bytes = today.bytes.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use accession::Clock;

    #[test]
    fn new_subsets_and_their_bytes_are_limited_for_each_day() {
        let open = Box::new(|| Registry::temporary(Clock::system()));
        let registering = Registering::from(Registration { open, token: None });
        let at = |text: &str| text.parse().unwrap();
        let limits =
            ServerLimits { daily_subsets: 3, daily_subset_bytes: 10, ..Default::default() };
        let (late, next) = (at("2026-01-01T23:59:59Z"), at("2026-01-02T00:00:00Z"));
        for (bytes, is_taken) in [(4, true), (7, false), (1, true), (5, true), (0, false)] {
            assert_eq!(registering.take(late, bytes, &limits), is_taken, "{bytes} bytes");
        }
        registering.give_back(5);
        assert!(!registering.take(late, 6, &limits));
        assert!(registering.take(late, 5, &limits));
        assert!(!registering.take(late, 0, &limits));
        assert!(registering.take(next, 10, &limits), "the next day");
    }
}
