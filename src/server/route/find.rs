//! `/find?granule=`: where a granule was held.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::{Response, StatusCode};
use serde_json::json;

use super::set::position;
use crate::model::GranuleId;
use crate::pages::FindPage;
use crate::registry::{FoundPeriod, Result};
use crate::server::answer::{Keep, whole};
use crate::server::asked::Asked;
use crate::server::format::Format;
use crate::server::problem::Problem;
use crate::server::rows::{self, read_page};
use crate::server::state::State;

const OFFERED: [Format; 4] = [Format::Html, Format::Json, Format::JsonLines, Format::Csv];

/// How many periods the page lists.
const SHOWN_PERIODS: u32 = 200;

/// Finds the datasets and periods in which a granule was held.
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
    let limit = asked.limit(default, 10_000)?.min(most);
    let after = asked.parameter("after").filter(|after| !after.is_empty());
    let after = after.map(|after| position(&after)).transpose()?;
    let wanted = granule_id.clone();
    let read = state.source.read(asked.client(), move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let after = after.as_ref().map(|(name, ingested)| (name, *ingested));
        let bytes = |period: &FoundPeriod| 256 + period.granule.as_str().len();
        read_page(limit, bytes, |last, count| {
            reading.check_time()?;
            let last = last.map(|last| (&last.dataset, last.ingested));
            snapshot.find(&wanted, last.or(after), count)
        })
    });
    let (periods, has_more) = read.await?;
    let next_address = periods.last().filter(|_| has_more).map(|last| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("granule", granule_id.as_str());
        query.append_pair("after", &format!("{}@{}", last.dataset, last.ingested));
        query.append_pair("limit", &limit.to_string());
        query.append_pair("format", format.name());
        state.site.address_or_href(&format!("/find?{}", query.finish()))
    });
    let content = match format {
        Format::Html => {
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

fn cells(period: &FoundPeriod) -> [String; 4] {
    [
        period.dataset.to_string(),
        period.granule.to_string(),
        period.ingested.to_string(),
        period.deleted.map(|deleted| deleted.to_string()).unwrap_or_default(),
    ]
}
