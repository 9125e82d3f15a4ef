//! The DatasetInstance identifier and the digest of a set.

use std::fmt;
use std::str::FromStr;

use super::message::{ParseError, quoted, strip_prefix_of_any_case};

/// The DatasetInstance identifier of a set of granules: the sixteen bytes at the end of its chain
/// ([`crate::chain`]).
///
/// # Syntax
///
/// 32 hexadecimal characters in any case, with or without `DI:` before them. It is written as 32 lower-case
/// characters; citations write `DI:` before it.
///
/// # Examples
///
/// ```
/// use accession::Identifier;
///
/// let identifier: Identifier = "DI:763122197BFB3FFBF0DA14ADBFB1B13B".parse()?;
/// assert_eq!(identifier.to_string(), "763122197bfb3ffbf0da14adbfb1b13b");
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier([u8; 16]);

impl Identifier {
    /// The identifier of a dataset without granules, `d41d8cd98f00b204e9800998ecf8427e`: the MD5 of no bytes
    /// (docs/reference/identifier.md, The rule).
    pub const EMPTY: Identifier = Identifier(accession_chain::EMPTY);
}

/// The first digits of an identifier, at least [`IdentifierPrefix::MIN_DIGITS`], or all of them.
///
/// # Examples
///
/// ```
/// use accession::history::IdentifierPrefix;
///
/// let prefix: IdentifierPrefix = "DI:76312219".parse()?;
/// assert_eq!(prefix.to_string(), "76312219");
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentifierPrefix(Box<str>);

impl IdentifierPrefix {
    /// The least number of digits of a prefix.
    pub const MIN_DIGITS: usize = 8;

    /// The identifier, if the prefix has all of its digits.
    pub fn whole(&self) -> Option<Identifier> {
        self.0.parse().ok()
    }
}

impl FromStr for IdentifierPrefix {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `"DI:123"`, or 33 digits: the length
    /// - `"76312O19"`: a letter
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let digits = without_prefix(text).trim_start();
        let refused = |what: String| Err(ParseError::new(format!("an identifier has {what}")));
        if let Some(other) = digits.matches(|it: char| !it.is_ascii_hexdigit()).next() {
            return refused(format!(
                "hexadecimal digits only, but this contains {}",
                quoted(other)
            ));
        }
        match digits.len() {
            Self::MIN_DIGITS..=32 => Ok(IdentifierPrefix(digits.to_ascii_lowercase().into())),
            digits => refused(format!(
                "32 hexadecimal digits, of which the first {} are enough: this has {digits}",
                Self::MIN_DIGITS
            )),
        }
    }
}

impl fmt::Display for IdentifierPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Removes `DI:`, in any case, from the beginning.
fn without_prefix(text: &str) -> &str {
    strip_prefix_of_any_case(text, "DI:").unwrap_or(text)
}

/// The identifiers that may have been meant by a mistyped string: those that differ from it in one character,
/// which may be wrong, missing or superfluous. The letters O, l and I are read as the digits 0 and 1. Returns
/// at most 512 identifiers, and none if the string has more errors.
pub(crate) fn meant(text: &str) -> Vec<Identifier> {
    let digits: String = without_prefix(text)
        .trim()
        .chars()
        .map(|character| match character {
            'o' | 'O' => '0',
            'l' | 'L' | 'i' | 'I' => '1',
            other => other.to_ascii_lowercase(),
        })
        .collect();
    if !digits.is_ascii() {
        return Vec::new();
    }
    // The string with each of the sixteen digits inserted between `before` and `after`.
    let with_digits = |before: &str, after: &str| {
        let variants = (0..16).map(|digit| format!("{before}{digit:x}{after}"));
        variants.collect::<Vec<String>>()
    };
    let mut found: Vec<String> = match digits.len() {
        31 => (0..=31).flat_map(|at| with_digits(&digits[..at], &digits[at..])).collect(),
        // If the string contains a letter that is not a digit, only the strings that replace it parse as
        // identifiers.
        32 => (0..32).flat_map(|at| with_digits(&digits[..at], &digits[at + 1..])).collect(),
        33 => (0..33).map(|at| format!("{}{}", &digits[..at], &digits[at + 1..])).collect(),
        _ => Vec::new(),
    };
    found.sort_unstable();
    found.dedup();
    found.iter().filter_map(|text| text.parse().ok()).collect()
}

/// The digest of a set: the SHA-256 of its canonical list ([`crate::chain::CanonicalList`]).
///
/// # Syntax
///
/// `sha256:` and 64 hexadecimal characters in any case. It is written in lower case.
///
/// # Examples
///
/// ```
/// use accession::Digest;
///
/// let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// assert_eq!(text.parse(), Ok(Digest::EMPTY));
/// assert_eq!(Digest::EMPTY.to_string(), text);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The prefix before the hexadecimal digits.
    pub const PREFIX: &str = "sha256:";

    /// The digest of a set without granules: the SHA-256 of no bytes.
    pub const EMPTY: Digest = Digest([
        0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9,
        0x24, 0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52,
        0xb8, 0x55,
    ]);

    /// The directory of canonical lists in a published directory.
    pub const LISTS: &str = "lists";

    /// The name of the file, in that directory, with the list that has this digest.
    pub fn list_file(self) -> String {
        format!("{}.txt.gz", hex::encode(self.0))
    }
}

/// A digest, or the beginning of one: `sha256:` and 12 to 64 hexadecimal digits in any case.
///
/// # Examples
///
/// ```
/// use accession::history::DigestPrefix;
///
/// let prefix: DigestPrefix = "sha256:E3B0C44298FC".parse()?;
/// assert_eq!(prefix.to_string(), "sha256:e3b0c44298fc");
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DigestPrefix(Box<str>);

