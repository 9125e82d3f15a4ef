//! Ed25519 keys: the key with which a log signs, and the keys that verify logs and witnesses (`signed-note`,
//! Verifier keys).

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use sha2::{Digest as _, Sha256};

use super::signature::NoteSignature;
use crate::model::{ParseError, Timestamp, quoted};

/// The use of a key. Its signatures depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyUse {
    /// The key signs the checkpoints of a log (type 01).
    Log,
    /// The key cosigns the checkpoints of other logs, each with the time (type 04).
    Witness,
}

impl KeyUse {
    fn code(self) -> u8 {
        match self {
            KeyUse::Log => 1,
            KeyUse::Witness => 4,
        }
    }

    fn of_code(code: u8) -> Option<Self> {
        [KeyUse::Log, KeyUse::Witness].into_iter().find(|key_use| key_use.code() == code)
    }
}

/// A public key with its name, which verifies signatures.
///
/// # Syntax
///
/// `name+hhhhhhhh+base64`. The second part is the first four bytes of the SHA-256 of name, LF, type and key.
/// The third part is the type and the key, in base64.
///
/// # Examples
///
/// ```
/// use accession::proof::VerificationKey;
///
/// let text = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
/// let key: VerificationKey = text.parse()?;
/// assert_eq!(key.name(), "example.com/foo");
/// assert_eq!(key.to_string(), text);
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationKey {
    name: String,
    key_use: KeyUse,
    public: [u8; 32],
}

impl VerificationKey {
    /// The name. For a log, it is the address at which the log is published, without the scheme.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The use of the key.
    pub(crate) fn key_use(&self) -> KeyUse {
        self.key_use
    }

    /// Whether the key cosigns the checkpoints of other archives' logs, and signs none of its own log.
    pub fn is_of_witness(&self) -> bool {
        self.key_use == KeyUse::Witness
    }

    /// The 32 bytes of the key.
    pub fn public(&self) -> &[u8; 32] {
        &self.public
    }

    /// The number that identifies the key in signatures, together with its name.
    pub fn id(&self) -> u32 {
        let mut hash = Sha256::new();
        hash.update(format!("{}\n", self.name));
        hash.update([self.key_use.code()]);
        hash.update(self.public);
        let hash: [u8; 32] = hash.finalize().into();
        u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]])
    }

    /// Whether a signature names this key.
    pub(crate) fn is_named_by(&self, signature: &NoteSignature) -> bool {
        signature.key_id == self.id() && signature.name == self.name
    }

    /// Verifies a signature of a body. Returns the time in it, which only a witness states. `None` means that
    /// it is not a signature of this body by this key.
    pub(crate) fn verified(
        &self,
        signature: &NoteSignature,
        body: &str,
    ) -> Option<Option<Timestamp>> {
        let (time, bytes, message) = match self.key_use {
            KeyUse::Log => (None, &signature.bytes[..], body.to_owned()),
            KeyUse::Witness => {
                let (seconds, bytes) = signature.bytes.split_first_chunk()?;
                // The format defines zero as no time.
                let seconds = Some(u64::from_be_bytes(*seconds)).filter(|seconds| *seconds > 0)?;
                let micros = i64::try_from(seconds).ok()?.checked_mul(1_000_000)?;
                (Some(Timestamp::from_micros(micros)?), bytes, cosigned(seconds, body))
            }
        };
        let key = UnparsedPublicKey::new(&ED25519, &self.public);
        key.verify(message.as_bytes(), bytes).ok().map(|()| time)
    }
}

/// The text that a witness signs: `tlog-cosignature`, Ed25519 signed message.
fn cosigned(seconds: u64, body: &str) -> String {
    format!("cosignature/v1\ntime {seconds}\n{body}")
}

/// The longest name of a key, in bytes.
const MAX_NAME_BYTES: usize = 255;

fn check_name(name: &str) -> Result<(), ParseError> {
    let is_refused = |it: char| it.is_whitespace() || it.is_control() || it == '+';
    let is_address = !name.contains("://") && !name.ends_with('/');
    match !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains(is_refused) {
        true if is_address => Ok(()),
        _ => Err(ParseError::new(
            "the name of a key is an address without https:// and without a slash at its end, such as data.example.org/statements: at most 255 bytes, no space and no +",
        )),
    }
}

/// The name, the type and the 32 bytes of a key, and its text, in which `id` is the number.
fn parsed(text: &str) -> Option<(String, String, KeyUse, [u8; 32])> {
    let (name, rest) = text.split_once('+')?;
    let (id, key) = rest.split_once('+')?;
    let key = BASE64.decode(key).ok()?;
    let (code, bytes) = key.split_first()?;
    let bytes = bytes.try_into().ok()?;
    Some((name.to_owned(), id.to_owned(), KeyUse::of_code(*code)?, bytes))
}

impl FromStr for VerificationKey {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `"example.com/foo"`: it is not a key
    /// - a private key, which no message repeats
    /// - a number that does not belong to this name and these bytes, for example because a letter of the key
    ///   was changed
    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.contains(SigningKey::PREFIX) {
            let what = "a private key stands where its verification key belongs";
            return Err(ParseError::new(what));
        }
        let refused = || {
            ParseError::new(format!(
                "{} is not a verification key: name+number+base64",
                quoted(text)
            ))
        };
        let (name, id, key_use, public) = parsed(text).ok_or_else(refused)?;
        check_name(&name)?;
        let key = VerificationKey { name, key_use, public };
        let is_its_id = id == format!("{:08x}", key.id());
        is_its_id.then_some(key).ok_or_else(refused)
    }
}

