//! `/datasets/NAME/head.json`, `…/log/…`, `…/subsets.jsonl`: what mirrors read.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, IF_RANGE, LAST_MODIFIED, RANGE,
};
use axum::http::{HeaderValue, Response, StatusCode};
use bytes::Bytes;

use crate::model::{DatasetName, Timestamp};
use crate::publish::Error as PublishError;
use crate::registry::{self, Result};
use crate::server::answer::{Keep, value, whole_of_type};
use crate::server::asked::{Asked, dataset_name};
use crate::server::cache::Version;
use crate::server::memento::http_date;
use crate::server::problem::Problem;
use crate::server::state::State;

/// How long a mirror waits while a dataset is published for the first time.
const PUBLISHING_SECONDS: u32 = 20;

/// The head: it is looked up whether the dataset has changed, and what is new is published first.
pub async fn head(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let name = dataset_name(&asked.segment(1)?)?;
    let looked = state.now();
    publish(&state, &name).await?;
    let bytes = file(&state, name, "head.json".to_owned()).await?;
    let mut response = whole_of_type("application/json", bytes, Keep::WhileCurrent);
    if let Some(date) = modified(looked) {
        response.headers_mut().insert(LAST_MODIFIED, date);
    }
    Ok(response)
}

/// The cited subsets, as they were published with the head.
pub async fn subsets(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let name = dataset_name(&asked.segment(1)?)?;
    check_public(&state, &name).await?;
    let bytes = file(&state, name, "subsets.jsonl".to_owned()).await?;
    Ok(whole_of_type("application/jsonl", bytes, Keep::WhileCurrent))
}

/// A segment of the log, or its compressed form.
pub async fn segment(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let name = dataset_name(&asked.segment(1)?)?;
    let segment = asked.segment(3)?;
    let plain = segment.strip_suffix(".gz").unwrap_or(&segment);
    let number = plain.strip_suffix(".jsonl").unwrap_or_default();
    if number.len() < 6 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Problem::not_found());
    }
    check_public(&state, &name).await?;
    let bytes: Bytes = file(&state, name, format!("log/{segment}")).await?.into();
    // The last segment grows.
    let keep = match segment.ends_with(".gz") {
        true => Keep::Forever,
        false => Keep::WhileCurrent,
    };
    let content_type = match segment.ends_with(".gz") {
        true => "application/gzip",
        false => "application/jsonl",
    };
    let range = asked.header(RANGE).filter(|_| asked.header(IF_RANGE).is_none());
    let mut response = match range.and_then(first_byte) {
        None => whole_of_type(content_type, bytes, keep),
        Some(first) => part(content_type, &bytes, first),
    };
    response.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    Ok(response)
}

/// The first byte of a range to the end, which is the only form that is served: a server may ignore
/// others (RFC 9110 §14.2).
fn first_byte(range: &str) -> Option<usize> {
    range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
}

/// The end of a file.
fn part(content_type: &str, bytes: &Bytes, first: usize) -> Response<Body> {
    let total = bytes.len();
    let is_there = first < total;
    let body = bytes.slice(first.min(total)..);
    let length = body.len();
    let content_range = match is_there {
        true => format!("bytes {first}-{}/{total}", total - 1),
        false => format!("bytes */{total}"),
    };
    let mut response = whole_of_type(content_type, Bytes::new(), Keep::WhileCurrent);
    *response.status_mut() = match is_there {
        true => StatusCode::PARTIAL_CONTENT,
        false => StatusCode::RANGE_NOT_SATISFIABLE,
    };
    *response.body_mut() = Body::from(body);
    let headers = response.headers_mut();
    // Those of the empty content.
    headers.remove(axum::http::header::ETAG);
    headers.remove(crate::server::answer::REPR_DIGEST);
    headers.insert(CONTENT_LENGTH, value(&length.to_string()));
    headers.insert(CONTENT_RANGE, value(&content_range));
    response
}

async fn check_public(state: &Arc<State>, name: &DatasetName) -> Result<(), Problem> {
    let name = name.clone();
    let read = move |reading: &crate::server::source::Reading| {
        reading.registry.snapshot()?.dataset(&name).map(drop)
    };
    state.source.read(read).await
}

/// Publishes what is new of a dataset. It goes on if it takes longer than the request may.
async fn publish(state: &Arc<State>, name: &DatasetName) -> Result<(), Problem> {
    let (shared, wanted) = (Arc::clone(state), name.clone());
    let found = state.source.read(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let version = Version::of(&snapshot, &wanted, reading.generation)?;
        let is_current = shared.cache.is_current(&version);
        Ok((!is_current).then(|| (reading.unlimited(), version)))
    });
    let Some((registry, version)) = found.await? else { return Ok(()) };
    let work = async {
        let turn = Arc::clone(&state.cache.turn).acquire_owned().await;
        let turn = turn.map_err(|_| Problem::busy())?;
        let shared = Arc::clone(state);
        let work = move || {
            let _turn = turn;
            match shared.cache.is_current(&version) {
                true => Ok(()),
                false => shared.cache.publish(&registry, version),
            }
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| Problem::internal(error.to_string()))?.map_err(unpublished)
    };
    // A little less than a request may take.
    let time = state.limits.request_time.saturating_sub(Duration::from_secs(2));
    tokio::time::timeout(time, work).await.unwrap_or_else(|_| {
        let detail = "The log of this dataset is being published.".to_owned();
        Err(Problem::overload("publishing", detail, PUBLISHING_SECONDS))
    })
}

async fn file(state: &Arc<State>, name: DatasetName, file: String) -> Result<Vec<u8>, Problem> {
    let shared = Arc::clone(state);
    let read = tokio::task::spawn_blocking(move || shared.cache.file(&name, &file)).await;
    let read = read.map_err(|error| Problem::internal(error.to_string()))?;
    read.map_err(unpublished)?.ok_or_else(Problem::not_found)
}

fn unpublished(error: PublishError) -> Problem {
    match error {
        PublishError::Registry(error) => registry::Error::into(error),
        error => {
            let detail = "The log of this dataset cannot be published now.".to_owned();
            let problem = Problem::overload(error.kind(), detail, 60);
            let source = std::error::Error::source(&error);
            let cause = source.map_or(error.to_string(), |source| format!("{error}: {source}"));
            Problem { cause: Some(cause), ..problem }
        }
    }
}

fn modified(at: Timestamp) -> Option<HeaderValue> {
    HeaderValue::from_str(&http_date(at)).ok()
}
