//! The address of a page about a dataset, or of its licence.

use std::str::FromStr;

use super::message::{ValueError, quoted};

/// An address that a reader can follow: it has a host, and one of the schemes `https`, `http`, `ftp` and
/// `sftp`. Following it therefore never runs a script.
///
/// It is kept as it was written, without white space at its ends. Characters that a URI cannot
/// contain are encoded when the address is written into a citation.
///
/// # Examples
///
/// ```
/// use accession::model::WebAddress;
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
    type Err = ValueError;

    /// # Errors
    ///
    /// - `"example.org/data"`: no scheme
    /// - `"javascript:alert(1)"`, `"file:///data"`: another scheme
    /// - `"https:///data"`: no host
    /// - `"https://user:password@example.org/"`: everybody could read it
    /// - `"https://example.org/a\u{1b}"`: a control character
    fn from_str(text: &str) -> Result<Self, ValueError> {
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
            // What may be a password is not repeated.
            match text.contains('@') {
                true => Err(ValueError::new(format!("{message}, without a user or a password"))),
                false => Err(ValueError::new(format!("{message}, unlike {}", quoted(text)))),
            }
        }
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
}
