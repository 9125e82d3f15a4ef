//! What a route answers, and how it is sent.
//!
//! The tag of an answer is made of the digest of its bytes as they are sent, or of all that decides them, so
//! that equal tags are equal bytes. An answer that is kept is sent again, or confirmed by 304, without a look
//! at anything but the state of the registry: it is valid until any process commits a change, or the UTC day
//! ends.
//!
//! A client that reads slowly keeps what was made for it in memory: at most a page of a list, or a part of a
//! file, of which the next is read when it has taken the one before.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures_util::stream::{Stream, TryStreamExt, try_unfold};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LENGTH,
    CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LINK, LOCATION, VARY,
};
use hyper::{HeaderMap, Method, Response, StatusCode};
use sha2::{Digest, Sha256};

use super::conditions::{ByteRange, Conditions, ContentCoding};
use super::problem::Problem;
use super::published::Stored;
use super::request::Format;
use crate::pages::Link;

/// The body of a request or of a response.
pub type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A body whose next part is made when the client has taken the one before. An error cuts the connection.
pub fn streamed(parts: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Body {
    StreamBody::new(parts.map_ok(Frame::data)).boxed_unsync()
}

/// The header with the digest of what is represented (RFC 9530).
const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");

/// The media type of a feed.
pub const ATOM: &str = "application/atom+xml; charset=utf-8";

/// The extensions of files that are saved, by their media types.
const FILE_TYPES: [(&str, &str); 8] = [
    ("text/plain", "txt"),
    ("text/x-bibliography", "txt"),
    ("application/jsonl", "jsonl"),
    ("application/x-bibtex", "bib"),
    ("application/x-research-info-systems", "ris"),
    ("application/vnd.citationstyles.csl+json", "json"),
    ("application/vnd.datacite.datacite+json", "json"),
    ("application/ld+json", "jsonld"),
];

/// How long a response may be kept by caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// For ever: what is at this address never changes.
    Forever,
    /// As long as its tag is current: a cache asks before it uses it. One that many clients share sends a
    /// page again for half a minute without asking, which takes crawlers away.
    WhileCurrent,
    /// Not at all: the next response will differ.
    Never,
}

/// What a route answers.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub content: AnswerContent,
}

/// What an answer is sent from.
pub enum AnswerContent {
    /// Bytes that are compressed and tagged before they are sent.
    Bytes(Bytes),
    /// A file that is sent as it is, or in part.
    File(Arc<Stored>),
    /// A body that is sent as it is made.
    Stream(Body),
}

/// Why a request is not answered with what is at its address.
#[derive(Debug)]
pub enum Stop {
    /// It is refused.
    Problem(Problem),
    /// What is asked for is at another address.
    Elsewhere(StatusCode, String),
}

impl Stop {
    /// Leads to another address this time.
    pub fn see_other(address: String) -> Self {
        Stop::Elsewhere(StatusCode::SEE_OTHER, address)
    }

    /// Leads to the address under which this is known.
    pub fn permanent(address: String) -> Self {
        Stop::Elsewhere(StatusCode::PERMANENT_REDIRECT, address)
    }
}

impl<E: Into<Problem>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Problem(error.into())
    }
}

impl Answer {
    /// An answer of a media type.
    pub fn of_type(content_type: &str, content: AnswerContent, keep: Keep) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, value(content_type));
        let is_page = keep == Keep::WhileCurrent && content_type.starts_with("text/html");
        let shared = HeaderValue::from_static("public, max-age=0, s-maxage=30");
        headers.insert(CACHE_CONTROL, if is_page { shared } else { keep.header() });
        headers.insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
        if let AnswerContent::File(file) = &content {
            headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
            describe(&mut headers, &file.sha256);
        }
        Answer { status: StatusCode::OK, headers, content }
    }

    /// An answer in a format, which is complete in memory.
    pub fn whole(format: Format, content: impl Into<Bytes>, keep: Keep) -> Self {
        Answer::of_type(&format.content_type(), AnswerContent::Bytes(content.into()), keep)
    }

    /// The same answer with a tag that says all that it depends on.
    #[must_use]
    pub fn tagged(mut self, tag: &str) -> Self {
        self.headers.insert(ETAG, value(&format!("\"{tag}\"")));
        self
    }

    /// The same answer, which search engines leave out.
    #[must_use]
    pub fn unlisted(mut self) -> Self {
        const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");
        self.headers.insert(ROBOTS, HeaderValue::from_static("noindex"));
        self
    }

    /// The same answer with the name of the file as which a citation or a list at this address is saved: that
    /// of a part of a set has the patterns, too.
    #[must_use]
    pub fn saved_as(mut self, target: &str) -> Self {
        const LONGEST: usize = 120;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let content_type = self.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let media_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
        let extension = FILE_TYPES.iter().find(|(kind, _)| *kind == media_type);
        let path = path.trim_matches('/');
        let is_of_set = path.starts_with("DI:") || path.starts_with("sha256:");
        let name = path.strip_prefix("datasets/").or(Some(path).filter(|_| is_of_set));
        if let Some((name, (_, extension))) = name.zip(extension) {
            let is_plain = |it: char| it.is_ascii_alphanumeric() || ".-@".contains(it);
            let selected = form_urlencoded::parse(query.as_bytes());
            let patterns = selected.filter(|(key, _)| key == "select").map(|(_, pattern)| pattern);
            let name = patterns.fold(name.to_owned(), |name, pattern| format!("{name}_{pattern}"));
            let name: String = name.chars().take(LONGEST).collect();
            let name = name.replace(|it| !is_plain(it), "_");
            let header = value(&format!("inline; filename=\"{name}.{extension}\""));
            self.headers.insert(CONTENT_DISPOSITION, header);
        }
        self
    }

    /// The same answer with further links in its header.
    #[must_use]
    pub fn with_links(mut self, links: impl IntoIterator<Item = Link>) -> Self {
        add_links(&mut self.headers, links);
        self
    }

    /// Compresses and tags what was made for it.
    ///
    /// # Errors
    ///
    /// The server is ending.
    pub async fn complete(mut self, coding: ContentCoding) -> Result<Self, Problem> {
        let AnswerContent::Bytes(bytes) = self.content else { return Ok(self) };
        let encode = move || {
            let (bytes, coding) = match coding.shorten(&bytes) {
                Some(shorter) => (shorter.into(), coding),
                None => (bytes, ContentCoding::Identity),
            };
            (<[u8; 32]>::from(Sha256::digest(&bytes)), bytes, coding)
        };
        // Short ones take less time than another thread takes to begin.
        let (digest, bytes, coding) = match coding {
            ContentCoding::Identity => encode(),
            ContentCoding::Gzip => {
                let encoded = tokio::task::spawn_blocking(encode).await;
                encoded.map_err(|error| Problem::internal(error.to_string()))?
            }
        };
        describe(&mut self.headers, &digest);
        self.headers.extend(coding.header().map(|coding| (CONTENT_ENCODING, coding)));
        Ok(Answer { content: AnswerContent::Bytes(bytes), ..self })
    }

    /// The response to a request: whole, in part, or a confirmation that the client has it.
    pub fn response(self, method: &Method, conditions: &Conditions) -> Response<Body> {
        let Answer { status, headers, content } = self;
        let mut response = Response::new(Body::default());
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        let tag = response.headers().get(ETAG).cloned();
        if status == StatusCode::OK && tag.as_ref().is_some_and(|tag| conditions.has(tag)) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            for of_content in [CONTENT_TYPE, CONTENT_ENCODING, REPR_DIGEST, ACCEPT_RANGES] {
                response.headers_mut().remove(of_content);
            }
            return response;
        }
        let mut sent = 0..content.bytes().unwrap_or(u64::MAX);
        if let (Some(tag), true) = (tag, response.headers().contains_key(ACCEPT_RANGES)) {
            sent = extent(&mut response, conditions, &tag, sent.end);
        }
        if sent.end != u64::MAX {
            let length = HeaderValue::from(sent.end - sent.start);
            response.headers_mut().insert(CONTENT_LENGTH, length);
        }
        if method != Method::HEAD {
            *response.body_mut() = content.body(sent);
        }
        response
    }
}