impl fmt::Display for VerificationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = BASE64.encode([&[self.key_use.code()], &self.public[..]].concat());
        write!(f, "{}+{:08x}+{key}", self.name, self.id())
    }
}

/// The private key of a log, with its name.
///
/// # Syntax
///
/// `PRIVATE+KEY+name+hhhhhhhh+base64`. The base64 part is the type and the 32 bytes from which both keys are
/// derived.
pub struct SigningKey {
    verification: VerificationKey,
    seed: [u8; 32],
    pair: Ed25519KeyPair,
}

impl SigningKey {
    const PREFIX: &str = "PRIVATE+KEY+";

    /// Makes a key from random bytes of the system.
    ///
    /// # Errors
    ///
    /// The name is not valid for a key; the system has no random bytes.
    pub fn generate(name: &str) -> Result<Self, ParseError> {
        let mut seed = [0; 32];
        let filled = SystemRandom::new().fill(&mut seed);
        filled.map_err(|_| ParseError::new("the system has no random bytes"))?;
        SigningKey::of_seed(name, seed)
    }

    /// Derives a key from these bytes.
    ///
    /// # Errors
    ///
    /// The name is not valid for a key.
    pub fn of_seed(name: &str, seed: [u8; 32]) -> Result<Self, ParseError> {
        check_name(name)?;
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed);
        let pair = pair.map_err(|_| ParseError::new("no key is derived from these bytes"))?;
        let mut public = [0; 32];
        public.copy_from_slice(pair.public_key().as_ref());
        let verification = VerificationKey { name: name.to_owned(), key_use: KeyUse::Log, public };
        Ok(SigningKey { verification, seed, pair })
    }

    /// The public key, which verifies the signatures of this key.
    pub fn verification_key(&self) -> &VerificationKey {
        &self.verification
    }

    /// The text of the private key, which must be kept secret.
    pub fn secret_text(&self) -> String {
        let VerificationKey { name, key_use, .. } = &self.verification;
        let key = [&[key_use.code()], &self.seed[..]].concat();
        format!(
            "{}{name}+{:08x}+{}",
            SigningKey::PREFIX,
            self.verification.id(),
            BASE64.encode(key)
        )
    }

    /// Signs the body of a checkpoint.
    pub(crate) fn sign(&self, body: &str) -> NoteSignature {
        NoteSignature {
            name: self.verification.name.clone(),
            key_id: self.verification.id(),
            bytes: self.pair.sign(body.as_bytes()).as_ref().to_vec(),
        }
    }
}

impl FromStr for SigningKey {
    type Err = ParseError;

    /// # Errors
    ///
    /// The text is not a log's private key. The error does not repeat it.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused =
            || ParseError::fixed("this is not a private key: PRIVATE+KEY+name+number+base64");
        let rest = text.strip_prefix(SigningKey::PREFIX).ok_or_else(refused)?;
        let (name, id, key_use, seed) = parsed(rest).ok_or_else(refused)?;
        let key = SigningKey::of_seed(&name, seed)?;
        let is_it = key_use == KeyUse::Log && id == format!("{:08x}", key.verification.id());
        is_it.then_some(key).ok_or_else(refused)
    }
}

/// Hides the key.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.verification)
    }
}

/// The key of a witness, for tests: a log never has it.
#[cfg(test)]
pub(super) struct WitnessKey(SigningKey);

#[cfg(test)]
impl WitnessKey {
    pub fn of_seed(name: &str, seed: [u8; 32]) -> Self {
        let mut key = SigningKey::of_seed(name, seed).unwrap();
        key.verification.key_use = KeyUse::Witness;
        WitnessKey(key)
    }

    pub fn verification_key(&self) -> &VerificationKey {
        &self.0.verification
    }

    pub fn sign(&self, body: &str, at: Timestamp) -> NoteSignature {
        let seconds = u64::try_from(at.as_micros() / 1_000_000).unwrap();
        let mut signature = self.0.sign(&cosigned(seconds, body));
        signature.bytes.splice(0..0, seconds.to_be_bytes());
        signature
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key pair of RFC 8032, 7.1, test 1, with a name.
    #[test]
    fn a_key_has_the_public_key_of_its_seed() {
        let mut seed = [0; 32];
        let hex = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        hex::decode_to_slice(hex, &mut seed).unwrap();
        let key = SigningKey::of_seed("example.com/log", seed).unwrap();
        let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        assert_eq!(hex::encode(key.verification_key().public()), public);
        let again: SigningKey = key.secret_text().parse().unwrap();
        assert_eq!(again.verification_key(), key.verification_key());
        assert_eq!(format!("{key:?}"), format!("SigningKey({})", key.verification_key()));
    }

    #[test]
    fn what_is_not_a_key_is_refused() {
        let key = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
        for end in 0..key.len() {
            assert!(key[..end].parse::<VerificationKey>().is_err(), "{end}");
            let mut changed = key.as_bytes().to_vec();
            changed[end] ^= 1;
            let changed = String::from_utf8(changed).unwrap();
            assert!(changed.parse::<VerificationKey>().is_err(), "{changed}");
        }
        assert!(key.parse::<SigningKey>().is_err());
        for name in ["", "a b", "a+b", "a\u{a0}b", "https://a.org", "a/", &"a".repeat(256)] {
            assert!(SigningKey::generate(name).is_err(), "{name}");
        }
        let one = SigningKey::generate("a").unwrap().secret_text();
        assert_ne!(one, SigningKey::generate("a").unwrap().secret_text());
        assert!(WitnessKey::of_seed("a", [1; 32]).0.secret_text().parse::<SigningKey>().is_err());
    }
}
