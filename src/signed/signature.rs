//! A signature line of a note: `signed-note`, Format.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::model::ParseError;

/// A signature line of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoteSignature {
    /// The name of the key.
    pub name: String,
    /// The number of the key.
    pub key_id: u32,
    /// The signature. A witness's signature begins with its time, in 8 bytes.
    pub bytes: Vec<u8>,
}

impl NoteSignature {
    /// Whether another signature is by the same key.
    pub(super) fn has_key_of(&self, other: &NoteSignature) -> bool {
        (&self.name, self.key_id) == (&other.name, other.key_id)
    }
}

impl FromStr for NoteSignature {
    type Err = ParseError;

    /// # Errors
    ///
    /// The line is not a signature.
    fn from_str(line: &str) -> Result<Self, ParseError> {
        let read = || {
            let (name, signature) = line.strip_prefix("— ")?.split_once(' ')?;
            let signature = BASE64.decode(signature).ok()?;
            let (key_id, bytes) = signature.split_first_chunk()?;
            let is_name =
                !name.is_empty() && !name.contains(|it: char| it.is_whitespace() || it == '+');
            let (name, key_id) = (name.to_owned(), u32::from_be_bytes(*key_id));
            is_name.then(|| NoteSignature { name, key_id, bytes: bytes.to_vec() })
        };
        read().ok_or_else(|| ParseError::new("not the line of a signature"))
    }
}

impl fmt::Display for NoteSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signature = BASE64.encode([&self.key_id.to_be_bytes(), &self.bytes[..]].concat());
        write!(f, "— {} {signature}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_is_written() {
        let line = "— example.com/foo Uw2QOkn8srU=";
        let signature: NoteSignature = line.parse().unwrap();
        assert_eq!((signature.key_id, signature.bytes.len()), (0x530d_903a, 4));
        assert_eq!(signature.to_string(), line);
        for refused in ["", "— a", "- a AAAAAAAA", "— a AAAA", "— a AAAAAAAA ", "— a b AAAAAAAA"]
        {
            assert!(refused.parse::<NoteSignature>().is_err(), "{refused}");
        }
    }
}
