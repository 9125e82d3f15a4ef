//! Responses, with what caches need to know of them.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, LINK, LOCATION, VARY};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::format::Format;
use crate::pages::Link;

/// The header with the digest of what is represented (RFC 9530).
pub const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");

/// How long a response may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// For ever: what is at this address never changes.
    Forever,
    /// As long as its tag is current: a cache asks before it uses it.
    WhileCurrent,
}

impl Keep {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Keep::Forever => "public, max-age=31536000, immutable",
            Keep::WhileCurrent => "no-cache",
        })
    }
}

/// A response that is complete in memory. Its tag is made from what it says.
pub fn whole(format: Format, content: impl Into<Bytes>, keep: Keep) -> Response<Body> {
    whole_of_type(&format.content_type(), content, keep)
}

/// As [`whole`], with a media type of its own.
pub fn whole_of_type(content_type: &str, content: impl Into<Bytes>, keep: Keep) -> Response<Body> {
    let content = content.into();
    let digest = Sha256::digest(&content);
    described(content_type, Body::from(content), &digest.into(), keep)
}

/// A response whose content has a digest, from which its tag is made.
pub fn described(content_type: &str, body: Body, digest: &[u8; 32], keep: Keep) -> Response<Body> {
    let tag = format!("\"{}\"", hex::encode(&digest[..12]));
    let repr_digest = format!("sha-256=:{}:", BASE64_STANDARD.encode(digest));
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, value(content_type));
    headers.insert(CACHE_CONTROL, keep.header());
    headers.insert(ETAG, value(&tag));
    headers.insert(REPR_DIGEST, value(&repr_digest));
    headers.insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
    response
}

/// A response that is sent part by part. Its tag says all that it depends on.
pub fn streamed(format: Format, tag: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, value(&format.content_type()));
    headers.insert(CACHE_CONTROL, Keep::Forever.header());
    headers.insert(ETAG, value(&format!("\"{tag}\"")));
    headers.insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
    response
}

/// A response that leads to another address.
pub fn redirect(status: StatusCode, location: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(LOCATION, value(location));
    headers.insert(CACHE_CONTROL, Keep::WhileCurrent.header());
    headers.insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
    response
}

/// The response with links in its header.
pub fn with_links(mut response: Response<Body>, links: &[Link]) -> Response<Body> {
    let header: Vec<String> = links.iter().map(Link::header).collect();
    if !header.is_empty() {
        response.headers_mut().append(LINK, value(&header.join(", ")));
    }
    response
}

/// A header value. What cannot be in a header is left out: all values are made here of checked parts,
/// or of addresses that are percent-encoded.
pub fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}
