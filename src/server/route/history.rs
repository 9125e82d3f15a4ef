//! `/datasets/NAME/history`: the changes of a dataset, newest first.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::Response;
use serde_json::json;

use super::dataset::{Present, read_present};
use crate::model::Timestamp;
use crate::pages::{HistoryPage, Site};
use crate::server::answer::{Keep, whole};
use crate::server::asked::{Asked, dataset_name};
use crate::server::format::Format;
use crate::server::memento;
use crate::server::problem::Problem;
use crate::server::rows::{self, INSTANCE_COLUMNS, instance_bytes, instance_cells, read_page};
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
    let read = read_present(&state, &asked, &name, move |_, snapshot, name| {
        let page = read_page(limit, instance_bytes, |last, count| {
            snapshot.instances_before(name, last.map(|last| last.timestamp).or(before), count)
        })?;
        Ok((snapshot.dataset(name)?, page))
    });
    let (listed, (instances, has_more)) = match read.await? {
        Present::Here(read) => read,
        Present::Moved(response) => return Ok(response),
    };
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
            let is_first = before.is_none();
            let page = HistoryPage { listed, instances, next: last, is_first };
            return Ok(whole(Format::Html, page.html(&state.site), Keep::WhileCurrent));
        }
    };
    Ok(rows::page(format, content, next.as_deref()))
}
