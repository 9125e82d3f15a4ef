//! A text with signatures: `signed-note`.

use std::fmt;
use std::str::FromStr;

use super::key::{SigningKey, VerificationKey};
use super::signature::NoteSignature;
use crate::model::{ParseError, Timestamp};

/// A body with signatures. Anyone may have added a signature.
///
/// # Syntax
///
/// The body, which ends with LF; an empty line; and a line `— name base64` for each signature. The base64 part
/// is the number of the key and the signature. At most 64 KiB and 64 signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The signed text. It ends with LF.
    pub body: String,
    /// The signatures, which were not verified.
    pub(crate) signatures: Vec<NoteSignature>,
}

impl Note {
    /// The greatest length of a note in bytes.
    pub const MAX_BYTES: usize = 64 * 1_024;

    /// The greatest number of signatures.
    pub const MAX_SIGNATURES: usize = 64;

    /// A note without signatures. The body must end with LF.
    pub fn new(body: impl Into<String>) -> Self {
        Note { body: body.into(), signatures: Vec::new() }
    }

    /// The names in the signatures, which were not verified.
    pub fn signers(&self) -> impl Iterator<Item = &str> {
        self.signatures.iter().map(|signature| signature.name.as_str())
    }

    /// Signs the body. Replaces a signature by the same key.
    pub fn sign(&mut self, key: &SigningKey) {
        self.add(key.sign(&self.body));
    }

    /// Adds a line with a signature, which is not verified. Replaces a signature by the same key.
    ///
    /// # Errors
    ///
    /// The line is not a signature.
    pub fn add_line(&mut self, line: &str) -> Result<(), ParseError> {
        self.add(line.parse()?);
        Ok(())
    }

    /// Verifies the signatures of a key. Returns the time of the first signature, which only a witness states.
    /// The outer `None` means that the note has no signature of the key.
    ///
    /// # Errors
    ///
    /// One of them does not verify for this body: the note was damaged or forged.
    pub fn verified(&self, key: &VerificationKey) -> Result<Option<Option<Timestamp>>, ParseError> {
        let mut first = None;
        for signature in self.signatures.iter().filter(|signature| key.is_named_by(signature)) {
            let forged = || {
                ParseError::new(format!(
                    "the signature of {} is not one of this checkpoint",
                    key.name()
                ))
            };
            let time = key.verified(signature, &self.body).ok_or_else(forged)?;
            first = first.or(Some(time));
        }
        Ok(first)
    }

    /// Adds a signature. Replaces a signature by the same key.
    pub(crate) fn add(&mut self, signature: NoteSignature) {
        self.signatures.retain(|it| !it.has_key_of(&signature));
        self.signatures.push(signature);
    }

    /// Adds the stored signatures, if they are of the same body. They replace new signatures by the same keys.
    pub(crate) fn keep(&mut self, stored: Note) {
        if stored.body != self.body {
            return;
        }
        let new = std::mem::replace(self, stored).signatures;
        for signature in new {
            if !self.signatures.iter().any(|it| it.has_key_of(&signature)) {
                self.signatures.push(signature);
            }
        }
    }
}

impl FromStr for Note {
    type Err = ParseError;

    /// # Errors
    ///
    /// - the text has no empty line before its last lines, or a line after it is not a signature
    /// - the text has a control character, or is too long, or has too many signatures
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = |why: &str| ParseError::new(format!("not a signed note: {why}"));
        if text.len() > Note::MAX_BYTES {
            return Err(refused("it is longer than 64 KiB"));
        }
        if text.contains(|it: char| it < ' ' && it != '\n') {
            return Err(refused("it has a control character"));
        }
        let end =
            text.rfind("\n\n").ok_or_else(|| refused("no signatures follow an empty line"))?;
        let (body, signatures) = (&text[..=end], &text[end + 2..]);
        let lines = signatures.strip_suffix('\n').ok_or_else(|| refused("its last line is cut"))?;
        let signature = |line: &str| {
            line.parse().map_err(|_| refused("a line after the empty one is not a signature"))
        };
        let signatures: Vec<NoteSignature> =
            lines.split('\n').map(signature).collect::<Result<_, _>>()?;
        if signatures.len() > Note::MAX_SIGNATURES {
            return Err(refused("it has more than 64 signatures"));
        }
        Ok(Note { body: body.to_owned(), signatures })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.body)?;
        self.signatures.iter().try_for_each(|signature| writeln!(f, "{signature}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of `signed-note`.
    const EXAMPLE: &str = "This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";
    const KEY: &str = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";

    #[test]
    fn the_example_of_the_format_is_verified_and_written_again() {
        let note: Note = EXAMPLE.parse().unwrap();
        let key: VerificationKey = KEY.parse().unwrap();
        assert_eq!(note.verified(&key), Ok(Some(None)));
        assert_eq!(note.to_string(), EXAMPLE);
        let mut forged = note.clone();
        forged.body = forged.body.replace("an", "no");
        assert!(forged.verified(&key).is_err());
        forged.signatures[0].name.push('x');
        assert_eq!(forged.verified(&key), Ok(None));
    }

    #[test]
    fn what_is_not_a_note_is_refused() {
        let line = "— a AAAAAAAA\n";
        assert!(format!("b\n\n{}", line.repeat(64)).parse::<Note>().is_ok());
        for text in [
            "",
            "\n",
            "b\n",
            "b\n\n",
            "b\n\n— a AAAAAAAA",
            "b\n\nx\n",
            "b\n\n— a AAAA=\n",
            "b\n\n— a AAA=\n",
            "b\n\n— a+b AAAAAAAA\n",
            "b\n\n—  AAAAAAAA\n",
            "b\r\n\n— a AAAAAAAA\n",
            &format!("b\n\n{}", line.repeat(65)),
            &format!("{}\n\n{line}", "b".repeat(Note::MAX_BYTES)),
        ] {
            assert!(text.parse::<Note>().is_err(), "{text:.80}");
        }
    }
}
