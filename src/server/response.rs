//! Responses, with what caches need to know of them, and rows as JSON Lines and CSV.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, LINK, LOCATION, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::request::Format;
use super::sending::{Content, Form};
use crate::error::Result;
use crate::model::Instance;
use crate::pages::Link;

/// The header with the digest of what is represented (RFC 9530).
pub const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");

/// The media type of a feed.
pub const ATOM: &str = "application/atom+xml; charset=utf-8";

/// How long a response may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// For ever: what is at this address never changes.
    Forever,
    /// As long as its tag is current: a cache asks before it uses it.
    WhileCurrent,
    /// Not at all: the next response will differ.
    Never,
}

impl Keep {
    pub fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Keep::Forever => "public, max-age=31536000, immutable",
            Keep::WhileCurrent => "no-cache",
            Keep::Never => "no-store",
        })
    }
}

/// A response that is complete in memory. It is compressed, tagged and kept on its way to the client.
pub fn whole(format: Format, content: impl Into<Bytes>, keep: Keep) -> Response<Body> {
    whole_of_type(&format.content_type(), content, keep)
}

/// As [`whole`], with a media type of its own.
pub fn whole_of_type(content_type: &str, content: impl Into<Bytes>, keep: Keep) -> Response<Body> {
    let mut response = of_type(content_type, Body::empty(), keep);
    let is_kept = keep != Keep::Never;
    response.extensions_mut().insert(Content { form: Form::Made(content.into()), is_kept });
    response
}

/// The same response, which is not kept here for other clients, who will hardly ask for the same.
pub fn unkept(mut response: Response<Body>) -> Response<Body> {
    if let Some(content) = response.extensions_mut().get_mut::<Content>() {
        content.is_kept = false;
    }
    response
}

/// A response with a body of a media type, without a tag.
fn of_type(content_type: &str, body: Body, keep: Keep) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, value(content_type));
    headers.insert(CACHE_CONTROL, keep.header());
    headers.insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
    response
}

/// The digest of content.
pub fn digest(content: &[u8]) -> [u8; 32] {
    Sha256::digest(content).into()
}

/// Adds the tag and the digest of content as it is sent.
pub fn describe(headers: &mut HeaderMap, digest: &[u8; 32]) {
    headers.insert(ETAG, value(&format!("\"{}\"", hex::encode(&digest[..12]))));
    headers.insert(REPR_DIGEST, repr_digest(digest));
}

/// The value of [`REPR_DIGEST`].
pub fn repr_digest(digest: &[u8; 32]) -> HeaderValue {
    value(&format!("sha-256=:{}:", BASE64_STANDARD.encode(digest)))
}

/// A response whose content has a digest, from which its tag is made.
pub fn described(content_type: &str, body: Body, digest: &[u8; 32], keep: Keep) -> Response<Body> {
    let mut response = of_type(content_type, body, keep);
    describe(response.headers_mut(), digest);
    response
}

/// A response with a tag that says all that it depends on.
pub fn tagged(format: Format, tag: &str, body: Body, keep: Keep) -> Response<Body> {
    let mut response = of_type(&format.content_type(), body, keep);
    response.headers_mut().insert(ETAG, value(&format!("\"{tag}\"")));
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

/// The response with further links in its header.
pub fn with_links(
    mut response: Response<Body>,
    links: impl IntoIterator<Item = Link>,
) -> Response<Body> {
    let known = response.headers().get(LINK).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let links = links.into_iter().map(|link| link.header());
    let header: Vec<String> = known.into_iter().chain(links).collect();
    if !header.is_empty() {
        response.headers_mut().insert(LINK, value(&header.join(", ")));
    }
    response
}

/// The response, which search engines leave out.
pub fn unlisted(mut response: Response<Body>) -> Response<Body> {
    const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");
    response.headers_mut().insert(ROBOTS, HeaderValue::from_static("noindex"));
    response
}

/// A header value. What cannot be in a header is left out: all values are made here of checked parts,
/// or of addresses that are percent-encoded.
pub fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}

/// A page of a list as programs read it, with the address of the next page. `object` is the page as one
/// JSON value. Even a complete list is kept only while it is current, since it can grow.
pub fn list<T: Serialize>(
    format: Format,
    rows: &[T],
    columns: &[&str],
    next: Option<&str>,
    object: impl FnOnce() -> Value,
) -> Response<Body> {
    let content = match format {
        Format::JsonLines => rows.iter().map(json).collect(),
        Format::Csv => csv(columns, rows),
        _ => json(&object()),
    };
    page(format, content, next)
}

