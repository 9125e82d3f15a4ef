//! What a request asks for, and in which format.

use std::borrow::Cow;
use std::str::FromStr;

use hyper::header::{ACCEPT, HOST};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Version};

use super::conditions::{Conditions, ContentCoding};
use super::problem::Problem;
use crate::pages::{Detail, FORMATS, Site};
use accession::citation::CitationFormat;
use accession::model::{Criteria, DatasetName, GranuleId, Moment, Pattern, Timestamp};

/// A request without its body.
#[derive(Debug)]
pub struct Asked(Parts);

impl From<Parts> for Asked {
    fn from(parts: Parts) -> Self {
        Asked(parts)
    }
}

impl Asked {
    /// Whether the client speaks an older version of HTTP, which has no chunks.
    pub fn is_http_10(&self) -> bool {
        self.0.version < Version::HTTP_11
    }

    /// Whether it names one host (RFC 9112 §3.2): a proxy before this server and the server could take
    /// another one for requests to different hosts.
    pub fn names_one_host(&self) -> bool {
        let hosts = self.0.headers.get_all(HOST).iter().count();
        hosts == 1 || hosts == 0 && self.is_http_10()
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.0.method
    }

    /// Whether it only reads.
    pub fn is_of_reading(&self) -> bool {
        [Method::GET, Method::HEAD].contains(self.method())
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    /// The coding that the client prefers.
    pub fn coding(&self) -> ContentCoding {
        ContentCoding::of(self.headers())
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

    /// A segment of the path, counted from 0, decoded.
    ///
    /// # Errors
    ///
    /// The path has fewer segments, or is not UTF-8.
    pub fn segment(&self, index: usize) -> Result<String, Problem> {
        let segment = self.path().trim_start_matches('/').split('/').nth(index).unwrap_or_default();
        decoded(segment)
    }

    /// What follows a prefix of the path, decoded.
    ///
    /// # Errors
    ///
    /// It is not UTF-8.
    pub fn after(&self, prefix: &str) -> Result<String, Problem> {
        decoded(self.path().strip_prefix(prefix).unwrap_or_default())
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

    /// A parameter of the query as a value. `None` means that it is absent or empty.
    ///
    /// # Errors
    ///
    /// It is not such a value.
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
    /// They are too many, or one is not a pattern.
    pub fn patterns(&self) -> Result<Vec<Pattern>, Problem> {
        let patterns = self.parameters("select");
        let patterns: Vec<_> = patterns.iter().filter(|pattern| !pattern.is_empty()).collect();
        let most = Criteria::MAX_PATTERNS;
        if patterns.len() > most {
            return Err(Problem::usage(format!("At most {most} patterns can be given.")));
        }
        let refused = |error| Problem::usage(format!("The parameter select: {error}."));
        patterns.into_iter().map(|pattern| pattern.parse().map_err(refused)).collect()
    }

    /// The number of rows that are wanted: `?limit=`, which is at most `most`.
    ///
    /// # Errors
    ///
    /// It is not a number from 1 to `most`.
    pub fn limit(&self, default: u32, most: u32) -> Result<u32, Problem> {
        let refused =
            || Problem::usage(format!("The parameter limit is a number from 1 to {most}."));
        let limit = self.parsed("limit").map_err(|_| refused())?.unwrap_or(default);
        if limit == 0 || limit > most { Err(refused()) } else { Ok(limit) }
    }

    /// The number of rows of a page: how many one for people has and may have, and one for programs.
    ///
    /// # Errors
    ///
    /// Those of [`Asked::limit`].
    pub fn rows(
        &self,
        format: Format,
        shown: (u32, u32),
        listed: (u32, u32),
    ) -> Result<u32, Problem> {
        let (default, most) = if format == Format::Html { shown } else { listed };
        Ok(self.limit(default, listed.1)?.min(most))
    }

    /// The row after which a page begins, `NAME@TIME` or, where many granules were looked up,
    /// `NAME@TIME/GRANULE`. `None` means that it is the first page.
    ///
    /// # Errors
    ///
    /// It is not one.
    pub fn position(
        &self,
        has_granule: bool,
    ) -> Result<Option<(DatasetName, Option<GranuleId>, Timestamp)>, Problem> {
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
            Some((name.parse().ok()?, granule_id, timestamp.parse().ok()?))
        };
        let row = if has_granule { "NAME@TIME/GRANULE" } else { "NAME@TIME" };
        let problem = || Problem::usage(format!("The parameter after is {row} of a row."));
        read().map(Some).ok_or_else(problem)
    }

    /// The address of the page after this one: the same, except for where it begins. For programs, it names
    /// the limit and the format, too, which may have been asked for by a header.
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

    /// The format that is wanted.
    ///
    /// # Errors
    ///
    /// None of those offered is accepted.
    pub fn format(&self, offered: &[Format]) -> Result<Format, Problem> {
        let named = self.parameter("format").filter(|named| !named.is_empty());
        choose(offered, named.as_deref(), self.accept())
    }

    /// Whether the client prefers a page for people to JSON.
    pub fn prefers_html(&self) -> bool {
        const OFFERED: [Format; 2] = [Format::Json, Format::Html];
        let accept = self.accept().filter(|accept| accept.contains("text/html"));
        accept.is_some_and(|accept| {
            choose(&OFFERED, None, Some(accept)).is_ok_and(|it| it == Format::Html)
        })
    }

    /// What the client already has.
    pub fn conditions(&self) -> Conditions {
        Conditions::of(self.headers())
    }

    fn accept(&self) -> Option<&str> {
        self.headers().get(ACCEPT)?.to_str().ok()
    }
}

/// A name of a dataset in a path.
///
/// # Errors
///
/// No dataset that is published has such a name.
pub fn dataset_name(text: &str) -> Result<DatasetName, Problem> {
    text.parse().map_err(|error| {
        Problem::unknown("dataset-unknown", format!("No dataset has this name: {error}."))
    })
}

/// A time in a path or a query.
///
/// # Errors
///
/// It is not RFC 3339, nor a date.
pub fn moment(text: &str) -> Result<Moment, Problem> {
    // A plus sign in a query may have been decoded to a space.
    let text = text.replace(' ', "+");
    text.parse().map_err(|error| Problem::usage(format!("The time {text:?}: {error}.")))
}

fn decoded(text: &str) -> Result<String, Problem> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded.map(Cow::into_owned).map_err(|_| Problem::usage("The address is not UTF-8."))
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

    /// What is read of a dataset or a set for it.
    pub fn detail(self) -> Detail {
        if self == Format::Html { Detail::Page } else { Detail::Record }
    }

    /// The name in `?format=`.
    pub fn name(self) -> &'static str {
        self.named().0
    }

