//! The plot of a history in a notebook.

use accession::history::Span;
use accession_server::pages::{MARGIN, plot as draw};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::time::{moment, now};

/// The plot of the granules held, as the page of a dataset shows it: HTML without a style sheet. `changes` has
/// the time of each change and the number of granules held since, in order of time.
///
/// >>> from datetime import datetime, timezone
/// >>> from accession_registry._native import plot
/// >>> "7 since 2 Jan 2001" in plot([(datetime(2001, 1, 2, tzinfo=timezone.utc), 7)])
/// True
#[pyfunction]
pub fn plot(changes: Vec<(Bound<'_, PyAny>, u64)>) -> Result<String, Failure> {
    let span = |(at, held): (Bound<'_, PyAny>, u64)| {
        let at = moment("changes", &at)?.of_change();
        let (first, last, least, most) = (at, at, held, held);
        Ok::<_, Failure>(Span { first, last, least, most, held, added: 0, deleted: 0, changes: 1 })
    };
    let spans: Vec<Span> = changes.into_iter().map(span).collect::<Result<_, _>>()?;
    let Some(svg) = draw(&spans, now()) else { return Ok(String::new()) };
    Ok(format!("<div style=\"margin-left:{MARGIN}px;max-width:600px\">{svg}</div>"))
}
