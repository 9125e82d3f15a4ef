//! What a client already has, and which part it asks for: `If-None-Match`, `Range`, `If-Range`
//! (RFC 9110 §13 and §14).

use std::ops::Range;

use axum::http::header::{IF_NONE_MATCH, IF_RANGE, RANGE};
use axum::http::{HeaderMap, HeaderValue};

/// The conditions of a request.
#[derive(Debug, Clone, Default)]
pub struct Conditions {
    known: Option<HeaderValue>,
    range: Option<HeaderValue>,
    if_range: Option<HeaderValue>,
}

/// Which bytes are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
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
    pub fn extent(&self, tag: &HeaderValue, bytes: u64) -> Extent {
        let Some(Ok(range)) = self.range.as_ref().map(HeaderValue::to_str) else {
            return Extent::Whole;
        };
        if self.if_range.as_ref().is_some_and(|wanted| wanted != tag) {
            return Extent::Whole;
        }
        let bounds = range.strip_prefix("bytes=").and_then(|range| range.trim().split_once('-'));
        let number = |text: &str| -> Option<Option<u64>> {
            if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
        };
        let bounds = bounds.and_then(|(first, last)| Some((number(first)?, number(last)?)));
        match bounds {
            None | Some((None, None)) => Extent::Whole,
            Some((Some(first), Some(last))) if last < first => Extent::Whole,
            Some((Some(first), _)) if first >= bytes => Extent::Unsatisfiable,
            // The last bytes of nothing are none, too.
            Some((None, Some(suffix))) if suffix == 0 || bytes == 0 => Extent::Unsatisfiable,
            Some((Some(first), last)) => {
                Extent::Part(first..last.map_or(bytes, |last| bytes.min(last.saturating_add(1))))
            }
            Some((None, Some(suffix))) => Extent::Part(bytes.saturating_sub(suffix)..bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &[(&'static str, &'static str)]) -> Conditions {
        let headers = headers.iter().map(|(name, value)| {
            (axum::http::HeaderName::from_static(name), HeaderValue::from_static(value))
        });
        Conditions::of(&headers.collect())
    }

    #[test]
    fn of_nothing_there_is_no_part() {
        let tag = HeaderValue::from_static("\"a\"");
        for range in ["bytes=-5", "bytes=0-", "bytes=-0", "bytes=0-0"] {
            assert_eq!(of(&[("range", range)]).extent(&tag, 0), Extent::Unsatisfiable, "{range}");
        }
    }

    #[test]
    fn a_range_is_read_as_it_was_meant_and_else_ignored() {
        let tag = HeaderValue::from_static("\"a\"");
        for (range, expected) in [
            ("bytes=0-", Extent::Part(0..10)),
            ("bytes=3-", Extent::Part(3..10)),
            ("bytes=3-5", Extent::Part(3..6)),
            ("bytes=3-500", Extent::Part(3..10)),
            ("bytes=3-18446744073709551615", Extent::Part(3..10)),
            ("bytes=-4", Extent::Part(6..10)),
            ("bytes=-40", Extent::Part(0..10)),
            ("bytes=10-", Extent::Unsatisfiable),
            ("bytes=-0", Extent::Unsatisfiable),
            ("bytes=5-3", Extent::Whole),
            ("bytes=-", Extent::Whole),
            ("bytes=1-2,4-5", Extent::Whole),
            ("lines=1-2", Extent::Whole),
            ("bytes=a-b", Extent::Whole),
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
            assert_eq!(extent == Extent::Part(3..10), is_part, "{if_range}");
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
}
