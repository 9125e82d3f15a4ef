//! Responses: content with its ETag, its cache policy, links and its file name.
//!
//! The ETag of content in memory is the digest of its bytes before compression, so it is weak. The ETag of a
//! list is computed from everything that determines its bytes, so it is known before the list is read.
//!
//! For a slow client, only the data produced for it stays in memory: at most a page of a list, or a part of a
//! list or a file. The next part is read when the client has received the previous one.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
    ETAG, HeaderName, HeaderValue, LINK, LOCATION, VARY,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures_util::stream::try_unfold;
use sha2::{Digest, Sha256};

use super::problem::Problem;
use super::published::Stored;
use super::request::{ByteRange, Format, Request};
use crate::pages::Link;

/// The media type of a feed.
pub const ATOM: &str = "application/atom+xml; charset=utf-8";

/// The header with the digest of a file (RFC 9530).
const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");

/// The extensions of files that are saved, by their media types.
const EXTENSIONS: [(&str, &str); 8] = [
    ("text/plain", "txt"),
    ("text/x-bibliography", "txt"),
    ("application/jsonl", "jsonl"),
    ("application/x-bibtex", "bib"),
    ("application/x-research-info-systems", "ris"),
    ("application/vnd.citationstyles.csl+json", "json"),
    ("application/vnd.datacite.datacite+json", "json"),
    ("application/ld+json", "jsonld"),
];

/// How long caches may store a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachePolicy {
    /// For ever: the content of this address never changes.
    Immutable,
    /// A shared cache reuses it for 30 seconds without a request, which keeps crawlers away from the server.
    /// All other caches revalidate it.
    Shared,
    /// Every cache revalidates it: a mirror must not read an old head.
    Revalidated,
    /// Caches must not store it: the next response will differ.
    NotStored,
}

impl CachePolicy {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            CachePolicy::Immutable => "public, max-age=31536000, immutable",
            CachePolicy::Shared => "public, max-age=0, s-maxage=30",
            CachePolicy::Revalidated => "no-cache",
            CachePolicy::NotStored => "no-store",
        })
    }
}

/// The reason why a response has no content.
#[derive(Debug)]
pub enum Rejection {
    /// The request is rejected.
    Problem(Problem),
    /// The content is at another address.
    Redirect(StatusCode, String),
}

impl Rejection {
    /// Redirects to another address for this request only.
    pub fn see_other(address: String) -> Self {
        Rejection::Redirect(StatusCode::SEE_OTHER, address)
    }

    /// Redirects permanently to the canonical address.
    pub fn permanent(address: String) -> Self {
        Rejection::Redirect(StatusCode::PERMANENT_REDIRECT, address)
    }
}

impl<E: Into<Problem>> From<E> for Rejection {
    fn from(error: E) -> Self {
        Rejection::Problem(error.into())
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        match self {
            Rejection::Problem(problem) => problem.into_response(),
            Rejection::Redirect(status, address) => redirect(status, &address),
        }
    }
}

/// A redirect to another address.
pub fn redirect(status: StatusCode, address: &str) -> Response {
    let headers = [
        (LOCATION, value(address)),
        (CACHE_CONTROL, CachePolicy::Revalidated.header()),
        (VARY, HeaderValue::from_static("Accept, Accept-Encoding")),
    ];
    (status, headers).into_response()
}

/// Content in a format.
pub fn in_format(format: Format, content: impl Into<Bytes>, policy: CachePolicy) -> Response {
    of_type(&format.content_type(), content, policy)
}

/// Content of a media type.
pub fn of_type(content_type: &str, content: impl Into<Bytes>, policy: CachePolicy) -> Response {
    let content = content.into();
    let tag = format!("W/{}", short_tag(&Sha256::digest(&content)));
    described(content_type, &tag, policy, Body::from(content))
}

/// A list whose ETag is known before it is read.
pub fn list(format: Format, tag: &str, policy: CachePolicy, body: Body) -> Response {
    described(&format.content_type(), tag, policy, body)
}

