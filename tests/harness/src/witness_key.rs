//! The key of a witness that cosigns what an archive signs: `tlog-cosignature`.

use accession::Timestamp;
use accession::proof::{NoteSignature, SigningKey, VerificationKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};

/// The type of such a key.
const COSIGNS: u8 = 4;

/// A key with a name, that anybody can make.
#[derive(Debug)]
pub struct WitnessKey {
    key: SigningKey,
    verification: VerificationKey,
}

impl WitnessKey {
    pub fn of_seed(name: &str, seed: [u8; 32]) -> Self {
        let key = SigningKey::of_seed(name, seed).unwrap();
        let public = [&[COSIGNS], &key.verification_key().public()[..]].concat();
        let hash = Sha256::digest([format!("{name}\n").as_bytes(), &public].concat());
        let (id, public) = (hex::encode(&hash[..4]), BASE64.encode(&public));
        let verification = format!("{name}+{id}+{public}").parse().unwrap();
        WitnessKey { key, verification }
    }

    pub fn verification_key(&self) -> &VerificationKey {
        &self.verification
    }

    pub fn sign(&self, body: &str, at: Timestamp) -> NoteSignature {
        let seconds = u64::try_from(at.as_micros() / 1_000_000).unwrap();
        let signature = self.key.sign(&format!("cosignature/v1\ntime {seconds}\n{body}"));
        NoteSignature {
            name: self.verification.name().to_owned(),
            key_id: self.verification.id(),
            bytes: [&seconds.to_be_bytes(), &signature.bytes[..]].concat(),
        }
    }
}
