//! Files that are read on several threads, and returned in the order in which they were asked for.
//!
//! The threads take the files in order, so those that were begun are always the first ones; what is
//! returned is a prefix without a gap. At most [`WINDOW`] files are taken from the input ahead of the one
//! that is returned next, so the memory does not depend on their number.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::reader::{Meter, Reader, Reading, Wanted};
use super::recorded::{RecordedFile, Task};
use super::root::Root;
use crate::error::{Error, ErrorKind, Result};
use crate::registry::Monitor;

/// The files that are taken from the input ahead of the one that is returned next. A thread that reads a
/// large file does not keep the others from that many small ones.
const WINDOW: usize = 4_096;

/// The bytes and the files after which the monitor is called.
const REPORTED_BYTES: u64 = 1_024 * 1_024;
const REPORTED_FILES: u32 = 256;

/// How files are read.
#[derive(Clone)]
pub struct ReadOptions {
    /// The number of files that are read at a time.
    pub jobs: NonZeroUsize,
    /// After this time no further file is begun, except the first ones; one that was begun is finished.
    /// `None` means that all are read.
    pub begin_until: Option<Instant>,
    /// So many files are begun in any case, so that repeated short runs come to an end.
    pub at_least: u64,
    /// Gets the number of bytes that were read, and can stop the reading.
    pub monitor: Option<Arc<dyn Monitor>>,
}

impl ReadOptions {
    /// Reads all files, so many at a time.
    pub fn new(jobs: NonZeroUsize) -> Self {
        ReadOptions { jobs, begin_until: None, at_least: 1, monitor: None }
    }
}

/// Files that are being read. When it is dropped, files that were begun are not finished.
///
/// After an error, or after the first file that was not begun in time, it ends. If the monitor stopped the
/// reading, that is the error.
pub(super) struct Readings<I> {
    input: Option<I>,
    task: Task,
    pending: VecDeque<Result<RecordedFile>>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    has_ended: bool,
}

struct Shared {
    state: Mutex<State>,
    /// There is a file to read, or none will follow.
    has_work: Condvar,
    /// The file that is returned next was read.
    has_reading: Condvar,
    is_stopped: Arc<AtomicBool>,
    begin_until: Option<Instant>,
    at_least: u64,
    monitor: Option<Arc<dyn Monitor>>,
}

#[derive(Default)]
struct State {
    /// The files to read.
    queue: VecDeque<(String, Wanted)>,
    /// The files that were begun, or read, and were not returned yet.
    begun: VecDeque<Option<Reading>>,
    /// The number of files that were returned.
    returned: u64,
    /// No further file is begun.
    is_over: bool,
    /// A thread has panicked: the file that it was reading will never be returned.
    is_lost: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next file to read, and its number. `None` means that there will be none.
    fn take(&self) -> Option<(u64, String, Wanted)> {
        let mut state = self.state();
        loop {
            let number = state.returned + state.begun.len() as u64;
            let is_late = number >= self.at_least
                && self.begin_until.is_some_and(|until| Instant::now() >= until);
            if state.is_over || is_late || self.is_stopped() {
                state.is_over = true;
                self.has_work.notify_all();
                self.has_reading.notify_all();
                return None;
            }
            if let Some((path, wanted)) = state.queue.pop_front() {
                state.begun.push_back(None);
                return Some((number, path, wanted));
            }
            state = self.has_work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn put(&self, number: u64, reading: Reading) {
        let mut state = self.state();
        let place =
            number.checked_sub(state.returned).and_then(|place| usize::try_from(place).ok());
        if let Some(slot) = place.and_then(|place| state.begun.get_mut(place)) {
            *slot = Some(reading);
        }
        if place == Some(0) {
            self.has_reading.notify_all();
        }
    }

    /// The next file in order. `None` means that it was not begun, and will not be.
    fn next(&self) -> Option<Reading> {
        let mut state = self.state();
        loop {
            if let Some(Some(_)) = state.begun.front() {
                state.returned += 1;
                return state.begun.pop_front().flatten();
            }
            if self.is_stopped() || state.begun.is_empty() && state.is_over {
                return None;
            }
            state = self.has_reading.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until [`Shared::next`] returns at once, at most for a time. Returns whether it does.
    fn wait(&self, at_most: Duration) -> bool {
        let is_waiting = |state: &mut State| match state.begun.front() {
            Some(Some(_)) => false,
            Some(None) => !self.is_stopped(),
            None => !state.is_over && !self.is_stopped(),
        };
        let waited = self.has_reading.wait_timeout_while(self.state(), at_most, is_waiting);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        // No thread can be between its look at the flag and its wait.
        drop(self.state());
        self.has_work.notify_all();
        self.has_reading.notify_all();
    }

    /// Reads files until none is left.
    fn work(&self, root: Arc<Root>) {
        let _lost = Lost(self);
        let mut reader = Reader::new(root, Arc::clone(&self.is_stopped));
        let mut reports = Reports { shared: self, bytes: 0, files: 0 };
        while let Some((number, path, wanted)) = self.take() {
            let Some(reading) = reader.read(&path, &wanted, &mut reports) else { return };
            reports.count_file();
            self.put(number, reading);
        }
        reports.flush();
    }
}

/// Ends the reading when the thread that has it panics, so that nobody waits for its file.
struct Lost<'a>(&'a Shared);

impl Drop for Lost<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().is_lost = true;
            self.0.stop();
        }
    }
}

