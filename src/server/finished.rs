//! Responses whose content is complete, and the cache of them.
//!
//! The tag of a response is made of the digest of its bytes as they are sent, so that equal tags are equal
//! bytes. A response in the cache is sent again, or confirmed by 304, without a look at anything
//! but the state of the registry: it is valid until any process commits a change, or the UTC day ends.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::http::header::{
    ACCEPT, ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

use super::client::Client;
use super::coding::Coding;
use super::conditions::{Conditions, Extent};
use super::problem::Problem;
use super::recent::Recent;
use super::response::{ACCEPT_DATETIME, REPR_DIGEST, describe, digest, value};
use super::sending::{Flight, Form, Room, Stored};

/// The greatest number of bytes of responses in memory.
const MEMORY_BYTES: usize = 32 * 1_024 * 1_024;

/// The greatest length of one of them.
const MOST_BYTES: usize = MEMORY_BYTES / 2;

/// What an entry takes besides its content: its key, its headers, and its place.
const ENTRY_BYTES: usize = 4 * 1_024;

/// What responses depend on besides the request: which registry was opened, its state, and the UTC day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    pub generation: u64,
    pub state: u64,
    pub day: i64,
}

/// What of a request decides the response.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    target: Box<str>,
    accept: Option<HeaderValue>,
    coding: Coding,
}

/// A request as far as it is answered here.
pub struct Wanted {
    key: Key,
    method: Method,
    /// Whether a time is asked for, to which the response leads.
    has_datetime: bool,
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
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    of: Option<Epoch>,
    responses: Recent<Arc<Key>, Arc<Finished>>,
}

impl Wanted {
    /// What a request asks for.
    pub fn of(target: &str, method: &Method, headers: &HeaderMap) -> Self {
        Wanted {
            key: Key {
                target: target.into(),
                accept: headers.get(ACCEPT).cloned(),
                coding: Coding::of(headers),
            },
            method: method.clone(),
            has_datetime: headers.contains_key(ACCEPT_DATETIME),
            conditions: Conditions::of(headers),
        }
    }

    /// Completes a response: compresses and tags what was made for it.
    pub async fn finish(&self, response: Response<Body>, form: Form) -> Result<Finished, Problem> {
        let (mut parts, _) = response.into_parts();
        let body = match form {
            Form::Stored(content) => content,
            Form::Made(bytes) => {
                let coding = self.key.coding;
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
    pub fn answer(
        &self,
        finished: &Finished,
        flight: &Flight,
        client: Option<Client>,
    ) -> Response<Body> {
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
            *response.body_mut() = flight.stored(client, &finished.body, sent);
        }
        response
    }

    /// Whether a response may be one of those in the cache.
    pub fn is_cacheable(&self) -> bool {
        [Method::GET, Method::HEAD].contains(&self.method) && !self.has_datetime
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
    /// The same response, of which one client's share is counted.
    ///
    /// # Errors
    ///
    /// Those of [`Flight::hold`].
    pub fn held(self, flight: &Flight, client: Option<Client>) -> Result<Self, Problem> {
        Ok(Finished { body: flight.hold(client, self.body)?, ..self })
    }
}

impl Default for Responses {
    fn default() -> Self {
        // An entry may take half of the permits.
        Responses { memory: Flight::new(MEMORY_BYTES), kept: Mutex::default() }
    }
}

impl Responses {
    /// The response to a request, if it was kept in this epoch.
    pub fn find(&self, epoch: Epoch, wanted: &Wanted) -> Option<Arc<Finished>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.is_of(epoch).then(|| kept.responses.get(&wanted.key).cloned())?
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
        let (Some(entry), Some(content)) = (self.room(ENTRY_BYTES), self.room(bytes)) else {
            return Err(finished);
        };
        let Ok(body) = finished.body.clone().in_memory(content).await else {
            return Err(finished);
        };
        let finished = Arc::new(Finished { body, _room: Some(entry), ..finished });
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.is_of(epoch) {
            *kept = Kept { of: Some(epoch), responses: Recent::default() };
        }
        kept.responses.insert(Arc::new(wanted.key.clone()), Arc::clone(&finished));
        Ok(finished)
    }

    /// Room for some bytes, for which others are removed. `None` means that slow readers hold them.
    fn room(&self, bytes: usize) -> Option<Room> {
        loop {
            if let Ok(room) = self.memory.room_now(None, bytes) {
                return Some(room);
            }
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.responses.remove_oldest()?;
        }
    }
}

impl Kept {
    fn is_of(&self, epoch: Epoch) -> bool {
        self.of == Some(epoch)
    }
}
