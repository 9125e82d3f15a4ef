//! Times: `datetime` with a zone, `date`, and what the command line writes.

use std::time::SystemTime;

use accession::{Moment, Timestamp};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use crate::error::Failure;

/// The present time.
pub fn now() -> Timestamp {
    SystemTime::now().try_into().unwrap_or(Timestamp::EPOCH)
}

/// A time as it is given: a string, a `datetime` with a zone, or a `date`, which means a whole day.
///
/// # Errors
///
/// It has no zone, or is not a time.
pub fn moment(argument: &str, given: &Bound<'_, PyAny>) -> Result<Moment, Failure> {
    let text = match given.cast::<PyString>() {
        Ok(text) => text.to_string(),
        Err(_) => given.call_method0("isoformat").map_err(|_| not_a_time(argument))?.extract()?,
    };
    text.parse().map_err(|cause| Failure::unreadable(argument, cause))
}

fn not_a_time(argument: &str) -> Failure {
    let message = format!("{argument} is not a time");
    Failure::usage(message, "a time is a datetime with a zone, a date, or a string")
}

/// The same of an argument that may be left out.
///
/// # Errors
///
/// Those of [`moment`].
pub fn moment_or_none(
    argument: &str,
    given: Option<&Bound<'_, PyAny>>,
) -> Result<Option<Moment>, Failure> {
    given.map(|given| moment(argument, given)).transpose()
}

/// When a change takes effect, as `--at` says it.
#[derive(Clone, Copy, Default)]
pub struct ChangeTime {
    /// `None` means now.
    pub at: Option<Timestamp>,
    /// Whether a time was given, `"now"` included.
    pub is_given: bool,
}

impl ChangeTime {
    /// Reads the argument `at`: a date means its beginning.
    ///
    /// # Errors
    ///
    /// Those of [`moment`].
    pub fn of(given: Option<&Bound<'_, PyAny>>) -> Result<Self, Failure> {
        let Some(given) = given else { return Ok(ChangeTime::default()) };
        if given.cast::<PyString>().is_ok_and(|text| *text == "now") {
            return Ok(ChangeTime { at: None, is_given: true });
        }
        let at = Some(moment("at", given)?.of_change());
        Ok(ChangeTime { at, is_given: true })
    }
}

/// A `datetime` in UTC. Python has none before the year 1.
pub fn datetime<'py>(py: Python<'py>, at: Timestamp) -> PyResult<Bound<'py, PyAny>> {
    static EPOCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static TIMEDELTA: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let module = || py.import("datetime");
    let timedelta = TIMEDELTA
        .get_or_try_init(py, || Ok::<_, PyErr>(module()?.getattr("timedelta")?.unbind()))?;
    let epoch = EPOCH.get_or_try_init(py, || {
        let utc = module()?.getattr("timezone")?.getattr("utc")?;
        let epoch = module()?.getattr("datetime")?.call_method1("fromtimestamp", (0, utc))?;
        Ok::<_, PyErr>(epoch.unbind())
    })?;
    let micros = at.as_micros();
    let since = (micros.div_euclid(86_400_000_000), 0, micros.rem_euclid(86_400_000_000));
    epoch.bind(py).add(timedelta.bind(py).call1(since)?)
}
