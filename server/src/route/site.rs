//! The routes for operators, browsers and search engines: health, metrics, the files of the pages, the sitemap.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use crate::metrics::{MAX_DATASETS, Reported, of_datasets};
use crate::pages;
use crate::pages::{FILES, SITEMAP_ADDRESSES, SitemapEntry};
use crate::problem::Problem;
use crate::request::{Format, Request};
use crate::response::{CachePolicy, Rejection, in_format, of_type};
use crate::state::App;
use accession::Result;
use accession::dataset::{DatasetRecord, Withdrawn};

/// Reports whether the registry can be read. It never waits.
pub async fn health(State(state): State<App>) -> Result<Response, Rejection> {
    state.health.now()?;
    let health = json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") });
    Ok(in_format(Format::Json, health.to_string(), CachePolicy::NotStored))
}

/// The time for which the metrics wait for the registry.
const METRICS_TIME: Duration = Duration::from_secs(2);

/// The metrics of the server and of the datasets, for Prometheus. If the registry cannot be read, only those of
/// the server are reported.
pub async fn metrics(State(state): State<App>) -> Response {
    let reported = match state.health.now() {
        Err(_) => None,
        Ok(()) => {
            let read = state.source.read(|reading| {
                let snapshot = reading.registry.snapshot()?;
                let datasets = snapshot.datasets(None, Withdrawn::LeftOut, MAX_DATASETS)?;
                let checked = snapshot.checked_datasets()?;
                let report = |listed: DatasetRecord| {
                    let name = &listed.dataset.name;
                    let open_findings = match checked.binary_search(name) {
                        Ok(_) => Some(snapshot.count_open_findings(name)?),
                        Err(_) => None,
                    };
                    let is_refused = snapshot.refusal(name)?.is_some();
                    Ok(Reported { listed, open_findings, is_refused })
                };
                datasets.into_iter().map(report).collect::<Result<Vec<_>>>()
            });
            tokio::time::timeout(METRICS_TIME, read).await.ok().and_then(Result::ok)
        }
    };
    let text = state.metrics.text() + &of_datasets(reported.as_deref());
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    of_type(content_type, text, CachePolicy::NotStored)
}

/// A file that all pages need.
pub async fn file(request: Request) -> Result<Response, Rejection> {
    let file = FILES.into_iter().find(|(path, ..)| *path == request.path());
    let (_, content_type, content) = file.ok_or_else(Problem::not_found)?;
    Ok(of_type(content_type, content, CachePolicy::Shared))
}

/// The page that explains how an identifier is computed.
pub async fn identifier(State(state): State<App>) -> Response {
    in_format(Format::Html, pages::identifier_page(&state.site), CachePolicy::Shared)
}

/// The paths that search engines should leave out.
pub async fn robots(State(state): State<App>) -> Response {
    in_format(Format::Lines, pages::robots(&state.site), CachePolicy::Shared)
}

/// Redirects to the list of datasets, which is at the root.
pub async fn datasets(State(state): State<App>) -> Rejection {
    Rejection::permanent(state.site.href("/"))
}

/// The addresses of the pages of the datasets.
pub async fn sitemap(State(state): State<App>) -> Result<Response, Rejection> {
    const AT_ONCE: u32 = 1_000;
    let read = state.source.read(|reading| {
        let snapshot = reading.registry.snapshot()?;
        let (mut found, mut after): (Vec<SitemapEntry>, _) = (Vec::new(), None);
        loop {
            reading.check_time()?;
            let datasets = snapshot.datasets(after.as_ref(), Withdrawn::LeftOut, AT_ONCE)?;
            found.extend(pages::entries(&snapshot, &datasets)?);
            after = datasets.into_iter().next_back().map(|last| last.dataset.name);
            if after.is_none() || found.len() >= SITEMAP_ADDRESSES {
                return Ok(found);
            }
        }
    });
    let xml = pages::sitemap(&state.site, &read.await?);
    Ok(of_type("application/xml", xml, CachePolicy::Shared))
}
