//! Times: `datetime` with a zone, `date`, and what the command line writes.

use std::time::Duration;

use accession::{Clock, Moment, Timestamp};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::Failure;

/// The present time.
pub fn now() -> Timestamp {
    Clock::system().now()
}

/// A time as it is given: a string, a `datetime` with a zone, or a `date`, which means a whole day. In Python a
/// `datetime` without a zone is often local time, so it is refused; a string without an offset is UTC.
///
/// # Errors
///
/// It has no zone, or is not a time.
pub fn moment(argument: &str, given: &Bound<'_, PyAny>) -> Result<Moment, Failure> {
    let not_a_time = || {
        let hint = "a time is a datetime with a zone, a date, or a string";
        Failure::usage(format!("{argument} is not a time"), hint)
    };
    let text = match given.cast::<PyString>() {
        Ok(text) => text.to_string(),
        Err(_) => {
            // A date has no such attribute.
            if given.getattr("tzinfo").is_ok_and(|zone| zone.is_none()) {
                let hint = "for UTC: .replace(tzinfo=timezone.utc)";
                return Err(Failure::usage(
                    format!("{argument} is a datetime without a zone"),
                    hint,
                ));
            }
            given.call_method0("isoformat").map_err(|_| not_a_time())?.extract()?
        }
    };
    Moment::typed(&text, now()).map_err(|cause| Failure::unreadable(argument, cause))
}

/// How old something may be, or how long it may take: a `timedelta`, or what the command line reads
/// (`"36h"`).
///
/// # Errors
///
/// It is something else.
pub fn duration(argument: &str, given: &Bound<'_, PyAny>) -> Result<Duration, Failure> {
    if let Ok(text) = given.cast::<PyString>() {
        let age = accession::text::parse_duration(text.to_str()?);
        return age.map_err(|cause| Failure::unreadable(argument, cause));
    }
    let seconds = given.call_method0("total_seconds").and_then(|seconds| seconds.extract::<f64>());
    let duration = seconds.ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let message = || format!("{argument} is not a duration");
    let hint = "a duration is a timedelta, or a string: 90m, 36h or 2d";
    duration.ok_or_else(|| Failure::usage(message(), hint))
}

/// When a change takes effect, as `--at` says it.
#[derive(Debug, Clone, Copy, Default)]
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
