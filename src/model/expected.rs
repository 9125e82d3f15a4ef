//! The set that a change must result in.

use std::fmt;
use std::str::FromStr;

use super::identifier::{Digest, Identifier};
use super::message::ParseError;

/// The set that a dataset must hold after a change: all digits of its identifier. If the change replaces
/// contents, which an identifier does not cover, all digits of its digest.
///
/// # Syntax
///
/// `DI:` and 32 hexadecimal digits, or `sha256:` and 64. Abbreviations are rejected, because they could mean
/// another set.
///
/// # Examples
///
/// ```
/// use accession::{Expected, Identifier};
///
/// let expected: Expected = "DI:763122197bfb3ffbf0da14adbfb1b13b".parse()?;
/// assert_eq!(expected, Expected::Identifier("763122197bfb3ffbf0da14adbfb1b13b".parse()?));
/// assert_eq!(expected.to_string(), "DI:763122197bfb3ffbf0da14adbfb1b13b");
/// assert!("DI:76312219".parse::<Expected>().is_err());
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// The set with this identifier, whatever is recorded of its files.
    Identifier(Identifier),
    /// The set with this digest.
    Digest(Digest),
}

impl Expected {
    /// Whether the set with this identifier and digest is the expected one.
    pub fn is(self, identifier: Identifier, digest: Digest) -> bool {
        match self {
            Expected::Identifier(expected) => expected == identifier,
            Expected::Digest(expected) => expected == digest,
        }
    }

    /// Names another set in the same way: by its identifier or by its digest.
    pub(crate) fn other(self, identifier: Identifier, digest: Digest) -> Self {
        match self {
            Expected::Identifier(_) => Expected::Identifier(identifier),
            Expected::Digest(_) => Expected::Digest(digest),
        }
    }
}

impl FromStr for Expected {
    type Err = ParseError;

    /// # Errors
    ///
    /// The text is neither a whole identifier nor a whole digest.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let identifier = || text.parse().map(Expected::Identifier);
        let whole = text.parse().map(Expected::Digest).or_else(|_| identifier());
        whole.map_err(|_| {
            let message = "it is neither DI: and all 32 digits of an identifier nor sha256: and all 64 digits of a digest";
            ParseError::new(message)
        })
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Identifier(identifier) => write!(f, "DI:{identifier}"),
            Expected::Digest(digest) => write!(f, "{digest}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abbreviation_is_refused() {
        let digest = Digest::EMPTY.to_string();
        let identifier = Identifier::EMPTY.to_string();
        let whole = [digest.clone(), identifier.clone(), format!("di:{identifier}")];
        for text in &whole {
            assert!(text.parse::<Expected>().is_ok(), "{text}");
        }
        for text in ["", "DI:", "sha256:", &digest[..20], &identifier[1..], "FOO", "FOO~1"] {
            assert!(text.parse::<Expected>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_digest_says_which_contents_are_expected_and_an_identifier_does_not() {
        let (identifier, digest) = (Identifier::EMPTY, Digest::EMPTY);
        let other = Digest::from_bytes([1; 32]);
        assert!(Expected::Identifier(identifier).is(identifier, other));
        assert!(!Expected::Digest(digest).is(identifier, other));
        assert!(Expected::Digest(digest).is(identifier, digest));
    }
}
