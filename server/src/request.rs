//! Parses requests: their parameters, and the format of the response.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Path};
use axum::http::header::{HOST, RANGE};
use axum::http::request::Parts;
use axum::http::{self, HeaderMap, Method, StatusCode, Uri, Version};
use headers::{ETag, HeaderMapExt, IfNoneMatch, IfRange};
use headers_accept::Accept;
use mediatype::MediaType;
use serde::de::DeserializeOwned;

use super::problem::Problem;
use super::response::Rejection;
use crate::pages::{Detail, FORMATS, Site};
use accession::CitationFormat;
use accession::history::SubsetCriteria;
use accession::{DatasetName, GranuleId, Moment, Pattern, Timestamp};

/// The variable segments of a path, decoded.
pub struct Segments<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Segments<T> {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Rejection> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        let Path(segments) = path.map_err(|_| Problem::usage("The address is not UTF-8."))?;
        Ok(Segments(segments))
    }
}

/// The dataset in the path.
pub struct Named(pub DatasetName);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Rejection> {
        let path = Segments::<HashMap<String, String>>::from_request_parts(parts, state).await;
        let Segments(segments) = path?;
        Ok(Named(dataset_name(segments.get("name").map_or("", String::as_str))?))
    }
}

/// A request without its body, shared by all its handlers.
#[derive(Debug, Clone)]
pub struct Request(Arc<Head>);

#[derive(Debug)]
struct Head {
    method: Method,
    uri: Uri,
    version: Version,
    headers: HeaderMap,
}

impl<S: Sync> FromRequestParts<S> for Request {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        if let Some(request) = parts.extensions.get::<Request>() {
            return Ok(request.clone());
        }
        let request = Request::of(parts);
        parts.extensions.insert(request.clone());
        Ok(request)
    }
}

/// The bytes of a file to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ByteRange {
    /// All of them.
    Whole,
    /// Some of them.
    Part(Range<u64>),
    /// None: the range begins after the last byte.
    Unsatisfiable,
}

/// The row after which a page begins.
#[derive(Debug)]
pub struct RowPosition {
    pub dataset: DatasetName,
    /// `None` unless many granules are looked up.
    pub granule_id: Option<GranuleId>,
    pub timestamp: Timestamp,
}

impl Request {
    fn of(parts: &Parts) -> Self {
        let Parts { method, uri, version, headers, .. } = parts;
        Request(Arc::new(Head {
            method: method.clone(),
            uri: uri.clone(),
            version: *version,
            headers: headers.clone(),
        }))
    }

    /// The same request with the method GET.
    pub fn as_get(&self) -> http::Request<Body> {
        let mut request = http::Request::new(Body::empty());
        *request.uri_mut() = self.0.uri.clone();
        *request.headers_mut() = self.0.headers.clone();
        request
    }

    /// Whether the client supports chunks, which show whether a list was cut.
    pub fn has_chunks(&self) -> bool {
        self.0.version >= Version::HTTP_11
    }

    /// Whether the request names exactly one host (RFC 9112 §3.2). If it named two, a proxy and this server
    /// could use different ones.
    pub fn names_one_host(&self) -> bool {
        let hosts = self.0.headers.get_all(HOST).iter().count();
        hosts == 1 || hosts == 0 && !self.has_chunks()
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.0.method
    }

