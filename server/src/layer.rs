//! What is done for every request, whatever it asks for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, HeaderValue, REFERRER_POLICY, RETRY_AFTER, USER_AGENT, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};

use super::answer::{Answer, AnswerContent, Body, Keep, Stop, redirect};
use super::conditions::Conditions;
use super::problem::Problem;
use super::request::Asked;
use super::route;
use super::state::ServerState;
use crate::pages::{self, Link, Site};

/// Nothing but files of the site is loaded, and its forms lead to itself.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
     img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
     frame-ancestors 'none'";

/// The methods that an address takes.
fn methods(state: &ServerState, path: &str) -> HeaderValue {
    HeaderValue::from_static(match path {
        "/check" => "GET, HEAD, OPTIONS, POST",
        _ if route::is_of_registration(path) => match &state.registering {
            Some(_) => "OPTIONS, POST",
            None => "OPTIONS",
        },
        _ => "GET, HEAD, OPTIONS",
    })
}

/// Answers a request: counts and logs it, and adds the headers that every response has.
pub async fn respond(state: &Arc<ServerState>, request: Request<Body>) -> Response<Body> {
    let began = Instant::now();
    let _under_way = state.metrics.request_begins();
    let (head, body) = request.into_parts();
    let asked = Asked::from(head);
    let mut response = finish(state, &asked, body, began).await;
    let status = response.status().as_u16();
    let elapsed = began.elapsed();
    state.metrics.response_begins(status, elapsed);
    let agent = asked.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    tracing::info!(
        target: "access",
        method = asked.method().as_str(),
        path = asked.target(),
        status,
        microseconds = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
        agent = agent.unwrap_or_default(),
        "request"
    );
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
    let is_html = headers
        .get(CONTENT_TYPE)
        .is_some_and(|content_type| content_type.as_bytes().starts_with(b"text/html"));
    if is_html {
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_POLICY));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    }
    response
}

/// The response to a request, or why there is none: as a page for a browser, else as JSON.
async fn finish(
    state: &Arc<ServerState>,
    asked: &Asked,
    body: Body,
    began: Instant,
) -> Response<Body> {
    let stop = match find(state, asked, body, began).await {
        Ok(response) => return response,
        Err(stop) => stop,
    };
    let problem = match stop {
        Stop::Elsewhere(status, address) => return redirect(status, &address),
        Stop::Problem(problem) => problem,
    };
    match without_marks(asked.target()).filter(|_| problem.status.is_client_error()) {
        Some(meant) => redirect(StatusCode::PERMANENT_REDIRECT, &state.site.href(&meant)),
        None => explain(state, asked, &problem),
    }
}

/// Has a request answered within its time.
async fn find(
    state: &Arc<ServerState>,
    asked: &Asked,
    body: Body,
    began: Instant,
) -> Result<Response<Body>, Stop> {
    if !asked.names_one_host() {
        return Err(Problem::usage("A request has exactly one header Host.").into());
    }
    let (method, target, path) = (asked.method(), asked.target(), asked.path());
    if method == Method::OPTIONS {
        return Ok(options(state, path));
    }
    if target.len() > state.limits.target_bytes {
        let detail = format!("An address has at most {} bytes.", state.limits.target_bytes);
        return Err(Problem::too_long(StatusCode::URI_TOO_LONG, detail).into());
    }
    // Slightly longer than the time limit of the work itself, whose error is more specific. It is the
    // limit of all that is waited for.
    let until = began + state.limits.request_time + Duration::from_secs(2);
    let conditions = asked.conditions();
    let answer = in_time(until, Box::pin(route::answer(state, asked, body))).await??;
    let answer = answer.saved_as(target).with_links(to_whole(&state.site, path));
    let answer = answer.complete(asked.coding()).await?;
    Ok(answer.response(method, &conditions))
}

/// A target without the marks at the end of its path, which a linker took from the sentence around an address
/// that papers have: of a set, a dataset or a DOI. `None` means that there are none.
fn without_marks(target: &str) -> Option<String> {
    const MARKS: [char; 5] = ['.', ',', ';', ')', ']'];
    let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
    let meant = path.trim_end_matches(MARKS);
    let is_cited = match meant.strip_prefix("/datasets/") {
        Some(name) => !name.is_empty() && !name.trim_end_matches('/').contains('/'),
        None => ["/DI:", "/sha256:", "/doi/"].iter().any(|begin| meant.starts_with(begin)),
    };
    (is_cited && meant != path).then(|| format!("{meant}{query}"))
}

/// What is waited for, which is given up at a time.
async fn in_time<T>(until: Instant, work: impl Future<Output = T>) -> Result<T, Problem> {
    tokio::time::timeout_at(until.into(), work).await.map_err(|_| Problem::busy())
}

/// The link from what a dataset or a set has, such as a history or a list, to the page of the whole.
fn to_whole(site: &Site, path: &str) -> Option<Link> {
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let (rel, whole) = match *segments {
        ["datasets", name, part, ..] if !part.is_empty() => ("up", format!("/datasets/{name}/")),
        [set, _] if set.starts_with("DI:") => ("collection", format!("/{set}")),
        _ => return None,
    };
    Some(Link::new(rel, site.address_or_href(&whole)))
}

/// The response to OPTIONS at any address, such as a preflight request of a script on another site.
fn options(state: &ServerState, path: &str) -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ALLOW, methods(state, path));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    response
}

/// The response that says why a request was refused.
fn explain(state: &ServerState, asked: &Asked, problem: &Problem) -> Response<Body> {
    let path = asked.path();
    // What only the operator should read, such as a path, is in the log.
    if problem.status.is_server_error() || problem.cause.is_some() {
        let cause = problem.cause.as_deref().unwrap_or(&problem.detail);
        tracing::warn!(kind = problem.kind, path, cause, "request failed");
    }
    let (content_type, content) = if asked.prefers_html() {
        let (status, title) = (problem.status.as_u16(), problem.title());
        let page = pages::problem(&state.site, status, title, &problem.detail, problem.hint);
        ("text/html; charset=utf-8", page)
    } else {
        ("application/problem+json", problem.json(path).to_string())
    };
    let content = AnswerContent::Bytes(content.into());
    let mut answer = Answer::of_type(content_type, content, Keep::Never);
    answer.status = problem.status;
    if let Some(seconds) = problem.retry_after_seconds {
        answer.headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if problem.status == StatusCode::METHOD_NOT_ALLOWED {
        answer.headers.insert(ALLOW, methods(state, path));
    }
    if problem.status == StatusCode::UNAUTHORIZED {
        answer.headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    answer.response(asked.method(), &Conditions::default())
}
