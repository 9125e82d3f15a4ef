//! What clients may register: who they must be, and how much of it there may be.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::header::AUTHORIZATION;
use hyper::{HeaderMap, StatusCode};
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::answer::Body;
use super::config::Registration;
use super::problem::Problem;
use accession::error::Result;
use accession::model::{Day, Timestamp};
use accession::registry::Registry;

/// The longest body of a registration, in bytes.
const BODY_BYTES: usize = 1 << 20;

/// How many bodies are in memory at the same time.
const BODIES: usize = 16;

/// How subsets are registered, for all requests.
pub struct Registering {
    open: Box<dyn Fn() -> Result<Registry> + Send + Sync>,
    /// The digest of the token: digests are compared in the same time wherever they differ.
    token: Option<[u8; 32]>,
    bodies: Semaphore,
    /// The last day on which something was registered, and how many new subsets.
    today: Mutex<Option<(Day, u64)>>,
}

impl From<Registration> for Registering {
    fn from(Registration { open, token }: Registration) -> Self {
        let token = token.map(|token| Sha256::digest(token).into());
        Registering { open, token, bodies: Semaphore::new(BODIES), today: Mutex::default() }
    }
}

impl Registering {
    /// Opens the registry for writing.
    ///
    /// # Errors
    ///
    /// It cannot be opened so.
    pub fn open(&self) -> Result<Registry> {
        (self.open)()
    }

    /// Refuses a client without the token.
    ///
    /// # Errors
    ///
    /// There is a token, and the headers do not have it.
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

    /// Room for the body of a request, until it is answered.
    ///
    /// # Errors
    ///
    /// There are too many of them.
    pub fn room(&self) -> std::result::Result<SemaphorePermit<'_>, Problem> {
        self.bodies.try_acquire().map_err(|_| Problem::busy())
    }

    /// Reads a body.
    ///
    /// # Errors
    ///
    /// It is too long, is not there within the time, or breaks off.
    pub async fn body(&self, body: Body, time: Duration) -> std::result::Result<Bytes, Problem> {
        let collected = tokio::time::timeout(time, Limited::new(body, BODY_BYTES).collect()).await;
        let collected = collected.map_err(|_| {
            let detail = format!("The body was not sent within {} seconds.", time.as_secs());
            Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", detail)
        })?;
        let collected = collected.map_err(|error| match error.is::<LengthLimitError>() {
            true => {
                let detail = format!("A subset to save has at most {BODY_BYTES} bytes.");
                Problem::too_long(StatusCode::PAYLOAD_TOO_LARGE, detail)
            }
            false => Problem::usage("The body is not complete."),
        });
        Ok(collected?.to_bytes())
    }

    /// Counts one more new subset of a day, which has at most so many. `false` means that it has them.
    pub fn take_one(&self, now: Timestamp, most: u64) -> bool {
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        let count = today.filter(|(day, _)| *day == now.day()).map_or(0, |(_, count)| count);
        if count >= most {
            return false;
        }
        *today = Some((now.day(), count + 1));
        true
    }

    /// Takes back what was counted: nothing new was stored.
    pub fn give_back(&self) {
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, count)) = today.as_mut() {
            *count = count.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_so_many_new_subsets() {
        let open = Box::new(Registry::in_memory);
        let registering = Registering::from(Registration { open, token: None });
        let at = |text: &str| text.parse().unwrap();
        let late = at("2026-01-01T23:59:59Z");
        for is_taken in [true, true, false, false] {
            assert_eq!(registering.take_one(late, 2), is_taken);
        }
        registering.give_back();
        assert!(registering.take_one(late, 2));
        assert!(!registering.take_one(late, 2));
        assert!(registering.take_one(at("2026-01-02T00:00:00Z"), 2), "the next day");
    }
}
