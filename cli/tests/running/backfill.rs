//! Dated listings, one of which a guard rejects, on a registry of either kind.

use serde_json::Value;

use super::guards::{Archive, lines};

/// An import of dated listings stops at the first one that a guard rejects, whichever guard it is. Both
/// commands that it prints continue the import.
pub fn an_import_stops_and_both_printed_commands_continue(archive: &Archive) {
    for (number, (bad, kind)) in [
        ("few.txt", "too-many-deletions"),
        ("many.txt", "too-many-additions"),
        ("other-sums.sha256", "content-contradicts"),
        ("umm.json", "incomplete"),
        ("/dev/null", "empty"),
        ("with-unlike.txt", "unlike"),
        ("odd.txt", "not-a-list"),
    ]
    .into_iter()
    .enumerate()
    {
        let (directory, last) = (format!("nights-{number}"), "2001-01-09");
        archive.run(&format!(
            "mkdir {directory}; cp sums.sha256 {directory}/2001-01-05.sha256; cp more.txt {directory}/2001-01-06.txt; \
             cp {bad} {directory}/2001-01-07.txt; cp {bad} {directory}/2001-01-08.txt; cp most.txt {directory}/{last}.txt"
        ));
        for way in ["--skip", "--expect"] {
            let dataset = format!("N{number}{way}");
            if bad == "umm.json" {
                archive.succeeds(&format!("accession dataset create {dataset} --max-delete 50"));
            }
            let import = format!("accession import {dataset} {directory} --create");
            let refusal = archive.refused(&import);
            assert_eq!(refusal.kind, kind, "{refusal:?}");
            assert!(
                refusal.message.contains(&format!("\"{directory}/2001-01-07.txt\"")),
                "{refusal:?}"
            );
            assert_eq!(archive.state(&dataset).2, 2, "{refusal:?}");
            let again = archive.refused(&import);
            assert_eq!(again.expect, refusal.expect);
            let [expecting, skipping] = again.commands()[..] else { panic!("{again:?}") };
            if way == "--expect" {
                archive.error(
                    &import.replace("--create", "--expect DI:00000000000000000000000000000000"),
                    2,
                );
                let continued = archive.run(expecting);
                // Granules that come back afterwards may be rejected as well.
                assert!(matches!(continued.status, Some(0 | 3)), "{expecting}: {continued:?}");
                let history = archive.succeeds(&format!("accession history {dataset} --json"));
                let recorded: Value =
                    serde_json::from_str(history.lines().nth(2).unwrap()).unwrap();
                assert_eq!(recorded["timestamp"], "2001-01-07T00:00:00Z");
                let expect = &refusal.expect;
                let is = |member: &str| expect.ends_with(recorded[member].as_str().unwrap());
                assert!(is("identifier") || is("digest"), "{history}");
            } else {
                // The listing of the next night is rejected as well.
                let next = archive.refused(skipping);
                assert!(next.message.contains("2001-01-08.txt"), "{next:?}");
                let skipping = next.commands()[1];
                assert_eq!(skipping.matches(" --skip").count(), 2, "{skipping}");
                archive.succeeds(skipping);
                assert_eq!(archive.state(&dataset).2, 3, "without two listings");
                archive.succeeds(skipping);
                // Without --skip, a listing that is no longer the next one cannot be added.
                let refused = archive.error(&import, 2);
                assert_eq!(refused["kind"], "not-after-last", "{refused}");
            }
        }
    }
    for import in ["nights-0", "nights-0/2001-01-05.sha256"] {
        let missing = archive.error(&format!("accession import MISSING {import}"), 2);
        assert_eq!(missing["kind"], "dataset-unknown", "{missing}");
        assert_eq!(missing["hint"], "add --create if it is a new dataset", "{missing}");
    }
    let unknown =
        archive.error("accession import N nights-0 --create --skip nights-0/2001-02-01.txt", 2);
    assert_eq!(unknown["kind"], "usage", "{unknown}");
}

/// From the tenth of thirty listings on, most granules are missing. If the loss is recorded, it is recorded
/// once. If not, each later listing is rejected, and the hint mentions it.
pub fn a_loss_that_lasts_is_recorded_once_and_skipped_each_night(archive: &Archive) {
    archive.run("mkdir thirty");
    for night in 1..=30 {
        let held = if night < 10 { 0..40 } else { 0..10 };
        let ids = held.chain(100..100 + night).map(|n| format!("G{n:04}.nc"));
        archive.write(&format!("thirty/2001-03-{night:02}.txt"), &lines(ids));
    }
    let deletions = |dataset: &str| -> Vec<(String, u64)> {
        let history = archive.succeeds(&format!("accession history {dataset} --json"));
        let changes = history.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of = |change: Value| {
            let at = change["timestamp"].as_str().unwrap()[..10].to_owned();
            (at, change["deleted"].as_u64().unwrap())
        };
        changes.map(of).collect()
    };
    let lost = |changes: &[(String, u64)]| {
        let lost: Vec<_> = changes.iter().filter(|(_, deleted)| *deleted > 0).cloned().collect();
        (changes.len(), lost)
    };

    let import = |dataset: &str| format!("accession import {dataset} thirty --create");
    let refusal = archive.refused(&import("LOST"));
    assert!(refusal.message.contains("2001-03-10.txt"), "{refusal:?}");
    assert!(refusal.hint.contains("if it alone is wrong"), "{refusal:?}");
    archive.succeeds(refusal.commands()[0]);
    assert_eq!(lost(&deletions("LOST")), (30, vec![("2001-03-10".to_owned(), 30)]));

    // If the first listing of the loss is skipped, the next one is rejected, and can be recorded instead.
    let refusal = archive.refused(&import("LATE"));
    let next = archive.refused(refusal.commands()[1]);
    assert!(next.message.contains("2001-03-11.txt"), "{next:?}");
    assert!(
        next.hint.starts_with("if this listing is right, as after a loss that lasts, "),
        "{next:?}"
    );
    let after = archive.refused(next.commands()[1]);
    assert!(after.message.contains("2001-03-12.txt"), "{after:?}");
    archive.succeeds(next.commands()[0]);
    assert_eq!(lost(&deletions("LATE")), (29, vec![("2001-03-11".to_owned(), 30)]));

    // No later listing was recorded, so the loss can still be recorded at its own date.
    let refusal = archive.refused(&import("BACK"));
    archive.refused(refusal.commands()[1]);
    let again = archive.refused(&import("BACK"));
    archive.succeeds(again.commands()[0]);
    assert_eq!(lost(&deletions("BACK")), (30, vec![("2001-03-10".to_owned(), 30)]));
}
