//! What operators, browsers and search engines need: whether the server works, what it counted, the files of its pages, the sitemap.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::Response;
use serde_json::json;

use crate::error::Result;
use crate::pages;
use crate::pages::{Entry, FILES, Fixity, SITEMAP_ADDRESSES};
use crate::registry::{Listed, Snapshot, Withdrawn};
use crate::server::metrics::{MAX_DATASETS, of_datasets};
use crate::server::problem::Problem;
use crate::server::request::{Asked, Format};
use crate::server::response::{Keep, whole, whole_of_type};
use crate::server::source::Reading;
use crate::server::state::State;

/// Whether the registry can be read. It waits for nobody.
pub async fn health(Extracted(state): Extracted<Arc<State>>) -> Result<Response<Body>, Problem> {
    state.health.now()?;
    let health = json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") });
    Ok(whole(Format::Json, health.to_string(), Keep::Never))
}

/// How long the counts wait for the registry.
const METRICS_TIME: Duration = Duration::from_secs(2);

/// What was counted, and the state of the datasets, for Prometheus. A registry that cannot be read does
/// not hide the counts.
pub async fn metrics(Extracted(state): Extracted<Arc<State>>) -> Response<Body> {
    let reported = match state.health.now() {
        Err(_) => None,
        Ok(()) => {
            let read = state.source.read(None, |reading| {
                let snapshot = reading.registry.snapshot()?;
                let page = snapshot.reachable_datasets(None, Withdrawn::LeftOut, MAX_DATASETS)?;
                let checked = snapshot.checked_datasets()?;
                let report = |listed: Listed| {
                    let name = &listed.dataset.name;
                    let open = match checked.binary_search(name) {
                        Ok(_) => Some(snapshot.first_open_findings(name, Fixity::MOST_OPEN)?.len()),
                        Err(_) => None,
                    };
                    Ok((listed, open))
                };
                page.datasets.into_iter().map(report).collect::<Result<Vec<_>>>()
            });
            tokio::time::timeout(METRICS_TIME, read).await.ok().and_then(Result::ok)
        }
    };
    let text = state.metrics.text() + &of_datasets(reported.as_deref());
    whole_of_type("text/plain; version=0.0.4; charset=utf-8", text, Keep::Never)
}

/// The description of all routes.
const OPENAPI: &str = include_str!("../openapi.json");

/// The routes, as OpenAPI describes them. A test compares it with the routes that there are.
pub async fn openapi(Extracted(state): Extracted<Arc<State>>) -> Result<Response<Body>, Problem> {
    let mut document: serde_json::Value =
        serde_json::from_str(OPENAPI).map_err(|error| Problem::internal(error.to_string()))?;
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    document["info"]["contact"] =
        json!({ "name": state.site.contact.as_ref().unwrap_or(&state.site.name) });
    document["servers"] = json!([{ "url": state.site.address_or_href("") }]);
    Ok(whole(Format::Json, document.to_string(), Keep::WhileCurrent))
}

/// A file that all pages need.
pub async fn file(asked: Asked) -> Result<Response<Body>, Problem> {
    let file = FILES.into_iter().find(|(path, ..)| *path == asked.path());
    let (_, content_type, content) = file.ok_or_else(Problem::not_found)?;
    Ok(whole_of_type(content_type, content, Keep::WhileCurrent))
}

/// How an identifier is computed.
pub async fn identifier(Extracted(state): Extracted<Arc<State>>) -> Response<Body> {
    whole(Format::Html, pages::identifier_page(&state.site), Keep::WhileCurrent)
}

/// Keeps search engines from what is costly, and names the sitemap.
pub async fn robots(Extracted(state): Extracted<Arc<State>>) -> Response<Body> {
    whole(Format::Lines, pages::robots(&state.site), Keep::WhileCurrent)
}

/// The pages of the datasets or, if there are too many, the sitemaps that list them.
pub async fn sitemap(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let read = state.source.read(asked.client(), |reading| {
        let snapshot = reading.registry.snapshot()?;
        let first = |sitemap: u64| snapshot.names_from(sitemap * SITEMAP_ADDRESSES, 1);
        let mut sitemaps = 1;
        while first(sitemaps)?.is_some() {
            reading.check_time()?;
            sitemaps += 1;
        }
        let found = match sitemaps {
            1 => entries(reading, &snapshot, 0)?.unwrap_or_default(),
            _ => Vec::new(),
        };
        Ok((sitemaps, found))
    });
    let xml = match read.await? {
        (1, entries) => pages::sitemap(&state.site, &entries),
        (sitemaps, _) => pages::sitemap_index(&state.site, sitemaps),
    };
    Ok(whole_of_type("application/xml", xml, Keep::WhileCurrent))
}

/// One of several sitemaps, counted from 1.
pub async fn numbered_sitemap(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let file = asked.segment(1)?;
    let number = file.strip_suffix(".xml").and_then(|number| number.parse::<u64>().ok());
    let first = number.and_then(|number| number.checked_sub(1)?.checked_mul(SITEMAP_ADDRESSES));
    let first = first.ok_or_else(Problem::not_found)?;
    let read = state.source.read(asked.client(), move |reading| {
        entries(reading, &reading.registry.snapshot()?, first)
    });
    let entries = read.await?.ok_or_else(Problem::not_found)?;
    Ok(whole_of_type("application/xml", pages::sitemap(&state.site, &entries), Keep::WhileCurrent))
}

/// What a sitemap lists from a dataset on, counted from 0. `None` means that there are not so many.
fn entries(reading: &Reading, snapshot: &Snapshot, first: u64) -> Result<Option<Vec<Entry>>> {
    const AT_ONCE: u32 = 1_000;
    let Some(names) = snapshot.names_from(first, SITEMAP_ADDRESSES as u32)? else {
        return Ok(None);
    };
    let Some(name) = names.first() else { return Ok(Some(Vec::new())) };
    let mut entries = pages::entries(snapshot, &[snapshot.reachable_dataset(name)?])?;
    while let Some((last, _)) = entries.last().filter(|_| entries.len() < names.len()) {
        reading.check_time()?;
        let page = snapshot.reachable_datasets(Some(last), Withdrawn::LeftOut, AT_ONCE)?;
        if page.datasets.is_empty() {
            break;
        }
        entries.extend(pages::entries(snapshot, &page.datasets)?);
    }
    entries.truncate(names.len());
    Ok(Some(entries))
}
