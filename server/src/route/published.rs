//! The files that mirrors read: `/datasets/NAME/head.json`, `…/log/…`, `…/subsets.jsonl`,
//! `…/annotations.jsonl`; and the log of statements: `/statements/…`.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::LAST_MODIFIED;
use axum::response::Response;

use crate::problem::Problem;
use crate::published::{Stored, Version};
use crate::request::{Named, Request, Segments};
use crate::response::{CachePolicy, Rejection, file, of_type, value};
use crate::source::RegistryReading;
use crate::state::App;
use accession::DatasetName;
use accession::Result;

/// The number of seconds after which a mirror should try again while a dataset is published for the first time.
const PUBLISHING_SECONDS: u32 = 20;

/// The head. If the dataset has changed, the changes are published first.
pub async fn head(
    State(state): State<App>,
    Named(name): Named,
    request: Request,
) -> Result<Response, Rejection> {
    let looked = state.now();
    publish(&state, &name).await?;
    let opened = open(&state, name, "head.json".to_owned()).await?;
    let mut response = file(&request, "application/json", opened, CachePolicy::Revalidated);
    response.headers_mut().insert(LAST_MODIFIED, value(&looked.to_http_date()));
    Ok(response)
}

/// The cited subsets, as they were published with the head.
pub async fn subsets(
    State(state): State<App>,
    Named(name): Named,
    request: Request,
) -> Result<Response, Rejection> {
    let opened = open(&state, name, "subsets.jsonl".to_owned()).await?;
    Ok(file(&request, "application/jsonl", opened, CachePolicy::Revalidated))
}

/// The annotations, as they were published with the head.
pub async fn annotations(
    State(state): State<App>,
    Named(name): Named,
    request: Request,
) -> Result<Response, Rejection> {
    let opened = open(&state, name, "annotations.jsonl".to_owned()).await?;
    Ok(file(&request, "application/jsonl", opened, CachePolicy::Revalidated))
}

/// A segment of the log, or its compressed form.
pub async fn segment(
    State(state): State<App>,
    Named(name): Named,
    Segments((_, segment)): Segments<(String, String)>,
    request: Request,
) -> Result<Response, Rejection> {
    let plain = segment.strip_suffix(".gz").unwrap_or(&segment);
    let number = plain.strip_suffix(".jsonl").unwrap_or_default();
    if number.len() < 6 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Problem::not_found().into());
    }
    let opened = open(&state, name, format!("log/{segment}")).await?;
    // The latest segment grows.
    let (content_type, policy) = if segment.ends_with(".gz") {
        ("application/gzip", CachePolicy::Immutable)
    } else {
        ("application/jsonl", CachePolicy::Revalidated)
    };
    Ok(file(&request, content_type, opened, policy))
}

/// The checkpoint, the policy or a tile. Each is computed from the rows of the log, which are compared with the
/// signed checkpoint. That costs a pass over the statements.
pub async fn statements(State(state): State<App>, request: Request) -> Result<Response, Rejection> {
    // These paths contain no percent-encoding.
    let path = request.path().trim_start_matches("/statements/").to_owned();
    let is_tile = path.starts_with("tile/");
    let read =
        state.source.compare(move |reading| reading.registry.snapshot()?.statement_file(&path));
    let content = read.await?.ok_or_else(Problem::not_found)?;
    Ok(if is_tile {
        // A tile of this width never changes.
        of_type("application/octet-stream", content, CachePolicy::Immutable)
    } else {
        of_type("text/plain; charset=utf-8", content, CachePolicy::Revalidated)
    })
}

/// Opens a file of a public dataset. If the file does not exist, the dataset is published first.
async fn open(state: &App, name: DatasetName, file: String) -> Result<Stored, Problem> {
    let (shared, of) = (Arc::clone(state), name.clone());
    let look = move |reading: &RegistryReading| {
        reading.registry.snapshot()?.present_name(&of)?;
        shared.published.open(&of, &file, || reading.check_time())
    };
    let unreadable = |error: io::Error| Problem::unpublished(error.to_string());
    if let Some(opened) = state.source.read(look.clone()).await?.map_err(unreadable)? {
        return Ok(opened);
    }
    publish(state, &name).await?;
    let opened = state.source.read(look).await?.map_err(unreadable)?;
    opened.ok_or_else(Problem::not_found)
}

/// Publishes the changes of a dataset. If the request times out, publishing continues.
async fn publish(state: &App, name: &DatasetName) -> Result<(), Problem> {
    let (shared, wanted) = (Arc::clone(state), name.clone());
    let found = state.source.read(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let version = Version::of(&snapshot, &wanted, reading.generation)?;
        let is_current = shared.published.is_current(&version);
        Ok((!is_current).then(|| (reading.unlimited.clone(), version)))
    });
    let Some((registry, version)) = found.await? else { return Ok(()) };
    let work = async {
        let turn = state.published.turn(version.name()).await;
        let turn = turn.map_err(|_| Problem::busy())?;
        let shared = Arc::clone(state);
        let work = move || {
            let _turn = turn;
            match shared.published.is_current(&version) {
                true => Ok(()),
                false => shared.published.publish(&registry, version),
            }
        };
        let done = tokio::task::spawn_blocking(work).await;
        Ok(done.map_err(|error| Problem::internal(error.to_string()))??)
    };
    // Slightly less than the time limit of the request.
    let time = state.limits.request_time.saturating_sub(Duration::from_secs(2));
    tokio::time::timeout(time, work).await.unwrap_or_else(|_| {
        let detail = "The log of this dataset is being published.".to_owned();
        Err(Problem::overload("publishing", detail, PUBLISHING_SECONDS))
    })
}
