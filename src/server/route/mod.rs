//! The routes.

mod check;
mod checksums;
mod comparison;
mod dataset;
mod granules;
mod lists;
mod published;
mod set;
mod site;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use super::answer::Stop;
use super::layer;
use super::problem::Problem;
use super::state::ServerState;

/// All routes. What is kept is sent before a route is looked for.
pub fn router(state: Arc<ServerState>) -> Router {
    let routes = Router::new()
        .route("/", get(lists::index))
        .route("/style.css", get(site::file))
        .route("/script.js", get(site::file))
        .route("/icon.svg", get(site::file))
        .route("/identifier", get(site::identifier))
        .route("/feed.atom", get(lists::feed))
        .route("/datasets", get(lists::datasets))
        .route("/datasets/", get(lists::datasets))
        .route("/datasets/{name}", get(dataset::instance))
        .route("/datasets/{name}/", get(dataset::dataset))
        .route("/datasets/{name}/history", get(lists::history))
        .route("/datasets/{name}/feed.atom", get(dataset::feed))
        .route("/datasets/{name}/head.json", get(published::head))
        .route("/datasets/{name}/log/{segment}", get(published::segment))
        .route("/datasets/{name}/subsets.jsonl", get(published::beside))
        .route("/datasets/{name}/annotations.jsonl", get(published::beside))
        .route("/compare/{sides}", get(comparison::comparison))
        .route("/compare", get(comparison::form))
        .route("/check", get(check::check).merge(post(check::check_text)))
        .route("/find", get(lists::find))
        .route("/doi/{*doi}", get(dataset::doi))
        .route("/healthz", get(site::health))
        .route("/metrics", get(site::metrics))
        .route("/openapi.json", get(site::openapi))
        .route("/robots.txt", get(site::robots))
        .route("/sitemap.xml", get(site::sitemap))
        .route("/{identifier}", get(set::set))
        .route("/{identifier}/", get(set::set))
        .route("/{identifier}/granules", get(granules::granules))
        .route("/{identifier}/urls", get(granules::urls))
        .route("/{identifier}/checksums", get(checksums::checksums))
        .route("/{identifier}/list", get(checksums::list))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(Arc::clone(&state));
    Router::new().fallback_service(routes).layer(from_fn_with_state(state, layer::answer))
}

async fn not_found() -> Stop {
    Problem::not_found().into()
}

async fn method_not_allowed() -> Stop {
    Problem::method().into()
}
