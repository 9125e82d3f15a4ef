//! Runs long calls without Python's lock, and stops them on Ctrl-C.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use accession::CancelToken;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::error::Failure;

/// The interval at which Python is asked for signals.
const ASKED: Duration = Duration::from_millis(100);

/// Runs `work` without Python's lock, on its own thread, while this thread checks for signals. If a signal
/// handler raises, the work is cancelled, and the error is what the handler raised. Cancelled work changes
/// nothing, but a change that had already succeeded is kept.
///
/// # Errors
///
/// The errors of `work`, and what a signal handler raises.
pub fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(CancelToken) -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let token = CancelToken::new();
    let (result, signal) = py.detach(|| {
        thread::scope(|scope| {
            let (done, ended) = sync_channel::<()>(1);
            let of_work = token.clone();
            let worker = scope.spawn(move || {
                // It is dropped when the work ends, even if it panics.
                let _done = done;
                work(of_work)
            });
            let mut signal = None;
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(ASKED) {
                if signal.is_none() {
                    signal = Python::attach(|py| py.check_signals().err());
                    if signal.is_some() {
                        token.cancel();
                    }
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
