//! Two operators of one dataset, each with an expected set, on a registry of either kind.

use serde_json::Value;

use super::guards::Archive;

/// If two operators expect different sets, one is rejected. An operator is also rejected after another writer's
/// change.
pub fn who_expects_another_set_than_the_present_result_is_refused(archive: &Archive) {
    archive.dataset("TWO");
    let first = archive.refused("accession sync TWO few.txt");
    let second = archive.refused("accession sync TWO others.txt");
    assert_ne!(first.expect, second.expect);
    let delete = archive.refused("accession delete TWO gone.txt");
    archive.succeeds(first.commands()[0]);
    // A listing defines the whole set, so it can still follow. The report names what it replaces.
    let told = archive.succeeds(second.commands()[0]);
    assert!(told.contains("TWO: 1 added, holds 11"), "{told}");
    assert_eq!(archive.state("TWO").0, second.expect);

    archive.dataset("WRITER");
    let refusal = archive.refused("accession delete WRITER gone.txt");
    assert_eq!(refusal.expect, delete.expect);
    archive.succeeds("accession ingest WRITER --id G9999.nc");
    let held = archive.state("WRITER");
    let late = archive.error(refusal.commands()[0], 2);
    assert_eq!(late["kind"], "not-as-expected", "{late}");
    assert_eq!(archive.state("WRITER"), held);
    let again = archive.refused("accession delete WRITER gone.txt");
    assert_ne!(again.expect, refusal.expect);
    archive.succeeds(again.commands()[0]);
    assert_eq!(archive.state("WRITER").0, again.expect);
}

/// If two operators change a dataset at the same time, the second is rejected if the resulting set is not the
/// expected one. The error names the resulting set. A whole listing always results in its own set, so it
/// succeeds. It reports what it replaces, like the guard.
pub fn two_operators_at_once_lose_nothing_without_being_told(archive: &Archive) {
    const EMPTY: &str = "DI:d41d8cd98f00b204e9800998ecf8427e";
    for round in 0..3 {
        let name = format!("PARTS{round}");
        archive.dataset(&name);
        let lines = ["few.txt", "gone.txt"].map(|file| {
            let delete = format!("accession delete {name} {file}");
            let planned = archive.run(&format!("{delete} --dry-run --json"));
            let printed = if planned.status == Some(0) { planned.stdout } else { planned.stderr };
            let printed: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
            let expect = printed.get("expect").unwrap_or(&printed["error"]["expect"]);
            format!("{delete} --expect {} --json", expect.as_str().unwrap())
        });
        let ended = archive.at_once(lines.each_ref().map(String::as_str));
        let refused: Vec<_> = ended.iter().filter(|it| it.status != Some(0)).collect();
        let [refused] = refused[..] else { panic!("{ended:?}") };
        assert_eq!(refused.status, Some(2), "{refused:?}");
        assert!(refused.stderr.contains("not-as-expected"), "{refused:?}");
        assert!(refused.stderr.contains(&format!("would hold {EMPTY}")), "{refused:?}");
        assert_eq!(archive.state(&name).2, 2, "{ended:?}");

        let name = format!("WHOLE{round}");
        archive.dataset(&name);
        let expected = ["few.txt", "many.txt"].map(|file| {
            let refusal = archive.refused(&format!("accession sync {name} {file}"));
            (refusal.expect.clone(), format!("{} --json", refusal.commands()[0]))
        });
        let ended = archive.at_once(expected.each_ref().map(|(_, line)| line.as_str()));
        let last = archive.state(&name);
        assert_eq!(last.2, 3, "both are in the history: {ended:?}");
        let few_is_last = last.0 == expected[0].0;
        assert!(few_is_last || last.0 == expected[1].0, "{last:?}");
        let told = ended.map(|ended| {
            assert_eq!(ended.status, Some(0), "{ended:?}");
            let report: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
            report["overruled"].as_str().unwrap().to_owned()
        });
        let [few, many] = match few_is_last {
            true => ["1090 of the 1100 granules", "1060 granules would be added to the 40"],
            false => ["30 of the 40 granules", "1090 granules would be added to the 10"],
        };
        assert!(told[0].starts_with(few) && told[1].starts_with(many), "{told:?}");
    }
}
