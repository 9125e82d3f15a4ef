//! `/doi/10.…`: leads to the dataset with a DOI.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::{Response, StatusCode};

use crate::model::Doi;
use crate::pages::Site;
use crate::registry::Result;
use crate::server::answer::redirect;
use crate::server::asked::Asked;
use crate::server::problem::Problem;
use crate::server::state::State;

/// Leads to the dataset with a DOI: of several, to the first by name.
pub async fn doi(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let text = asked.after("/doi/")?;
    let doi: Doi = text.parse().map_err(|error| Problem::usage(format!("{error}.")))?;
    let wanted = doi.clone();
    let names = state
        .source
        .read(asked.client(), move |reading| {
            reading.registry.snapshot()?.datasets_with_doi(&wanted)
        })
        .await?;
    let Some(name) = names.first() else {
        let detail = format!("No dataset here has the DOI {doi}.");
        return Err(Problem::unknown("doi-unknown", detail));
    };
    let path = state.site.href(&Site::dataset(name));
    let query = asked.query();
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    Ok(redirect(StatusCode::SEE_OTHER, &format!("{path}{query}")))
}
