//! The service of the server: everything that is done for every request, whatever its address.

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::HttpBody;
use axum::extract::State;
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    RETRY_AFTER, USER_AGENT, VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{self, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use headers::{ETag, HeaderMapExt};
use tower_http::compression::{CompressionLayer, Predicate};
use tower_http::cors::{Any, CorsLayer, Vary};

use super::problem::Problem;
use super::request::Request;
use super::response::{add_file_name, add_links, not_modified, redirect};
use super::route;
use super::state::App;
use crate::pages::{self, Link, Site};

/// Pages load only files of the site, and forms lead only to the site.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
     img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
     frame-ancestors 'none'";

/// Shorter responses are not compressed: compression would save less than its header costs.
const LEAST_BYTES: u64 = 256;

/// The service that responds to requests.
pub fn service(state: &App) -> Router {
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::HEAD, Method::POST])
        .allow_headers(Any)
        .expose_headers(Any)
        .max_age(Duration::from_secs(86_400))
        .vary(Vary::list([]));
    // The last layer is the outermost. All layers are around the router, so that the innermost can try another
    // method.
    Router::new()
        .fallback_service(route::router(state))
        .layer(from_fn_with_state(state.clone(), respond))
        .layer(CompressionLayer::new().compress_when(IsInMemory))
        .layer(from_fn_with_state(state.clone(), explain))
        .layer(cors)
        .layer(from_fn_with_state(state.clone(), record))
}

/// Only content in memory is compressed. Lists and files are not: an encoder for each slow client would need
/// more memory than the part of the content that the client is reading.
#[derive(Clone, Copy)]
struct IsInMemory;

impl Predicate for IsInMemory {
    fn should_compress<B: HttpBody>(&self, response: &http::Response<B>) -> bool {
        response.body().size_hint().exact().is_some_and(|bytes| bytes >= LEAST_BYTES)
    }
}

/// Counts and logs a request, and adds the headers of every response.
async fn record(
    State(state): State<App>,
    request: Request,
    incoming: http::Request<axum::body::Body>,
    next: Next,
) -> Response {
    let began = Instant::now();
    let _under_way = state.metrics.request_begins();
    let mut response = next.run(incoming).await;
    let (status, elapsed) = (response.status().as_u16(), began.elapsed());
    state.metrics.response_begins(status, elapsed);
    let agent = request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    tracing::info!(
        target: "access",
        method = request.method().as_str(),
        path = request.target(),
        status,
        microseconds = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
        agent = agent.unwrap_or_default(),
        "request"
    );
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let is_html = headers
        .get(CONTENT_TYPE)
        .is_some_and(|content_type| content_type.as_bytes().starts_with(b"text/html"));
    if is_html {
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_POLICY));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    }
    response
}

/// Rejects requests that no address accepts, and writes each problem as a page for a browser, or else as JSON.
async fn explain(
    State(state): State<App>,
    request: Request,
    incoming: http::Request<axum::body::Body>,
    next: Next,
) -> Response {
    let checked = check(&state, &request);
    let mut response = match checked {
        Ok(()) => next.run(incoming).await,
        Err(problem) => problem.into_response(),
    };
    let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
    let meant = without_marks(request.path(), request.query());
    match meant.filter(|_| problem.status.is_client_error()) {
        Some(meant) => redirect(StatusCode::PERMANENT_REDIRECT, &state.site.href(&meant)),
        None => {
            let allow = response.headers_mut().remove(ALLOW);
            let mut response = written(&state, &request, &problem);
            if problem.status == StatusCode::METHOD_NOT_ALLOWED {
                let allow = allow.unwrap_or(HeaderValue::from_static(""));
                response.headers_mut().insert(ALLOW, allow);
            }
            response
        }
    }
}

/// Checks that a request has exactly one host, and that its address is not too long.
fn check(state: &App, request: &Request) -> Result<(), Problem> {
    if !request.names_one_host() {
        return Err(Problem::usage("A request has exactly one header Host."));
    }
    let most = state.limits.target_bytes;
    if request.target().len() > most {
        let detail = format!("An address has at most {most} bytes.");
        return Err(Problem::too_long(StatusCode::URI_TOO_LONG, detail));
    }
    Ok(())
}

