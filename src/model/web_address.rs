//! Addresses on the web: of a page about a dataset, of its licence, and of its granules.

use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::granule_id::GranuleId;
use super::message::{ParseError, quoted, strip_prefix_of_any_case};

/// An address that a reader can follow: it has a host, and the scheme `https`, `http`, `ftp` or `sftp`.
/// Following it therefore never runs a script.
///
/// It is stored as it was written, without white space at its ends. Characters that a URI cannot contain are
/// encoded when the address is written into a citation.
///
/// # Examples
///
/// ```
/// use accession::dataset::WebAddress;
///
/// assert!("https://example.org/data".parse::<WebAddress>().is_ok());
/// assert!("javascript:alert(1)".parse::<WebAddress>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WebAddress(String);

impl WebAddress {
    const SCHEMES: [&str; 4] = ["https", "http", "ftp", "sftp"];

    /// Returns the address as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WebAddress {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `"example.org/data"`: no scheme
    /// - `"javascript:alert(1)"`, `"file:///data"`: another scheme
    /// - `"https:///data"`: no host
    /// - `"https://user:password@example.org/"`: a password that everybody could read
    /// - `"https://example.org/a\u{1b}"`: a control character
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        let is_one = text.split_once("://").is_some_and(|(scheme, rest)| {
            let is_host = |character: char| !matches!(character, '/' | '?' | '#' | ':');
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            WebAddress::SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known))
                && !authority.contains('@')
                && rest.starts_with(|first: char| is_host(first) && !first.is_whitespace())
        });
        if is_one && !text.contains(char::is_control) {
            Ok(WebAddress(text.to_owned()))
        } else {
            let message =
                "a web address begins with https://, http://, ftp:// or sftp:// and a host";
            // A possible password is not repeated in the message.
            match text.contains('@') {
                true => Err(ParseError::new(format!("{message}, without a user or a password"))),
                false => Err(ParseError::new(format!("{message}, unlike {}", quoted(text)))),
            }
        }
    }
}

/// The placeholder for the id of a granule.
const PLACEHOLDER: &str = "{granule}";

/// The characters of an id that are encoded: all but the unreserved ones (RFC 3986 § 2.3) and `/`.
const NOT_IN_AN_ADDRESS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A template of the addresses from which the granules of a dataset can be fetched.
///
/// # Syntax
///
/// An address with the scheme `https` or `http`, a host without user information, and `{granule}`
/// exactly once, after the `/` that ends the host. It has no white space and no control characters.
///
/// # Examples
///
/// ```
/// use accession::dataset::GranuleUrl;
///
/// let template: GranuleUrl = "https://data.example.org/fool2/{granule}?download=1".parse()?;
/// assert_eq!(
///     template.address_of(&"2001/a b.nc".parse()?).unwrap(),
///     "https://data.example.org/fool2/2001/a%20b.nc?download=1"
/// );
/// assert_eq!(template.address_of(&"../secret".parse()?), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GranuleUrl {
    template: Box<str>,
    /// The byte offset of the placeholder.
    at: usize,
}

impl GranuleUrl {
    /// Returns the template as it was written.
    pub fn as_str(&self) -> &str {
        &self.template
    }

    /// The address of a granule, in which the id is percent-encoded except for `/`. `None` means that a segment
    /// of the id is empty, `.` or `..`, so the address would lead to something else.
    pub fn address_of(&self, granule_id: &GranuleId) -> Option<String> {
        let id = granule_id.as_str();
        if id.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
            return None;
        }
        let (before, after) = (&self.template[..self.at], &self.template[self.at..]);
        let after = &after[PLACEHOLDER.len()..];
        Some(format!("{before}{}{after}", utf8_percent_encode(id, NOT_IN_AN_ADDRESS)))
    }
}

