//! Lists, page by page: `/`, the datasets; `/datasets/NAME/history`, the changes of one, newest first;
//! `/find?granule=`, where a granule was held.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::{Response, StatusCode};
use serde_json::json;

use super::landing::read_present;
use crate::citation::recognise::{self, Pasted, Stated};
use crate::error::Result;
use crate::model::{Dataset, DatasetName, Doi, GranuleId, Identifier, Timestamp};
use crate::pages::{FindPage, HistoryPage, IndexPage, Site};
use crate::registry::{FoundPeriod, Listed, Snapshot, Withdrawn};
use crate::server::memento;
use crate::server::problem::Problem;
use crate::server::request::{Asked, Format, dataset_name};
use crate::server::response::{self, Keep, instance_bytes, list, read_page, redirect, whole};
use crate::server::source::Reading;
use crate::server::state::State;

/// How many datasets a page for people has.
const PAGE_ROWS: u32 = 50;

/// How many datasets a page for programs has, and may have.
const LIST_ROWS: (u32, u32) = (200, 1_000);

/// How many records a search reads at once.
const SEARCHED_ROWS: u32 = 1_000;

const OFFERED: [Format; 4] = [Format::Html, Format::Json, Format::JsonLines, Format::Csv];

/// The columns of the tables: members of the rows.
const DATASET_COLUMNS: [&str; 7] =
    ["name", "doi", "title", "version", "latest/timestamp", "latest/identifier", "latest/granules"];
const INSTANCE_COLUMNS: [&str; 9] = [
    "dataset",
    "timestamp",
    "until",
    "identifier",
    "granules",
    "ingested",
    "deleted",
    "recorded",
    "note",
];
const PERIOD_COLUMNS: [&str; 6] =
    ["dataset", "granule", "ingested", "deleted", "withdrawn/timestamp", "url"];

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
    let shows_withdrawn = match asked.parameter("withdrawn").as_deref() {
        None | Some("") => false,
        Some("listed") => true,
        Some(_) => return Err(Problem::usage("The parameter withdrawn takes listed.")),
    };
    let wanted = Wanted {
        query: query.clone(),
        after: asked.parsed("after")?,
        withdrawn: if shows_withdrawn { Withdrawn::Listed } else { Withdrawn::LeftOut },
        limit: asked.rows(format, (PAGE_ROWS, PAGE_ROWS), LIST_ROWS)?,
    };
    let (limit, is_first) = (wanted.limit, wanted.after.is_none());
    let (page, count) = state
        .source
        .read(asked.client(), move |reading| {
            let snapshot = reading.registry.snapshot()?;
            let count = if is_first { Some(count(&snapshot)?) } else { None };
            Ok((read_list(reading, &snapshot, &wanted)?, count.flatten()))
        })
        .await?;
    let (datasets, has_more) = page;
    let next = datasets.last().filter(|_| has_more).map(|last| last.dataset.name.clone());
    if format == Format::Html {
        let page = IndexPage { datasets, next, query, shows_withdrawn, is_first, count };
        return Ok(whole(format, page.html(&state.site), Keep::WhileCurrent));
    }
    let next = next.map(|next| asked.next_page(next.as_str(), limit.into(), format));
    let next = next.map(|next| state.site.address_or_href(&next));
    Ok(list(
        format,
        &datasets,
        &DATASET_COLUMNS,
        next.as_deref(),
        || json!({ "datasets": datasets, "next": next }),
    ))
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

/// The number of datasets, if all of them are shown. Counting is cheap where one page has them all.
fn count(snapshot: &Snapshot) -> Result<Option<u64>> {
    let (records, next) = snapshot.records(None, Withdrawn::LeftOut, SEARCHED_ROWS)?;
    Ok(next.is_none().then_some(records.len() as u64))
}

