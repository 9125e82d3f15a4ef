//! What a mirror keeps of the statements of its primary, on both stores.

use std::path::Path;
use std::sync::Arc;

use accession::mirror::{
    FollowOptions, FollowedStatements, Primary, PullOptions, PullPolicy, Pulled, RootOf, Status,
    pull,
};
use accession::publish::publish_statements;
use accession::signed::{KeyUse, LogCheckpoint, Policy, ProofVerdict};
use accession::{Limits, Registry, Selection, Stamp, Timestamp};

use harness::exported::publish_all;
use harness::history::{change, name, now, second};
use harness::signing::{key, sign, sign_at};
use harness::store::{is_on_server, new_registry, new_registry_in};

const FOLLOW: PullPolicy = PullPolicy::Follow;
const RESET: PullPolicy = PullPolicy::Reset(Limits::NONE);

/// An archive: a registry with so many changes of a dataset, each of one granule.
struct Archive(Registry, u32);

impl Archive {
    fn new() -> Self {
        Archive(Registry::in_memory().unwrap(), 0)
    }

    fn change(&self, dataset: &str, at: i64, granule: &str) {
        let stamp = Stamp::at(second(at), now());
        self.0.change(&name(dataset), &change([granule], []), &stamp).unwrap();
    }

    /// Ingests granules of this archive, up to a number.
    fn change_to(&mut self, up_to: u32, prefix: &str) {
        for number in self.1 + 1..=up_to {
            self.change("US", number.into(), &format!("{prefix}{number:03}"));
        }
        self.1 = up_to;
    }

    fn sign(&self) {
        sign(&self.0, &key(KeyUse::Log, 7));
    }

    /// Publishes what it has, and beside it what was signed by an archive.
    fn publish_with(&self, signed: &Archive, directory: &Path) {
        let _ = std::fs::remove_dir_all(directory);
        std::fs::create_dir(directory).unwrap();
        publish_all(&self.0, directory).unwrap();
        publish_statements(&signed.0, directory).unwrap();
    }

    /// Ingests, signs and publishes.
    fn publish(&mut self, up_to: u32, prefix: &str, directory: &Path) {
        self.change_to(up_to, prefix);
        self.sign();
        self.publish_with(self, directory);
    }
}

/// Pulls a dataset of a site and cosigns.
fn pull_from(
    site: &Path,
    dataset: &str,
    mirror: &Registry,
    policy: PullPolicy,
    at: Timestamp,
) -> Pulled {
    let primary = Primary::open(site, &name(dataset), None, now()).unwrap();
    let witness = key(KeyUse::Witness, 7);
    let cosign = Arc::new(move |_: &RootOf<'_>, checkpoint: &LogCheckpoint| {
        Ok(witness.sign(&checkpoint.to_string(), now()))
    });
    let primary = primary.following(FollowOptions { policy: None, cosign: Some(cosign) });
    let options = PullOptions { create_dataset: true, policy, ..PullOptions::default() };
    pull(mirror, &name(dataset), &primary, options, &Stamp::at(at, now())).unwrap()
}

/// How many statements the proof of what the mirror holds is in, and whether it was cosigned.
fn proved(mirror: &Registry) -> (String, bool) {
    let selection = Selection::Dataset { name: name("US"), at: None };
    let proof = mirror.snapshot().unwrap().prove(&selection, None).unwrap().proof;
    let policy = Policy::of_log(key(KeyUse::Log, 7).verification_key().clone());
    assert_eq!(ProofVerdict::of(&proof, &policy, None, None, now()).problems, []);
    let cosigned =
        proof.note.verified(key(KeyUse::Witness, 7).verification_key()).unwrap().is_some();
    (proof.note.body.lines().nth(1).unwrap().to_owned(), cosigned)
}

fn assert_sound(mirror: &Registry) {
    assert_eq!(mirror.verify_all(&[]).unwrap().finish().unwrap().findings, 0);
}

