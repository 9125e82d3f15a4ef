//! What operators and browsers need: whether the server works, what it counted, the style sheet.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::Response;
use serde_json::json;

use crate::pages::STYLE;
use crate::server::answer::{Keep, whole, whole_of_type};
use crate::server::format::Format;
use crate::server::problem::Problem;
use crate::server::state::State;

/// Whether the registry can be read. It waits for nobody.
pub async fn health(Extracted(state): Extracted<Arc<State>>) -> Result<Response<Body>, Problem> {
    state.health.now()?;
    let health = json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") });
    Ok(whole(Format::Json, health.to_string(), Keep::WhileCurrent))
}

/// What was counted, for Prometheus.
pub async fn metrics(Extracted(state): Extracted<Arc<State>>) -> Response<Body> {
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    whole_of_type(content_type, state.metrics.text(), Keep::WhileCurrent)
}

/// The description of all routes.
const OPENAPI: &str = include_str!("../openapi.json");

/// The routes, as OpenAPI describes them. A test compares it with the routes that there are.
pub async fn openapi(Extracted(state): Extracted<Arc<State>>) -> Result<Response<Body>, Problem> {
    let mut document: serde_json::Value =
        serde_json::from_str(OPENAPI).map_err(|error| Problem::internal(error.to_string()))?;
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    document["servers"] = json!([{ "url": state.site.address_or_href("") }]);
    Ok(whole(Format::Json, document.to_string(), Keep::WhileCurrent))
}

/// The style sheet of the pages.
pub async fn style() -> Response<Body> {
    whole_of_type("text/css; charset=utf-8", STYLE, Keep::WhileCurrent)
}
