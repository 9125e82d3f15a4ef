//! `/`: the datasets.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::{Response, StatusCode};
use serde_json::json;

use crate::citation::recognise::{self, Pasted, Stated};
use crate::model::{Dataset, DatasetName, Doi, Identifier};
use crate::pages::{IndexPage, Site};
use crate::registry::{Listed, Result, Snapshot, Withdrawn};
use crate::server::answer::{Keep, redirect, whole};
use crate::server::asked::Asked;
use crate::server::format::Format;
use crate::server::problem::Problem;
use crate::server::rows::{self, instance_bytes, read_page};
use crate::server::source::Reading;
use crate::server::state::State;

/// How many datasets a page for people has.
const PAGE_ROWS: u32 = 50;

/// How many datasets a page for programs has, and may have.
const LIST_ROWS: (u32, u32) = (200, 1_000);

/// How many records a search reads at once.
const SEARCHED_ROWS: u32 = 1_000;

const OFFERED: [Format; 4] = [Format::Html, Format::Json, Format::JsonLines, Format::Csv];

/// What is listed.
struct Wanted {
    query: String,
    after: Option<DatasetName>,
    withdrawn: Withdrawn,
    limit: u32,
}

/// Lists the datasets, or those that a search finds.
pub async fn index(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let format = asked.format(&OFFERED)?;
    let query = asked.parameter("q").unwrap_or_default().trim().to_owned();
    // An identifier from a paper leads to its set.
    if let Some(identifier) = identifier_in(&query) {
        return Ok(redirect(StatusCode::SEE_OTHER, &state.site.href(&Site::set(identifier))));
    }
    let (default, most) = if format == Format::Html { (PAGE_ROWS, PAGE_ROWS) } else { LIST_ROWS };
    let shows_withdrawn = match asked.parameter("withdrawn").as_deref() {
        None | Some("") => false,
        Some("listed") => true,
        Some(_) => return Err(Problem::usage("The parameter withdrawn takes listed.")),
    };
    let wanted = Wanted {
        query: query.clone(),
        after: asked.parsed("after")?,
        withdrawn: if shows_withdrawn { Withdrawn::Listed } else { Withdrawn::LeftOut },
        limit: asked.limit(default, LIST_ROWS.1)?.min(most),
    };
    let is_first = wanted.after.is_none();
    let (page, count) = state
        .source
        .read(asked.client(), move |reading| {
            let snapshot = reading.registry.snapshot()?;
            let count = if is_first { Some(count(&snapshot)?) } else { None };
            Ok((list(reading, &snapshot, &wanted)?, count.flatten()))
        })
        .await?;
    let (datasets, has_more) = page;
    let next = datasets.last().filter(|_| has_more).map(|last| last.dataset.name.clone());
    let page = IndexPage { datasets, next, query, shows_withdrawn, is_first, count };
    let next = page.next.as_ref().map(|next| {
        let path = page.path_after(next);
        let format = if format == Format::Html {
            String::new()
        } else {
            format!("&format={}", format.name())
        };
        state.site.address_or_href(&format!("{path}{format}"))
    });
    let content = match format {
        Format::Json => rows::json(&json!({ "datasets": page.datasets, "next": next })),
        Format::JsonLines => rows::json_lines(&page.datasets),
        Format::Csv => table(&page.datasets),
        _ => return Ok(whole(Format::Html, page.html(&state.site), Keep::WhileCurrent)),
    };
    Ok(rows::page(format, content, next.as_deref()))
}

/// The identifier in a query: alone, or the only one in a citation.
fn identifier_in(query: &str) -> Option<Identifier> {
    if let Ok(identifier) = query.parse() {
        return Some(identifier);
    }
    match recognise::find(query).as_slice() {
        [Pasted { identifier: Stated::Read(identifier), .. }] => Some(*identifier),
        _ => None,
    }
}

/// Leads from `/datasets/` to the list.
pub async fn datasets(Extracted(state): Extracted<Arc<State>>) -> Response<Body> {
    redirect(StatusCode::PERMANENT_REDIRECT, &state.site.href("/"))
}

/// The number of datasets, if all of them are shown.
fn count(snapshot: &Snapshot) -> Result<Option<u64>> {
    /// More are not counted one by one.
    const MOST: u32 = 100_000;
    let (records, next) = snapshot.records(None, Withdrawn::LeftOut, 1_000.min(MOST))?;
    // Counting is cheap where one page has them all.
    Ok(next.is_none().then_some(records.len() as u64))
}

fn list(reading: &Reading, snapshot: &Snapshot, wanted: &Wanted) -> Result<(Vec<Listed>, bool)> {
    let Wanted { query, after, withdrawn, limit } = wanted;
    let searched = (!query.is_empty()).then(|| Searched::new(query));
    read_page(*limit, listed_bytes, |last, count| {
        let after = last.map(|last| &last.dataset.name).or(after.as_ref());
        match &searched {
            None => Ok(snapshot.reachable_datasets(after, *withdrawn, count)?.datasets),
            Some(searched) => search(reading, snapshot, searched, after, *withdrawn, count),
        }
    })
}

/// The datasets after a name that a search finds, at most `limit` of them.
fn search(
    reading: &Reading,
    snapshot: &Snapshot,
    searched: &Searched,
    after: Option<&DatasetName>,
    withdrawn: Withdrawn,
    limit: u32,
) -> Result<Vec<Listed>> {
    let (mut found, mut after) = (Vec::new(), after.cloned());
    loop {
        reading.check_time()?;
        let (records, next) = snapshot.records(after.as_ref(), withdrawn, SEARCHED_ROWS)?;
        for record in records.iter().filter(|record| searched.is_in(record)) {
            found.push(snapshot.reachable_dataset(&record.name)?);
            if found.len() == limit as usize {
                return Ok(found);
            }
        }
        after = next;
        if after.is_none() {
            return Ok(found);
        }
    }
}

/// The size of a dataset as a row.
fn listed_bytes(listed: &Listed) -> usize {
    let Listed { dataset, latest, .. } = listed;
    let description = dataset.description.as_ref().map_or(0, |it| it.as_str().len());
    1_024 + description + latest.as_ref().map_or(0, instance_bytes)
}

/// What is searched for, without regard to case.
struct Searched {
    text: String,
    doi: Option<Doi>,
}

impl Searched {
    fn new(query: &str) -> Self {
        Searched { text: query.to_lowercase(), doi: query.parse().ok() }
    }

    fn is_in(&self, record: &Dataset) -> bool {
        let contains = |text: &str| text.to_lowercase().contains(&self.text);
        contains(record.name.as_str())
            || record.title.as_deref().is_some_and(contains)
            || record.doi.as_ref().is_some_and(|doi| {
                contains(doi.as_str()) || self.doi.as_ref().is_some_and(|own| own.is_same_as(doi))
            })
    }
}

fn table(datasets: &[Listed]) -> String {
    let header = ["name", "doi", "title", "version", "timestamp", "identifier", "granules"];
    let rows = datasets.iter().map(|listed| {
        let Listed { dataset, latest, .. } = listed;
        [
            dataset.name.to_string(),
            dataset.doi.as_ref().map(ToString::to_string).unwrap_or_default(),
            dataset.title.clone().unwrap_or_default(),
            dataset.version.clone().unwrap_or_default(),
            latest.as_ref().map(|latest| latest.timestamp.to_string()).unwrap_or_default(),
            latest.as_ref().map(|latest| latest.identifier.to_string()).unwrap_or_default(),
            latest.as_ref().map(|latest| latest.granules.to_string()).unwrap_or_default(),
        ]
    });
    rows::csv(header, rows)
}