#[test]
fn a_mirror_keeps_and_proves_what_it_has_verified_until_it_is_reset_to_another_tree() {
    let directory = tempfile::tempdir().unwrap();
    let (site, mirror) = (directory.path().join("site"), new_registry());
    let (mut us, mut other, mut night) = (Archive::new(), Archive::new(), 1_000);
    // With the second change, the end of the first one is stated, too.
    for (is_other, changes, size, policy, status, is_pulled) in [
        (false, 1, "1", FOLLOW, Status::Behind, true),
        (false, 1, "1", FOLLOW, Status::Identical, true),
        // Of several tiles, of the first of which the mirror has a part.
        (false, 300, "301", FOLLOW, Status::Behind, true),
        (true, 2, "301", FOLLOW, Status::Forked, false),
        (false, 300, "301", FOLLOW, Status::Forked, false),
        (true, 2, "2", RESET, Status::Forked, true),
        (true, 2, "2", FOLLOW, Status::Identical, true),
        (false, 300, "2", FOLLOW, Status::Forked, false),
    ] {
        let (archive, prefix) = if is_other { (&mut other, "X") } else { (&mut us, "A") };
        archive.publish(changes, prefix, &site);
        night += 1;
        let pulled = pull_from(&site, "US", &mirror, policy, second(night));
        assert_eq!((pulled.before.status, pulled.is_identical()), (status, is_pulled), "{night}");
        let statements = pulled.before.statements.unwrap();
        assert_eq!(statements.cosigned, status != Status::Forked);
        assert_eq!(statements.fork.is_some(), status == Status::Forked);
        // What is followed from a reset on is cosigned by the next pull.
        assert_eq!(proved(&mirror), (size.to_owned(), policy == FOLLOW), "{night}");
        assert_sound(&mirror);
    }
}

#[test]
fn a_log_that_contradicts_what_is_stated_is_refused_each_night_until_one_is_mended() {
    let directory = tempfile::tempdir().unwrap();
    let (site, mirror) = (directory.path().join("site"), new_registry());
    let (mut us, mut other, mut night) = (Archive::new(), Archive::new(), 1_000);
    us.change("ELSE", 1, "E");
    other.change("ELSE", 1, "E");
    other.change_to(1, "A");
    us.publish(1, "A", &site);
    let mut pulled = |dataset: &str, policy: PullPolicy| {
        night += 1;
        let pulled = pull_from(&site, dataset, &mirror, policy, second(night));
        let FollowedStatements { misstated, size, .. } = pulled.before.statements.clone().unwrap();
        (pulled.before.status, misstated.is_some(), size)
    };
    assert_eq!(pulled("US", FOLLOW), (Status::Behind, false, 2));
    assert_eq!(pulled("ELSE", FOLLOW), (Status::Behind, false, 2));
    // The log gets another second change than the one that is stated. The other dataset of the site keeps
    // the statements first.
    us.change_to(2, "A");
    us.sign();
    other.change_to(2, "X");
    other.publish_with(&us, &site);
    assert_eq!(pulled("ELSE", FOLLOW), (Status::Identical, false, 4));
    for _ in 0..3 {
        assert_eq!(pulled("US", FOLLOW), (Status::Misstated, true, 4));
    }
    // Nor is it another one after a reset.
    assert_eq!(pulled("US", RESET), (Status::Misstated, true, 4));
    assert_eq!(pulled("US", FOLLOW), (Status::Misstated, true, 4));
    us.publish_with(&us, &site);
    assert_eq!(pulled("US", FOLLOW), (Status::Rewritten, false, 4));
    assert_eq!(pulled("US", RESET), (Status::Rewritten, false, 4));
    assert_eq!(pulled("US", FOLLOW), (Status::Identical, false, 4));
    // An older state of the log, which is followed, lacks what was stated, and was compared before.
    let mut older = Archive::new();
    older.change("ELSE", 1, "E");
    older.change_to(1, "A");
    older.publish_with(&us, &site);
    assert_eq!(pulled("US", FOLLOW), (Status::Stale, true, 4));
    assert_eq!(pulled("US", RESET), (Status::Stale, true, 4));
    assert_eq!(pulled("US", FOLLOW), (Status::Misstated, true, 4));
    // Statements of an older state say nothing new.
    us.publish_with(&older, &site);
    older.sign();
    let _ = std::fs::remove_dir_all(site.join("statements"));
    publish_statements(&older.0, &site).unwrap();
    assert_eq!(pulled("US", FOLLOW), (Status::Behind, false, 4));
    us.change_to(3, "A");
    us.0.rename_dataset(&name("US"), &name("US.2"), &Stamp::now(now())).unwrap();
    us.sign();
    us.publish_with(&us, &site);
    assert_eq!(pulled("ELSE", FOLLOW), (Status::Identical, false, 6));
    // Under another name since.
    assert_eq!(pulled("US", FOLLOW), (Status::Behind, false, 6));
    assert_sound(&mirror);
}

