//! The DatasetInstance identifier.

use std::fmt;
use std::str::FromStr;

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
/// # Ok::<(), accession::model::IdentifierError>(())
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

/// A string that is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an identifier is 32 hexadecimal characters, with or without \"DI:\" before them")]
pub struct IdentifierError;

impl FromStr for Identifier {
    type Err = IdentifierError;

    /// # Errors
    ///
    /// - `"763122"`: not 32 characters
    /// - `"g63122197bfb3ffbf0da14adbfb1b13b"`: not hexadecimal
    fn from_str(text: &str) -> Result<Self, IdentifierError> {
        let digits = match text.get(..3) {
            Some(prefix) if prefix.eq_ignore_ascii_case("DI:") => &text[3..],
            _ => text,
        };
        let mut bytes = [0; 16];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| IdentifierError)?;
        Ok(Identifier(bytes))
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 32];
        hex::encode_to_slice(self.0, &mut digits).expect("32 characters hold 16 bytes");
        f.pad(std::str::from_utf8(&digits).expect("hexadecimal characters are ASCII"))
    }
}

impl fmt::Debug for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_with_or_without_its_prefix_and_in_any_case() {
        let lower = "7fb1e8ba9b0c9888858b66f6a1732d2c";
        for text in
            [lower.to_owned(), lower.to_uppercase(), format!("DI:{lower}"), format!("di:{lower}")]
        {
            assert_eq!(text.parse::<Identifier>().unwrap().to_string(), lower);
        }
    }

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
            assert_eq!(text.parse::<Identifier>(), Err(IdentifierError), "{text}");
        }
    }

    #[test]
    fn the_empty_set_has_the_md5_of_no_bytes() {
        assert_eq!(Identifier::EMPTY.to_string(), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(format!("{:?}", Identifier::EMPTY), "d41d8cd98f00b204e9800998ecf8427e");
    }
}
