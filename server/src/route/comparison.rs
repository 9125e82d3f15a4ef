//! `/compare/LEFT...RIGHT`: compares two sets.

use axum::extract::State;
use axum::response::Response;

use crate::pages::ComparisonPage;
use crate::problem::Problem;
use crate::request::{Format, Request, Segments};
use crate::response::Rejection;
use crate::rows::{PAGE_BYTES, list};
use crate::state::App;
use accession::{GranuleId, SetSpec};

const OFFERED: [Format; 3] = [Format::Html, Format::Json, Format::JsonLines];

/// The greatest number of granules on the HTML page, and the total length of their names: the page has at most
/// 32,000 bytes.
const SHOWN: [usize; 2] = [200, 11_000];

/// The default and the greatest number of granules in other formats.
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
    let (left, right) = (side(left)?, side(right)?);
    let format = request.format(&OFFERED)?;
    let most = match format {
        Format::Html => SHOWN,
        _ => [request.limit(LISTED.0, LISTED.1)? as usize, PAGE_BYTES],
    };
    let after: Option<GranuleId> = request.parsed("after")?;
    let read = state.source.compare(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let left = snapshot.resolve(&left)?.selection().clone();
        let right = snapshot.resolve(&right)?.selection().clone();
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

/// Redirects from `/compare?left=…&right=…`, the address that a form requests.
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

/// Parses one side: a set in the syntax of the command line, but not a file.
fn side(text: &str) -> Result<SetSpec, Problem> {
    text.parse().map_err(|error| Problem::usage(format!("{text}: {error}.")))
}
