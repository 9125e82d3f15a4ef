//! The size and the root of a tree: `tlog-checkpoint`.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::tree::TreeHash;
use crate::model::ParseError;

/// The state of a tree at one time: the body of the note that is signed.
///
/// # Syntax
///
/// Three lines, each with LF: the origin, which is the name of the key; the size; the root in base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogCheckpoint {
    /// The name of the log.
    pub origin: String,
    /// The number of statements.
    pub size: u64,
    /// The root of the tree of statements.
    pub root: TreeHash,
}

impl LogCheckpoint {
    /// A hash in the form in which it is written: in base64.
    pub fn hash_text(hash: &TreeHash) -> String {
        BASE64.encode(hash)
    }
}

/// Parses a number of the formats: decimal, without leading zeros.
pub(super) fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

/// Parses a hash in base64.
pub(super) fn hash(text: &str) -> Option<TreeHash> {
    BASE64.decode(text).ok()?.try_into().ok()
}

impl FromStr for LogCheckpoint {
    type Err = ParseError;

    /// # Errors
    ///
    /// The number of lines is not three, or a line has another form.
    fn from_str(body: &str) -> Result<Self, ParseError> {
        let read = || {
            let mut lines = body.strip_suffix('\n')?.split('\n');
            let origin = lines.next().filter(|origin| !origin.is_empty())?.to_owned();
            let (size, root) = (number(lines.next()?)?, hash(lines.next()?)?);
            lines.next().is_none().then_some(LogCheckpoint { origin, size, root })
        };
        let refused = "not a checkpoint: the name of the log, its size and its root in base64";
        read().ok_or_else(|| ParseError::new(refused))
    }
}

impl fmt::Display for LogCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n{}", self.origin, self.size, LogCheckpoint::hash_text(&self.root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;
    use crate::signed::key::{SigningKey, VerificationKey, WitnessKey};
    use crate::signed::note::Note;

    /// The body of the example of `tlog-checkpoint`.
    const BODY: &str =
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";

    #[test]
    fn a_checkpoint_is_read_as_it_is_written() {
        let checkpoint: LogCheckpoint = BODY.parse().unwrap();
        assert_eq!(checkpoint.size, 20_852_163);
        assert_eq!(checkpoint.to_string(), BODY);
        for refused in [
            BODY.replace("20852163", "020852163"),
            BODY.replace("20852163", "+20852163"),
            BODY.replace("2I=", "2I"),
            BODY.replace("2I=", "2J="),
            format!("{BODY}extension\n"),
            BODY.trim_end().to_owned(),
            BODY.replace("example.com/behind-the-sofa", ""),
        ] {
            assert!(refused.parse::<LogCheckpoint>().is_err(), "{refused}");
        }
    }

    /// Ed25519 signatures are deterministic, so the text of a signed and cosigned checkpoint is fixed.
    #[test]
    fn a_signed_and_cosigned_checkpoint_is_verified_by_both_keys() {
        let log = SigningKey::of_seed("example.com/log", [1; 32]).unwrap();
        let witness = WitnessKey::of_seed("w.example", [2; 32]);
        let at: Timestamp = "2001-01-02T00:00:00.9Z".parse().unwrap();
        let mut note = Note { body: BODY.to_owned(), signatures: Vec::new() };
        note.add(log.sign(BODY));
        note.add(witness.sign(BODY, at));
        note.add(witness.sign(BODY, at));
        let read: Note = note.to_string().parse().unwrap();
        assert_eq!(read, note);
        assert_eq!(read.signatures.len(), 2);
        assert_eq!(read.verified(log.verification_key()), Ok(Some(None)));
        let seen = "2001-01-02T00:00:00Z".parse().unwrap();
        assert_eq!(read.verified(witness.verification_key()), Ok(Some(Some(seen))));
        let same_key_as_log = SigningKey::of_seed("w.example", [2; 32]).unwrap();
        assert_eq!(read.verified(same_key_as_log.verification_key()), Ok(None));
        for byte in 0..read.signatures[1].bytes.len() {
            let mut forged = read.clone();
            forged.signatures[1].bytes[byte] ^= 1;
            assert!(forged.verified(witness.verification_key()).is_err(), "{byte}");
        }
        let text = witness.verification_key().to_string();
        assert_eq!(text.parse::<VerificationKey>().unwrap(), *witness.verification_key());
    }
}
