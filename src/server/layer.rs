//! What is done for every request, whatever it asks for.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State as Extracted};
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW,
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY, RETRY_AFTER, USER_AGENT, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, Response, StatusCode};
use axum::middleware::Next;
use axum::response::IntoResponse;
use futures_util::StreamExt;

use super::client::{Client, Peer};
use super::problem::Problem;
use super::request::prefers_html;
use super::response::{REPR_DIGEST, value, with_links};
use super::state::State;
use crate::pages::ProblemPage;

/// Nothing but the style sheet of the site is loaded, and its forms lead to itself.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; img-src data:; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The methods that an address takes.
pub fn methods(path: &str) -> HeaderValue {
    HeaderValue::from_static(match path {
        "/check" => "GET, HEAD, OPTIONS, POST",
        _ => "GET, HEAD, OPTIONS",
    })
}

impl IntoResponse for Problem {
    /// An empty response with the problem attached as an extension, for [`limit_and_explain`] to write.
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        response.extensions_mut().insert(self);
        response
    }
}

/// Counts and logs each request, and adds the headers that every response has.
pub async fn observe(
    Extracted(state): Extracted<Arc<State>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let began = Instant::now();
    let _under_way = state.metrics.request_begins();
    let method = request.method().clone();
    let target = request.uri().to_string();
    let agent = request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    let agent = agent.map(str::to_owned);
    let mut response = next.run(request).await;
    let status = response.status().as_u16();
    let elapsed = began.elapsed();
    state.metrics.response_begins(status, elapsed);
    tracing::info!(
        target: "access",
        method = method.as_str(),
        path = target,
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

/// Compresses only so many responses at once: the encoder of each takes about 256 kB, as long as its
/// client reads. Further ones are sent as they are.
pub async fn ration_compression(
    Extracted(state): Extracted<Arc<State>>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let Ok(permit) = Arc::clone(&state.encoders).try_acquire_owned() else {
        request.headers_mut().remove(ACCEPT_ENCODING);
        return next.run(request).await;
    };
    let response = next.run(request).await;
    if !response.headers().contains_key(CONTENT_ENCODING) {
        return response;
    }
    response.map(|body| {
        let held = move |_: &_| {
            let _permit = &permit;
        };
        Body::from_stream(body.into_data_stream().inspect(held))
    })
}

/// Answers 304 where the client has what would be sent. A compressed representation has a tag of its
/// own, since its bytes differ.
pub async fn revalidate(request: Request, next: Next) -> Response<Body> {
    let known = request.headers().get(IF_NONE_MATCH).cloned();
    let mut response = next.run(request).await;
    if response.headers().contains_key(CONTENT_ENCODING) {
        response.headers_mut().remove(REPR_DIGEST);
        if let Some(tag) = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok()) {
            let tag = value(&format!("{}-gzip\"", tag.trim_end_matches('"')));
            response.headers_mut().insert(ETAG, tag);
        }
    }
    let (Some(known), Some(tag)) = (known, response.headers().get(ETAG)) else { return response };
    // A range is asked for only of what the client does not have (RFC 9110 §13.2.2).
    let is_content = [StatusCode::OK, StatusCode::PARTIAL_CONTENT].contains(&response.status());
    if !is_content || !matches(&known, tag) {
        return response;
    }
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    *response.body_mut() = Body::empty();
    for header in [CONTENT_TYPE, CONTENT_LENGTH, CONTENT_ENCODING, CONTENT_RANGE, REPR_DIGEST] {
        response.headers_mut().remove(header);
    }
    response
}

/// Whether a list of tags has this one; they are compared weakly (RFC 9110 §13.1.2).
fn matches(known: &HeaderValue, tag: &HeaderValue) -> bool {
    let (Ok(known), Ok(tag)) = (known.to_str(), tag.to_str()) else { return false };
    known.split(',').map(str::trim).any(|one| one == "*" || one.trim_start_matches("W/") == tag)
}

/// Refuses what is too long, ends what takes too long, counts what is sent, and writes why a request
/// was refused: as a page for a browser, else as JSON.
pub async fn limit_and_explain(
    Extracted(state): Extracted<Arc<State>>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let wants_page = prefers_html(accept);
    let path = request.uri().path().to_owned();
    let target_bytes = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if request.method() == Method::OPTIONS {
        return options(&path);
    }
    let peer = request.extensions().get::<Peer>().copied();
    let client = Client::of(peer, request.headers(), &state.trusted_proxies);
    if let Some(client) = client {
        request.extensions_mut().insert(client);
    }
    let response = if target_bytes > state.limits.target_bytes {
        let detail = format!("An address has at most {} bytes.", state.limits.target_bytes);
        Problem::too_long(StatusCode::URI_TOO_LONG, detail).into_response()
    } else {
        // Slightly longer than the time limit of the work itself, whose error is more specific.
        let time = state.limits.request_time + std::time::Duration::from_secs(2);
        let answered = tokio::time::timeout(time, next.run(request)).await;
        let response = answered.unwrap_or_else(|_| Problem::busy().into_response());
        state.flight.count(client, response).await.unwrap_or_else(Problem::into_response)
    };
    match response.extensions().get::<Problem>().cloned() {
        Some(problem) => explain(&state, &problem, &path, wants_page),
        None => response,
    }
}

/// The response to OPTIONS at any address, such as a preflight request of a script on another site.
fn options(path: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ALLOW, methods(path));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    response
}

/// The response that says why a request was refused.
pub fn explain(state: &State, problem: &Problem, path: &str, wants_page: bool) -> Response<Body> {
    // What only the operator should read, such as a path, is in the log.
    if problem.status.is_server_error() || problem.cause.is_some() {
        let cause = problem.cause.as_deref().unwrap_or(&problem.detail);
        tracing::warn!(kind = problem.kind, path, cause, "request failed");
    }
    let (content_type, content) = if wants_page {
        let page = ProblemPage {
            status: problem.status.as_u16(),
            title: problem.title(),
            detail: Some(&problem.detail),
            hint: problem.hint,
        };
        ("text/html; charset=utf-8", page.html(&state.site))
    } else {
        ("application/problem+json", problem.json(path).to_string())
    };
    let mut response = Response::new(Body::from(content));
    *response.status_mut() = problem.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
    if let Some(seconds) = problem.retry_after_seconds {
        headers.insert(RETRY_AFTER, value(&seconds.to_string()));
    }
    if problem.status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, methods(path));
    }
    with_links(response, &problem.links)
}
