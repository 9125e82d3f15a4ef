//! Long calls: without Python's lock, and stopped by Ctrl-C.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use accession::Monitor;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::error::Failure;

/// How often Python is asked whether a signal arrived.
const ASKED: Duration = Duration::from_millis(100);

/// A monitor that stops the work when Python has a signal. Another one, which none reaches, stops nothing.
#[derive(Default)]
pub struct Stop(AtomicBool);

impl Monitor for Stop {
    fn begin(&self, _: &'static str, _: &'static str, _: Option<u64>) {}

    fn advance(&self, _: u64) -> ControlFlow<()> {
        match self.0.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn end(&self) {}
}

/// Works without Python's lock, on a thread of its own, while this one asks for signals. A signal
/// handler that raises stops the work, which then changes nothing; what it raised is the error.
///
/// # Errors
///
/// Those of the work, and what a signal handler raises.
pub fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(Arc<dyn Monitor>) -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let stop = Arc::new(Stop::default());
    let (result, signal) = py.detach(|| {
        thread::scope(|scope| {
            let (done, ended) = sync_channel::<()>(1);
            let monitor: Arc<dyn Monitor> = stop.clone();
            let worker = scope.spawn(move || {
                // It is dropped when the work ends, whether it panics or not.
                let _done = done;
                work(monitor)
            });
            let mut signal = None;
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(ASKED) {
                if signal.is_none() {
                    signal = Python::attach(|py| py.check_signals().err());
                    stop.0.store(signal.is_some(), Ordering::Relaxed);
                }
            }
            (worker.join().unwrap_or_else(|panic| resume_unwind(panic)), signal)
        })
    });
    match (result, signal) {
        (result, None) => result,
        (Ok(_), Some(signal)) if signal.is_instance_of::<PyKeyboardInterrupt>(py) => {
            let message = "the call had already succeeded; a change that it made is kept";
            Err(PyKeyboardInterrupt::new_err(message).into())
        }
        (_, Some(signal)) => Err(signal.into()),
    }
}
