//! The bytes of responses: counted, limited, and not too slow.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A server that sends less than this, in bytes a second, is given up.
const MIN_RATE: u64 = 10_000;

/// When an attempt began, and what had been received then.
pub(super) struct Pace {
    began: Instant,
    received: u64,
}

impl Pace {
    pub fn begin(received: u64) -> Self {
        Pace { began: Instant::now(), received }
    }

    /// Whether what was received since is not too little for the time.
    pub fn is_fast(&self, received: u64) -> bool {
        is_fast(received - self.received, self.began.elapsed())
    }
}

/// Whether so many bytes in a time are not too few.
fn is_fast(bytes: u64, time: Duration) -> bool {
    u128::from(bytes) * 1_000 >= u128::from(MIN_RATE) * time.as_millis()
}

/// More bytes were read than are permitted.
#[derive(Debug, thiserror::Error)]
#[error("more than {0} bytes")]
pub(super) struct TooMany(pub u64);

/// What a body contains after decompression, counted together with all others, and limited.
pub(super) struct Content {
    reader: Box<dyn Read>,
    read: Rc<Cell<u64>>,
    max_bytes: u64,
}

impl Content {
    /// Counts what is read into `read`. Fails with [`TooMany`] beyond `max_bytes`.
    pub fn of(reader: impl Read + 'static, read: Rc<Cell<u64>>, max_bytes: u64) -> Self {
        Content { reader: Box::new(reader), read, max_bytes }
    }
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.read.set(self.read.get().saturating_add(read as u64));
        match self.read.get() > self.max_bytes {
            true => Err(io::Error::other(TooMany(self.max_bytes))),
            false => Ok(read),
        }
    }
}

/// The body of a response as it is sent, counted.
pub(super) struct Counted {
    reader: Box<dyn Read>,
    received: Rc<Cell<u64>>,
    /// How long a server may be too slow.
    window: Duration,
    /// How long the server was waited for since the window began: what the mirror itself does between
    /// two calls does not count.
    waited: Duration,
    received_meanwhile: u64,
}

impl Counted {
    /// Counts what is read into `received`.
    pub fn of(reader: impl Read + 'static, received: Rc<Cell<u64>>, window: Duration) -> Self {
        let (reader, waited) = (Box::new(reader), Duration::ZERO);
        Counted { reader, received, window, waited, received_meanwhile: 0 }
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let began = Instant::now();
        let read = self.reader.read(buffer)?;
        self.waited += began.elapsed();
        self.received.set(self.received.get() + read as u64);
        self.received_meanwhile += read as u64;
        if self.waited >= self.window {
            if read > 0 && !is_fast(self.received_meanwhile, self.waited) {
                let (bytes, seconds) = (self.received_meanwhile, self.waited.as_secs_f64());
                let what = format!("the server is too slow: {bytes} bytes in {seconds:.1} s");
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            (self.waited, self.received_meanwhile) = (Duration::ZERO, 0);
        }
        Ok(read)
    }
}
