//! The digest of a set.

use std::fmt;
use std::str::FromStr;

use super::message::{ValueError, strip_prefix_of_any_case};

/// The digest of a set: the SHA-256 of its canonical list ([`crate::chain::CanonicalList`]).
///
/// # Syntax
///
/// `sha256:` and 64 hexadecimal characters in any case. It is written in lower case.
///
/// # Examples
///
/// ```
/// use accession::model::Digest;
///
/// let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// assert_eq!(text.parse(), Ok(Digest::EMPTY));
/// assert_eq!(Digest::EMPTY.to_string(), text);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// What is written before the hexadecimal digits.
    pub const PREFIX: &str = "sha256:";

    /// The digest of a set without granules: the SHA-256 of no bytes.
    pub const EMPTY: Digest = Digest([
        0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9,
        0x24, 0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52,
        0xb8, 0x55,
    ]);

    /// The directory of canonical lists in what is published.
    pub(crate) const LISTS: &str = "lists";

    /// The file in it with the list that has this digest.
    pub(crate) fn list_file(self) -> String {
        format!("{}.txt.gz", hex::encode(self.0))
    }

    /// Returns the digest with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Digest(bytes)
    }

    /// Returns its 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A digest, or the beginning of one: `sha256:` and 12 to 64 hexadecimal digits in any case.
///
/// # Examples
///
/// ```
/// use accession::model::DigestPrefix;
///
/// let prefix: DigestPrefix = "sha256:E3B0C44298FC".parse()?;
/// assert_eq!(prefix.to_string(), "sha256:e3b0c44298fc");
/// # Ok::<(), accession::model::ValueError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DigestPrefix(Box<str>);

impl DigestPrefix {
    /// The fewest digits that are accepted as the beginning of a digest.
    pub const MIN_DIGITS: usize = 12;

    /// Whether a string is meant as one.
    pub fn is_meant(text: &str) -> bool {
        strip_prefix_of_any_case(text, Digest::PREFIX).is_some()
    }

    /// The digits, in lower case.
    pub fn digits(&self) -> &str {
        &self.0
    }

    /// Whether a digest begins so.
    pub fn begins(&self, digest: Digest) -> bool {
        let (first, last) = self.range();
        (first..=last).contains(&digest)
    }

    /// The first and the last digest that begin so.
    pub fn range(&self) -> (Digest, Digest) {
        let padded = |digit: &str| format!("{self}{}", digit.repeat(64 - self.0.len()));
        let whole = |text: String| text.parse().expect("64 hexadecimal digits are a digest");
        (whole(padded("0")), whole(padded("f")))
    }
}

impl FromStr for DigestPrefix {
    type Err = ValueError;

    /// # Errors
    ///
    /// It is not `sha256:` and 12 to 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, ValueError> {
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

/// The check of a line of a log: a SHA-256 of the line and of the check of the line before it.
///
/// It is written as 64 lower-case hexadecimal characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LineCheck([u8; 32]);

impl LineCheck {
    /// Returns the check with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        LineCheck(bytes)
    }

    /// Returns its 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for LineCheck {
    type Err = ValueError;

    /// # Errors
    ///
    /// It is not 64 hexadecimal characters.
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| not_a_digest())?;
        Ok(LineCheck(bytes))
    }
}

impl fmt::Display for LineCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex::encode(self.0))
    }
}

/// The error of a string that is not a digest.
pub(crate) fn not_a_digest() -> ValueError {
    let message =
        "a digest is \"sha256:\" and 64 hexadecimal characters, of which 12 or more name a set";
    ValueError::new(message)
}

impl FromStr for Digest {
    type Err = ValueError;

    /// # Errors
    ///
    /// - 64 hexadecimal characters without `sha256:` before them
    /// - `"sha256:e3b0"`: not 64 characters
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let digits = strip_prefix_of_any_case(text, Digest::PREFIX).ok_or_else(not_a_digest)?;
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| not_a_digest())?;
        Ok(Digest(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", Digest::PREFIX, hex::encode(self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
