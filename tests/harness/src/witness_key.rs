//! The key of a witness that cosigns the checkpoints of an archive: `tlog-cosignature`.

use accession::Timestamp;
use accession::proof::{Note, SigningKey, VerificationKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};

/// The type of the key.
const COSIGNS: u8 = 4;

/// A key with a name. Anyone can make one.
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

    /// Signs a checkpoint, and returns the line of the cosignature.
    pub fn sign(&self, body: &str, at: Timestamp) -> String {
        let seconds = u64::try_from(at.as_micros() / 1_000_000).unwrap();
        let mut note = Note::new(format!("cosignature/v1\ntime {seconds}\n{body}"));
        note.sign(&self.key);
        let note = note.to_string();
        let signature = BASE64.decode(note.trim_end().rsplit(' ').next().unwrap()).unwrap();
        let id = self.verification.id().to_be_bytes();
        // The first 4 bytes are the number of a key: `id` replaces it, and the time follows.
        let signature = [&id[..], &seconds.to_be_bytes(), &signature[4..]].concat();
        format!("— {} {}", self.verification.name(), BASE64.encode(signature))
    }
}
