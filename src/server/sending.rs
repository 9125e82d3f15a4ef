//! Bodies of responses, whose bytes in memory are counted.
//!
//! A client that reads slowly keeps what was made for it in memory. So a body is made part by part,
//! where it can be; each part holds permits for its bytes until it has been sent; and there are only
//! so many permits. Parts of at most [`PART_BYTES`] that are made at once are not counted: there is
//! one for each connection.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody, to_bytes};
use axum::http::Response;
use bytes::Bytes;
use futures_util::stream::try_unfold;
use hyper::body::{Frame, SizeHint};

use super::client::Client;
use super::permits::{Permit, Permits};
use super::problem::Problem;

/// The greatest length of a part of a body.
const PART_BYTES: usize = 64 * 1_024;

/// The bytes for which one permit is.
const PERMIT_BYTES: usize = 1_024;

/// What is in memory for clients that have not read it yet.
#[derive(Clone)]
pub struct Flight(Arc<Permits>);

/// Bytes with their permits.
struct Held {
    bytes: Vec<u8>,
    _permit: Permit,
}

/// Room for bytes that are still to be made.
pub struct Room(Permit);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Room {
    /// The bytes that were made; the rest of the room is given back.
    pub fn fill(mut self, bytes: Vec<u8>) -> Bytes {
        self.0.keep(permits(bytes.len()));
        Bytes::from_owner(Held { bytes, _permit: self.0 })
    }
}

impl Flight {
    /// Permits for this many bytes.
    pub fn new(bytes: usize) -> Self {
        Flight(Arc::new(Permits::new(bytes / PERMIT_BYTES)))
    }

    /// Waits for room for this many bytes, until slow readers have read or have been disconnected.
    ///
    /// # Errors
    ///
    /// The server is ending.
    pub async fn room(&self, client: Option<Client>, bytes: usize) -> Result<Room, Problem> {
        let permit = self.0.acquire(client, permits(bytes)).await;
        permit.map(Room).ok_or_else(Problem::busy)
    }

    /// Room for bytes that were made already, if there is any at once.
    ///
    /// # Errors
    ///
    /// There is too much in memory: rather than kept until others have read theirs, they are dropped.
    pub fn room_now(&self, client: Option<Client>, bytes: usize) -> Result<Room, Problem> {
        self.0.try_acquire(client, permits(bytes)).map(Room).ok_or_else(Problem::busy)
    }

    /// Counts the bytes of a response that was made at once.
    ///
    /// # Errors
    ///
    /// Those of [`Flight::room_now`].
    pub async fn count(
        &self,
        client: Option<Client>,
        response: Response<Body>,
    ) -> Result<Response<Body>, Problem> {
        let exact = response.body().size_hint().exact();
        let Some(bytes) = exact.and_then(|bytes| usize::try_from(bytes).ok()) else {
            return Ok(response);
        };
        if bytes <= PART_BYTES {
            return Ok(response);
        }
        let room = self.room_now(client, bytes)?;
        let (parts, body) = response.into_parts();
        let whole = to_bytes(body, usize::MAX).await;
        let rest = whole.map_err(|error| Problem::internal(error.to_string()))?;
        Ok(Response::from_parts(parts, Body::new(Parts { rest, _room: room })))
    }

    /// A part of a file, which is read when the client has taken what is before it.
    pub fn file(&self, client: Option<Client>, file: File, begin: u64, end: u64) -> Body {
        let (file, flight) = (Arc::new(file), self.clone());
        Body::from_stream(try_unfold(begin, move |at| {
            let (file, flight) = (Arc::clone(&file), flight.clone());
            async move {
                let bytes = (end - at).min(PART_BYTES as u64) as usize;
                if bytes == 0 {
                    return Ok::<_, io::Error>(None);
                }
                let room = flight.room(client, bytes).await;
                let room = room.map_err(|problem| io::Error::other(problem.detail))?;
                let read = move || {
                    let mut part = vec![0; bytes];
                    // Fewer bytes than its length said are an error, which cuts the connection.
                    file.read_exact_at(&mut part, at).map(|()| room.fill(part))
                };
                let read = tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?;
                Ok(Some((read?, at + bytes as u64)))
            }
        }))
    }
}

/// How many permits are for some bytes.
fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX)
}

/// Takes the next part off some bytes.
pub fn next_part(rest: &mut Bytes) -> Bytes {
    rest.split_to(rest.len().min(PART_BYTES))
}

/// A body that was made at once, handed over part by part: what the connection has taken is counted no
/// more.
struct Parts {
    rest: Bytes,
    _room: Room,
}

impl HttpBody for Parts {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let part = next_part(&mut self.rest);
        Poll::Ready((!part.is_empty()).then(|| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
