//! `/DI:…/blocks`: the set cut into blocks, for mirrors that diverged.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::{Response, StatusCode};

use super::set::identifier_in;
use crate::mirror::blocks::Blocks;
use crate::model::Set;
use crate::pages::Site;
use crate::registry::{Error, Result, Selection};
use crate::server::answer::{redirect, streamed};
use crate::server::asked::Asked;
use crate::server::format::Format;
use crate::server::problem::Problem;
use crate::server::source::Reading;
use crate::server::state::State;

/// Lists the blocks of a set. Every id is hashed, so it counts as a comparison.
pub async fn blocks(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let identifier = identifier_in(&asked.segment(0)?)?;
    let path = Site::blocks(identifier);
    if asked.path() != path {
        return Ok(redirect(StatusCode::PERMANENT_REDIRECT, &state.site.href(&path)));
    }
    let format = asked.format(&[Format::JsonLines])?;
    let content = state
        .source
        .compare(asked.client(), move |reading| {
            let selection = Selection::Identifier { identifier, dataset: None };
            let set = reading.registry.snapshot()?.select(&selection)?.set;
            list(reading, &set)
        })
        .await?;
    Ok(streamed(format, &format!("{identifier}-blocks"), Body::from(content)))
}

fn list(reading: &Reading, set: &Set) -> Result<String> {
    let mut content = String::new();
    let mut blocks = Blocks::default();
    let unwritable = |error: serde_json::Error| Error::damaged(error.to_string());
    // Each page is read in a transaction of its own. The set is proved before anything is sent.
    let granules_of_set = reading.registry.snapshot()?.granules(set)?;
    for page in granules_of_set.into_id_pages() {
        let page = page?;
        reading.check_time()?;
        for text in page.iter() {
            if let Some(block) = blocks.add(text) {
                content.push_str(&block.to_line().map_err(unwritable)?);
            }
        }
    }
    if let Some(block) = blocks.end() {
        content.push_str(&block.to_line().map_err(unwritable)?);
    }
    Ok(content)
}