    /// Whether it only reads.
    pub fn is_of_reading(&self) -> bool {
        [Method::GET, Method::HEAD].contains(&self.0.method)
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    /// Whether the client has cached content with this ETag, or accepts anything that exists (`*`).
    pub fn has(&self, tag: &ETag) -> bool {
        let known = self.0.headers.typed_get::<IfNoneMatch>();
        known.is_some_and(|known| !known.precondition_passes(tag))
    }

    /// Whether `If-None-Match` contains this ETag. `*` does not count, because the content may not exist.
    pub fn names(&self, tag: &str) -> bool {
        let known =
            self.0.headers.typed_get::<IfNoneMatch>().filter(|it| *it != IfNoneMatch::any());
        let tag = tag.parse::<ETag>().ok();
        self.is_of_reading()
            && known.zip(tag).is_some_and(|(known, tag)| !known.precondition_passes(&tag))
    }

    /// The bytes to send of a file with this ETag. All bytes are sent for several ranges and for other units,
    /// as a server may do (RFC 9110 §14.2), and if `If-Range` does not contain the ETag. Only GET has ranges.
    pub fn range(&self, tag: &str, bytes: u64) -> ByteRange {
        let range = self.0.headers.get(RANGE).and_then(|range| range.to_str().ok());
        let Some(range) = range.filter(|_| self.0.method == Method::GET) else {
            return ByteRange::Whole;
        };
        let tag = tag.parse::<ETag>().ok();
        let condition = self.0.headers.typed_try_get::<IfRange>();
        if condition.map_or(true, |it| it.is_some_and(|it| it.is_modified(tag.as_ref(), None))) {
            return ByteRange::Whole;
        }
        extent(range, bytes)
    }

    /// The path and the query as they were sent.
    pub fn target(&self) -> &str {
        self.0.uri.path_and_query().map_or("", |target| target.as_str())
    }

    /// The path as it was sent.
    pub fn path(&self) -> &str {
        self.0.uri.path()
    }

    /// The query as it was sent.
    pub fn query(&self) -> &str {
        self.0.uri.query().unwrap_or_default()
    }

    /// The first value of a parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<Cow<'_, str>> {
        let mut pairs = form_urlencoded::parse(self.query().as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// All values of a parameter of the query.
    pub fn parameters(&self, name: &str) -> Vec<Cow<'_, str>> {
        let pairs = form_urlencoded::parse(self.query().as_bytes());
        pairs.filter(|(key, _)| key == name).map(|(_, value)| value).collect()
    }

    /// Parses a parameter of the query. `None` means that it is absent or empty.
    ///
    /// # Errors
    ///
    /// The text is not such a value.
    pub fn parsed<T>(&self, name: &str) -> Result<Option<T>, Problem>
    where
        T: FromStr,
        T::Err: std::fmt::Display,
    {
        let Some(text) = self.parameter(name).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let refused = |error: T::Err| Problem::usage(format!("The parameter {name}: {error}."));
        text.parse().map(Some).map_err(refused)
    }

    /// The patterns that select granules: `?select=`.
    ///
    /// # Errors
    ///
    /// There are too many patterns, or one is invalid.
    pub fn patterns(&self) -> Result<Vec<Pattern>, Problem> {
        let patterns = self.parameters("select");
        let patterns: Vec<_> = patterns.iter().filter(|pattern| !pattern.is_empty()).collect();
        let most = SubsetCriteria::MAX_PATTERNS;
        if patterns.len() > most {
            return Err(Problem::usage(format!("At most {most} patterns can be given.")));
        }
        let refused = |error| Problem::usage(format!("The parameter select: {error}."));
        patterns.into_iter().map(|pattern| pattern.parse().map_err(refused)).collect()
    }

    /// The requested number of rows: `?limit=`, which is at most `most`.
    ///
    /// # Errors
    ///
    /// The parameter is not a number from 1 to `most`.
    pub fn limit(&self, default: u32, most: u32) -> Result<u32, Problem> {
        let refused =
            || Problem::usage(format!("The parameter limit is a number from 1 to {most}."));
        let limit = self.parsed("limit").map_err(|_| refused())?.unwrap_or(default);
        if limit == 0 || limit > most { Err(refused()) } else { Ok(limit) }
    }

    /// The number of rows of a page. `shown` contains the default and the maximum for HTML, and `listed` those
    /// for other formats.
    ///
    /// # Errors
    ///
    /// Those of [`Request::limit`].
    pub fn rows(
        &self,
        format: Format,
        shown: (u32, u32),
        listed: (u32, u32),
    ) -> Result<u32, Problem> {
        let (default, most) = if format == Format::Html { shown } else { listed };
        Ok(self.limit(default, listed.1)?.min(most))
    }

    /// The row after which a page begins: `NAME@TIME` or, if many granules are looked up, `NAME@TIME/GRANULE`.
    /// `None` means that it is the first page.
    ///
    /// # Errors
    ///
    /// The parameter is invalid.
    pub fn position(&self, has_granule: bool) -> Result<Option<RowPosition>, Problem> {
        let Some(after) = self.parameter("after").filter(|after| !after.is_empty()) else {
            return Ok(None);
        };
        let read = || {
            let (name, rest) = after.split_once('@')?;
            let (timestamp, granule_id) = match has_granule {
                true => rest.split_once('/').map(|(timestamp, id)| (timestamp, Some(id)))?,
                false => (rest, None),
            };
            let granule_id = granule_id.map(str::parse).transpose().ok()?;
            let (dataset, timestamp) = (name.parse().ok()?, timestamp.parse().ok()?);
            Some(RowPosition { dataset, granule_id, timestamp })
        };
        let row = if has_granule { "NAME@TIME/GRANULE" } else { "NAME@TIME" };
        let problem = || Problem::usage(format!("The parameter after is {row} of a row."));
        read().map(Some).ok_or_else(problem)
    }

    /// The address of the next page, which differs only in where it begins. For programs, it also contains the
    /// limit and the format, because a header may have set the format.
    pub fn next_page(
        &self,
        site: &Site,
        after: &str,
        limit: impl Into<Option<u64>>,
        format: Format,
    ) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let own = form_urlencoded::parse(self.query().as_bytes());
        let replaced: &[&str] = match format {
            Format::Html => &["after"],
            _ => &["after", "limit", "format"],
        };
        query.extend_pairs(
            own.filter(|(name, value)| !replaced.contains(&&**name) && !value.is_empty()),
        );
        query.append_pair("after", after);
        if format != Format::Html {
            if let Some(limit) = limit.into() {
                query.append_pair("limit", &limit.to_string());
            }
            query.append_pair("format", format.name());
        }
        site.address_or_href(&format!("{}?{}", self.path(), query.finish()))
    }

