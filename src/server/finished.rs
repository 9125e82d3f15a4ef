//! Responses whose content is complete, and the cache of them.
//!
//! The tag of a response is made of the digest of its bytes as they are sent, so that equal tags are equal
//! bytes. A response in the cache is sent again, or confirmed by 304, without a look at anything
//! but the state of the registry: it is valid until any process commits a change, or the UTC day ends.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::http::header::{
    ACCEPT, ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use hashlink::LinkedHashMap;
use sha2::{Digest, Sha256};

use super::coding::Coding;
use super::conditions::{Conditions, Extent};
use super::problem::Problem;
use super::response::{REPR_DIGEST, describe, digest, value};
use super::sending::{Flight, Form, Room, Stored};

/// The greatest number of bytes of responses in memory.
const MEMORY_BYTES: usize = 32 * 1_024 * 1_024;

/// The greatest length of one of them.
const MOST_BYTES: usize = MEMORY_BYTES / 2;

/// What an entry takes besides its content and the values of its headers: its key, its place, and the
/// rest of its headers.
const ENTRY_BYTES: usize = 4 * 1_024;

/// What responses depend on besides the request: which registry was opened, its state, and the UTC day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch {
    pub generation: u64,
    pub state: u64,
    pub day: i64,
}

/// What decides a response: the epoch, and a digest of the target and of the header `Accept`, which may
/// be long, and would keep the whole head of the request in memory.
type Key = (Epoch, [u8; 32]);

/// A request as far as it is answered here.
pub struct Wanted {
    digest: [u8; 32],
    coding: Coding,
    method: Method,
    conditions: Conditions,
}

/// A response that can be sent any number of times.
pub struct Finished {
    status: StatusCode,
    headers: HeaderMap,
    /// The headers of a 304: all but those of the content.
    unmodified: HeaderMap,
    tag: HeaderValue,
    body: Stored,
    /// Room for what it takes besides its content. `None` means that it is not in the cache.
    _room: Option<Room>,
}

/// The finished responses that were used last.
pub struct Responses {
    memory: Flight,
    /// In the order of their last use.
    kept: Mutex<LinkedHashMap<Key, Arc<Finished>>>,
}

impl Epoch {
    /// That of responses which do not depend on the registry.
    pub const OF_NOTHING: Epoch = Epoch { generation: u64::MAX, state: 0, day: 0 };
}

impl Wanted {
    /// What a request asks for.
    pub fn of(target: &str, method: &Method, headers: &HeaderMap) -> Self {
        let coding = Coding::of(headers);
        let accept = headers.get(ACCEPT).map_or(&[][..], HeaderValue::as_bytes);
        // A target has no line feed.
        let mut of = Sha256::new_with_prefix(target);
        of.update([b'\n', coding as u8]);
        of.update(accept);
        Wanted {
            digest: of.finalize().into(),
            coding,
            method: method.clone(),
            conditions: Conditions::of(headers),
        }
    }

    /// Completes a response: compresses and tags what was made for it.
    pub async fn finish(&self, response: Response<Body>, form: Form) -> Result<Finished, Problem> {
        let (mut parts, _) = response.into_parts();
        let body = match form {
            Form::Stored(content) => content,
            Form::Made(bytes) => {
                let coding = self.coding;
                let encode = move || {
                    let (bytes, coding) = match coding.shorten(&bytes) {
                        Some(shorter) => (shorter.into(), coding),
                        None => (bytes, Coding::Identity),
                    };
                    (digest(&bytes), bytes, coding)
                };
                // Short ones take less time than another thread takes to begin.
                let (digest, bytes, coding) = match coding {
                    Coding::Identity => encode(),
                    _ => {
                        let encoded = tokio::task::spawn_blocking(encode).await;
                        encoded.map_err(|error| Problem::internal(error.to_string()))?
                    }
                };
                describe(&mut parts.headers, &digest);
                parts.headers.extend(coding.header().map(|coding| (CONTENT_ENCODING, coding)));
                Stored::Memory(bytes)
            }
        };
        let mut headers = parts.headers;
        headers.insert(CONTENT_LENGTH, value(&body.len().to_string()));
        let mut unmodified = headers.clone();
        for of_content in
            [CONTENT_TYPE, CONTENT_LENGTH, CONTENT_ENCODING, REPR_DIGEST, ACCEPT_RANGES]
        {
            unmodified.remove(of_content);
        }
        let tag = headers.get(ETAG).cloned().unwrap_or(HeaderValue::from_static(""));
        Ok(Finished { status: parts.status, headers, unmodified, tag, body, _room: None })
    }

