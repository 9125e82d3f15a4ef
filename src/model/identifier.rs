//! The DatasetInstance identifier.

use std::fmt;
use std::str::FromStr;

use super::message::{ValueError, quoted, strip_prefix_of_any_case};

/// The DatasetInstance identifier of a set of granules: the sixteen bytes at the end of its chain
/// ([`crate::chain`]).
///
/// # Syntax
///
/// 32 hexadecimal characters in any case, with or without `DI:` before them. It is written as 32
/// lower-case characters; citations put `DI:` before it.
///
/// # Examples
///
/// ```
/// use accession::Identifier;
///
/// let identifier: Identifier = "DI:763122197BFB3FFBF0DA14ADBFB1B13B".parse()?;
/// assert_eq!(identifier.to_string(), "763122197bfb3ffbf0da14adbfb1b13b");
/// # Ok::<(), accession::model::ValueError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier([u8; 16]);

impl Identifier {
    /// The identifier of a dataset that holds no granules, `d41d8cd98f00b204e9800998ecf8427e`: the
    /// MD5 of no bytes (docs/reference/identifier.md, The rule).
    pub const EMPTY: Identifier = Identifier([
        0xd4, 0x1d, 0x8c, 0xd9, 0x8f, 0x00, 0xb2, 0x04, 0xe9, 0x80, 0x09, 0x98, 0xec, 0xf8, 0x42,
        0x7e,
    ]);

    /// Returns the identifier with these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Identifier(bytes)
    }

    /// Returns its sixteen bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// The first digits of an identifier, at least [`IdentifierPrefix::MIN_DIGITS`], or all of them.
///
/// # Examples
///
/// ```
/// use accession::model::IdentifierPrefix;
///
/// let prefix: IdentifierPrefix = "DI:76312219".parse()?;
/// assert_eq!(prefix.to_string(), "76312219");
/// # Ok::<(), accession::model::ValueError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentifierPrefix(Box<str>);

impl IdentifierPrefix {
    /// The fewest digits that are accepted as the beginning of an identifier.
    pub const MIN_DIGITS: usize = 8;

    /// The identifier, if these are all of its digits.
    pub fn whole(&self) -> Option<Identifier> {
        self.0.parse().ok()
    }

    /// Whether an identifier begins so.
    pub fn begins(&self, identifier: Identifier) -> bool {
        let (first, last) = self.range();
        (first..=last).contains(&identifier)
    }

    /// The first and the last identifier that begin so.
    pub fn range(&self) -> (Identifier, Identifier) {
        let padded = |digit: &str| format!("{}{}", self.0, digit.repeat(32 - self.0.len()));
        let whole = |text: String| text.parse().expect("32 hexadecimal digits are an identifier");
        (whole(padded("0")), whole(padded("f")))
    }
}

impl FromStr for IdentifierPrefix {
    type Err = ValueError;

    /// # Errors
    ///
    /// - `"DI:123"`, or 33 digits: the length
    /// - `"76312O19"`: a letter
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let digits = without_prefix(text).trim_start();
        let refused = |what: String| Err(ValueError::new(format!("an identifier has {what}")));
        if let Some(other) = digits.matches(|it: char| !it.is_ascii_hexdigit()).next() {
            return refused(format!(
                "hexadecimal digits only, but this contains {}",
                quoted(other)
            ));
        }
        match digits.len() {
            Self::MIN_DIGITS..=32 => Ok(IdentifierPrefix(digits.to_ascii_lowercase().into())),
            digits => refused(format!("32 hexadecimal digits, this has {digits}")),
        }
    }
}

impl fmt::Display for IdentifierPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The text without a `DI:` in any case before it.
fn without_prefix(text: &str) -> &str {
    strip_prefix_of_any_case(text, "DI:").unwrap_or(text)
}

/// The identifiers that a string may have been meant for: those that differ from it in one character,
/// which may be missing or too many. The letters O, l and I are read as the digits 0 and 1. At most
/// 512; none if the string differs in more.
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
    // The string with each of the sixteen digits in the place of some of its characters.
    let with_digits = |before: &str, after: &str| {
        let variants = (0..16).map(|digit| format!("{before}{digit:x}{after}"));
        variants.collect::<Vec<String>>()
    };
    let mut found: Vec<String> = match digits.len() {
        31 => (0..=31).flat_map(|at| with_digits(&digits[..at], &digits[at..])).collect(),
        // Where there is another letter, only those in its place are identifiers.
        32 => (0..32).flat_map(|at| with_digits(&digits[..at], &digits[at + 1..])).collect(),
        33 => (0..33).map(|at| format!("{}{}", &digits[..at], &digits[at + 1..])).collect(),
        _ => Vec::new(),
    };
    found.sort_unstable();
    found.dedup();
    found.iter().filter_map(|text| text.parse().ok()).collect()
}

impl FromStr for Identifier {
    type Err = ValueError;

    /// # Errors
    ///
    /// - `"763122"`: not 32 characters
    /// - `"g63122197bfb3ffbf0da14adbfb1b13b"`: not hexadecimal
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let mut bytes = [0; 16];
        match hex::decode_to_slice(without_prefix(text), &mut bytes) {
            Ok(()) => Ok(Identifier(bytes)),
            Err(_) => Err(ValueError::new(
                "an identifier is 32 hexadecimal characters, with or without \"DI:\" before them",
            )),
        }
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 32];
        hex::encode_to_slice(self.0, &mut digits).expect("32 characters hold 16 bytes");
        f.pad(std::str::from_utf8(&digits).expect("hexadecimal characters are ASCII"))
    }
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
}