    /// Another path with the query of this request.
    pub fn with_query(&self, path: &str) -> String {
        match self.query() {
            "" => path.to_owned(),
            query if path.contains('?') => format!("{path}&{query}"),
            query => format!("{path}?{query}"),
        }
    }

    /// Another path with some parameters of this request, such as its format.
    pub fn with_parameters(&self, path: &str, names: &[&str]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let own = form_urlencoded::parse(self.query().as_bytes());
        query.extend_pairs(own.filter(|(name, _)| names.contains(&&**name)));
        match query.finish() {
            query if query.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }

    /// The format of the response: `?format=`, otherwise `Accept`. A client that accepts anything gets the
    /// first offered format.
    ///
    /// # Errors
    ///
    /// The client accepts none of the offered formats.
    pub fn format(&self, offered: &[Format]) -> Result<Format, Problem> {
        if let Some(named) = self.parameter("format").filter(|named| !named.is_empty()) {
            let format = offered.iter().find(|format| format.name() == named);
            return format.copied().ok_or_else(|| {
                let names: Vec<&str> = offered.iter().map(|format| format.name()).collect();
                let offered = names.join(", ");
                Problem::usage(format!("The parameter format takes one of {offered}."))
            });
        }
        let Some(accept) = self.accept() else { return Ok(offered[0]) };
        negotiated(&accept, offered).ok_or_else(|| {
            let mut types: Vec<&str> = offered.iter().map(|format| format.media_type()).collect();
            types.dedup();
            Problem::not_acceptable(&types)
        })
    }

    /// Whether the client prefers a page for people to JSON.
    pub fn prefers_html(&self) -> bool {
        let html = |range: &mediatype::MediaTypeBuf| range.essence().to_string() == "text/html";
        self.accept().is_some_and(|accept| {
            let names_html = accept.media_types().any(html);
            names_html && negotiated(&accept, &[Format::Json, Format::Html]) == Some(Format::Html)
        })
    }

    /// The header `Accept`, in one or several lines. An invalid or empty header is ignored.
    fn accept(&self) -> Option<Accept> {
        let accept = self.0.headers.typed_get::<Accept>();
        accept.filter(|accept| accept.media_types().next().is_some())
    }
}

/// The offered format that a client prefers. `None` means that it accepts none of them.
fn negotiated(accept: &Accept, offered: &[Format]) -> Option<Format> {
    let types: Vec<MediaType<'static>> =
        offered.iter().filter_map(|format| MediaType::parse(format.media_type()).ok()).collect();
    let chosen = accept.negotiate(&types)?;
    offered.iter().copied().find(|format| chosen.to_string() == format.media_type())
}

/// The bytes that the header `Range` requests.
fn extent(range: &str, bytes: u64) -> ByteRange {
    let bounds = range.strip_prefix("bytes=").and_then(|range| range.trim().split_once('-'));
    let number = |text: &str| -> Option<Option<u64>> {
        if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
    };
    let bounds = bounds.and_then(|(first, last)| Some((number(first)?, number(last)?)));
    match bounds {
        None | Some((None, None)) => ByteRange::Whole,
        Some((Some(first), Some(last))) if last < first => ByteRange::Whole,
        Some((Some(first), _)) if first >= bytes => ByteRange::Unsatisfiable,
        // An empty file has no last bytes.
        Some((None, Some(suffix))) if suffix == 0 || bytes == 0 => ByteRange::Unsatisfiable,
        Some((Some(first), last)) => {
            ByteRange::Part(first..last.map_or(bytes, |last| bytes.min(last.saturating_add(1))))
        }
        Some((None, Some(suffix))) => ByteRange::Part(bytes.saturating_sub(suffix)..bytes),
    }
}

/// Reads a body within a time limit. The route limits its length to `most` bytes.
///
/// # Errors
///
/// The body is too long, incomplete, or was not sent within the time limit.
pub async fn body(
    request: http::Request<Body>,
    most: usize,
    time: Duration,
) -> Result<Bytes, Problem> {
    let read = tokio::time::timeout(time, Bytes::from_request(request, &())).await;
    let read = read.map_err(|_| {
        let detail = format!("The body was not sent within {} seconds.", time.as_secs());
        Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", detail)
    })?;
    read.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let detail = format!("The body has more than {most} bytes.");
            Problem::too_long(StatusCode::PAYLOAD_TOO_LARGE, detail)
        }
        _ => Problem::usage("The body is not complete."),
    })
}

