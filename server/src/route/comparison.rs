//! `/compare/LEFT...RIGHT`: two sets.

use std::sync::Arc;

use crate::answer::{Answer, Stop};
use crate::pages::ComparisonPage;
use crate::problem::Problem;
use crate::request::{Asked, Format, dataset_name, moment};
use crate::rows::{self, PAGE_BYTES, list};
use crate::state::ServerState;
use accession::model::{GranuleId, Identifier, Moment, Timestamp};
use accession::registry::Selection;

const OFFERED: [Format; 3] = [Format::Html, Format::Json, Format::JsonLines];

/// How many granules the page lists, and how long their names are in all: it has at most 32,000 bytes.
const SHOWN: [usize; 2] = [200, 11_000];

/// How many granules a page for programs lists, and may list.
const LISTED: (u32, u32) = (1_000, 100_000);

/// Compares two sets.
pub async fn comparison(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let sides = asked.segment(1)?;
    if sides.is_empty() {
        return Err(Problem::not_found().into());
    }
    let Some((left, right)) = sides.split_once("...") else {
        return Err(Problem::usage("A comparison is written LEFT...RIGHT, with three dots.").into());
    };
    let now = state.now();
    let (left, right) = (selection(left, now)?, selection(right, now)?);
    let format = asked.format(&OFFERED)?;
    let most = match format {
        Format::Html => SHOWN,
        _ => [asked.limit(LISTED.0, LISTED.1)? as usize, PAGE_BYTES],
    };
    let after: Option<GranuleId> = asked.parsed("after")?;
    let read = state.source.compare(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        ComparisonPage::read(snapshot, &left, &right, after.as_ref(), most)
    });
    let page = read.await?;
    let rows = &page.differences;
    let next = rows
        .last()
        .filter(|_| page.has_more)
        .map(|last| asked.next_page(&state.site, last.granule.as_str(), most[0] as u64, format));
    if format == Format::Html {
        let path = format!("/compare/{}", escaped(&sides));
        let content = page.html(&state.site, &path, next.as_deref());
        return Ok(rows::page(format, content, next.as_deref()));
    }
    Ok(list(format, rows, next.as_deref(), || page.json(next.as_deref())))
}

/// `/compare?left=…&right=…`, as a form sends it.
pub fn form(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let side = |name: &str| {
        let side = asked.parameter(name).filter(|side| !side.is_empty());
        side.ok_or_else(|| Problem::usage("A comparison is /compare/LEFT...RIGHT."))
    };
    let path = format!("/compare/{}...{}", escaped(&side("left")?), escaped(&side("right")?));
    Err(Stop::see_other(state.site.href(&path)))
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
        Some((name, at)) => (name, Some(moment(at)?)),
        None => (text, None),
    };
    if at.is_some_and(|at: Moment| at.first_instant() > now) {
        return Err(Problem::unknown("usage", "The time of a side is in the future."));
    }
    Ok(Selection::Dataset { name: dataset_name(name)?, at })
}