fn read_list(
    reading: &Reading,
    snapshot: &Snapshot,
    wanted: &Wanted,
) -> Result<(Vec<Listed>, bool)> {
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

const HISTORY_FORMATS: [Format; 5] =
    [Format::Html, Format::Json, Format::JsonLines, Format::Csv, Format::TimeMap];

/// Lists the changes of a dataset.
pub async fn history(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let name = dataset_name(&asked.segment(1)?)?;
    let format = asked.format(&HISTORY_FORMATS)?;
    let limit = asked.rows(format, (50, 200), (1_000, 10_000))?;
    let before: Option<Timestamp> = asked.parsed("after")?;
    let read = read_present(&state, &asked, &name, move |_, snapshot, name| {
        let page = read_page(limit, instance_bytes, |last, count| {
            snapshot.instances_before(name, last.map(|last| last.timestamp).or(before), count)
        })?;
        Ok((snapshot.dataset(name)?, page))
    });
    let (listed, (instances, has_more)) = match read.await? {
        Ok(read) => read,
        Err(moved) => return Ok(moved),
    };
    let last = instances.last().filter(|_| has_more).map(|last| last.timestamp);
    if format == Format::Html {
        let page = HistoryPage { listed, instances, next: last, is_first: before.is_none() };
        return Ok(whole(format, page.html(&state.site), Keep::WhileCurrent));
    }
    let next = last.map(|last| asked.next_page(&last.to_string(), limit.into(), format));
    let next = next.map(|next| state.site.address_or_href(&next));
    if format == Format::TimeMap {
        let map = memento::map(&state.site, &name, &instances, next.as_deref());
        return Ok(response::page(format, map, next.as_deref()));
    }
    Ok(list(
        format,
        &instances,
        &INSTANCE_COLUMNS,
        next.as_deref(),
        || json!({ "instances": instances, "next": next }),
    ))
}

/// How many periods the page lists.
const SHOWN_PERIODS: u32 = 200;

/// Finds the datasets and periods in which a granule was held.
pub async fn find(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let format = asked.format(&OFFERED)?;
    let text = asked.parameter("granule").unwrap_or_default().into_owned();
    if text.is_empty() {
        return match format {
            Format::Html => {
                Ok(whole(format, FindPage::default().html(&state.site), Keep::WhileCurrent))
            }
            _ => Err(Problem::usage("The parameter granule is a granule id.")),
        };
    }
    let granule_id: GranuleId = match text.parse() {
        Ok(granule_id) => granule_id,
        Err(error) if format == Format::Html => {
            let problem = Some(format!("{error}"));
            let page = FindPage { granule: text, problem, ..FindPage::default() };
            let mut response = whole(format, page.html(&state.site), Keep::WhileCurrent);
            *response.status_mut() = StatusCode::BAD_REQUEST;
            return Ok(response);
        }
        Err(error) => return Err(Problem::usage(format!("The parameter granule: {error}."))),
    };
    let limit = asked.rows(format, (SHOWN_PERIODS, SHOWN_PERIODS), (1_000, 10_000))?;
    let after = asked.position()?;
    let read = state.source.read(asked.client(), move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let after = after.as_ref().map(|(name, ingested)| (name, *ingested));
        let bytes = |period: &FoundPeriod| 256 + period.granule.as_str().len();
        read_page(limit, bytes, |last, count| {
            reading.check_time()?;
            let last = last.map(|last| (&last.dataset, last.ingested));
            snapshot.find(&granule_id, last.or(after), count)
        })
    });
    let (periods, has_more) = read.await?;
    if format == Format::Html {
        let page =
            FindPage { granule: text, periods: Some(periods), has_more, ..FindPage::default() };
        return Ok(whole(format, page.html(&state.site), Keep::WhileCurrent));
    }
    let next = periods.last().filter(|_| has_more).map(|last| {
        let after = format!("{}@{}", last.dataset, last.ingested);
        state.site.address_or_href(&asked.next_page(&after, limit.into(), format))
    });
    Ok(list(
        format,
        &periods,
        &PERIOD_COLUMNS,
        next.as_deref(),
        || json!({ "periods": periods, "next": next }),
    ))
}
