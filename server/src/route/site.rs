//! What operators, browsers and search engines need: whether the server works, what it counted, the files of
//! its pages, the sitemap.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::answer::{Answer, AnswerContent, Keep, Stop};
use crate::metrics::{MAX_DATASETS, of_datasets};
use crate::pages;
use crate::pages::{FILES, SITEMAP_ADDRESSES, Site, SitemapEntry};
use crate::problem::Problem;
use crate::request::{Asked, Format};
use crate::state::ServerState;
use accession::error::Result;
use accession::registry::{Listed, Withdrawn};

/// Whether the registry can be read. It waits for nobody.
pub fn health(state: &Arc<ServerState>) -> Result<Answer, Stop> {
    state.health.now()?;
    let health = json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") });
    Ok(Answer::whole(Format::Json, health.to_string(), Keep::Never))
}

/// How long the counts wait for the registry.
const METRICS_TIME: Duration = Duration::from_secs(2);

/// What was counted, and the state of the datasets, for Prometheus. A registry that cannot be read does
/// not hide the counts.
pub async fn metrics(state: &Arc<ServerState>) -> Answer {
    let reported = match state.health.now() {
        Err(_) => None,
        Ok(()) => {
            let read = state.source.read(|reading| {
                let snapshot = reading.registry.snapshot()?;
                let datasets = snapshot.datasets(None, Withdrawn::LeftOut, MAX_DATASETS)?;
                let checked = snapshot.checked_datasets()?;
                let report = |listed: Listed| {
                    let name = &listed.dataset.name;
                    let open = match checked.binary_search(name) {
                        Ok(_) => Some(snapshot.count_open_findings(name)?),
                        Err(_) => None,
                    };
                    let is_refused = snapshot.refusal(name)?.is_some();
                    Ok((listed, open, is_refused))
                };
                datasets.into_iter().map(report).collect::<Result<Vec<_>>>()
            });
            tokio::time::timeout(METRICS_TIME, read).await.ok().and_then(Result::ok)
        }
    };
    let text = state.metrics.text() + &of_datasets(reported.as_deref());
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    Answer::of_type(content_type, AnswerContent::Bytes(text.into()), Keep::Never)
}

/// The description of all routes.
const OPENAPI: &str = include_str!("../openapi.json");

/// The routes, as OpenAPI describes them. A test compares it with the routes that there are.
pub fn openapi(state: &Arc<ServerState>) -> Result<Answer, Stop> {
    let mut document: serde_json::Value =
        serde_json::from_str(OPENAPI).map_err(|error| Problem::internal(error.to_string()))?;
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    document["info"]["contact"] =
        json!({ "name": state.site.contact.as_ref().unwrap_or(&state.site.name) });
    document["servers"] = json!([{ "url": state.site.address_or_href("") }]);
    if let (None, Some(paths)) = (&state.registering, document["paths"].as_object_mut()) {
        paths.retain(|path, _| !super::is_of_registration(path));
    }
    Ok(Answer::whole(Format::Json, document.to_string(), Keep::WhileCurrent))
}

/// A file that all pages need.
pub fn file(asked: &Asked) -> Result<Answer, Stop> {
    let file = FILES.into_iter().find(|(path, ..)| *path == asked.path());
    let (_, content_type, content) = file.ok_or_else(Problem::not_found)?;
    Ok(Answer::of_type(content_type, AnswerContent::Bytes(content.into()), Keep::WhileCurrent))
}

/// What is made of the name and the addresses of the site alone: how an identifier is computed, and what
/// search engines are kept from.
pub fn of_site(state: &ServerState, format: Format, write: fn(&Site) -> String) -> Answer {
    Answer::whole(format, write(&state.site), Keep::WhileCurrent)
}

/// The pages of the datasets.
pub async fn sitemap(state: &Arc<ServerState>) -> Result<Answer, Stop> {
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
    Ok(Answer::of_type("application/xml", AnswerContent::Bytes(xml.into()), Keep::WhileCurrent))
}
