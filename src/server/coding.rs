//! How content is compressed for a client: `Accept-Encoding` (RFC 9110 §12.5.3).

use std::io::{Read, Write};

use axum::http::header::ACCEPT_ENCODING;
use axum::http::{HeaderMap, HeaderValue};
use flate2::Compression;
use flate2::write::GzEncoder;

/// A coding of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Coding {
    /// As it is.
    Identity,
    /// gzip (RFC 1952), with neither a name nor a time: the same content has the same bytes.
    Gzip,
}

impl Coding {
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
            true => Coding::Gzip,
            false => Coding::Identity,
        }
    }

    /// The value of `Content-Encoding`. `None` means that there is no such header.
    pub fn header(self) -> Option<HeaderValue> {
        match self {
            Coding::Identity => None,
            Coding::Gzip => Some(HeaderValue::from_static("gzip")),
        }
    }

    /// What the bytes depend on besides the content: the compressor and its version, for tags.
    pub fn tag(self) -> &'static str {
        match self {
            Coding::Identity => "",
            Coding::Gzip => "-gzip-flate2-1.1-zlib-rs-0.6",
        }
    }

    /// Writes what `content` has in this coding.
    ///
    /// # Errors
    ///
    /// Those of reading and of writing.
    pub fn encode<Target: Write>(
        self,
        mut content: impl Read,
        target: Target,
    ) -> std::io::Result<Target> {
        let mut encoder = GzEncoder::new(target, Compression::default());
        let mut part = vec![0; 256 * 1_024];
        loop {
            match content.read(&mut part)? {
                0 => return encoder.finish(),
                read => encoder.write_all(&part[..read])?,
            }
        }
    }

    /// Content in this coding. `None` means that it would not be shorter.
    pub fn shorten(self, content: &[u8]) -> Option<Vec<u8>> {
        if self == Coding::Identity || content.len() < LEAST_BYTES {
            return None;
        }
        let encoded = self.encode(content, Vec::new()).ok()?;
        (encoded.len() < content.len()).then_some(encoded)
    }
}

/// The length from which on compression saves more than its header takes.
const LEAST_BYTES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coding_is_the_one_that_the_client_prefers() {
        for (accepted, expected) in [
            ("", Coding::Identity),
            ("gzip", Coding::Gzip),
            ("GZIP, deflate, br", Coding::Gzip),
            ("br, gzip;q=0.5", Coding::Gzip),
            ("gzip;q=0", Coding::Identity),
            ("gzip;q=0, *", Coding::Identity),
            ("*", Coding::Gzip),
            ("identity", Coding::Identity),
            ("identity, gzip;q=0.5", Coding::Identity),
            ("identity;q=0.5, gzip", Coding::Gzip),
            ("gzip;q=x", Coding::Identity),
            ("br", Coding::Identity),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            assert_eq!(Coding::of(&headers), expected, "{accepted}");
        }
        assert_eq!(Coding::of(&HeaderMap::new()), Coding::Identity);
    }

    /// A tag that depends on the identifier alone must change when the compressor does.
    #[test]
    fn the_tag_of_a_coding_has_the_versions_of_its_compressor() {
        let lock = include_str!("../../Cargo.lock");
        for name in ["flate2", "zlib-rs"] {
            let (_, rest) = lock.split_once(&format!("name = \"{name}\"\nversion = \"")).unwrap();
            let version = rest.split('"').next().unwrap();
            let (minor, _) = version.rsplit_once('.').unwrap();
            assert!(Coding::Gzip.tag().contains(&format!("-{name}-{minor}")), "{name} {version}");
        }
    }
}
