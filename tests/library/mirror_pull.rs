//! Which mirrors a pull changes, and which record a new mirror gets.

use accession::mirror::{Primary, PullOptions, PullPolicy, Pulled, Status};
use accession::{Change, Limit, Limits, Registry, Stamp};

use crate::exported::{manifest_of, primary_of};
use crate::harness::history::{change, id, instances, name, now, second};
use crate::harness::store::new_registry;

/// A manifest of a dataset that held these sets one after another.
fn primary(dataset: &str, sets: &[&[&str]]) -> Primary {
    let us = new_registry();
    let mut held: &[&str] = &[];
    for (seconds, set) in sets.iter().enumerate() {
        let ingest = set.iter().filter(|id| !held.contains(id)).copied();
        let delete = held.iter().filter(|id| !set.contains(id)).copied();
        let stamp = Stamp::at(second(seconds as i64), now());
        us.change(&name(dataset), &change(ingest, delete), &stamp).unwrap();
        held = set;
    }
    us.edit_dataset(&name(dataset), &Stamp::now(now()), |dataset| {
        dataset.title = Some("Primary".to_owned());
    })
    .unwrap();
    primary_of(manifest_of(&us, dataset)).unwrap()
}

fn pull(mirror: &Registry, primary: &Primary, policy: PullPolicy, at: i64) -> Pulled {
    try_pull(mirror, primary, policy, at).unwrap()
}

fn try_pull(
    mirror: &Registry,
    primary: &Primary,
    policy: PullPolicy,
    at: i64,
) -> accession::error::Result<Pulled> {
    let options = PullOptions { create_dataset: true, policy, ..PullOptions::default() };
    let stamp = Stamp::at(second(at), now());
    accession::mirror::pull(mirror, &name("mirror"), primary, options, &stamp)
}

const SETS: &[&[&str]] = &[&["A"], &["A", "B"], &["A", "B", "C"]];

#[test]
fn a_new_mirror_is_behind_and_gets_the_record_of_its_primary() {
    let mirror = new_registry();
    let pulled = pull(&mirror, &primary("us", SETS), PullPolicy::Follow, 9);
    assert_eq!((pulled.before.status, pulled.before.mirror), (Status::Behind, None));
    let record = mirror.snapshot().unwrap().dataset(&name("mirror")).unwrap().dataset;
    assert_eq!(record.name, name("mirror"));
    assert_eq!(record.title.as_deref(), Some("Primary"));
}

#[test]
fn a_mirror_that_is_behind_follows_and_keeps_its_own_record() {
    let mirror = new_registry();
    mirror.change(&name("mirror"), &change(["A"], []), &Stamp::at(second(8), now())).unwrap();
    let pulled = pull(&mirror, &primary("us", SETS), PullPolicy::Follow, 9);
    assert_eq!(pulled.before.status, Status::Behind);
    assert!(pulled.is_identical());
    assert_eq!(mirror.snapshot().unwrap().dataset(&name("mirror")).unwrap().dataset.title, None);
}

#[test]
fn a_reset_replaces_what_the_mirror_holds_within_the_limit_on_deletions() {
    let mirror = new_registry();
    let mut extra = Change::new();
    extra.options.create_dataset = true;
    (0..40).for_each(|n| extra.ingest(id(&format!("extra.{n}"))).unwrap());
    mirror.change(&name("mirror"), &extra, &Stamp::at(second(8), now())).unwrap();
    let before = instances(&mirror, &name("mirror"));
    let primary = primary("us", SETS);
    let guarded = PullPolicy::Reset(Limits::default());
    let refused = try_pull(&mirror, &primary, guarded, 9).unwrap_err();
    assert_eq!(refused.kind().as_str(), "too-many-deletions");
    assert_eq!(instances(&mirror, &name("mirror")), before);

    let pulled = pull(
        &mirror,
        &primary,
        PullPolicy::Reset(Limits { max_delete: Some(Limit::Granules(40)), ..Limits::default() }),
        9,
    );
    assert_eq!(pulled.before.status, Status::Diverged);
    assert!(pulled.is_identical());
    assert_eq!(pulled.applied.instances[0].identifier, pulled.before.primary.identifier);
}