    /// The response as this request gets it: whole, in part, or confirmed.
    pub fn answer(&self, finished: &Finished, flight: &Flight) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        let is_found = finished.status == StatusCode::OK;
        if is_found && self.conditions.has(&finished.tag) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.headers_mut() = finished.unmodified.clone();
            return response;
        }
        *response.status_mut() = finished.status;
        *response.headers_mut() = finished.headers.clone();
        let bytes = finished.body.len();
        let mut sent = 0..bytes;
        if is_found && finished.headers.contains_key(ACCEPT_RANGES) {
            sent = extent(&mut response, &self.conditions, &finished.tag, bytes);
        }
        if self.method != Method::HEAD {
            *response.body_mut() = flight.stored(&finished.body, sent);
        }
        response
    }

    /// Whether a response may be one of those in the cache.
    pub fn is_cacheable(&self) -> bool {
        [Method::GET, Method::HEAD].contains(&self.method)
    }

    /// A response that is not complete, which is confirmed if the client has it.
    pub fn confirm(&self, mut response: Response<Body>) -> Response<Body> {
        let is_content = [StatusCode::OK, StatusCode::PARTIAL_CONTENT].contains(&response.status());
        let has = |tag| self.conditions.has(tag);
        if !is_content || !response.headers().get(ETAG).is_some_and(has) {
            return response;
        }
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        for header in [CONTENT_TYPE, CONTENT_LENGTH, CONTENT_ENCODING, CONTENT_RANGE, REPR_DIGEST] {
            response.headers_mut().remove(header);
        }
        response
    }
}

/// Marks a response as the part of so many bytes that is asked for. Returns which they are.
pub fn extent(
    response: &mut Response<Body>,
    conditions: &Conditions,
    tag: &HeaderValue,
    bytes: u64,
) -> Range<u64> {
    let (status, sent, range) = match conditions.extent(tag, bytes) {
        Extent::Whole => return 0..bytes,
        Extent::Part(part) => {
            let range = format!("bytes {}-{}/{bytes}", part.start, part.end - 1);
            (StatusCode::PARTIAL_CONTENT, part, range)
        }
        Extent::Unsatisfiable => {
            (StatusCode::RANGE_NOT_SATISFIABLE, 0..0, format!("bytes */{bytes}"))
        }
    };
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_RANGE, value(&range));
    headers.insert(CONTENT_LENGTH, value(&(sent.end - sent.start).to_string()));
    sent
}

impl Finished {
    /// The same response, whose bytes are counted.
    ///
    /// # Errors
    ///
    /// Those of [`Flight::hold`].
    pub fn held(self, flight: &Flight) -> Result<Self, Problem> {
        Ok(Finished { body: flight.hold(self.body)?, ..self })
    }
}

impl Default for Responses {
    fn default() -> Self {
        Responses { memory: Flight::new(MEMORY_BYTES), kept: Mutex::default() }
    }
}

impl Responses {
    /// The response to a request, if it was kept in this epoch.
    pub fn find(&self, epoch: Epoch, wanted: &Wanted) -> Option<Arc<Finished>> {
        self.kept().to_back(&(epoch, wanted.digest)).cloned()
    }