/// What one thread has not reported to the monitor yet.
struct Reports<'a> {
    shared: &'a Shared,
    bytes: u64,
    files: u32,
}

impl Reports<'_> {
    fn count_file(&mut self) {
        self.files += 1;
        if self.files >= REPORTED_FILES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        self.files = 0;
        if let Some(monitor) = &self.shared.monitor
            && monitor.advance(bytes) == ControlFlow::Break(())
        {
            self.shared.stop();
        }
    }
}

impl Meter for Reports<'_> {
    fn count(&mut self, bytes: u64) {
        self.bytes += bytes;
        if self.bytes >= REPORTED_BYTES {
            self.flush();
        }
    }
}

impl<I: Iterator<Item = Result<RecordedFile>>> Readings<I> {
    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io): a thread cannot be started.
    pub fn start(root: &Arc<Root>, input: I, task: Task, options: ReadOptions) -> Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            has_work: Condvar::new(),
            has_reading: Condvar::new(),
            is_stopped: Arc::default(),
            begin_until: options.begin_until,
            at_least: options.at_least,
            monitor: options.monitor,
        });
        let (input, pending) = (Some(input), VecDeque::new());
        let mut readings =
            Readings { input, task, pending, shared, threads: Vec::new(), has_ended: false };
        for _ in 0..options.jobs.get() {
            let (shared, of_thread) = (Arc::clone(&readings.shared), Arc::clone(root));
            let thread = std::thread::Builder::new().spawn(move || shared.work(of_thread));
            let cannot = |source| Error::cannot("start threads that read", root.path(), source);
            readings.threads.push(thread.map_err(cannot)?);
        }
        Ok(readings)
    }

    /// Waits until the next file was read, at most for a time. Returns whether [`Readings::next`] returns
    /// at once.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        if self.has_ended {
            return true;
        }
        self.fill();
        !matches!(self.pending.front(), Some(Ok(_))) || self.shared.wait(at_most)
    }

    /// Takes further files from the input, once half of the window was returned.
    fn fill(&mut self) {
        if self.pending.len() > WINDOW / 2 {
            return;
        }
        let mut taken = VecDeque::new();
        while let Some(input) = &mut self.input
            && self.pending.len() < WINDOW
        {
            match input.next() {
                Some(Ok(file)) => {
                    taken.push_back((file.path.clone(), self.task.wanted(&file)));
                    self.pending.push_back(Ok(file));
                }
                Some(Err(error)) => {
                    self.pending.push_back(Err(error));
                    self.input = None;
                }
                None => self.input = None,
            }
        }
        self.shared.state().queue.append(&mut taken);
        self.shared.has_work.notify_all();
    }
}

impl<I: Iterator<Item = Result<RecordedFile>>> Iterator for Readings<I> {
    type Item = Result<(RecordedFile, Reading)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        self.fill();
        let next = self.pending.pop_front().and_then(|file| match file {
            Err(error) => Some(Err(error)),
            Ok(file) => self.shared.next().map(|reading| Ok((file, reading))),
        });
        self.has_ended = !matches!(next, Some(Ok(_)));
        match next {
            None if self.shared.state().is_lost => {
                let message = "a thread that reads files has panicked";
                Some(Err(Error::new(ErrorKind::Io, message)))
            }
            None if self.shared.is_stopped() => Some(Err(Error::interrupted())),
            next => next,
        }
    }
}

impl<I> Drop for Readings<I> {
    fn drop(&mut self) {
        self.shared.stop();
        for thread in self.threads.drain(..) {
            // A panic of the thread was reported already.
            let _ = thread.join();
        }
    }
}
