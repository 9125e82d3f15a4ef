//! `/compare/LEFT...RIGHT`: two sets.

use axum::extract::State;
use axum::response::Response;

use crate::pages::ComparisonPage;
use crate::problem::Problem;
use crate::request::{Format, Request, Segments, dataset_name, moment};
use crate::response::Rejection;
use crate::rows::{PAGE_BYTES, list};
use crate::state::App;
use accession::Selection;
use accession::{GranuleId, Identifier, Moment, Timestamp};

const OFFERED: [Format; 3] = [Format::Html, Format::Json, Format::JsonLines];

/// How many granules the page lists, and how long their names are in all: it has at most 32,000 bytes.
const SHOWN: [usize; 2] = [200, 11_000];

/// How many granules a page for programs lists, and may list.
const LISTED: (u32, u32) = (1_000, 100_000);

/// Compares two sets.
pub async fn comparison(
    State(state): State<App>,
    Segments(sides): Segments<String>,
    request: Request,
) -> Result<Response, Rejection> {
    let Some((left, right)) = sides.split_once("...") else {
        return Err(Problem::usage("A comparison is written LEFT...RIGHT, with three dots.").into());
    };
    let now = state.now();
    let (left, right) = (selection(left, now)?, selection(right, now)?);
    let format = request.format(&OFFERED)?;
    let most = match format {
        Format::Html => SHOWN,
        _ => [request.limit(LISTED.0, LISTED.1)? as usize, PAGE_BYTES],
    };
    let after: Option<GranuleId> = request.parsed("after")?;
    let read = state.source.compare(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        ComparisonPage::read(snapshot, &left, &right, after.as_ref(), most)
    });
    let page = read.await?;
    let rows = &page.differences;
    let next = rows
        .last()
        .filter(|_| page.has_more)
        .map(|last| request.next_page(&state.site, last.granule.as_str(), most[0] as u64, format));
    let next = next.as_deref();
    let path = format!("/compare/{}", escaped(&sides));
    let html = || page.html(&state.site, &path, next);
    Ok(list(format, rows, next, html, || page.json(next)))
}

/// `/compare?left=…&right=…`, as a form sends it.
pub async fn form(State(state): State<App>, request: Request) -> Result<Response, Rejection> {
    let side = |name: &str| {
        let side = request.parameter(name).filter(|side| !side.is_empty());
        side.ok_or_else(|| Problem::usage("A comparison is /compare/LEFT...RIGHT."))
    };
    let path = format!("/compare/{}...{}", escaped(&side("left")?), escaped(&side("right")?));
    let path = request.with_parameters(&path, &["after", "limit", "format"]);
    Err(Rejection::see_other(state.site.href(&path)))
}

fn escaped(text: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const SEGMENT: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_').remove(b':').remove(b'@');
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// One side: an identifier, a dataset, or a dataset at a time.
fn selection(text: &str, now: Timestamp) -> Result<Selection, Problem> {
    if let Ok(identifier) = text.parse::<Identifier>() {
        return Ok(Selection::Identifier { identifier, dataset: None, at: None });
    }
    let (name, at) = match text.split_once('@') {
        Some((name, at)) => (name, Some(moment(at, now)?)),
        None => (text, None),
    };
    if at.is_some_and(|at: Moment| at.first_instant() > now) {
        return Err(Problem::unknown("usage", "The time of a side is in the future."));
    }
    Ok(Selection::Dataset { name: dataset_name(name)?, at })
}
