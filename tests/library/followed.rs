//! What a mirror keeps of the statements of its primary, on both stores.

use std::path::Path;
use std::sync::Arc;

use accession::mirror::{FollowOptions, Primary, PullOptions, PullPolicy, Pulled, Status, pull};
use accession::publish::publish_statements;
use accession::registry::SignedCheckpoint;
use accession::signed::{KeyUse, LogCheckpoint, Note, Policy, ProofVerdict, SigningKey};
use accession::{Limits, Registry, Selection, Stamp, Timestamp};

use crate::exported::publish_all;
use crate::harness::history::{change, name, now, second};
use crate::harness::store::new_registry;

fn key(key_use: KeyUse) -> SigningKey {
    SigningKey::of_seed("us.example.org/statements", key_use, [7; 32]).unwrap()
}

/// An archive: a registry with so many changes, each of one granule.
struct Archive(Registry, u32);

impl Archive {
    fn new() -> Self {
        Archive(Registry::in_memory().unwrap(), 0)
    }

    /// Ingests granules of this archive, up to a number, and signs and publishes what it has.
    fn publish(&mut self, up_to: u32, prefix: &str, directory: &Path) {
        let Archive(us, last) = self;
        for number in *last + 1..=up_to {
            let stamp = Stamp::at(second(number.into()), now());
            us.change(&name("US"), &change([&*format!("{prefix}{number:03}")], []), &stamp)
                .unwrap();
        }
        *last = up_to;
        let (log, key) = (us.state_sets(now(), &[]).unwrap(), key(KeyUse::Log));
        let checkpoint = log.checkpoint(key.verification_key().name());
        let body = checkpoint.to_string();
        let note = Note { signatures: vec![key.sign(&body, now())], body };
        let policy = format!("log {}\nquorum none\n", key.verification_key());
        us.save_checkpoint(
            &log.tree,
            &SignedCheckpoint { checkpoint, note, policy, signed: now() },
        )
        .unwrap();
        let _ = std::fs::remove_dir_all(directory);
        std::fs::create_dir(directory).unwrap();
        publish_all(us, directory).unwrap();
        publish_statements(us, directory).unwrap();
    }
}

/// Pulls from a site and cosigns.
fn pull_from(site: &Path, mirror: &Registry, policy: PullPolicy, at: Timestamp) -> Pulled {
    let primary = Primary::open(site, &name("US"), None, now()).unwrap();
    let witness = key(KeyUse::Witness);
    let cosign = Arc::new(move |_: &_, checkpoint: &LogCheckpoint| {
        Ok(witness.sign(&checkpoint.to_string(), now()))
    });
    let primary = primary.following(FollowOptions { policy: None, cosign: Some(cosign) });
    let options = PullOptions { create_dataset: true, policy, ..PullOptions::default() };
    pull(mirror, &name("US"), &primary, options, &Stamp::at(at, now())).unwrap()
}

/// How many statements the proof of what the mirror holds is in, and whether it was cosigned.
fn proved(mirror: &Registry) -> (String, bool) {
    let selection = Selection::Dataset { name: name("US"), at: None };
    let proof = mirror.snapshot().unwrap().prove(&selection, None).unwrap().proof;
    let policy = Policy::of_log(key(KeyUse::Log).verification_key().clone());
    assert_eq!(ProofVerdict::of(&proof, &policy, None, None).problems, []);
    let cosigned = proof.note.verified(key(KeyUse::Witness).verification_key()).unwrap().is_some();
    (proof.note.body.lines().nth(1).unwrap().to_owned(), cosigned)
}

#[test]
fn a_mirror_keeps_and_proves_what_it_has_verified_until_it_is_reset_to_another_tree() {
    let directory = tempfile::tempdir().unwrap();
    let (site, mirror) = (directory.path().join("site"), new_registry());
    let (mut us, mut other, mut night) = (Archive::new(), Archive::new(), 1_000);
    let (follow, reset) = (PullPolicy::Follow, PullPolicy::Reset(Limits::NONE));
    // With the second change, the end of the first one is stated, too.
    for (is_other, changes, size, policy, status, is_pulled) in [
        (false, 1, "1", follow, Status::Behind, true),
        (false, 1, "1", follow, Status::Identical, true),
        // Of several tiles, of the first of which the mirror has a part.
        (false, 300, "301", follow, Status::Behind, true),
        (true, 2, "301", follow, Status::Forked, false),
        (false, 300, "301", follow, Status::Forked, false),
        (true, 2, "2", reset, Status::Forked, true),
        (true, 2, "2", follow, Status::Identical, true),
        (false, 300, "2", follow, Status::Forked, false),
    ] {
        let (archive, prefix) = if is_other { (&mut other, "X") } else { (&mut us, "A") };
        archive.publish(changes, prefix, &site);
        night += 1;
        let pulled = pull_from(&site, &mirror, policy, second(night));
        assert_eq!((pulled.before.status, pulled.is_identical()), (status, is_pulled), "{night}");
        let statements = pulled.before.statements.unwrap();
        assert_eq!(statements.cosigned, status != Status::Forked);
        assert_eq!(statements.fork.is_some(), status == Status::Forked);
        // What is followed from a reset on is cosigned by the next pull.
        assert_eq!(proved(&mirror), (size.to_owned(), policy == follow), "{night}");
        assert_eq!(mirror.verify_all(&[]).unwrap().finish().unwrap().findings, 0);
    }
}
