//! `/find?granule=`: where a granule was held.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::{Response, StatusCode};
use serde_json::json;

use crate::model::{DatasetName, GranuleId};
use crate::pages::FindPage;
use crate::registry::{FoundPeriod, Result};
use crate::server::answer::{Keep, whole};
use crate::server::asked::Asked;
use crate::server::format::Format;
use crate::server::problem::Problem;
use crate::server::rows;
use crate::server::state::State;

const OFFERED: [Format; 4] = [Format::Html, Format::Json, Format::JsonLines, Format::Csv];

/// How many periods the page lists.
const SHOWN_PERIODS: u32 = 200;

/// Finds the datasets and periods in which a granule was held. Pages end between two datasets.
pub async fn find(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let format = asked.format(&OFFERED)?;
    let text = asked.parameter("granule").unwrap_or_default().into_owned();
    if text.is_empty() {
        return match format {
            Format::Html => {
                Ok(whole(format, FindPage::default().html(&state.site), Keep::WhileCurrent))
            }
            _ => Err(Problem::usage("The parameter granule is a granule id.")),
        };
    }
    let granule_id: GranuleId = match text.parse() {
        Ok(granule_id) => granule_id,
        Err(error) if format == Format::Html => {
            let problem = Some(format!("{error}"));
            let page = FindPage { granule: text, problem, ..FindPage::default() };
            let mut response = whole(format, page.html(&state.site), Keep::WhileCurrent);
            *response.status_mut() = StatusCode::BAD_REQUEST;
            return Ok(response);
        }
        Err(error) => return Err(Problem::usage(format!("The parameter granule: {error}."))),
    };
    let (default, most) =
        if format == Format::Html { (SHOWN_PERIODS, SHOWN_PERIODS) } else { (1_000, 10_000) };
    let limit = asked.limit(default, 10_000)?.min(most) as usize;
    let after: Option<DatasetName> = asked.parsed("after")?;
    let wanted = granule_id.clone();
    let mut periods: Vec<FoundPeriod> =
        state.source.read(move |reading| reading.registry.snapshot()?.find(&wanted)).await?;
    if let Some(after) = after {
        periods.retain(|period| period.dataset > after);
    }
    let next = cut(&mut periods, limit);
    let next_address = next.as_ref().map(|after| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("granule", granule_id.as_str());
        query.append_pair("after", after.as_str());
        query.append_pair("limit", &limit.to_string());
        query.append_pair("format", format.name());
        state.site.address_or_href(&format!("/find?{}", query.finish()))
    });
    let content = match format {
        Format::Html => {
            let has_more = next.is_some();
            let page =
                FindPage { granule: text, periods: Some(periods), has_more, ..FindPage::default() };
            return Ok(whole(format, page.html(&state.site), Keep::WhileCurrent));
        }
        Format::JsonLines => rows::json_lines(&periods),
        Format::Csv => {
            rows::csv(["dataset", "granule", "ingested", "deleted"], periods.iter().map(cells))
        }
        _ => rows::json(&json!({ "periods": periods, "next": next_address })),
    };
    Ok(rows::page(format, content, next_address.as_deref()))
}

/// Cuts the periods after about `limit` of them, where a dataset ends, and returns that dataset.
fn cut(periods: &mut Vec<FoundPeriod>, limit: usize) -> Option<DatasetName> {
    let last = periods.get(limit.checked_sub(1)?)?.dataset.clone();
    let end = periods.iter().position(|period| period.dataset > last)?;
    periods.truncate(end);
    Some(last)
}

fn cells(period: &FoundPeriod) -> [String; 4] {
    [
        period.dataset.to_string(),
        period.granule.to_string(),
        period.ingested.to_string(),
        period.deleted.map(|deleted| deleted.to_string()).unwrap_or_default(),
    ]
}