    /// Keeps the response to a request of this epoch, in place of others that were used less recently.
    /// Its bytes are counted until the last client has read them, so that slow readers of what is no
    /// longer in the cache count too. Returns `None` if there is no room, or it is too long.
    pub async fn keep(
        &self,
        epoch: Epoch,
        wanted: &Wanted,
        finished: Finished,
    ) -> Result<Arc<Finished>, Finished> {
        let bytes = usize::try_from(finished.body.len()).unwrap_or(usize::MAX);
        if finished.status != StatusCode::OK || bytes > MOST_BYTES {
            return Err(finished);
        }
        let headers: usize = finished.headers.values().map(HeaderValue::len).sum();
        let entry = self.room(ENTRY_BYTES + headers);
        let (Some(entry), Some(content)) = (entry, self.room(bytes)) else {
            return Err(finished);
        };
        let Ok(body) = finished.body.clone().in_memory(content).await else {
            return Err(finished);
        };
        let finished = Arc::new(Finished { body, _room: Some(entry), ..finished });
        self.kept().insert((epoch, wanted.digest), Arc::clone(&finished));
        Ok(finished)
    }

    /// Room for some bytes, for which others are removed. `None` means that slow readers hold them.
    fn room(&self, bytes: usize) -> Option<Room> {
        loop {
            if let Ok(room) = self.memory.room_now(bytes) {
                return Some(room);
            }
            self.kept().pop_front()?;
        }
    }

    fn kept(&self) -> MutexGuard<'_, LinkedHashMap<Key, Arc<Finished>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header::LINK;
    use bytes::Bytes;

    use super::*;

    const EPOCH: Epoch = Epoch { generation: 0, state: 1, day: 2 };

    fn wanted(number: usize, headers: &HeaderMap) -> Wanted {
        Wanted::of(&format!("/?n={number}"), &Method::GET, headers)
    }

    async fn kept(responses: &Responses, epoch: Epoch, wanted: &Wanted, link: &str) -> bool {
        let mut response = Response::new(Body::empty());
        response.headers_mut().insert(LINK, value(link));
        let finished = wanted.finish(response, Form::Made(Bytes::from_static(b"x"))).await;
        responses.keep(epoch, wanted, finished.unwrap()).await.is_ok()
    }

    #[tokio::test]
    async fn what_is_kept_does_not_keep_the_head_of_its_request() {
        struct Head {
            _held: Arc<()>,
        }
        impl AsRef<[u8]> for Head {
            fn as_ref(&self) -> &[u8] {
                b"text/html"
            }
        }
        let (responses, head) = (Responses::default(), Arc::new(()));
        let mut headers = HeaderMap::new();
        let bytes = Bytes::from_owner(Head { _held: Arc::clone(&head) });
        headers.insert(ACCEPT, HeaderValue::from_maybe_shared(bytes).unwrap());
        let wanted = wanted(1, &headers);
        assert!(kept(&responses, EPOCH, &wanted, "").await);
        drop(headers);
        assert_eq!(Arc::strong_count(&head), 1);
    }

    #[tokio::test]
    async fn long_headers_count() {
        let (responses, link) = (Responses::default(), "a".repeat(12 * 1_024));
        for number in 0..2_100 {
            assert!(kept(&responses, EPOCH, &wanted(number, &HeaderMap::new()), &link).await);
        }
        let entries = responses.kept().len();
        assert!(entries > 1_000 && entries * (16 * 1_024) <= MEMORY_BYTES, "{entries}");
    }

    #[tokio::test]
    async fn a_response_of_an_older_state_does_not_remove_those_of_the_present_one() {
        let (responses, wanted) = (Responses::default(), wanted(1, &HeaderMap::new()));
        assert!(kept(&responses, EPOCH, &wanted, "").await);
        let older = Epoch { state: 0, ..EPOCH };
        assert!(responses.find(older, &wanted).is_none());
        assert!(kept(&responses, older, &wanted, "").await);
        assert!(responses.find(EPOCH, &wanted).is_some());
    }
}
