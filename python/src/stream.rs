//! The output of a command that is read while the command works: lines for Python, and tables of the Arrow C
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

/// How many parts of the output wait to be read before the command waits, too.
const WAITING_PARTS: usize = 8;

/// How much text becomes one part of a table.
const BATCH_BYTES: usize = 512 * 1_024;

/// How often it is checked whether reading is cancelled.
const CHECKED: Duration = Duration::from_millis(50);

/// Whole lines that a command prints, in parts.
#[pyclass(frozen, module = "accession_registry._native")]
pub struct Stream {
    reading: Owned<Mutex<Reading>>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

/// How far the lines were read.
#[derive(Default)]
struct Reading {
    /// What was received and not handed out: whole lines of a text, or the beginning of a line.
    rest: Vec<u8>,
    /// `None` after the end, and for a text that is there already.
    command: Option<Running>,
    /// The warnings of the command, which are complete at its end.
    warnings: Vec<String>,
}

/// A command that works on a thread of its own.
struct Running {
    parts: Receiver<Vec<u8>>,
    worker: JoinHandle<Outcome>,
    /// Nobody reads what the command would print after this is dropped.
    _cancel: CancelOnDrop,
}

/// Cancels a command.
struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The lines of a text that is in memory already.
#[pyfunction]
pub fn lines(text: &[u8]) -> Stream {
    let rest = text.to_vec();
    Stream { reading: Owned::new(Mutex::new(Reading { rest, ..Reading::default() })) }
}

impl Stream {
    /// Runs a command, and reads what it prints.
    ///
    /// # Errors
    ///
    /// No thread can be started.
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

    /// The next lines. The error of the command is raised at the end.
    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyBytes>>, Failure> {
        let part = run(py, |token| self.reading()?.next(&token))?;
        Ok(part.map(|part| PyBytes::new(py, &part)))
    }

    /// The warnings of the command, as JSON. They are complete at its end.
    #[getter]
    fn warnings(&self) -> Result<Vec<String>, Failure> {
        Ok(self.reading()?.warnings.clone())
    }

    /// The rest of the lines as a table with these columns, as `__arrow_c_stream__` hands it over. An error
    /// before the first line is raised at once.
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

/// The error of a command is the last error of a table: its consumer shows the message.
fn external(failure: Failure) -> ArrowError {
    ArrowError::ExternalError(PyErr::from(failure).to_string().into())
}

impl Reading {
    /// So many whole lines as become a part of a table, after those that were read. `None` means the end.
    fn fill(&mut self, mut text: Vec<u8>, token: &CancelToken) -> Result<Option<Vec<u8>>, Failure> {
        while text.len() < BATCH_BYTES {
            let Some(part) = self.next(token)? else { break };
            text.extend_from_slice(&part);
        }
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    /// The next whole lines. `None` means the end.
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
    /// How the command ended, which has printed everything.
    fn end(self) -> Outcome {
        let Running { parts, worker, _cancel } = self;
        drop(parts);
        worker.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// Hands over what a command prints.
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
