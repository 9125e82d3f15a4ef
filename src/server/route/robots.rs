//! What search engines ask for.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::Response;

use crate::pages;
use crate::registry::{Result, Withdrawn};
use crate::server::answer::{Keep, whole, whole_of_type};
use crate::server::format::Format;
use crate::server::problem::Problem;
use crate::server::state::State;

/// Keeps search engines from what is costly, and names the sitemap.
pub async fn robots(Extracted(state): Extracted<Arc<State>>) -> Response<Body> {
    whole(Format::Lines, pages::robots(&state.site), Keep::WhileCurrent)
}

/// The pages of the datasets.
pub async fn sitemap(Extracted(state): Extracted<Arc<State>>) -> Result<Response<Body>, Problem> {
    let names = state
        .source
        .read(|reading| {
            let snapshot = reading.registry.snapshot()?;
            let (mut names, mut after) = (Vec::new(), None);
            loop {
                reading.check_time()?;
                let (records, next) =
                    snapshot.records(after.as_ref(), Withdrawn::LeftOut, 1_000)?;
                names.extend(records.into_iter().map(|record| record.name));
                after = next;
                if after.is_none() {
                    return Ok(names);
                }
            }
        })
        .await?;
    let xml = pages::sitemap(&state.site, &names);
    Ok(whole_of_type("application/xml", xml, Keep::WhileCurrent))
}
