//! The address of a page about a dataset.

use std::fmt;
use std::str::FromStr;

use super::quoted;

/// An address that a reader can follow: of the schemes that CITATION.cff allows, with a host.
///
/// It stays as it was written; what no URI may hold is encoded where it is put into a citation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAddress(String);

/// Why a text is no web address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a web address begins with https://, http://, ftp:// or sftp:// and a host, unlike {}",
    quoted(.0)
)]
pub struct WebAddressError(String);

impl WebAddress {
    const SCHEMES: [&str; 4] = ["https", "http", "ftp", "sftp"];

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WebAddress {
    type Err = WebAddressError;

    /// # Errors
    ///
    /// `"example.org/data"`, `"javascript:alert(1)"`, `"https:///data"`.
    fn from_str(text: &str) -> Result<Self, WebAddressError> {
        let text = text.trim();
        let is_one = text.split_once("://").is_some_and(|(scheme, rest)| {
            let is_host = |character: char| !matches!(character, '/' | '?' | '#' | ':');
            WebAddress::SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known))
                && rest.starts_with(|first: char| is_host(first) && !first.is_whitespace())
        });
        if is_one { Ok(WebAddress(text.to_owned())) } else { Err(WebAddressError(text.to_owned())) }
    }
}

impl fmt::Display for WebAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
            "ftp://user@example.org:21/",
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
        ] {
            assert_eq!(text.parse::<WebAddress>(), Err(WebAddressError(text.to_owned())), "{text}");
        }
    }
}
