//! The formats of responses, and which of them a client wants.

use crate::citation::CitationFormat;
use crate::pages::{FORMATS, media_type};

use super::problem::Problem;

/// A format of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A page for people.
    Html,
    /// One JSON value.
    Json,
    /// A JSON value on each line.
    JsonLines,
    /// A table.
    Csv,
    /// One value on each line.
    Lines,
    /// A citation.
    Citation(CitationFormat),
    /// The links of a page (RFC 9264).
    Linkset,
    /// The times of a dataset's sets (RFC 7089).
    TimeMap,
}

impl Format {
    /// The name in `?format=`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Html => "html",
            Format::Json => "json",
            Format::JsonLines => "jsonl",
            Format::Csv => "csv",
            Format::Lines => "lines",
            Format::Citation(format) => format.name(),
            Format::Linkset => "linkset",
            Format::TimeMap => "timemap",
        }
    }

    /// The media type that a client asks for.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Html => "text/html",
            Format::Json => "application/json",
            Format::JsonLines => "application/jsonl",
            Format::Csv => "text/csv",
            Format::Lines => "text/plain",
            Format::Citation(format) => media_type(format),
            Format::Linkset => "application/linkset+json",
            Format::TimeMap => "application/link-format",
        }
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
    FORMATS.iter().map(|offered| Format::Citation(offered.format))
}

/// The format that a request asks for: by `?format=`, else by `Accept`. The first format in
/// `offered` is sent to a client that accepts anything.
///
/// # Errors
///
/// None of those offered is accepted.
pub fn choose(
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

/// Whether a client prefers a page for people to JSON.
pub fn prefers_html(accept: Option<&str>) -> bool {
    const OFFERED: [Format; 2] = [Format::Json, Format::Html];
    let accept = accept.filter(|accept| accept.contains("text/html"));
    accept.is_some_and(|accept| {
        choose(&OFFERED, None, Some(accept)).is_ok_and(|it| it == Format::Html)
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
        [Format::Html, Format::Json, Format::Citation(CitationFormat::Bibtex), Format::Csv];

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
            ("text/*, text/html;q=0", Some("csv")),
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
        assert_eq!(choose(&OFFERED, Some("csv"), Some("image/png")).unwrap(), Format::Csv);
        assert_eq!(choose(&OFFERED, Some("xml"), None).unwrap_err().status, 400);
    }

    #[test]
    fn browsers_get_pages_and_other_clients_json() {
        assert!(prefers_html(Some("text/html,application/xhtml+xml,*/*;q=0.8")));
        assert!(!prefers_html(Some("*/*")));
        assert!(!prefers_html(Some("application/json, text/html;q=0.5")));
        assert!(!prefers_html(None));
    }
}