/// As [`list`], of which one JSON value has the rows by a name, and the next page.
pub fn named_list<T: Serialize>(
    format: Format,
    name: &str,
    rows: &[T],
    columns: &[&str],
    next: Option<&str>,
) -> Response<Body> {
    list(format, rows, columns, next, || serde_json::json!({ name: rows, "next": next }))
}

/// A page of a list that is written already.
pub fn page(format: Format, content: String, next: Option<&str>) -> Response<Body> {
    let next = next.map(|next| Link::new("next", next));
    with_links(whole(format, content, Keep::WhileCurrent), next)
}

/// A JSON value as a line. What is sent is made of strings, numbers and lists of them, which can always
/// be written.
pub fn json<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

/// Rows as a table with a header. A column is the path of a member in the JSON of a row, and is called by
/// the last name of that path.
fn csv<T: Serialize>(columns: &[&str], rows: &[T]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail.
    let names = columns.iter().map(|column| column.rsplit('/').next().unwrap_or_default());
    let _ = writer.write_record(names);
    for row in rows {
        let row = serde_json::to_value(row).unwrap_or_default();
        let cells = columns.iter().map(|column| match row.pointer(&format!("/{column}")) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        });
        let _ = writer.write_record(cells);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// The greatest size of the rows of a page, of which its last row may be the rest: rows have notes and
/// ids of any length.
pub const PAGE_BYTES: usize = 1_024 * 1_024;

/// How many rows are read at first, so that long ones are noticed.
const FIRST_ROWS: u32 = 16;

/// How many rows are read at once at most.
const MOST_ROWS: u32 = 256;

/// Reads the rows of a page: at most `limit` of them, and no more than it takes to reach
/// [`PAGE_BYTES`]. `read` returns at most a number of rows after one of them. Whether there are further
/// rows is returned too.
///
/// # Errors
///
/// Those of `read`.
pub fn read_page<Row>(
    limit: u32,
    bytes: impl Fn(&Row) -> usize,
    mut read: impl FnMut(Option<&Row>, u32) -> Result<Vec<Row>>,
) -> Result<(Vec<Row>, bool)> {
    let (mut rows, mut room, mut at_once) = (Vec::new(), PAGE_BYTES, FIRST_ROWS);
    loop {
        // One more than the page has says whether there are more.
        let wanted = at_once.min(limit + 1 - rows.len() as u32);
        let found = read(rows.last(), wanted)?;
        let is_last = found.len() < wanted as usize;
        for row in found {
            if rows.len() == limit as usize || (room == 0 && !rows.is_empty()) {
                return Ok((rows, true));
            }
            room = room.saturating_sub(bytes(&row));
            rows.push(row);
        }
        if is_last {
            return Ok((rows, false));
        }
        at_once = (at_once * 2).min(MOST_ROWS);
    }
}

/// The size of an instance as a row.
pub fn instance_bytes(instance: &Instance) -> usize {
    256 + instance.note.as_ref().map_or(0, String::len)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_ends_by_rows_or_by_bytes() {
        for (all, limit, row_bytes, expected, has_more) in [
            (0_u32, 5, 1, 0_u32, false),
            (5, 5, 1, 5, false),
            (6, 5, 1, 5, true),
            (10_000, 1_000, 1, 1_000, true),
            (1_000, 10_000, 1, 1_000, false),
            (10_000, 10_000, PAGE_BYTES / 100, 101, true),
            // A page has a row, however long.
            (3, 1_000, 2 * PAGE_BYTES, 1, true),
            (1, 1_000, 2 * PAGE_BYTES, 1, false),
        ] {
            let mut most = 0;
            let read = |last: Option<&u32>, count: u32| {
                most = most.max(count);
                let next = last.map_or(0, |last| last + 1);
                Ok((next..all.min(next + count)).collect())
            };
            let (rows, more) = read_page(limit, |_| row_bytes, read).unwrap();
            assert!(rows.iter().copied().eq(0..expected), "{all} rows, {limit}: {rows:?}");
            assert_eq!(more, has_more, "{all} rows of {row_bytes} bytes, at most {limit}");
            assert!(most <= MOST_ROWS);
        }
    }

    #[test]
    fn a_cell_is_what_the_row_has() {
        let row = json!({ "a": "=1+1", "b": { "c": "x,\"y\"\nz", "d": null, "e": -1 } });
        let text = csv(&["a", "b/c", "b/d", "b/e", "f"], &[row]);
        assert_eq!(text, "a,c,d,e,f\n=1+1,\"x,\"\"y\"\"\nz\",,-1,\n");
    }
}
