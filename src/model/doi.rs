//! Digital object identifiers.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use super::quoted::quoted;

/// The characters that must be encoded in the path of a URI (RFC 3986, 3.3), and the comma, which
/// would end an address in a sentence.
const NOT_IN_A_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@')
    .remove(b'/');

/// A digital object identifier without a prefix: `10.9999/US/FOOL2.v2`.
///
/// # Syntax
///
/// `10.`, digits that may contain further dots, `/`, and a suffix without white space or control
/// characters (ISO 26324; the DOI Handbook, 2.2). It is read with or without `doi:` or the address
/// of a resolver before it, in any case, and written without.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Doi(Box<str>);

impl Doi {
    /// Returns the DOI without a prefix.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns its address at the resolver, `https://doi.org/…`. Characters that a URI cannot hold
    /// are encoded (DOI Handbook, 3.7; RFC 3986), and so is punctuation at the end, which in a
    /// sentence would be mistaken for that of the sentence.
    pub fn address(&self) -> String {
        let end = self.0.trim_end_matches(|last: char| last.is_ascii_punctuation()).len();
        let (whole, marks) = self.0.split_at(end);
        let whole = utf8_percent_encode(whole, NOT_IN_A_PATH);
        let marks = utf8_percent_encode(marks, NON_ALPHANUMERIC);
        format!("https://doi.org/{whole}{marks}")
    }

    /// Whether both are the same DOI. DOIs are compared without case (ISO 26324).
    pub fn is_same_as(&self, other: &Doi) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

/// A string that is not a DOI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a DOI looks like 10.5067/ABC/123, but {} does not", quoted(text))]
pub struct DoiError {
    text: String,
}

impl FromStr for Doi {
    type Err = DoiError;

    /// # Errors
    ///
    /// - `"US/FOOL2"`: does not begin with `10.` and digits
    /// - `"10.9999"`: no suffix
    /// - `"10.9999/a b"`: a space
    fn from_str(text: &str) -> Result<Self, DoiError> {
        const BEFORE: [&str; 5] = [
            "https://doi.org/",
            "http://doi.org/",
            "https://dx.doi.org/",
            "http://dx.doi.org/",
            "doi:",
        ];
        let starts_with = |prefix: &&str| {
            text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        };
        let bare = match BEFORE.iter().find(|prefix| starts_with(prefix)) {
            Some(prefix) => text[prefix.len()..].trim_start(),
            None => text,
        };
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let is_doi = bare.strip_prefix("10.").and_then(|rest| rest.split_once('/')).is_some_and(
            |(registrant, suffix)| {
                registrant.split('.').all(is_number)
                    && !suffix.is_empty()
                    && !suffix.chars().any(|c| c.is_whitespace() || c.is_control())
            },
        );
        if is_doi { Ok(Doi(bare.into())) } else { Err(DoiError { text: text.to_owned() }) }
    }
}

impl fmt::Display for Doi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for Doi {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doi_is_kept_without_its_prefix() {
        for text in [
            "10.9999/US/FOOL2.v2",
            "doi:10.9999/US/FOOL2.v2",
            "DOI: 10.9999/US/FOOL2.v2",
            "https://doi.org/10.9999/US/FOOL2.v2",
            "http://dx.doi.org/10.9999/US/FOOL2.v2",
        ] {
            assert_eq!(text.parse::<Doi>().unwrap().as_str(), "10.9999/US/FOOL2.v2");
        }
        for text in
            ["", "10.9999", "10./a", "10.99a/b", "11.9999/a", "10.9999/", "10.9999/a b", "US/FOOL2"]
        {
            assert!(text.parse::<Doi>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_has_only_characters_that_a_uri_can_hold() {
        let doi: Doi = "10.1002/(SICI)1096<1::A%ID>3.0#é".parse().unwrap();
        assert_eq!(doi.address(), "https://doi.org/10.1002/(SICI)1096%3C1::A%25ID%3E3.0%23%C3%A9");
        let doi: Doi = "10.1002/a,b.c(d).".parse().unwrap();
        assert_eq!(doi.address(), "https://doi.org/10.1002/a%2Cb.c(d%29%2E");
    }

    #[test]
    fn a_doi_is_case_insensitive() {
        let (lower, upper): (Doi, Doi) =
            ("10.5067/abc".parse().unwrap(), "10.5067/ABC".parse().unwrap());
        assert!(lower.is_same_as(&upper));
        assert!(!lower.is_same_as(&"10.5067/abd".parse().unwrap()));
    }
}
