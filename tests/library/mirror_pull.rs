//! Which mirrors a pull changes, and which metadata a new mirror gets.

use accession::file::{Algorithm, Checksum, Content};
use accession::mirror::{MirrorStatus, Primary, PullOptions, PullReport};
use accession::{Change, Expected, IfMissing, ListingEntry, Registry, Selection};
use harness::pulls::PullPolicy;
use harness::values::{AtTime, clock};

use harness::exported::{manifest_of, primary_of};
use harness::history::{change, id, instances, name, second, step};
use harness::store::new_registry;
use harness::values::{stating, with_file};

/// A manifest of a dataset that held these sets one after another.
fn primary(dataset: &str, sets: &[&[&str]]) -> Primary {
    let us = new_registry();
    let mut held: &[&str] = &[];
    for (seconds, set) in sets.iter().enumerate() {
        let ingest = set.iter().filter(|id| !held.contains(id)).copied();
        let delete = held.iter().filter(|id| !set.contains(id)).copied();
        step(&us, dataset, seconds as i64, ingest, delete);
        held = set;
    }
    us.edit_dataset(&name(dataset), |dataset| {
        dataset.title = Some("Primary".to_owned());
    })
    .unwrap();
    primary_of(manifest_of(&us, dataset)).unwrap()
}

fn pull(mirror: &Registry, primary: &Primary, policy: PullPolicy, at: i64) -> PullReport {
    try_pull(mirror, primary, policy, at).unwrap()
}

fn try_pull(
    mirror: &Registry,
    primary: &Primary,
    policy: PullPolicy,
    at: i64,
) -> accession::Result<PullReport> {
    let options = PullOptions::new().if_missing(IfMissing::Create).at(second(at));
    policy.pull(mirror, &name("mirror"), primary, options)
}

const SETS: &[&[&str]] = &[&["A"], &["A", "B"], &["A", "B", "C"]];

#[test]
fn a_mirror_that_is_behind_follows_and_only_a_new_one_gets_the_record_of_its_primary() {
    for (is_new, title) in [(true, Some("Primary")), (false, None)] {
        let mirror = new_registry();
        if !is_new {
            step(&mirror, "mirror", 8, ["A"], []);
        }
        let pulled = pull(&mirror, &primary("us", SETS), PullPolicy::Follow, 9);
        assert_eq!(pulled.before.status, MirrorStatus::Behind);
        assert_eq!((pulled.before.mirror.is_none(), pulled.is_identical()), (is_new, true));
        let record = mirror.snapshot().unwrap().dataset(&name("mirror")).unwrap().dataset;
        assert_eq!((record.name, record.title.as_deref()), (name("mirror"), title));
    }
}