#[test]
fn a_pull_that_follows_the_primary_is_not_limited() {
    let mirror = new_registry();
    let many: Vec<String> = (0..40).map(|n| format!("granule.{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    pull(&mirror, &primary("us", &[&many]), PullPolicy::Follow, 8);
    let pulled = pull(&mirror, &primary("us", &[&many, &["A"]]), PullPolicy::Follow, 9);
    assert_eq!(pulled.applied.instances[0].deleted, 40);
}

#[test]
fn a_primary_that_is_a_registry_is_remembered_as_a_log_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("us.db");
    let ingest = |registry: &Registry, id: &str, at: i64| {
        let stamp = Stamp::at(second(at), now());
        registry.change(&name("us"), &change([id], []), &stamp).unwrap();
    };
    let us = Registry::create(&path).unwrap();
    (1..).zip(["A", "B"]).for_each(|(at, id)| ingest(&us, id, at));
    let mirror = new_registry();
    let primary = || Primary::open(&path, &name("mirror"), None, now()).unwrap();
    let follow = |at: i64| try_pull(&mirror, &primary(), PullPolicy::Follow, at).unwrap();
    assert!(follow(10).is_identical());
    let source = || mirror.snapshot().unwrap().mirror_sources(&name("mirror")).unwrap().remove(0);
    assert_eq!(source().last.map(|last| (last.number, last.timestamp)), Some((2, second(2))));
    // The dataset is remembered, since the primary may get others.
    assert_eq!(source().pulled.unwrap().options.primary_dataset, Some(name("us")));
    let backup = directory.path().join("older.db");
    us.back_up(&backup).unwrap();
    ingest(&us, "C", 3);
    assert_eq!(follow(11).before.status, Status::Behind);
    assert_eq!(source().last.map(|last| last.number), Some(3));
    assert_eq!(follow(12).before.status, Status::Identical);
    drop(us);
    // An older state of it, and then another history; each night says so.
    std::fs::copy(&backup, &path).unwrap();
    for at in 13..15 {
        let pulled = follow(at);
        assert_eq!((pulled.before.status, pulled.is_identical()), (Status::Stale, false));
    }
    ingest(&Registry::open(&path, accession::Access::Write).unwrap(), "X", 4);
    for at in 15..17 {
        let pulled = follow(at);
        let first = pulled.before.first_difference.map(|it| (it.change, it.timestamp));
        assert_eq!((pulled.before.status, first), (Status::Rewritten, Some((3, second(3)))));
        assert!(source().failed.is_some());
    }
    let reset = PullPolicy::Reset(Limits::NONE);
    assert!(try_pull(&mirror, &primary(), reset, 17).unwrap().is_identical());
    assert_eq!(source().last.map(|last| last.timestamp), Some(second(4)));
    assert_eq!(follow(18).before.status, Status::Identical);
}

#[test]
fn a_comparison_with_an_earlier_state_says_nothing_about_the_primary() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("us.db");
    let us = Registry::create(&path).unwrap();
    for (at, id) in (1..).zip(["A", "B"]) {
        us.change(&name("us"), &change([id], []), &Stamp::at(second(at), now())).unwrap();
    }
    let mirror = new_registry();
    let primary = Primary::open(&path, &name("us"), None, now()).unwrap();
    assert!(pull(&mirror, &primary, PullPolicy::Follow, 10).is_identical());
    let before = mirror.snapshot().unwrap().mirror_sources(&name("mirror")).unwrap();
    let at = Some(accession::Moment::Instant(second(1)));
    let compared = accession::mirror::compare(&mirror, &name("mirror"), &primary, at).unwrap();
    assert_eq!(compared.status().status, Status::Diverged);
    assert!(!compared.has_memory());
    let options = PullOptions { primary_at: at, ..PullOptions::default() };
    let stamp = Stamp::at(second(11), now());
    let pulled =
        accession::mirror::pull(&mirror, &name("mirror"), &primary, options, &stamp).unwrap();
    assert!(!pulled.is_identical());
    let after = mirror.snapshot().unwrap().mirror_sources(&name("mirror")).unwrap();
    assert_eq!(after, before);
}