/// Removes the punctuation at the end of the cited path of a set, a dataset or a DOI. Software that makes links
/// takes it from the sentence around an address. `None` means that there is no such punctuation.
fn without_marks(path: &str, query: &str) -> Option<String> {
    const MARKS: [char; 5] = ['.', ',', ';', ')', ']'];
    let meant = path.trim_end_matches(MARKS);
    let is_cited = match meant.strip_prefix("/datasets/") {
        Some(name) => !name.is_empty() && !name.trim_end_matches('/').contains('/'),
        None => ["/DI:", "/sha256:", "/doi/"].iter().any(|begin| meant.starts_with(begin)),
    };
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    (is_cited && meant != path).then(|| format!("{meant}{query}"))
}

/// The error response to a rejected request.
fn written(state: &App, request: &Request, problem: &Problem) -> Response {
    let path = request.path();
    // Details for the operator only, such as a path, are logged.
    if problem.status.is_server_error() || problem.cause.is_some() {
        let cause = problem.cause.as_deref().unwrap_or(&problem.detail);
        tracing::warn!(kind = problem.kind, path, cause, "request failed");
    }
    let (content_type, content) = if request.prefers_html() {
        let (status, title) = (problem.status.as_u16(), problem.title());
        let page = pages::problem(&state.site, status, title, &problem.detail, problem.hint);
        ("text/html; charset=utf-8", page)
    } else {
        ("application/problem+json", problem.json(path).to_string())
    };
    let headers = [
        (CONTENT_TYPE, content_type),
        (CACHE_CONTROL, "no-store"),
        (VARY, "Accept, Accept-Encoding"),
    ];
    let mut response = (problem.status, headers, content).into_response();
    let retry = problem.retry_after_seconds.map(HeaderValue::from);
    response.headers_mut().extend(retry.map(|seconds| (RETRY_AFTER, seconds)));
    if problem.status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Responds within the time limit of a request. Content gets the file name under which it is saved, and a link
/// to its dataset or set. If the client has cached the content, the response is 304 (Not Modified).
async fn respond(
    State(state): State<App>,
    request: Request,
    incoming: http::Request<axum::body::Body>,
    next: Next,
) -> Response {
    // Slightly longer than the limit of the work itself, whose problem is more specific. The work keeps its
    // permit until it ends.
    let time = state.limits.request_time + Duration::from_secs(2);
    let Ok(mut response) =
        tokio::time::timeout(time, unknown_first(&request, incoming, next)).await
    else {
        return Problem::busy().into_response();
    };
    let Some(tag) = response.headers().typed_get::<ETag>() else { return response };
    let (path, query) = (request.path(), request.query());
    add_file_name(response.headers_mut(), path, query);
    add_links(response.headers_mut(), to_whole(&state.site, path));
    // Only reads can have such a condition (RFC 9110 §13.1.2).
    let is_content = matches!(
        response.status(),
        StatusCode::OK | StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE
    );
    if is_content && request.is_of_reading() && request.has(&tag) {
        not_modified(response)
    } else {
        response
    }
}

/// The link from a subpage of a dataset or a set, such as a history or a list, to its main page.
fn to_whole(site: &Site, path: &str) -> Option<Link> {
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let (rel, whole) = match *segments {
        ["datasets", name, part, ..] if !part.is_empty() => ("up", format!("/datasets/{name}/")),
        [set, _] if set.starts_with("DI:") => ("collection", format!("/{set}")),
        _ => return None,
    };
    Some(Link::new(rel, site.address_or_href(&whole)))
}

/// Responds to a method that an address does not accept. If the resource does not exist, responds 404 instead.
async fn unknown_first(
    request: &Request,
    incoming: http::Request<axum::body::Body>,
    next: Next,
) -> Response {
    if request.is_of_reading() {
        return next.run(incoming).await;
    }
    let refused = next.clone().run(incoming).await;
    // If nothing is signed, the addresses of the log exist, but have no content.
    let is_of_log = matches!(request.path(), "/statements/checkpoint" | "/statements/policy");
    if refused.status() != StatusCode::METHOD_NOT_ALLOWED || is_of_log {
        return refused;
    }
    let read = next.run(request.as_get()).await;
    if read.status() == StatusCode::NOT_FOUND { read } else { refused }
}
