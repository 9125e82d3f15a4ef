//! The interface for scripts of the everyday commands: fields and exit statuses, and that refused
//! commands change nothing.

use crate::contract::fields;
use crate::harness::console::Sandbox;

const INSTANCE: &str = "dataset timestamp until identifier granules ingested deleted recorded recorded_by note \
     annotations";
const COMPARISON: &str = "identical left right matched only_left only_right";

fn applied() -> String {
    format!("{INSTANCE} changed added removed dry_run skipped files created")
}

/// A registry with a dataset that holds twenty granules, and another.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for command in [
        "seq -f 'G%02g' 20 | accession sync US --create --at 2001-01-02 --note first --from -",
        "accession ingest THEM --create --at 2001-01-04 G01 G02",
        "accession cite US --at 2001-01-05 --select 'G0*'",
    ] {
        assert!(!sandbox.run(command).contains("? "), "{command}");
    }
    sandbox
}

#[test]
fn json_of_the_everyday_commands_has_the_fields_of_the_contract() {
    let cases = [
        ("sync US --at now --dry-run G01 --max-delete 19", applied(), 0),
        ("sync THEM --at now G01 G02", applied(), 0),
        ("revert US --at now --to 2001-01-02", applied(), 0),
        ("revert THEM --at now --to 2001-01-04 --dry-run", applied(), 0),
        ("mirror pull NEW accession.db --primary-dataset US --create", applied() + " status", 0),
        ("mirror pull THEM accession.db --primary-dataset US", applied() + " status", 1),
        ("find G01", "dataset granule ingested deleted withdrawn url".to_owned(), 0),
        ("subsets US", "identifier dataset timestamp patterns granules cited".to_owned(), 0),
        (
            "history US --since 2001-01-02 --until 2001-01-02 --limit 1 --reverse",
            INSTANCE.into(),
            0,
        ),
        (
            "history US --granule G01",
            "granule ingested deleted producer_granule ingest_note delete_note".to_owned(),
            0,
        ),
        ("granules US --count", "granules".to_owned(), 0),
        ("identify fixtures/seed/us-2001-01-02.txt", "identifier granules".to_owned(), 0),
        ("compare US --from fixtures/seed/us-2001-01-02.txt", COMPARISON.to_owned(), 1),
        ("compare US THEM --summary", COMPARISON.to_owned(), 1),
    ];
    let sandbox = sandbox();
    for (arguments, expected, status) in cases {
        let output = sandbox.command(&format!("{arguments} --json")).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments}: {stderr}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(!stdout.is_empty(), "{arguments}");
        for line in stdout.lines() {
            assert_eq!(fields(line).join(" "), expected, "{arguments}");
        }
    }
}

#[test]
fn a_refused_command_changes_nothing_and_creates_nothing() {
    let sandbox = sandbox();
    let before = sandbox.run("accession history US --json; accession dataset list --json");
    let cases = [
        ("accession sync US --at now G01", "too-many-deletions"),
        ("accession sync US --at now G01 --max-delete 18", "too-many-deletions"),
        ("accession sync US --at now G01 --max-delete 90%", "too-many-deletions"),
        ("accession sync US --at now --from /dev/null --max-delete 100%", "empty-listing"),
        (
            "accession sync US --at now --from fixtures/input/umm.json --max-delete 100%",
            "pages-missing",
        ),
        ("accession sync NEW --create --from /dev/null", "empty-listing"),
        ("accession sync NEW G01", "dataset-unknown"),
        ("accession sync 10.5067/NEW --create G01", "usage"),
        (
            "accession revert US --at now --to 00000000000000000000000000000000",
            "identifier-unknown",
        ),
        ("accession revert US --at now --to 2000-12-31", "before-history"),
        (
            "accession mirror pull US accession.db --primary-dataset THEM --reset",
            "too-many-deletions",
        ),
    ];
    for (command, kind) in cases {
        let printed = sandbox.run(&format!("{command} --json"));
        assert!(printed.contains(&format!("{{\"error\":{{\"kind\":\"{kind}\"")), "{printed}");
        assert!(printed.ends_with("? 2\n"), "{command}: {printed}");
    }
    let after = sandbox.run("accession history US --json; accession dataset list --json");
    assert_eq!(after, before);
    sandbox.run("accession --registry new.db sync NEW --create --from /dev/null");
    assert!(!sandbox.path().join("new.db").exists());
}

#[test]
fn an_identifier_is_read_in_every_spelling_wherever_a_set_is() {
    let sandbox = sandbox();
    let printed = sandbox.run("accession lookup US --json");
    let digits = printed.split("\"identifier\":\"").nth(1).unwrap()[..32].to_owned();
    let upper = digits.to_uppercase();
    for spelling in [
        digits.clone(),
        format!("DI:{digits}"),
        format!("di: {upper}"),
        format!("{{ doi:10.9999/US, 2001-01-05, DI:{digits} }}"),
        format!("https://example.org/di/{digits}"),
    ] {
        assert_eq!(sandbox.run(&format!("accession granules '{spelling}' --count")), "20\n");
        let same = sandbox.run(&format!("accession compare '{spelling}' US --summary"));
        assert!(same.starts_with("identical: 20 granules\n"), "{same}");
        assert!(sandbox.run(&format!("accession resolve '{spelling}'")).contains("US"));
        let cited =
            sandbox.run(&format!("accession cite '{spelling}' --format tuple 2> /dev/null"));
        assert!(cited.contains(&digits), "{cited}");
    }
}
