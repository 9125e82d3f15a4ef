//! `/compare/LEFT...RIGHT`: two sets.

use std::sync::Arc;

use axum::extract::State as Extracted;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::Result;
use crate::model::{GranuleId, Identifier, Instance, Moment, Set, Timestamp};
use crate::pages::{ComparisonPage, PrefixGroups};
use crate::registry::{Counts, Difference, Selection};
use crate::server::answer::{Answer, Keep, Stop};
use crate::server::problem::Problem;
use crate::server::request::{Asked, Format, dataset_name, moment};
use crate::server::rows::{PAGE_BYTES, list};
use crate::server::source::Reading;
use crate::server::state::State;

const OFFERED: [Format; 3] = [Format::Html, Format::Json, Format::JsonLines];

/// How many granules the page lists.
const SHOWN_DIFFERENCES: usize = 200;

/// How many granules a page for programs lists, and may list.
const LISTED: (u32, u32) = (1_000, 100_000);

/// What was compared.
struct Compared {
    left: Set,
    right: Set,
    counts: Counts,
    groups: PrefixGroups,
    differences: Vec<Difference>,
    has_more: bool,
}

/// Compares two sets.
pub async fn comparison(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Answer, Stop> {
    let sides = asked.segment(1)?;
    let Some((left, right)) = sides.split_once("...") else {
        return Err(Problem::usage("A comparison is written LEFT...RIGHT, with three dots.").into());
    };
    let now = state.now();
    let (left, right) = (selection(left, now)?, selection(right, now)?);
    let format = asked.format(&OFFERED)?;
    let listed = match format {
        Format::Html => SHOWN_DIFFERENCES,
        _ => asked.limit(LISTED.0, LISTED.1)? as usize,
    };
    let after: Option<GranuleId> = match format {
        Format::Html => None,
        _ => asked.parsed("after")?,
    };
    let is_whole = after.is_none();
    let Compared { left, right, counts, groups, differences, has_more } = state
        .source
        .compare(move |reading| compare(reading, &left, &right, after.as_ref(), listed))
        .await?;
    if format == Format::Html {
        let path = format!("/compare/{}", escaped(&sides));
        let page = ComparisonPage { left, right, counts, groups, differences, path };
        return Ok(Answer::whole(format, page.html(&state.site), Keep::WhileCurrent));
    }
    let rows: Vec<Row> = differences.iter().map(Row::of).collect();
    let next = rows
        .last()
        .filter(|_| has_more)
        .map(|last| asked.next_page(&state.site, last.granule.as_str(), listed as u64, format));
    let counts = is_whole.then_some(counts);
    Ok(list(format, &rows, next.as_deref(), || {
        object([&left, &right], counts, &rows, next.as_deref())
    }))
}

/// `/compare?left=…&right=…`, as a form sends it.
pub async fn form(Extracted(state): Extracted<Arc<State>>, asked: Asked) -> Result<Answer, Stop> {
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
        return Ok(Selection::Identifier { identifier, dataset: None });
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

fn compare(
    reading: &Reading,
    left: &Selection,
    right: &Selection,
    after: Option<&GranuleId>,
    listed: usize,
) -> Result<Compared> {
    let snapshot = reading.registry.snapshot()?;
    let mut compared = match after {
        Some(after) => snapshot.compare_after(left, right, after)?,
        None => snapshot.compare(left, right)?,
    };
    drop(snapshot);
    let (mut groups, mut differences) = (PrefixGroups::default(), Vec::new());
    let (mut has_more, mut room) = (false, PAGE_BYTES);
    for difference in compared.by_ref() {
        let difference = difference?;
        groups.add(&difference);
        if differences.len() < listed && room > 0 {
            let (Difference::OnlyLeft(one) | Difference::OnlyRight(one)) = &difference;
            room = room.saturating_sub(one.as_str().len() + 16);
            differences.push(difference);
        } else {
            has_more = true;
            // Only the first page has the counts, for which everything is read.
            if after.is_some() {
                break;
            }
        }
    }
    let (left, right) = (compared.left().clone(), compared.right().clone());
    Ok(Compared { left, right, counts: compared.counts(), groups, differences, has_more })
}

/// A granule that only one side has.
#[derive(Serialize)]
struct Row<'a> {
    side: &'static str,
    granule: &'a GranuleId,
}

impl<'a> Row<'a> {
    fn of(difference: &'a Difference) -> Self {
        match difference {
            Difference::OnlyLeft(granule) => Row { side: "left", granule },
            Difference::OnlyRight(granule) => Row { side: "right", granule },
        }
    }
}

/// `compare` of the command line, with the counts and the next page.
fn object(
    [left, right]: [&Set; 2],
    counts: Option<Counts>,
    rows: &[Row<'_>],
    next: Option<&str>,
) -> Value {
    let side = |set: &Set| {
        let instance: &Instance = set.instance();
        json!({
            "identifier": set.identifier(),
            "granules": set.granules(),
            "dataset": instance.dataset,
            "timestamp": instance.timestamp,
        })
    };
    let only = |wanted: &str| -> Vec<&GranuleId> {
        rows.iter().filter(|row| row.side == wanted).map(|row| row.granule).collect()
    };
    json!({
        "identical": left.identifier() == right.identifier(),
        "left": side(left),
        "right": side(right),
        "matched": counts.map(|counts| counts.matched),
        "only_left_count": counts.map(|counts| counts.only_left),
        "only_right_count": counts.map(|counts| counts.only_right),
        "only_left": only("left"),
        "only_right": only("right"),
        "next": next,
    })
}
