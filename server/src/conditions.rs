//! What a client already has, which part it asks for, and how that is compressed for it: `If-None-Match`,
//! `Range`, `If-Range`, `Accept-Encoding` (RFC 9110 §12.5.3, §13 and §14).

use std::io::Write;
use std::ops::Range;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::HeaderMap;
use hyper::header::{ACCEPT_ENCODING, HeaderValue, IF_NONE_MATCH, IF_RANGE, RANGE};

/// The conditions of a request.
#[derive(Debug, Clone, Default)]
pub struct Conditions {
    known: Option<HeaderValue>,
    range: Option<HeaderValue>,
    if_range: Option<HeaderValue>,
}

/// Which bytes are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ByteRange {
    /// All of them.
    Whole,
    /// Some of them.
    Part(Range<u64>),
    /// None, since the range that is asked for begins after the last one.
    Unsatisfiable,
}

impl Conditions {
    /// The conditions in the headers of a request.
    pub fn of(headers: &HeaderMap) -> Self {
        let header = |name| headers.get(name).cloned();
        Conditions {
            known: header(IF_NONE_MATCH),
            range: header(RANGE),
            if_range: header(IF_RANGE),
        }
    }

    /// Whether the client has what exists and has this tag: it names the tag, or anything.
    pub fn has(&self, tag: &HeaderValue) -> bool {
        self.names(tag) || self.names(&HeaderValue::from_static("*"))
    }

    /// Whether the client names this tag, of something of which it is not known yet whether it exists.
    /// Tags are compared weakly (RFC 9110 §13.1.2).
    pub fn names(&self, tag: &HeaderValue) -> bool {
        let known = self.known.as_ref().map(HeaderValue::to_str);
        let (Some(Ok(known)), Ok(tag)) = (known, tag.to_str()) else { return false };
        known.split(',').map(str::trim).any(|one| one.trim_start_matches("W/") == tag)
    }

    /// Which of so many bytes with a tag are sent. Of several ranges, and of other units, all bytes
    /// are sent, as a server may (§14.2); so they are unless `If-Range` has the tag, compared strongly.
    pub fn extent(&self, tag: &HeaderValue, bytes: u64) -> ByteRange {
        let Some(Ok(range)) = self.range.as_ref().map(HeaderValue::to_str) else {
            return ByteRange::Whole;
        };
        if self.if_range.as_ref().is_some_and(|wanted| wanted != tag) {
            return ByteRange::Whole;
        }
        let bounds = range.strip_prefix("bytes=").and_then(|range| range.trim().split_once('-'));
        let number = |text: &str| -> Option<Option<u64>> {
            if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
        };
        let bounds = bounds.and_then(|(first, last)| Some((number(first)?, number(last)?)));
        match bounds {
            None | Some((None, None)) => ByteRange::Whole,
            Some((Some(first), Some(last))) if last < first => ByteRange::Whole,
            Some((Some(first), _)) if first >= bytes => ByteRange::Unsatisfiable,
            // The last bytes of nothing are none, too.
            Some((None, Some(suffix))) if suffix == 0 || bytes == 0 => ByteRange::Unsatisfiable,
            Some((Some(first), last)) => {
                ByteRange::Part(first..last.map_or(bytes, |last| bytes.min(last.saturating_add(1))))
            }
            Some((None, Some(suffix))) => ByteRange::Part(bytes.saturating_sub(suffix)..bytes),
        }
    }
}

/// A coding of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentCoding {
    /// As it is.
    Identity,
    /// gzip (RFC 1952), with neither a name nor a time: the same content has the same bytes.
    Gzip,
}

impl ContentCoding {
    /// The coding that a client prefers.
    pub fn of(headers: &HeaderMap) -> Self {
        let accepted = headers.get(ACCEPT_ENCODING).and_then(|accepted| accepted.to_str().ok());
        let (mut gzip, mut any, mut identity) = (None, None, None);
        for one in accepted.unwrap_or_default().split(',') {
            let mut parts = one.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let quality =
                parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
            let quality = quality.map_or(1.0, |quality| quality.trim().parse().unwrap_or(0.0_f32));
            if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
                gzip = Some(quality);
            } else if name.eq_ignore_ascii_case("identity") {
                identity = Some(quality);
            } else if name == "*" {
                any = Some(quality);
            }
        }
        let gzip = gzip.or(any).unwrap_or(0.0);
        match gzip > 0.0 && gzip >= identity.unwrap_or(0.0) {
            true => ContentCoding::Gzip,
            false => ContentCoding::Identity,
        }
    }

    /// The value of `Content-Encoding`. `None` means that there is no such header.
    pub fn header(self) -> Option<HeaderValue> {
        match self {
            ContentCoding::Identity => None,
            ContentCoding::Gzip => Some(HeaderValue::from_static("gzip")),
        }
    }

    /// Content in this coding. `None` means that it would not be shorter.
    pub fn shorten(self, content: &[u8]) -> Option<Vec<u8>> {
        if self == ContentCoding::Identity || content.len() < LEAST_BYTES {
            return None;
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content).ok()?;
        let encoded = encoder.finish().ok()?;
        (encoded.len() < content.len()).then_some(encoded)
    }
}

