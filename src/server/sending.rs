//! Bodies of responses, whose bytes in memory are counted.
//!
//! A client that reads slowly keeps what was made for it in memory. So a body is made part by part,
//! where it can be; each part holds permits for its bytes until it has been sent; and there are only
//! so many permits. Parts of at most [`PART_BYTES`] that are made at once are not counted: there is
//! one for each connection.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use futures_util::stream::try_unfold;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::Problem;

/// The greatest length of a part of a body.
const PART_BYTES: usize = 64 * 1_024;

/// How much of a file is read at once: a thread is waited for each time.
const READ_BYTES: u64 = 128 * 1_024;

/// The bytes for which one permit is.
const PERMIT_BYTES: usize = 1_024;

/// What is in memory for clients that have not read it yet.
#[derive(Clone)]
pub struct Flight {
    permits: Arc<Semaphore>,
    /// How many permits there are.
    all: u32,
}

/// Bytes with their permits.
struct Held {
    bytes: Bytes,
    _permit: OwnedSemaphorePermit,
}

/// Room for bytes that are still to be made.
pub struct Room(OwnedSemaphorePermit);

/// Content that can be sent any number of times.
#[derive(Debug, Clone)]
pub enum Stored {
    /// In memory.
    Memory(Bytes),
    /// In a file.
    File {
        /// The file, which does not change.
        file: Arc<File>,
        /// Its length.
        bytes: u64,
    },
}

/// The content of a response, as an extension of it.
#[derive(Debug, Clone)]
pub struct Content {
    pub form: Form,
    /// Whether the response is kept for the next request.
    pub is_kept: bool,
}

/// What a response is sent from.
#[derive(Debug, Clone)]
pub enum Form {
    /// Bytes that are still to be compressed and tagged.
    Made(Bytes),
    /// What is sent as it is, whose headers are there already.
    Stored(Stored),
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Room {
    /// The bytes that were made; the rest of the room is given back.
    pub fn fill(mut self, bytes: impl Into<Bytes>) -> Bytes {
        let bytes = bytes.into();
        drop(self.0.split(self.0.num_permits().saturating_sub(permits(bytes.len()) as usize)));
        Bytes::from_owner(Held { bytes, _permit: self.0 })
    }
}

impl Stored {
    /// The number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Stored::Memory(bytes) => bytes.len() as u64,
            Stored::File { bytes, .. } => *bytes,
        }
    }

    /// The same content in memory, where there is room for it.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub async fn in_memory(self, room: Room) -> io::Result<Self> {
        let (file, bytes) = match self {
            Stored::Memory(bytes) => return Ok(Stored::Memory(room.fill(bytes))),
            Stored::File { file, bytes } => (file, bytes),
        };
        let read = move || {
            let mut content = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
            file.read_exact_at(&mut content, 0)?;
            Ok(Stored::Memory(room.fill(content)))
        };
        tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
    }
}

impl Flight {
    /// Permits for this many bytes.
    pub fn new(bytes: usize) -> Self {
        let all = u32::try_from(bytes / PERMIT_BYTES).unwrap_or(u32::MAX).max(1);
        Flight { permits: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// Waits for room for this many bytes, until slow readers have read or have been disconnected.
    ///
    /// # Errors
    ///
    /// The server is ending.
    pub async fn room(&self, bytes: usize) -> Result<Room, Problem> {
        let count = permits(bytes).min(self.all);
        let permit = Arc::clone(&self.permits).acquire_many_owned(count).await;
        permit.map(Room).map_err(|_| Problem::busy())
    }

    /// Room for bytes that were made already, if there is any at once.
    ///
    /// # Errors
    ///
    /// There is too much in memory: rather than kept until others have read theirs, they are dropped.
    pub fn room_now(&self, bytes: usize) -> Result<Room, Problem> {
        let count = permits(bytes).min(self.all);
        let permit = Arc::clone(&self.permits).try_acquire_many_owned(count);
        permit.map(Room).map_err(|_| Problem::busy())
    }

    /// Counts content that was made for one client until that has read it.
    ///
    /// # Errors
    ///
    /// Those of [`Flight::room_now`].
    pub fn hold(&self, content: Stored) -> Result<Stored, Problem> {
        match content {
            Stored::Memory(bytes) if bytes.len() > PART_BYTES => {
                let room = self.room_now(bytes.len())?;
                Ok(Stored::Memory(room.fill(bytes)))
            }
            content => Ok(content),
        }
    }

    /// Some of the bytes of stored content as a body.
    pub fn stored(&self, content: &Stored, sent: Range<u64>) -> Body {
        match content {
            // Both ends are within the content.
            Stored::Memory(bytes) => {
                Body::new(Parts { rest: bytes.slice(sent.start as usize..sent.end as usize) })
            }
            Stored::File { file, .. } => self.file(Arc::clone(file), sent),
        }
    }

    /// A part of a file, which is read when the client has taken what is before it.
    pub fn file(&self, file: Arc<File>, sent: Range<u64>) -> Body {
        let flight = self.clone();
        let Range { start, end } = sent;
        Body::from_stream(try_unfold(start, move |at| {
            let (file, flight) = (Arc::clone(&file), flight.clone());
            async move {
                let bytes = (end - at).min(READ_BYTES) as usize;
                if bytes == 0 {
                    return Ok::<_, io::Error>(None);
                }
                let room = flight.room(bytes).await;
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

/// A body in memory, handed over part by part, so that the connection never copies much of it.
struct Parts {
    rest: Bytes,
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
