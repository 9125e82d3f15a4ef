//! An archive that signs what it states, with keys that anybody can make.

use accession::registry::SignedCheckpoint;
use accession::signed::{KeyUse, Note, SigningKey};
use accession::{Registry, Timestamp};

use crate::values::now;

/// A key of the archive, or of a witness.
pub fn key(key_use: KeyUse, seed: u8) -> SigningKey {
    SigningKey::of_seed("us.example.org/statements", key_use, [seed; 32]).unwrap()
}

/// States what is new, and signs all of it.
pub fn sign(us: &Registry, key: &SigningKey) {
    sign_at(us, key, now());
}

/// As [`sign`], with a clock that shows the time `at`.
pub fn sign_at(us: &Registry, key: &SigningKey, at: Timestamp) {
    let log = us.state_sets(at, &[]).unwrap();
    let checkpoint = log.checkpoint(key.verification_key().name());
    let body = checkpoint.to_string();
    let note = Note { signatures: vec![key.sign(&body, at)], body };
    let policy = format!("log {}\nquorum none\n", key.verification_key());
    let signed = SignedCheckpoint { checkpoint, note, policy, signed: at };
    us.save_checkpoint(&log.tree, &signed).unwrap();
}