/// A file, or the part of it that the request asks for.
pub fn file(request: &Request, content_type: &str, file: Stored, policy: CachePolicy) -> Response {
    let (bytes, tag) = (file.bytes, short_tag(&file.sha256));
    let (status, sent, range) = match request.range(&tag, bytes) {
        ByteRange::Whole => (StatusCode::OK, 0..bytes, None),
        ByteRange::Part(part) => {
            let range = format!("bytes {}-{}/{bytes}", part.start, part.end - 1);
            (StatusCode::PARTIAL_CONTENT, part, Some(range))
        }
        ByteRange::Unsatisfiable => {
            (StatusCode::RANGE_NOT_SATISFIABLE, 0..0, Some(format!("bytes */{bytes}")))
        }
    };
    let digest = format!("sha-256=:{}:", BASE64_STANDARD.encode(file.sha256));
    let length = HeaderValue::from(sent.end - sent.start);
    let mut response = described(content_type, &tag, policy, parts(file, sent));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CONTENT_LENGTH, length);
    headers.insert(REPR_DIGEST, value(&digest));
    headers.extend(range.map(|range| (CONTENT_RANGE, value(&range))));
    response
}

/// Streams a range of bytes of a file.
fn parts(file: Stored, sent: Range<u64>) -> Body {
    let (file, Range { start, end }) = (Arc::new(file), sent);
    Body::from_stream(try_unfold(start, move |at| {
        let file = Arc::clone(&file);
        async move {
            if at == end {
                return io::Result::Ok(None);
            }
            let part = file.part(at..end).await?;
            let next = at + part.len() as u64;
            Ok(Some((part, next)))
        }
    }))
}

fn described(content_type: &str, tag: &str, policy: CachePolicy, body: Body) -> Response {
    let headers = [
        (CONTENT_TYPE, value(content_type)),
        (CACHE_CONTROL, policy.header()),
        (VARY, HeaderValue::from_static("Accept, Accept-Encoding")),
        (ETAG, value(tag)),
    ];
    (headers, body).into_response()
}

/// The ETag for a digest.
fn short_tag(digest: &[u8]) -> String {
    format!("\"{}\"", hex::encode(&digest[..12]))
}

/// The response for a client that has cached the content.
pub fn not_modified(mut response: Response) -> Response {
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    *response.body_mut() = Body::empty();
    let of_content = [CONTENT_TYPE, CONTENT_LENGTH, CONTENT_RANGE, REPR_DIGEST, ACCEPT_RANGES];
    for name in of_content {
        response.headers_mut().remove(name);
    }
    response
}

/// Returns the response with a header that excludes it from search engines.
pub fn unlisted(mut response: Response) -> Response {
    const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");
    response.headers_mut().insert(ROBOTS, HeaderValue::from_static("noindex"));
    response
}

/// Returns the response with additional links in its header.
pub fn with_links(mut response: Response, links: impl IntoIterator<Item = Link>) -> Response {
    add_links(response.headers_mut(), links);
    response
}

/// Adds links to a header.
pub fn add_links(headers: &mut HeaderMap, links: impl IntoIterator<Item = Link>) {
    let added: Vec<String> = links.into_iter().map(|link| link.header()).collect();
    if !added.is_empty() {
        let known = headers.get(LINK).and_then(|it| it.to_str().ok());
        let all: Vec<&str> = known.into_iter().chain(added.iter().map(String::as_str)).collect();
        let all = value(&all.join(", "));
        headers.insert(LINK, all);
    }
}

/// Adds the file name under which a browser saves a citation or a list from this address. The name of a subset
/// contains the patterns.
pub fn add_file_name(headers: &mut HeaderMap, path: &str, query: &str) {
    const LONGEST: usize = 120;
    let content_type = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let media_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
    let extension = EXTENSIONS.iter().find(|(kind, _)| *kind == media_type);
    let path = path.trim_matches('/');
    let is_of_set = path.starts_with("DI:") || path.starts_with("sha256:");
    let name = path.strip_prefix("datasets/").or(Some(path).filter(|_| is_of_set));
    let Some((name, (_, extension))) = name.zip(extension) else { return };
    let is_plain = |it: char| it.is_ascii_alphanumeric() || ".-@".contains(it);
    let mut name = name.strip_suffix(&format!(".{extension}")).unwrap_or(name).to_owned();
    for (key, pattern) in form_urlencoded::parse(query.as_bytes()) {
        if key == "select" {
            name.push('_');
            name.push_str(&pattern);
        }
    }
    let name: String = name.chars().take(LONGEST).collect();
    let name = name.replace(|it| !is_plain(it), "_");
    headers.insert(CONTENT_DISPOSITION, value(&format!("inline; filename=\"{name}.{extension}\"")));
}

/// A header value. A text that cannot be in a header becomes empty. This cannot happen: all values consist of
/// checked parts, or of percent-encoded addresses.
pub fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}
