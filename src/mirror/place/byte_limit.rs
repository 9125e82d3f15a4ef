//! A limit on the total number of bytes that are read from a primary, counted after decompression.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, ErrorKind};

/// The number of bytes that were read from a primary, and the limit.
#[derive(Debug, Clone)]
pub(super) struct ByteLimit {
    read: Arc<AtomicU64>,
    most: u64,
}

impl ByteLimit {
    /// Creates a limit of `most` bytes.
    pub fn of(most: u64) -> Self {
        ByteLimit { read: Arc::default(), most }
    }

    /// A reader whose bytes count towards this limit, together with those of all other such readers. Beyond the
    /// limit, it fails with an error that [`Error::of_byte_limit`] recognises.
    pub fn limit(&self, reader: impl Read + Send + 'static) -> LimitedReader {
        LimitedReader { reader: Box::new(reader), limit: self.clone() }
    }
}

/// A reader that fails beyond a limit.
pub(super) struct LimitedReader {
    reader: Box<dyn Read + Send>,
    limit: ByteLimit,
}

impl Read for LimitedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        let before = self.limit.read.fetch_add(read as u64, Ordering::Relaxed);
        if before.saturating_add(read as u64) > self.limit.most {
            return Err(io::Error::other(TooMany(self.limit.most)));
        }
        Ok(read)
    }
}

/// The error for more bytes than the limit.
#[derive(Debug, thiserror::Error)]
#[error("more than {0} bytes")]
struct TooMany(u64);

impl Error {
    /// The error for a source with more bytes than the limit. `None` means that reading failed for another
    /// reason.
    pub(super) fn of_byte_limit(source: impl fmt::Display, error: &io::Error) -> Option<Self> {
        let TooMany(most) = error.get_ref()?.downcast_ref()?;
        Some(Error::too_many_bytes(source, *most))
    }

    pub(super) fn too_many_bytes(source: impl fmt::Display, most: u64) -> Self {
        let message = format!("{source}: more than {most} bytes were read");
        Error::new(ErrorKind::TooManyBytes, message)
    }
}