/// The length from which on compression saves more than its header takes.
const LEAST_BYTES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &[(&'static str, &'static str)]) -> Conditions {
        let headers = headers.iter().map(|(name, value)| {
            (hyper::header::HeaderName::from_static(name), HeaderValue::from_static(value))
        });
        Conditions::of(&headers.collect())
    }

    #[test]
    fn of_nothing_there_is_no_part() {
        let tag = HeaderValue::from_static("\"a\"");
        for range in ["bytes=-5", "bytes=0-", "bytes=-0", "bytes=0-0"] {
            assert_eq!(
                of(&[("range", range)]).extent(&tag, 0),
                ByteRange::Unsatisfiable,
                "{range}"
            );
        }
    }

    #[test]
    fn a_range_is_read_as_it_was_meant_and_else_ignored() {
        let tag = HeaderValue::from_static("\"a\"");
        for (range, expected) in [
            ("bytes=0-", ByteRange::Part(0..10)),
            ("bytes=3-", ByteRange::Part(3..10)),
            ("bytes=3-5", ByteRange::Part(3..6)),
            ("bytes=3-500", ByteRange::Part(3..10)),
            ("bytes=3-18446744073709551615", ByteRange::Part(3..10)),
            ("bytes=-4", ByteRange::Part(6..10)),
            ("bytes=-40", ByteRange::Part(0..10)),
            ("bytes=10-", ByteRange::Unsatisfiable),
            ("bytes=-0", ByteRange::Unsatisfiable),
            ("bytes=5-3", ByteRange::Whole),
            ("bytes=-", ByteRange::Whole),
            ("bytes=1-2,4-5", ByteRange::Whole),
            ("lines=1-2", ByteRange::Whole),
            ("bytes=a-b", ByteRange::Whole),
        ] {
            assert_eq!(of(&[("range", range)]).extent(&tag, 10), expected, "{range}");
        }
        for (if_range, is_part) in [
            ("\"a\"", true),
            ("\"b\"", false),
            ("W/\"a\"", false),
            ("Sun, 06 Nov 1994 08:49:37 GMT", false),
        ] {
            let extent = of(&[("range", "bytes=3-"), ("if-range", if_range)]).extent(&tag, 10);
            assert_eq!(extent == ByteRange::Part(3..10), is_part, "{if_range}");
        }
    }

    #[test]
    fn a_tag_is_known_by_its_name_alone() {
        let tag = HeaderValue::from_static("\"a\"");
        for (known, has) in [
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("\"b\", \"a\"", true),
            ("*", true),
            ("\"b\"", false),
        ] {
            assert_eq!(of(&[("if-none-match", known)]).has(&tag), has, "{known}");
        }
        assert!(!of(&[]).has(&tag));
    }

    #[test]
    fn the_coding_is_the_one_that_the_client_prefers() {
        for (accepted, expected) in [
            ("", ContentCoding::Identity),
            ("gzip", ContentCoding::Gzip),
            ("GZIP, deflate, br", ContentCoding::Gzip),
            ("br, gzip;q=0.5", ContentCoding::Gzip),
            ("gzip;q=0", ContentCoding::Identity),
            ("gzip;q=0, *", ContentCoding::Identity),
            ("*", ContentCoding::Gzip),
            ("identity", ContentCoding::Identity),
            ("identity, gzip;q=0.5", ContentCoding::Identity),
            ("identity;q=0.5, gzip", ContentCoding::Gzip),
            ("gzip;q=x", ContentCoding::Identity),
            ("br", ContentCoding::Identity),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            assert_eq!(ContentCoding::of(&headers), expected, "{accepted}");
        }
        assert_eq!(ContentCoding::of(&HeaderMap::new()), ContentCoding::Identity);
    }
}
