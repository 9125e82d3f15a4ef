//! The routes.

mod check;
mod comparison;
mod dataset;
mod granules;
mod lists;
mod published;
mod site;
mod subsets;
mod table;

use axum::Router;

use super::problem::Problem;
use super::request::Request;
use super::state::App;

/// The router of all routes.
pub fn router(state: &App) -> Router {
    table::router(state.limits.body_bytes)
        .fallback(async || Problem::not_found())
        .method_not_allowed_fallback(async |request: Request| {
            match is_of_registration(request.path()) {
                true => Problem::not_taken(),
                false => Problem::method(),
            }
        })
        .with_state(state.clone())
}

/// Whether an address registers subsets. Such an address cannot be read.
fn is_of_registration(path: &str) -> bool {
    matches!(path.split('/').collect::<Vec<_>>()[..], ["", "datasets", _name, "subsets"])
}
