//! `/datasets/NAME/history`: the changes of a dataset, newest first.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::Response;
use serde_json::json;

use super::dataset::moved;
use crate::model::Timestamp;
use crate::pages::{HistoryPage, Site};
use crate::server::answer::{Keep, whole};
use crate::server::asked::{Asked, dataset_name};
use crate::server::format::Format;
use crate::server::memento;
use crate::server::problem::Problem;
use crate::server::rows::{self, Anonymous, INSTANCE_COLUMNS, instance_cells};
use crate::server::state::State;

const OFFERED: [Format; 5] =
    [Format::Html, Format::Json, Format::JsonLines, Format::Csv, Format::TimeMap];

/// Lists the changes of a dataset.
pub async fn history(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let name = dataset_name(&asked.segment(1)?)?;
    let format = asked.format(&OFFERED)?;
    let (default, most) = if format == Format::Html { (50, 200) } else { (1_000, 10_000) };
    let limit = asked.limit(default, 10_000)?.min(most);
    let before: Option<Timestamp> = asked.parsed("after")?;
    let wanted = name.clone();
    let (listed, mut instances) = state
        .source
        .read(move |reading| {
            let snapshot = reading.registry.snapshot()?;
            let listed = snapshot.dataset(&wanted)?;
            // One more than is shown says whether there are more.
            Ok((listed, snapshot.instances_before(&wanted, before, limit + 1)?))
        })
        .await?;
    if let Some(response) = moved(&state.site, &asked, &name, &listed) {
        return Ok(response);
    }
    let has_more = instances.len() > limit as usize;
    instances.truncate(limit as usize);
    let instances = instances.anonymous();
    let last = instances.last().filter(|_| has_more).map(|last| last.timestamp);
    let next = last.map(|last| {
        let path = Site::history(&name);
        state
            .site
            .address_or_href(&format!("{path}?after={last}&limit={limit}&format={}", format.name()))
    });
    let content = match format {
        Format::Json => rows::json(&json!({ "instances": instances, "next": next })),
        Format::JsonLines => rows::json_lines(&instances),
        Format::TimeMap => memento::map(&state.site, &name, &instances, next.as_deref()),
        Format::Csv => rows::csv(INSTANCE_COLUMNS, instances.iter().map(instance_cells)),
        _ => {
            let listed = listed.anonymous();
            let is_first = before.is_none();
            let page = HistoryPage { listed, instances, next: last, is_first };
            return Ok(whole(Format::Html, page.html(&state.site), Keep::WhileCurrent));
        }
    };
    Ok(rows::page(format, content, next.as_deref()))
}