#[test]
fn a_mirror_that_diverged_is_replaced_only_by_the_set_that_is_expected() {
    let mirror = new_registry();
    let mut extra = Change::new();
    extra.options = extra.options.if_missing(IfMissing::Create);
    (0..40).for_each(|n| extra.ingest(id(&format!("extra.{n}"))).unwrap());
    mirror.change(&name("mirror"), &extra.at(second(8))).unwrap();
    let before = instances(&mirror, &name("mirror"));
    let primary = primary("us", SETS);
    let refused = pull(&mirror, &primary, PullPolicy::Follow, 9);
    assert_eq!(refused.expect, Some(Expected::Identifier(refused.before.primary.identifier)));
    let held = Expected::Identifier(before.last().unwrap().identifier);
    let options = PullOptions::new().at(second(9)).expect(held);
    let error = mirror.pull(&name("mirror"), &primary, options).unwrap_err();
    assert_eq!(error.kind().as_str(), "not-as-expected");
    assert_eq!(instances(&mirror, &name("mirror")), before);

    let options = PullOptions::new().at(second(9)).expect(refused.expect);
    let pulled = mirror.pull(&name("mirror"), &primary, options).unwrap();
    assert_eq!(pulled.before.status, MirrorStatus::Diverged);
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
    let directory = harness::directory();
    let path = directory.path().join("us.db");
    let ingest = |registry: &Registry, id: &str, at: i64| {
        step(registry, "us", at, [id], []);
    };
    let us = Registry::create(&path, clock()).unwrap();
    (1..).zip(["A", "B"]).for_each(|(at, id)| ingest(&us, id, at));
    let mirror = new_registry();
    let primary = || Primary::from(path.clone());
    let follow = |at: i64| try_pull(&mirror, &primary(), PullPolicy::Follow, at).unwrap();
    assert!(follow(10).is_identical());
    let source = || mirror.snapshot().unwrap().mirror_sources(&name("mirror")).unwrap().remove(0);
    assert_eq!((source().changes, source().timestamp), (2, Some(second(2))));
    // The dataset is remembered, since the primary may get other datasets.
    assert_eq!(source().pull_options.unwrap().primary_dataset, Some(name("us")));
    let backup = directory.path().join("older.db");
    us.back_up(&backup).unwrap();
    ingest(&us, "C", 3);
    assert_eq!(follow(11).before.status, MirrorStatus::Behind);
    assert_eq!(source().changes, 3);
    assert_eq!(follow(12).before.status, MirrorStatus::Identical);
    drop(us);
    // An older state of the primary, and then a different history. Each nightly run reports it.
    std::fs::copy(&backup, &path).unwrap();
    for at in 13..15 {
        let pulled = follow(at);
        assert_eq!((pulled.before.status, pulled.is_identical()), (MirrorStatus::Stale, false));
    }
    ingest(&Registry::open(&path, clock()).unwrap(), "X", 4);
    for at in 15..17 {
        let pulled = follow(at);
        let first = pulled.before.first_difference.map(|it| (it.change, it.timestamp));
        assert_eq!((pulled.before.status, first), (MirrorStatus::Rewritten, Some((3, second(3)))));
        assert!(source().failed.is_some());
    }
    assert!(try_pull(&mirror, &primary(), PullPolicy::Reset, 17).unwrap().is_identical());
    assert_eq!(source().timestamp, Some(second(4)));
    assert_eq!(follow(18).before.status, MirrorStatus::Identical);
}

/// A record of the file of granule A: `s1` is a SHA-256, `x1` a SHA-512, `m1` an MD5, `7` a size.
fn stated(text: &str) -> Change {
    let entries = text.split(' ').map(|word| {
        let algorithm = match &word[..1] {
            "s" => Algorithm::Sha256,
            "x" => Algorithm::Sha512,
            "m" => Algorithm::Md5,
            _ => return with_file("A", "A", Some(word.parse().unwrap()), None),
        };
        let bytes = vec![word.as_bytes()[1]; algorithm.checksum_bytes().unwrap()];
        with_file("A", "A", None, Some(Checksum::from_bytes(algorithm, &bytes).unwrap()))
    });
    let contents = entries.flat_map(|entry| entry.content.unwrap().files());
    let content = Content::of(&id("A"), contents.collect()).unwrap();
    stating([ListingEntry { content: Some(content), ..id("A").into() }])
}

/// The record of A, in the same form.
fn known(registry: &Registry) -> String {
    let snapshot = registry.snapshot().unwrap();
    let latest = Selection::Dataset { name: name("mirror"), at: None };
    let set = snapshot.select(&latest).unwrap().set;
    let mut files = snapshot.registry().files(&set).map(Result::unwrap);
    drop(snapshot);
    let content = files.find(|it| it.granule_id == id("A")).unwrap().content;
    let mut words = Vec::new();
    for file in content.files() {
        words.extend(file.checksums().iter().map(|checksum| {
            let algorithm = match checksum.algorithm() {
                Algorithm::Sha512 => 'x',
                Algorithm::Sha256 => 's',
                _ => 'm',
            };
            format!("{algorithm}{}", char::from(checksum.as_bytes()[0]))
        }));
        words.extend(file.size().map(|size| size.to_string()));
    }
    words.join(" ")
}

