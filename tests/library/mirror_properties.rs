//! Properties of mirrors with random histories, and altered manifests.

use harness::values::{AtTime, clock};
use std::collections::BTreeSet;

use accession::dataset::DatasetMetadata;
use accession::mirror::{MirrorStatus, Primary, PullOptions};
use accession::{Difference, Expected, Identifier, IfMissing, Registry};
use proptest::prelude::*;

use crate::properties::resealed;
use harness::exported::{import_of, manifest_of, primary_of};
use harness::history::{History, POOL, cases, change, instances, name, second};
use harness::oracle::naive;
use harness::store::new_registry;

type Toggles = Vec<BTreeSet<usize>>;

fn toggles() -> impl Strategy<Value = Toggles> {
    let some = prop_oneof![
        4 => prop::collection::btree_set(0..6_usize, 1..4),
        1 => prop::collection::btree_set(0..POOL.len(), 1..8),
    ];
    prop::collection::vec(some, 1..8)
}

fn build(registry: &Registry, dataset: &str, toggles: &Toggles) -> History {
    let mut history = History::default();
    for (seconds, indices) in toggles.iter().enumerate() {
        let ids = indices.iter().map(|index| POOL[*index].as_str()).collect();
        let plan = history.toggle(&ids);
        history.change(registry, &name(dataset), second(seconds as i64), &plan);
    }
    history
}

/// Reads a manifest into an empty mirror and by an import. Either both reject it, or none.
fn read(bytes: Vec<u8>) -> accession::Result<()> {
    let mirror = new_registry();
    let primary = primary_of(bytes.clone())?;
    mirror.add_dataset(&DatasetMetadata::named(name("mirror"))).unwrap();
    let compared =
        mirror.compare_mirror(&name("mirror"), &primary).and_then(|compared| compared.finish());
    let imported = import_of(&mirror, "us", bytes);
    assert_eq!(compared.is_ok(), imported.is_ok(), "{compared:?} {imported:?}");
    imported.map(drop)
}

fn identifiers(history: &History) -> Vec<Identifier> {
    history.sets.values().map(|set| naive(set.iter().map(String::as_str))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(40), ..ProptestConfig::default() })]

    #[test]
    fn status_and_differences_match_the_naive_ones_and_a_pull_ends_identical(
        ours in toggles(),
        theirs in toggles(),
        is_follower in any::<bool>(),
        up_to in 0..8_usize,
    ) {
        // A mirror follows its primary if the primary once held its set.
        let ours = if is_follower { theirs[..=up_to % theirs.len()].to_vec() } else { ours };
        let (mirror, us) = (new_registry(), new_registry());
        let here = build(&mirror, "mirror", &ours);
        let there = build(&us, "us", &theirs);
        let primary = primary_of(manifest_of(&us, "us")).unwrap();

        let theirs_now = there.held();
        let (mut missing, mut unexpected) = (BTreeSet::new(), BTreeSet::new());
        let mut differences = mirror.compare_mirror(&name("mirror"), &primary).unwrap();
        let found = differences.history().clone();
        let mut listed = Vec::new();
        for difference in differences.by_ref() {
            let (set, granule_id) = match difference.unwrap() {
                Difference::OnlyLeft(granule_id) => (&mut unexpected, granule_id),
                Difference::OnlyRight(entry) => (&mut missing, entry.granule_id),
                Difference::OtherContent(_) => continue,
            };
            listed.push(granule_id.to_string());
            set.insert(granule_id.to_string());
        }
        let counts = differences.finish().unwrap().counts;
        let held = here.held();
        prop_assert_eq!(&missing, &theirs_now.difference(&held).cloned().collect());
        prop_assert_eq!(&unexpected, &held.difference(&theirs_now).cloned().collect());
        prop_assert_eq!(counts.matched, held.intersection(&theirs_now).count() as u64);
        prop_assert_eq!(counts.only_right as usize, missing.len());
        prop_assert_eq!(counts.only_left as usize, unexpected.len());
        // Each granule once, in canonical order.
        prop_assert!(listed.iter().eq(missing.union(&unexpected)));

        let ours_now = *identifiers(&here).last().unwrap();
        let (theirs_ever, ours_ever) = (identifiers(&there), identifiers(&here));
        let latest = theirs_ever.last().unwrap();
        let status = if *latest == ours_now {
            MirrorStatus::Identical
        } else if theirs_ever.contains(&ours_now) {
            MirrorStatus::Behind
        } else if ours_ever.contains(latest) {
            MirrorStatus::Ahead
        } else {
            MirrorStatus::Diverged
        };
        prop_assert_eq!(found.status, status);

        // Without a reset, a pull changes a mirror only if it follows its primary.
        let before = found;
        let follows = matches!(before.status, MirrorStatus::Identical | MirrorStatus::Behind);
        let expect = Expected::Identifier(before.primary.identifier);
        let options = PullOptions::new().dry_run(true);
        let rehearsed = mirror.pull(&name("mirror"), &primary, options.at(second(100))).unwrap();
        prop_assert_eq!(rehearsed.is_identical(), follows);
        if !follows {
            let options = PullOptions::default();
            let refused = mirror.pull(&name("mirror"), &primary, options.at(second(100))).unwrap();
            prop_assert_eq!((refused.before, refused.applied.instances), (before, vec![]));
        }
        here.assert_matches(&mirror, &name("mirror"));

        let options = options.expect(expect);
        mirror.pull(&name("mirror"), &primary, options.at(second(100))).unwrap();
        here.assert_matches(&mirror, &name("mirror"));
        let options = options.dry_run(false);
        let pulled = mirror.pull(&name("mirror"), &primary, options.at(second(100))).unwrap();
        prop_assert_eq!(pulled.applied.instance().is_none(), here.held() == there.held());
        let compared = mirror.compare_mirror(&name("mirror"), &primary).unwrap().finish().unwrap();
        prop_assert_eq!(compared.status.status, MirrorStatus::Identical);
        prop_assert!(compared.counts.has_same_granules());
        prop_assert!(mirror.verify(&name("mirror")).unwrap().ok);
    }
}