#[test]
fn statements_dated_in_the_future_are_not_pulled_and_not_cosigned() {
    let directory = tempfile::tempdir().unwrap();
    let (site, mirror) = (directory.path().join("site"), new_registry());
    let mut us = Archive::new();
    us.change("ELSE", 1, "E");
    us.change_to(1, "A");
    let later = |seconds: i64| Timestamp::from_micros(now().as_micros() + seconds * 1_000_000);
    let pulled_when_stated_at = |at: Timestamp, night: i64| {
        sign_at(&us.0, &key(KeyUse::Log, 7), at);
        us.publish_with(&us, &site);
        let pulled = pull_from(&site, "US", &mirror, FOLLOW, second(night));
        (pulled.before.status, pulled.before.statements.unwrap())
    };
    // Clocks differ by up to five minutes.
    let (status, statements) = pulled_when_stated_at(later(300).unwrap(), 1_000);
    assert_eq!((status, statements.cosigned), (Status::Behind, true));
    let (status, statements) = pulled_when_stated_at(later(8 * 86_400).unwrap(), 1_001);
    assert_eq!((status, statements.cosigned), (Status::Misstated, false));
    let misstated = statements.misstated.unwrap();
    assert!(
        misstated.starts_with("the statement 2 of ELSE is dated in the future: "),
        "{misstated}"
    );
}

#[test]
fn what_was_compared_before_is_not_read_again() {
    if is_on_server() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path().join("site");
    let (path, mirror) = new_registry_in(directory.path());
    let mut us = Archive::new();
    us.publish(300, "A", &site);
    assert!(pull_from(&site, "US", &mirror, FOLLOW, second(1_000)).is_identical());
    let file = rusqlite::Connection::open(path).unwrap();
    assert_eq!(file.execute("DELETE FROM followed_statement WHERE number < 299", []).unwrap(), 299);
    for (night, changes) in [(1_001, 300), (1_002, 310), (1_003, 310)] {
        us.publish(changes, "A", &site);
        let pulled = pull_from(&site, "US", &mirror, FOLLOW, second(night));
        let FollowedStatements { size, cosigned, .. } = pulled.before.statements.clone().unwrap();
        assert!(pulled.is_identical() && cosigned, "{night}");
        assert_eq!(size, if changes == 300 { 300 } else { 311 });
    }
    // Whoever needs them misses them.
    let findings: Vec<_> = mirror.verify_all(&[]).unwrap().map(Result::unwrap).collect();
    let missing = |text: &str| text.contains("its statement 0 is missing");
    assert!(findings.iter().flat_map(|it| &it.mismatches).any(|it| missing(&it.text)));
}

#[test]
fn statements_of_a_dataset_that_had_the_name_before_contradict_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path().join("site");
    let (us, follower) = (Archive::new(), new_registry());
    let stamp = Stamp::now(now());
    let publish = || {
        us.sign();
        us.publish_with(&us, &site);
    };
    let pulled = |mirror: &Registry, policy, at| {
        let pulled = pull_from(&site, "US", mirror, policy, second(at));
        let statements = pulled.before.statements.clone().unwrap();
        (pulled.before.status, pulled.is_identical(), statements.of_former, statements.misstated)
    };
    let identical = |status, of_former| {
        (status, true, Some(of_former).filter(|of_former| *of_former > 0), None)
    };
    (1..=3).for_each(|at| us.change("US", at, &format!("A{at}")));
    publish();
    assert_eq!(pulled(&follower, FOLLOW, 1_000), identical(Status::Behind, 0));
    us.0.rename_dataset(&name("US"), &name("WRONG"), &stamp).unwrap();
    us.0.withdraw_dataset(&name("WRONG"), "the name was wrong", &stamp).unwrap();
    us.change("US", 10, "B1");
    publish();
    assert_eq!(pulled(&new_registry(), FOLLOW, 1_000), identical(Status::Behind, 3));
    us.change("US", 11, "B2");
    publish();
    assert_eq!(pulled(&new_registry(), FOLLOW, 1_000), identical(Status::Behind, 3));
    // Who followed the former one decides.
    assert_eq!(pulled(&follower, FOLLOW, 1_001).0, Status::Rewritten);
    assert_eq!(pulled(&follower, RESET, 1_002), identical(Status::Rewritten, 3));
    assert_eq!(pulled(&follower, FOLLOW, 1_003), identical(Status::Identical, 0));
    // A dataset that had another name before takes it over.
    us.0.rename_dataset(&name("US"), &name("WRONG.2"), &stamp).unwrap();
    us.0.withdraw_dataset(&name("WRONG.2"), "wrong, too", &stamp).unwrap();
    us.change("NEW", 20, "C1");
    publish();
    us.change("NEW", 21, "C2");
    us.0.rename_dataset(&name("NEW"), &name("US"), &stamp).unwrap();
    publish();
    assert_eq!(pulled(&new_registry(), FOLLOW, 1_000), identical(Status::Behind, 6));
}