    /// The media type that a client asks for.
    pub fn media_type(self) -> &'static str {
        self.named().1
    }

    /// The media type of a response, with its character set where that is not fixed by the type.
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

/// The format that a request asks for: by `?format=`, else by `Accept`. The first format in
/// `offered` is sent to a client that accepts anything.
///
/// # Errors
///
/// None of those offered is accepted.
fn choose(
    offered: &[Format],
    named: Option<&str>,
    accept: Option<&str>,
) -> Result<Format, Problem> {
    if let Some(named) = named {
        let format = offered.iter().find(|format| format.name() == named);
        return format.copied().ok_or_else(|| {
            let names: Vec<&str> = offered.iter().map(|format| format.name()).collect();
            let offered = names.join(", ");
            Problem::usage(format!("The parameter format takes one of {offered}."))
        });
    }
    let Some(accept) = accept else { return Ok(offered[0]) };
    let accepted: Vec<Accepted<'_>> = accept.split(',').filter_map(Accepted::parse).collect();
    if accepted.is_empty() {
        return Ok(offered[0]);
    }
    let mut best: Option<(Format, u16)> = None;
    for format in offered {
        // The most specific range that matches decides (RFC 9110 §12.5.1).
        let ranges = accepted.iter().filter(|range| range.matches(format.media_type()));
        let quality =
            ranges.max_by_key(|range| range.specificity()).map_or(0, |range| range.quality);
        if quality > best.map_or(0, |(_, quality)| quality) {
            best = Some((*format, quality));
        }
    }
    best.map(|(format, _)| format).ok_or_else(|| {
        let mut types: Vec<&str> = offered.iter().map(|format| format.media_type()).collect();
        types.dedup();
        Problem::not_acceptable(&types)
    })
}

/// A media range of the header `Accept`.
struct Accepted<'a> {
    kind: &'a str,
    subtype: &'a str,
    /// In thousandths.
    quality: u16,
}

impl<'a> Accepted<'a> {
    fn parse(range: &'a str) -> Option<Self> {
        let mut parts = range.split(';').map(str::trim);
        let (kind, subtype) = parts.next()?.split_once('/')?;
        let quality = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        let quality: f32 = quality.map_or(Some(1.0), |quality| quality.trim().parse().ok())?;
        if !(0.0..=1.0).contains(&quality) {
            return None;
        }
        Some(Accepted { kind, subtype, quality: (quality * 1_000.0).round() as u16 })
    }

    fn matches(&self, media_type: &str) -> bool {
        let (kind, subtype) = media_type.split_once('/').unwrap_or((media_type, ""));
        (self.kind == "*" || self.kind.eq_ignore_ascii_case(kind))
            && (self.subtype == "*" || self.subtype.eq_ignore_ascii_case(subtype))
    }

    fn specificity(&self) -> u8 {
        u8::from(self.kind != "*") + u8::from(self.subtype != "*")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFERED: [Format; 4] =
        [Format::Html, Format::Json, Format::Citation(CitationFormat::Bibtex), Format::Lines];

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
            ("application/json;q=2", Some("html")),
            ("nonsense", Some("html")),
        ] {
            let chosen = choose(&OFFERED, None, Some(accept)).ok().map(Format::name);
            assert_eq!(chosen, name, "{accept}");
        }
        assert_eq!(choose(&OFFERED, None, None).unwrap(), Format::Html);
        assert_eq!(choose(&OFFERED, Some("lines"), Some("image/png")).unwrap(), Format::Lines);
        assert_eq!(choose(&OFFERED, Some("xml"), None).unwrap_err().status, 400);
    }

    #[test]
    fn browsers_get_pages_and_other_clients_json() {
        let prefers_html = |accept: &str| {
            let request = hyper::Request::builder().header(ACCEPT, accept).body(()).unwrap();
            Asked(request.into_parts().0).prefers_html()
        };
        assert!(prefers_html("text/html,application/xhtml+xml,*/*;q=0.8"));
        assert!(!prefers_html("*/*"));
        assert!(!prefers_html("application/json, text/html;q=0.5"));
        assert!(!prefers_html(""));
    }
}
