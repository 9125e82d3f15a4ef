//! The output of a command, read while the command runs: as lines for Python, or as tables of the Arrow C
//! stream interface.

use std::io::{self, Write};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use accession::CancelToken;
use accession_cli::{Call, Outcome, call};
use arrow_array::RecordBatchIterator;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ArrowError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::arrow_out::{Columns, Lines};
use crate::error::{Failure, warnings_of};
use crate::process::Owned;
use crate::work::run;

/// The number of unread parts of the output at which the command waits.
const WAITING_PARTS: usize = 8;

/// The amount of text that becomes one batch of a table.
const BATCH_BYTES: usize = 512 * 1_024;

/// The interval at which reading checks whether it was cancelled.
const CHECKED: Duration = Duration::from_millis(50);

/// The output of a command in parts of whole lines.
#[pyclass(frozen, module = "accession_registry._native")]
pub struct Stream {
    reading: Owned<Mutex<Reading>>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

/// The state of reading the output.
#[derive(Default)]
struct Reading {
    /// The bytes that were received but not returned yet: whole lines of a text, or the beginning of a line.
    rest: Vec<u8>,
    /// The running command. `None` after its end, and for a text that is already complete.
    command: Option<Running>,
    /// The warnings of the command, set at its end.
    warnings: Vec<String>,
}

/// A command that runs on its own thread.
struct Running {
    parts: Receiver<Vec<u8>>,
    worker: JoinHandle<Outcome>,
    /// Dropping this cancels the command, because nobody reads the rest of its output.
    _cancel: CancelOnDrop,
}

/// Cancels a command.
struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A stream of the lines of a text in memory.
#[pyfunction]
pub fn lines(text: &[u8]) -> Stream {
    let rest = text.to_vec();
    Stream { reading: Owned::new(Mutex::new(Reading { rest, ..Reading::default() })) }
}

impl Stream {
    /// Starts a command, and streams its output.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub fn of(command: Call) -> Result<Self, Failure> {
        let (sender, parts) = sync_channel(WAITING_PARTS);
        let token = command.token.clone();
        let work = move || call(command, Box::new(Sender(sender)));
        let worker = thread::Builder::new().name("accession".to_owned()).spawn(work)?;
        let command = Some(Running { parts, worker, _cancel: CancelOnDrop(token) });
        let reading = Reading { command, ..Reading::default() };
        Ok(Stream { reading: Owned::new(Mutex::new(reading)) })
    }

    fn reading(&self) -> Result<MutexGuard<'_, Reading>, Failure> {
        Ok(self.reading.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl Stream {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Returns the next lines. Raises the command's error at the end.
    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyBytes>>, Failure> {
        let part = run(py, |token| self.reading()?.next(&token))?;
        Ok(part.map(|part| PyBytes::new(py, &part)))
    }

    /// The warnings of the command, as JSON. The list is complete at the end of the stream.
    #[getter]
    fn warnings(&self) -> Result<Vec<String>, Failure> {
        Ok(self.reading()?.warnings.clone())
    }

    /// Returns the remaining lines as a table with these columns, for `__arrow_c_stream__`. An error before the
    /// first line is raised at once.
    fn table<'py>(&self, py: Python<'py>, columns: &str) -> Result<Bound<'py, PyCapsule>, Failure> {
        let columns = Columns::read(columns)?;
        let schema = columns.schema();
        let (mut reading, mut first) = run(py, |token| {
            let mut reading = std::mem::take(&mut *self.reading()?);
            let first = reading.next(&token)?;
            Ok((Owned::new(reading), first))
        })?;
        let never = CancelToken::new();
        let batches = std::iter::from_fn(move || {
            let text = first.take().unwrap_or_default();
            match reading.get_mut().and_then(|reading| reading.fill(text, &never)) {
                Ok(text) => text.map(|text| columns.batch(&Lines::of(&text))),
                Err(failure) => Some(Err(external(failure))),
            }
        });
        let reader = RecordBatchIterator::new(batches, schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        Ok(PyCapsule::new_with_value(py, stream, c"arrow_array_stream")?)
    }
}

/// Converts an error of the command to the last error of the table, so that the table's consumer shows the
/// message.
fn external(failure: Failure) -> ArrowError {
    ArrowError::ExternalError(PyErr::from(failure).to_string().into())
}

impl Reading {
    /// Appends lines to `text` until it is enough for one batch. `None` means the end.
    fn fill(&mut self, mut text: Vec<u8>, token: &CancelToken) -> Result<Option<Vec<u8>>, Failure> {
        while text.len() < BATCH_BYTES {
            let Some(part) = self.next(token)? else { break };
            text.extend_from_slice(&part);
        }
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    /// Returns the next whole lines. `None` means the end.
    fn next(&mut self, token: &CancelToken) -> Result<Option<Vec<u8>>, Failure> {
        while let Some(running) = &self.command {
            match running.parts.recv_timeout(CHECKED) {
                Ok(part) => {
                    self.rest.extend_from_slice(&part);
                    if let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') {
                        let rest = self.rest.split_off(end + 1);
                        return Ok(Some(std::mem::replace(&mut self.rest, rest)));
                    }
                }
                Err(RecvTimeoutError::Timeout) if token.is_cancelled() => {
                    return Err(Failure::interrupted());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if let Some(running) = self.command.take() {
            self.warnings = warnings_of(running.end())?;
        }
        Ok(Some(std::mem::take(&mut self.rest)).filter(|rest| !rest.is_empty()))
    }
}

impl Running {
    /// Waits for the end of the command, which has printed everything, and returns its result.
    fn end(self) -> Outcome {
        let Running { parts, worker, _cancel } = self;
        drop(parts);
        worker.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// Sends the output of a command to the stream.
struct Sender(SyncSender<Vec<u8>>);

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.send(bytes.to_vec());
        sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
