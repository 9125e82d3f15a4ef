//! `/datasets/NAME/head.json`, `…/log/…`, `…/subsets.jsonl`, `…/annotations.jsonl`: what mirrors read; and
//! `/statements/…`: the log of statements.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::LAST_MODIFIED;

use crate::answer::{Answer, AnswerContent, Keep, Stop, value};
use crate::problem::Problem;
use crate::published::{Stored, Version};
use crate::request::{Asked, dataset_name};
use crate::source::RegistryReading;
use crate::state::ServerState;
use accession::error::Result;
use accession::model::DatasetName;
use accession::publish::statement_file;

/// How long a mirror waits while a dataset is published for the first time.
const PUBLISHING_SECONDS: u32 = 20;

/// The head: it is looked up whether the dataset has changed, and what is new is published first.
pub async fn head(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let name = dataset_name(&asked.segment(1)?)?;
    let looked = state.now();
    publish(state, &name).await?;
    let opened = open(state, name, "head.json".to_owned()).await?;
    let mut answer = send("application/json", opened, Keep::WhileCurrent);
    answer.headers.insert(LAST_MODIFIED, value(&looked.to_http_date()));
    Ok(answer)
}

/// The cited subsets or the annotations, as they were published with the head.
pub async fn beside(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let name = dataset_name(&asked.segment(1)?)?;
    // The route has no other names.
    let opened = open(state, name, asked.segment(2)?).await?;
    Ok(send("application/jsonl", opened, Keep::WhileCurrent))
}

/// A segment of the log, or its compressed form.
pub async fn segment(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let name = dataset_name(&asked.segment(1)?)?;
    let segment = asked.segment(3)?;
    let plain = segment.strip_suffix(".gz").unwrap_or(&segment);
    let number = plain.strip_suffix(".jsonl").unwrap_or_default();
    if number.len() < 6 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Problem::not_found().into());
    }
    let opened = open(state, name, format!("log/{segment}")).await?;
    // The last segment grows.
    let (content_type, keep) = match segment.ends_with(".gz") {
        true => ("application/gzip", Keep::Forever),
        false => ("application/jsonl", Keep::WhileCurrent),
    };
    Ok(send(content_type, opened, keep))
}

/// The checkpoint, the policy or a tile. Each is made of the rows of the log, which are compared with what
/// was signed: that costs a pass over the statements.
pub async fn statements(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let path = asked.after("/statements/")?;
    let is_tile = path.starts_with("tile/");
    let read =
        state.source.compare(move |reading| statement_file(&reading.registry.snapshot()?, &path));
    let content = read.await?.ok_or_else(Problem::not_found)?;
    let content = AnswerContent::Bytes(content.into());
    Ok(match is_tile {
        // So many statements or hashes never change.
        true => Answer::of_type("application/octet-stream", content, Keep::Forever),
        false => Answer::of_type("text/plain; charset=utf-8", content, Keep::WhileCurrent),
    })
}

/// Opens a file of a dataset that is public. One that is not there is published first, if there is one.
async fn open(
    state: &Arc<ServerState>,
    name: DatasetName,
    file: String,
) -> Result<Stored, Problem> {
    let (shared, of) = (Arc::clone(state), name.clone());
    let look = move |reading: &RegistryReading| {
        reading.registry.snapshot()?.present_name(&of)?;
        shared.published.open(&of, &file, || reading.check_time())
    };
    if let Some(opened) = state.source.read(look.clone()).await? {
        return Ok(opened);
    }
    publish(state, &name).await?;
    state.source.read(look).await?.ok_or_else(Problem::not_found)
}

/// Sends a file, or a part of it.
///
/// The file is the one that was opened, with the bytes that the tag stands for, even if it has grown or
/// been replaced since: so it is not opened again by its name.
fn send(content_type: &str, file: Stored, keep: Keep) -> Answer {
    Answer::of_type(content_type, AnswerContent::File(Arc::new(file)), keep)
}

/// Publishes what is new of a dataset. It goes on if it takes longer than the request may.
async fn publish(state: &Arc<ServerState>, name: &DatasetName) -> Result<(), Problem> {
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
    // A little less than a request may take.
    let time = state.limits.request_time.saturating_sub(Duration::from_secs(2));
    tokio::time::timeout(time, work).await.unwrap_or_else(|_| {
        let detail = "The log of this dataset is being published.".to_owned();
        Err(Problem::overload("publishing", detail, PUBLISHING_SECONDS))
    })
}