/// Three changes, the first with more granules than fit into one line.
fn large() -> (Registry, Vec<u8>) {
    let us = new_registry();
    let ids: Vec<String> = (0..2_500).map(|n| format!("granule.{n:05}")).collect();
    for (seconds, change) in [
        change(ids.iter().map(String::as_str), []),
        change(["x"], ["granule.00007"]),
        change(["granule.00007"], []),
    ]
    .into_iter()
    .enumerate()
    {
        let mut change = change;
        change.options = change.options.note(format!("change {seconds}"));
        us.change(&name("us"), &change.at(second(seconds as i64))).unwrap();
    }
    let bytes = manifest_of(&us, "us");
    (us, bytes)
}

#[test]
fn every_line_that_is_altered_truncated_or_misplaced_is_named() {
    let (_, bytes) = large();
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let refused = |lines: &[String]| -> String {
        let bytes = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
        read(bytes).expect_err("it is refused").to_string()
    };
    let owned = || lines.iter().map(|line| (*line).to_owned()).collect::<Vec<String>>();
    for at in 0..lines.len() {
        let location = format!("us.jsonl:{}: ", at + 1);
        // Replaces up to 37 characters of each line, one at a time.
        for byte in (0..lines[at].len()).step_by(lines[at].len() / 37 + 1) {
            let mut altered = owned();
            let changed = if lines[at].as_bytes()[byte] == b'0' { "1" } else { "0" };
            altered[at].replace_range(byte..=byte, changed);
            let message = refused(&altered);
            assert!(message.starts_with(&location), "{at} {byte}: {message}");
        }
        let mut without = owned();
        without.remove(at);
        refused(&without);
        if at + 1 < lines.len() {
            let mut swapped = owned();
            swapped.swap(at, at + 1);
            refused(&swapped);
        }
        let mut cut = owned();
        cut.truncate(at + 1);
        if at + 1 < lines.len() {
            assert!(refused(&cut).contains("cut short"), "{at}");
        }
    }
}

#[test]
fn a_wrong_identifier_with_correct_checks_is_found_by_recomputing() {
    let (_, bytes) = large();
    let text = String::from_utf8(bytes).unwrap();
    // A forger who knows the format writes one wrong id, with correct checks.
    let forged = resealed(&text, |body| body.replace("00123", "00123a"));
    let refused = read(forged).unwrap_err();
    assert_eq!(refused.kind().as_str(), "not-as-expected");
    assert!(refused.to_string().starts_with("us.jsonl:4: the change at 2001-01-01T00:00:00Z"));
}

#[test]
fn changes_already_stored_must_have_the_identifiers_of_the_manifest() {
    let (us, bytes) = large();
    assert_eq!(import_of(&us, "us", bytes.clone()).unwrap().skipped.held, 2_503);

    let text = String::from_utf8(bytes).unwrap();
    let identifiers: Vec<String> = instances(&us, &name("us"))
        .iter()
        .map(|instance| instance.identifier.to_string())
        .collect();
    let forged = resealed(&text, |body| body.replace(&identifiers[1], &identifiers[0]));
    let refused = import_of(&us, "us", forged).unwrap_err();
    assert_eq!(refused.kind().as_str(), "not-as-expected");
    assert!(refused.to_string().starts_with("us.jsonl:5: "), "{refused}");
}

#[test]
fn a_primary_without_the_dataset_names_the_first_twenty_of_those_it_has() {
    let directory = harness::directory();
    let path = directory.path().join("primary.db");
    let registry = Registry::create(&path, clock()).unwrap();
    for n in 10..33 {
        let dataset = accession::dataset::DatasetMetadata::named(name(&format!("D{n}")));
        registry.add_dataset(&dataset).unwrap();
    }
    let (mirror, primary) = (new_registry(), Primary::from(path));
    let options = PullOptions::new().if_missing(IfMissing::Create);
    let error = mirror.pull(&name("OTHER"), &primary, options).unwrap_err();
    assert_eq!(error.kind().as_str(), "primary-dataset-unknown");
    let text = error.to_string();
    assert!(text.ends_with("D27, D28, D29, and more"), "{text}");
    let error = mirror.pull(&name("D31"), &primary, options).unwrap_err();
    assert_ne!(error.kind().as_str(), "primary-dataset-unknown", "{error}");
}