impl DigestPrefix {
    /// The least number of digits of a prefix.
    pub const MIN_DIGITS: usize = 12;

    /// Whether a string looks like a digest: it begins with `sha256:` in any case.
    pub fn is_meant(text: &str) -> bool {
        strip_prefix_of_any_case(text, Digest::PREFIX).is_some()
    }

    /// The digits, in lower case.
    pub fn digits(&self) -> &str {
        &self.0
    }
}

/// Implements conversion from and to bytes, and parsing and display as hexadecimal digits after a prefix. For
/// types of abbreviations, implements the range of the values that they can stand for.
macro_rules! of_bytes {
    ($(
        $whole:ident: $bytes:literal, $written:expr, $digits:expr, $refused:ident
        $(, beginning $prefix:ident)?;
    )+) => { $(
        impl $whole {
            /// Returns the value with these bytes.
            pub const fn from_bytes(bytes: [u8; $bytes]) -> Self {
                $whole(bytes)
            }

            /// Returns its bytes.
            pub const fn as_bytes(&self) -> &[u8; $bytes] {
                &self.0
            }
        }

        impl FromStr for $whole {
            type Err = ParseError;

            fn from_str(text: &str) -> Result<Self, ParseError> {
                let digits: fn(&str) -> Option<&str> = $digits;
                let mut bytes = [0; $bytes];
                match digits(text).map(|digits| hex::decode_to_slice(digits, &mut bytes)) {
                    Some(Ok(())) => Ok($whole(bytes)),
                    _ => Err($refused()),
                }
            }
        }

        impl fmt::Display for $whole {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&format!("{}{}", $written, hex::encode(self.0)))
            }
        }

        $(impl $prefix {
            /// Whether `whole` begins with these digits.
            pub fn begins(&self, whole: $whole) -> bool {
                let (first, last) = self.range();
                (first..=last).contains(&whole)
            }

            /// The first and the last value that begin with these digits.
            pub fn range(&self) -> ($whole, $whole) {
                let padded = |digit: &str| format!("{self}{}", digit.repeat(2 * $bytes - self.0.len()));
                let whole = |text: String| text.parse().expect("it has all its hexadecimal digits");
                (whole(padded("0")), whole(padded("f")))
            }
        })?
    )+ };
}

of_bytes! {
    Identifier: 16, "", |text| Some(without_prefix(text)), not_an_identifier,
        beginning IdentifierPrefix;
    Digest: 32, Digest::PREFIX, |text| strip_prefix_of_any_case(text, Digest::PREFIX), not_a_digest,
        beginning DigestPrefix;
    LineCheck: 32, "", |text| Some(text), not_a_digest;
}

fn not_an_identifier() -> ParseError {
    let message = "an identifier is 32 hexadecimal characters, with or without \"DI:\" before them";
    ParseError::new(message)
}

impl From<Identifier> for IdentifierPrefix {
    /// The prefix with all digits.
    fn from(identifier: Identifier) -> Self {
        IdentifierPrefix(identifier.to_string().into())
    }
}

impl From<Digest> for DigestPrefix {
    /// The prefix with all digits.
    fn from(digest: Digest) -> Self {
        DigestPrefix(hex::encode(digest.as_bytes()).into())
    }
}

impl FromStr for DigestPrefix {
    type Err = ParseError;

    /// # Errors
    ///
    /// The text is not `sha256:` and 12 to 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let digits = strip_prefix_of_any_case(text, Digest::PREFIX).ok_or_else(not_a_digest)?;
        let is_some = (DigestPrefix::MIN_DIGITS..=64).contains(&digits.len());
        match is_some && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            true => Ok(DigestPrefix(digits.to_ascii_lowercase().into())),
            false => Err(not_a_digest()),
        }
    }
}

impl fmt::Display for DigestPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", Digest::PREFIX, self.0))
    }
}

/// The check of a line of a log: a SHA-256 of the line and of the previous line's check.
///
/// It is written as 64 lower-case hexadecimal characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LineCheck([u8; 32]);

/// The error for a string that is not a digest.
pub(crate) fn not_a_digest() -> ParseError {
    let message =
        "a digest is \"sha256:\" and 64 hexadecimal characters, of which 12 or more name a set";
    ParseError::new(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_other_than_32_hexadecimal_characters_is_refused() {
        let lower = "7fb1e8ba9b0c9888858b66f6a1732d2c";
        for text in [
            "",
            "DI:",
            "é:é",
            &lower[1..],
            &format!("{lower}0"),
            &format!("DI: {lower}"),
            &format!("DI:DI:{lower}"),
            &format!(" {lower}"),
            &lower.replace('7', "g"),
        ] {
            assert!(text.parse::<Identifier>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_empty_set_has_the_md5_of_no_bytes() {
        assert_eq!(Identifier::EMPTY.to_string(), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(format!("{:?}", Identifier::EMPTY), "d41d8cd98f00b204e9800998ecf8427e");
    }

    #[test]
    fn it_is_read_in_any_case_and_written_in_lower_case() {
        let digits = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
        for text in [format!("sha256:{digits}"), format!("SHA256:{}", digits.to_uppercase())] {
            assert_eq!(text.parse::<Digest>().unwrap().to_string(), format!("sha256:{digits}"));
        }
        for refused in [
            "",
            "sha256:",
            digits,
            &format!("sha256:{}", &digits[1..]),
            &format!("sha256:{digits}0"),
            &format!("sha256: {digits}"),
            &format!("sha512:{digits}"),
            &format!("sha256:{}", digits.replace('7', "g")),
            "éééééééé",
        ] {
            assert_eq!(refused.parse::<Digest>(), Err(not_a_digest()), "{refused}");
        }
    }
}
