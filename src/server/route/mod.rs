//! The routes, one file each.

mod blocks;
mod check;
mod comparison;
mod dataset;
mod doi;
mod find;
mod granules;
mod history;
mod index;
mod instance;
mod negotiated;
mod operation;
mod published;
mod robots;
mod set;

use std::sync::Arc;

use axum::Router;
use axum::extract::State as Extracted;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use tower_http::compression::CompressionLayer;

use super::layer;
use super::problem::Problem;
use super::state::State;

/// All routes.
pub fn router(state: Arc<State>) -> Router {
    let segments = Router::new()
        .route("/datasets/{name}/log/{segment}", get(published::segment))
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(Arc::clone(&state), layer::limit_and_explain));
    Router::new()
        .route("/", get(index::index))
        .route("/style.css", get(operation::style))
        .route("/datasets", get(index::datasets))
        .route("/datasets/", get(index::datasets))
        .route("/datasets/{name}", get(instance::instance))
        .route("/datasets/{name}/", get(dataset::dataset))
        .route("/datasets/{name}/history", get(history::history))
        .route("/datasets/{name}/head.json", get(published::head))
        .route("/datasets/{name}/subsets.jsonl", get(published::subsets))
        .route("/compare/{sides}", get(comparison::comparison))
        .route("/compare", get(comparison::form))
        .route("/check", get(check::check).merge(post(check::check_text)))
        .route("/find", get(find::find))
        .route("/doi/{*doi}", get(doi::doi))
        .route("/healthz", get(operation::health))
        .route("/metrics", get(operation::metrics))
        .route("/openapi.json", get(operation::openapi))
        .route("/robots.txt", get(robots::robots))
        .route("/sitemap.xml", get(robots::sitemap))
        .route("/sitemap/{number}", get(robots::numbered_sitemap))
        .route("/{identifier}", get(set::set))
        .route("/{identifier}/", get(set::set))
        .route("/{identifier}/granules", get(granules::granules))
        .route("/{identifier}/blocks", get(blocks::blocks))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(Arc::clone(&state), layer::limit_and_explain))
        .layer(CompressionLayer::new())
        // Segments are published compressed too.
        .merge(segments)
        .layer(from_fn(layer::revalidate))
        .layer(from_fn_with_state(Arc::clone(&state), layer::observe))
        .with_state(state)
}

async fn not_found(Extracted(_): Extracted<Arc<State>>) -> Problem {
    Problem::not_found()
}

async fn method_not_allowed() -> Problem {
    Problem::method()
}