impl FromStr for GranuleUrl {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `"ftp://example.org/{granule}"`, `"example.org/{granule}"`: another scheme, or none
    /// - `"https://user@example.org/{granule}"`: user information
    /// - `"https:///{granule}"`: no host
    /// - `"https://{granule}.example.org/"`, `"https://example.org?{granule}"`: the placeholder is
    ///   not after the `/` that ends the host
    /// - `"https://example.org/"`, `"https://example.org/{granule}/{granule}"`: not exactly one
    ///   placeholder
    /// - `"https://example.org/a {granule}"`: white space
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = |what| {
            let given = quoted(text);
            Err(ParseError::new(format!("the address of a granule {what}, unlike {given}")))
        };
        // This checks that the address has a host, and no user.
        text.parse::<WebAddress>()?;
        let rest =
            ["https://", "http://"].iter().find_map(|web| strip_prefix_of_any_case(text, web));
        let Some(rest) = rest else { return refused("begins with https:// or http://") };
        if text.contains(|it: char| it.is_whitespace() || it == '\\') {
            return refused("has no white space or backslashes");
        }
        let mut places = text.match_indices(PLACEHOLDER).map(|(at, _)| at);
        let (Some(at), None) = (places.next(), places.next()) else {
            return refused("contains {granule} exactly once");
        };
        let path = text.len() - rest.len() + rest.find(['/', '?', '#']).unwrap_or(rest.len());
        if at <= path || !text[path..].starts_with('/') {
            return refused("contains {granule} after the / that ends the host");
        }
        Ok(GranuleUrl { template: text.into(), at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_and_a_host() {
        for text in [
            "https://example.org",
            "HTTP://example.org/a b?q={x}#y",
            "ftp://example.org:21/",
            "sftp://[2001:db8::1]/",
            "https://例え.jp/データ",
        ] {
            assert_eq!(text.parse::<WebAddress>().unwrap().as_str(), text);
        }
        let spaced: WebAddress = " https://example.org\n".parse().unwrap();
        assert_eq!(spaced.to_string(), "https://example.org");
        for text in [
            "",
            "example.org/data",
            "//example.org",
            "https:",
            "https://",
            "https:///data",
            "https://?q",
            "https://#x",
            "https://:80",
            "https:// x",
            "javascript:alert(1)",
            "javascript://example.org/%0aalert(1)",
            "file:///data",
            "xhttps://example.org",
            "https://example.org/a\u{1b}[31m",
            "https://example.org/a\nb",
        ] {
            let error = text.parse::<WebAddress>().unwrap_err().to_string();
            assert!(error.ends_with(&format!("unlike {}", quoted(text.trim()))), "{error}");
        }
    }

    #[test]
    fn an_address_with_a_password_is_refused_and_not_repeated() {
        for text in
            ["https://user:secret@example.org/", "ftp://secret@example.org", "http://a:secret@"]
        {
            let error = text.parse::<WebAddress>().unwrap_err().to_string();
            assert!(error.ends_with("without a user or a password") && !error.contains("secret"));
        }
        assert!("https://example.org/@user?mail=a@b".parse::<WebAddress>().is_ok());
    }

    #[test]
    fn an_address_is_encoded_and_leads_nowhere_else() {
        let template: GranuleUrl = "https://example.org:8080/a/{granule}#x".parse().unwrap();
        let address = |id: &str| template.address_of(&id.parse().unwrap());
        assert_eq!(
            address("A b/ü?#%&+:@").unwrap(),
            "https://example.org:8080/a/A%20b/%C3%BC%3F%23%25%26%2B%3A%40#x"
        );
        assert_eq!(address("...").unwrap(), "https://example.org:8080/a/...#x");
        assert_eq!(address("{granule}").unwrap(), "https://example.org:8080/a/%7Bgranule%7D#x");
        for id in ["/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/./b", "/"] {
            assert_eq!(address(id), None, "{id}");
        }
    }

    #[test]
    fn a_template_is_an_address_with_one_placeholder() {
        for text in [
            "https://example.org/{granule}",
            "HTTP://example.org/get?id={granule}",
            "https://[2001:db8::1]:443/@/{granule}.nc",
            "https://例え.jp/{granule}",
        ] {
            assert_eq!(text.parse::<GranuleUrl>().unwrap().to_string(), text);
        }
        let cases: [(&str, &[&str]); 5] = [
            (
                "a web address begins with",
                &[
                    "",
                    "javascript://{granule}",
                    "https://a:b@c.org/{granule}",
                    "https://:80/{granule}",
                ],
            ),
            (
                "the address of a granule begins with https:// or http://",
                &["ftp://a.org/{granule}"],
            ),
            (
                "the address of a granule has no white space or backslashes",
                &["https://example.org/a {granule}", "https://example.org\\{granule}"],
            ),
            (
                "the address of a granule contains {granule} exactly once",
                &["https://example.org/", "https://example.org/{granule}/{granule}"],
            ),
            (
                "the address of a granule contains {granule} after the / that ends the host",
                &[
                    "https://{granule}/",
                    "https://{granule}.example.org/a",
                    "https://example.org?{granule}/",
                ],
            ),
        ];
        for (message, texts) in cases {
            for text in texts {
                let error = text.parse::<GranuleUrl>().unwrap_err().to_string();
                assert!(error.starts_with(message), "{text}: {error}");
            }
        }
    }
}