/// Parses the name of a dataset in a path.
///
/// # Errors
///
/// No published dataset can have this name.
pub fn dataset_name(text: &str) -> Result<DatasetName, Problem> {
    text.parse().map_err(|error| {
        Problem::unknown("dataset-unknown", format!("No dataset has this name: {error}."))
    })
}

/// Parses a time in a path or a query.
///
/// # Errors
///
/// The text is not a time.
pub fn moment(text: &str, now: Timestamp) -> Result<Moment, Problem> {
    // The plus sign of an offset in a query may have been decoded to a space. A space after the date replaces
    // the T.
    const UP_TO_TIME_BYTES: usize = "2001-01-02 ".len();
    let (date, time) = text.split_at_checked(UP_TO_TIME_BYTES).unwrap_or((text, ""));
    let text = format!("{date}{}", time.replace(' ', "+"));
    Moment::typed(&text, now)
        .map_err(|error| Problem::usage(format!("The time {text:?}: {error}.")))
}

/// A format of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A page for people.
    Html,
    /// One JSON value.
    Json,
    /// A JSON value on each line.
    JsonLines,
    /// One value on each line.
    Lines,
    /// A citation.
    Citation(CitationFormat),
}

impl Format {
    fn named(self) -> (&'static str, &'static str) {
        match self {
            Format::Html => ("html", "text/html"),
            Format::Json => ("json", "application/json"),
            Format::JsonLines => ("jsonl", "application/jsonl"),
            Format::Lines => ("lines", "text/plain"),
            Format::Citation(format) => (format.name(), format.media_type()),
        }
    }

    /// The parts of a dataset or a set that this format needs.
    pub fn detail(self) -> Detail {
        if self == Format::Html { Detail::Page } else { Detail::Record }
    }

    /// The name in `?format=`.
    pub fn name(self) -> &'static str {
        self.named().0
    }

    /// The media type in `Accept`.
    pub fn media_type(self) -> &'static str {
        self.named().1
    }

    /// The media type of a response, with its character set if the type does not determine it.
    pub fn content_type(self) -> String {
        let media_type = self.media_type();
        match media_type.starts_with("text/") || media_type == "application/x-bibtex" {
            true => format!("{media_type}; charset=utf-8"),
            false => media_type.to_owned(),
        }
    }
}