/// Marks a response as the part of so many bytes that is asked for. Returns which they are.
fn extent(
    response: &mut Response<Body>,
    conditions: &Conditions,
    tag: &HeaderValue,
    bytes: u64,
) -> Range<u64> {
    let (status, sent, range) = match conditions.extent(tag, bytes) {
        ByteRange::Whole => return 0..bytes,
        ByteRange::Part(part) => {
            let range = format!("bytes {}-{}/{bytes}", part.start, part.end - 1);
            (StatusCode::PARTIAL_CONTENT, part, range)
        }
        ByteRange::Unsatisfiable => {
            (StatusCode::RANGE_NOT_SATISFIABLE, 0..0, format!("bytes */{bytes}"))
        }
    };
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_RANGE, value(&range));
    sent
}

impl AnswerContent {
    /// The number of bytes. `None` means that it is not known yet.
    fn bytes(&self) -> Option<u64> {
        match self {
            AnswerContent::Bytes(bytes) => Some(bytes.len() as u64),
            AnswerContent::File(file) => Some(file.bytes),
            AnswerContent::Stream(_) => None,
        }
    }

    /// Some of the bytes as a body, whose next part is made when the client has taken the one before.
    fn body(self, sent: Range<u64>) -> Body {
        let Range { start, end } = sent;
        match self {
            AnswerContent::Stream(body) => body,
            // Both ends are within the content.
            AnswerContent::Bytes(bytes) => {
                let bytes = bytes.slice(start as usize..end as usize);
                Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
            }
            AnswerContent::File(file) => streamed(try_unfold(start, move |at| {
                let file = Arc::clone(&file);
                async move {
                    if at == end {
                        return Ok(None);
                    }
                    let part = file.part(at..end).await?;
                    let next = at + part.len() as u64;
                    Ok(Some((part, next)))
                }
            })),
        }
    }
}

impl Keep {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Keep::Forever => "public, max-age=31536000, immutable",
            Keep::WhileCurrent => "no-cache",
            Keep::Never => "no-store",
        })
    }
}

/// The response that leads to another address.
pub fn redirect(status: StatusCode, location: &str) -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(LOCATION, value(location));
    headers.insert(CACHE_CONTROL, Keep::WhileCurrent.header());
    headers.insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
    response
}

/// Adds the tag and the digest of content as it is sent.
fn describe(headers: &mut HeaderMap, digest: &[u8; 32]) {
    headers.insert(ETAG, value(&format!("\"{}\"", hex::encode(&digest[..12]))));
    let digest = format!("sha-256=:{}:", BASE64_STANDARD.encode(digest));
    headers.insert(REPR_DIGEST, value(&digest));
}

/// Adds links to those in a header.
pub fn add_links(headers: &mut HeaderMap, links: impl IntoIterator<Item = Link>) {
    let added: Vec<String> = links.into_iter().map(|link| link.header()).collect();
    if !added.is_empty() {
        let known = headers.get(LINK).and_then(|it| it.to_str().ok());
        let all: Vec<&str> = known.into_iter().chain(added.iter().map(String::as_str)).collect();
        let all = value(&all.join(", "));
        headers.insert(LINK, all);
    }
}

/// A header value. What cannot be in a header is left out: all values are made here of checked parts,
/// or of addresses that are percent-encoded.
pub fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}
