//! The routes.

mod check;
mod comparison;
mod dataset;
mod granules;
mod lists;
mod published;
mod site;
mod subsets;

use std::sync::Arc;

use hyper::{Method, StatusCode};

use super::answer::{Answer, Body, Stop};
use super::problem::Problem;
use super::request::{Asked, Format};
use super::state::ServerState;
use crate::pages::{identifier_page, robots};

/// The answer to a request. Where there is nothing at its address, that is said whatever its method.
///
/// # Errors
///
/// Why it is not answered with what is at its address.
pub async fn answer(state: &Arc<ServerState>, asked: &Asked, body: Body) -> Result<Answer, Stop> {
    if asked.method() == Method::POST && asked.path() == "/check" {
        return check::check_text(state, asked, body).await;
    }
    if asked.method() == Method::POST && is_of_registration(asked.path()) {
        return subsets::register(state, asked, body).await;
    }
    // Where nothing is signed, the addresses of the log are there, and empty.
    let is_of_log = matches!(asked.path(), "/statements/checkpoint" | "/statements/policy");
    let is_absent = |problem: &Problem| problem.status == StatusCode::NOT_FOUND && !is_of_log;
    match read(state, asked).await {
        answer if asked.is_of_reading() => answer,
        Err(Stop::Problem(problem)) if is_absent(&problem) || is_of_registration(asked.path()) => {
            Err(problem.into())
        }
        _ => Err(Problem::method().into()),
    }
}

/// Whether subsets are registered at an address, which cannot be read.
pub fn is_of_registration(path: &str) -> bool {
    matches!(path.split('/').collect::<Vec<_>>()[..], ["", "datasets", _name, "subsets"])
}

/// What is at the address of a request.
async fn read(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let segments: Vec<&str> = asked.path().split('/').skip(1).collect();
    match segments[..] {
        [""] => lists::index(state, asked).await,
        ["style.css"] => site::file(asked),
        ["script.js"] => site::file(asked),
        ["icon.svg"] => site::file(asked),
        ["identifier"] => Ok(site::of_site(state, Format::Html, identifier_page)),
        ["feed.atom"] => lists::feed(state).await,
        ["datasets"] | ["datasets", ""] => Err(Stop::permanent(state.site.href("/"))),
        ["datasets", _name] => dataset::instance(state, asked).await,
        ["datasets", _name, ""] => dataset::dataset(state, asked).await,
        ["datasets", _name, "history"] => lists::history(state, asked).await,
        ["datasets", _name, "feed.atom"] => dataset::feed(state, asked).await,
        ["datasets", _name, "head.json"] => published::head(state, asked).await,
        ["datasets", _name, "log", _segment] => published::segment(state, asked).await,
        ["datasets", _name, "subsets"] => Err(Problem::not_taken().into()),
        ["datasets", _name, "subsets.jsonl"] => published::beside(state, asked).await,
        ["datasets", _name, "annotations.jsonl"] => published::beside(state, asked).await,
        ["statements", "checkpoint"] => published::statements(state, asked).await,
        ["statements", "policy"] => published::statements(state, asked).await,
        ["statements", "tile", _level, _tile, ..] => published::statements(state, asked).await,
        ["compare", _sides] => comparison::comparison(state, asked).await,
        ["compare"] => comparison::form(state, asked),
        ["check"] => check::check(state, asked).await,
        ["find"] => lists::find(state, asked).await,
        ["doi", _doi, ..] => dataset::doi(state, asked).await,
        ["healthz"] => site::health(state),
        ["metrics"] => Ok(site::metrics(state).await),
        ["openapi.json"] => site::openapi(state),
        ["robots.txt"] => Ok(site::of_site(state, Format::Lines, robots)),
        ["sitemap.xml"] => site::sitemap(state).await,
        [_identifier] | [_identifier, ""] => dataset::set(state, asked).await,
        [_identifier, "granules"] => granules::granules(state, asked).await,
        [_identifier, "urls"] => granules::urls(state, asked).await,
        [_identifier, "checksums"] => granules::checksums(state, asked).await,
        [_identifier, "list"] => granules::canonical(state, asked).await,
        [_identifier, "proof"] => dataset::proof(state, asked).await,
        _ => Err(Problem::not_found().into()),
    }
}