/// The formats of a citation.
pub fn citations() -> impl Iterator<Item = Format> {
    FORMATS.into_iter().map(Format::Citation)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFERED: [Format; 4] =
        [Format::Html, Format::Json, Format::Citation(CitationFormat::Bibtex), Format::Lines];

    fn request(uri: &str, headers: &[(&'static str, &str)]) -> Request {
        let mut request = http::Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Request::of(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn a_time_in_a_query_has_a_space_for_the_t_or_for_a_plus_sign() {
        let now: Timestamp = "2024-01-08T01:00:00Z".parse().unwrap();
        for (text, read) in [
            ("2024-01-08", "2024-01-08"),
            ("2024-01-08T02:00 01:00", "2024-01-08T01:00:00Z"),
            ("2024-01-08 02:00+01:00", "2024-01-08T01:00:00Z"),
            ("2024-01-08 01:00", "2024-01-08T01:00:00Z"),
            ("now", "2024-01-08T01:00:00Z"),
        ] {
            assert_eq!(moment(text, now).ok().map(|at| at.to_string()).as_deref(), Some(read));
        }
        assert!(moment("noon", now).is_err());
    }

    #[test]
    fn the_accepted_format_of_the_highest_quality_is_chosen() {
        for (accept, name) in [
            ("*/*", Some("html")),
            ("", Some("html")),
            ("application/json", Some("json")),
            ("application/x-bibtex", Some("bibtex")),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Some("html")),
            ("text/html;q=0.5, application/json;q=0.9", Some("json")),
            ("text/*", Some("html")),
            ("text/*, text/html;q=0", Some("lines")),
            ("image/png, */*;q=0.1", Some("html")),
            ("*/*, text/html;q=0.2", Some("json")),
            ("image/png", None),
            ("text/html;q=0", None),
            ("nonsense", Some("html")),
        ] {
            let chosen = request("/", &[("accept", accept)]).format(&OFFERED);
            assert_eq!(chosen.ok().map(Format::name), name, "{accept}");
        }
        assert_eq!(request("/", &[]).format(&OFFERED).unwrap(), Format::Html);
        let named = request("/?format=lines", &[("accept", "image/png")]);
        assert_eq!(named.format(&OFFERED).unwrap(), Format::Lines);
        assert_eq!(request("/?format=xml", &[]).format(&OFFERED).unwrap_err().status, 400);
    }

    #[test]
    fn each_line_of_accept_counts() {
        let lines = [("accept", "image/png"), ("accept", "application/json;q=0.5")];
        assert_eq!(request("/", &lines).format(&OFFERED).unwrap(), Format::Json);
    }

    #[test]
    fn browsers_get_pages_and_other_clients_json() {
        let prefers_html = |accept: &str| request("/", &[("accept", accept)]).prefers_html();
        assert!(prefers_html("text/html,application/xhtml+xml,*/*;q=0.8"));
        assert!(!prefers_html("*/*"));
        assert!(!prefers_html("application/json, text/html;q=0.5"));
        assert!(!prefers_html(""));
    }

    #[test]
    fn a_range_is_read_as_it_was_meant_and_else_ignored() {
        for (range, bytes, expected) in [
            ("bytes=0-", 10, ByteRange::Part(0..10)),
            ("bytes=3-", 10, ByteRange::Part(3..10)),
            ("bytes=3-5", 10, ByteRange::Part(3..6)),
            ("bytes=3-500", 10, ByteRange::Part(3..10)),
            ("bytes=3-18446744073709551615", 10, ByteRange::Part(3..10)),
            ("bytes=-4", 10, ByteRange::Part(6..10)),
            ("bytes=-40", 10, ByteRange::Part(0..10)),
            ("bytes=10-", 10, ByteRange::Unsatisfiable),
            ("bytes=-0", 10, ByteRange::Unsatisfiable),
            ("bytes=5-3", 10, ByteRange::Whole),
            ("bytes=-", 10, ByteRange::Whole),
            ("bytes=1-2,4-5", 10, ByteRange::Whole),
            ("lines=1-2", 10, ByteRange::Whole),
            ("bytes=a-b", 10, ByteRange::Whole),
            ("bytes=-5", 0, ByteRange::Unsatisfiable),
            ("bytes=0-", 0, ByteRange::Unsatisfiable),
        ] {
            let request = request("/", &[("range", range)]);
            assert_eq!(request.range("\"a\"", bytes), expected, "{range}");
        }
        for (if_range, is_part) in [
            ("\"a\"", true),
            ("\"b\"", false),
            ("W/\"a\"", false),
            ("Sun, 06 Nov 1994 08:49:37 GMT", false),
            ("nonsense", false),
        ] {
            let request = request("/", &[("range", "bytes=3-"), ("if-range", if_range)]);
            assert_eq!(request.range("\"a\"", 10) == ByteRange::Part(3..10), is_part, "{if_range}");
        }
    }
}