/// Steps in order. `us` or `here`: the primary or the mirror records something. `us -` and `us +`: the primary
/// deletes the granule, and ingests it again. `aside`: the primary's log is set aside. `pull` or `older`: the
/// mirror is pulled from the present log or from the one set aside, with this status and resulting record (`!`
/// means not identical).
const NIGHTS: &[&[&str]] = &[
    // Records that the digest does not cover are pulled as well, and again.
    &["us s1", "pull behind s1", "us m1 7", "pull identical s1 m1 7", "pull identical s1 m1 7"],
    &["us s1 m1 7", "pull behind s1 m1 7", "us 8", "pull behind 8", "us 7", "pull behind 7"],
    // An older log reverts nothing. One that continues is followed.
    &[
        "us s1",
        "us s2",
        "aside",
        "us s3",
        "pull behind s3",
        "older other-content !s3",
        "pull identical s3",
    ],
    &["us s1", "us s2", "aside", "pull behind s2", "us s3", "pull behind s3", "older ahead !s3"],
    &["us s1", "pull behind s1", "us s2", "us s3", "pull behind s3"],
    // The mirror's own checksums stay beside those that the primary adds, and can contradict them.
    &["us s1", "pull behind s1", "here m1", "us x1", "pull identical x1 s1 m1"],
    &[
        "us s1",
        "pull behind s1",
        "here m1",
        "us m2",
        "pull identical !s1 m1",
        "us s3",
        "pull behind s3",
    ],
    // The checksum that the primary replaced is the one that the mirror recorded itself, or a different one.
    &["here s1", "us s1", "us s2", "us s3", "pull behind s3"],
    &["here s9", "us s1", "us s2", "pull other-content !s9", "pull other-content !s9"],
    // A granule that was deleted and ingested again has the record of the second ingest.
    &["us s1", "pull behind s1", "us -", "us +", "us s2", "pull behind s2"],
    &["us s1", "pull behind s1", "us -", "us +", "pull identical "],
];

#[test]
fn a_pull_takes_the_bytes_of_the_primary_and_nothing_that_was_found_out_here() {
    for nights in NIGHTS {
        let (us, mirror, mut older) = (new_registry(), new_registry(), Vec::new());
        let apply = |registry: &Registry, dataset: &str, change: Change, at: i64| {
            registry.change(&name(dataset), &change.at(second(at))).unwrap();
        };
        apply(&us, "us", change(["A", "Z"], []), 0);
        for (at, night) in (1..).zip(*nights) {
            let (what, rest) = night.split_once(' ').unwrap_or((night, ""));
            match (what, rest) {
                ("us", "-") => apply(&us, "us", change([], ["A"]), at),
                ("us", "+") => apply(&us, "us", change(["A"], []), at),
                ("us", words) => apply(&us, "us", stated(words), at),
                ("here", words) => {
                    if !mirror.snapshot().unwrap().has_dataset(&name("mirror")).unwrap() {
                        apply(&mirror, "mirror", change(["A", "Z"], []), 0);
                    }
                    apply(&mirror, "mirror", stated(words), at);
                }
                ("aside", _) => older = manifest_of(&us, "us"),
                (pulled, expected) => {
                    let log =
                        if pulled == "older" { older.clone() } else { manifest_of(&us, "us") };
                    let log = primary_of(log).unwrap();
                    let pulled = pull(&mirror, &log, PullPolicy::Follow, at);
                    let status = serde_json::to_value(pulled.before.status).unwrap();
                    let mark = if pulled.is_identical() { "" } else { "!" };
                    let found = format!("{} {mark}{}", status.as_str().unwrap(), known(&mirror));
                    assert_eq!(found, expected, "{night} of {nights:?}");
                }
            }
        }
        assert!(mirror.verify(&name("mirror")).unwrap().ok);
    }
}
