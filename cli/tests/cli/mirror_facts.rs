//! The report of `status`, `mirror compare` and `import` on a copy and its primary.

use crate::running::console::Sandbox;
use crate::running::serving::Serving;

/// The JSON output of a command.
fn json(sandbox: &Sandbox, command: &str) -> serde_json::Value {
    let printed = sandbox.run(&format!("accession --json {command} 2> /dev/null"));
    serde_json::from_str(printed.lines().next().unwrap()).unwrap()
}

/// A mirror of 30 granules. Since its last pull, the primary has a different history of the same name.
const REWRITTEN: &[&str] = &[
    "seq 30 | sed s/^/g./ > l1; seq 30 | sed s/^/x./ > o1",
    "accession --registry us.db sync US l1 --create --at 2024-01-01 -q 2> /dev/null",
    "accession mirror pull US us.db --create -q",
    "accession --registry us.db dataset rename US OLD -q",
    "accession --registry us.db dataset withdraw OLD --note x -q",
    "accession --registry us.db sync US o1 --create --at 2024-01-01 -q 2> /dev/null",
];

#[test]
fn the_facts_of_a_primary_that_contradicts_itself_are_not_those_of_its_earlier_log() {
    let sandbox = Sandbox::after(REWRITTEN);
    let identical = "US: names identical · checksums not recorded · files on disk never checked";
    assert!(sandbox.run("accession status").contains(identical));
    for _ in 0..2 {
        let compared = sandbox.run("accession mirror compare US 2> /dev/null");
        let rewritten = "rewritten: change 1, at 2024-01-01T00:00:00Z, is not the one";
        assert!(compared.contains("names different: 30 missing, 30 unexpected"), "{compared}");
        assert!(compared.contains(rewritten), "{compared}");
        let status = sandbox.run("accession status");
        let facts = "US: names not compared · checksums not compared · files on disk never checked";
        assert!(status.contains(facts) && status.ends_with("\n? 1\n"), "{status}");
        let mirror = &json(&sandbox, "status US")["mirrors"][0];
        assert_eq!(mirror["facts"]["names"]["verdict"], "not-compared", "{mirror}");
        assert_eq!(mirror["facts"]["checksums"]["verdict"], "not-compared", "{mirror}");
        assert!(mirror["failed"].as_str() > mirror["read"].as_str(), "{mirror}");
    }
    // The printed command copies the other history, and the mirror is identical.
    let refused = sandbox.run("accession mirror pull US 2>&1");
    let (_, pull) = refused.split_once("; `").unwrap();
    let (pull, _) = pull.split_once('`').unwrap();
    sandbox.run(pull);
    assert!(sandbox.run("accession status").contains(identical));
}

#[test]
fn an_older_state_and_a_primary_that_cannot_be_read_are_not_compared() {
    let sandbox = Sandbox::after(&[
        "accession --registry us.db ingest US --create --at 2024-01-01 --id A -q",
        "accession --registry us.db dataset export US --output us.jsonl -q; cp us.jsonl older.jsonl",
        "accession --registry us.db ingest US --at 2024-01-02 --id B -q 2> /dev/null",
        "accession --registry us.db dataset export US --output new.jsonl -q; mv new.jsonl us.jsonl",
        "accession mirror pull US us.jsonl --create -q; cp us.jsonl present.jsonl",
    ]);
    let says = |facts: &str| {
        let status = sandbox.run("accession status");
        assert!(status.contains(&format!("\nUS: names {facts} · ")), "{facts}: {status}");
    };
    says("identical");
    for (file, facts) in [
        ("cp older.jsonl us.jsonl", "not compared"),
        ("cp present.jsonl us.jsonl", "identical"),
        (": > us.jsonl", "not compared"),
        ("cp present.jsonl us.jsonl", "identical"),
        ("rm us.jsonl", "not compared"),
    ] {
        sandbox.run(&format!("{file}; accession mirror compare US > /dev/null 2>&1"));
        says(facts);
    }
    // If the mirror is ahead, its names are compared.
    sandbox.run("cp present.jsonl us.jsonl; accession ingest US --id C -q");
    sandbox.run("accession mirror compare US > /dev/null 2>&1");
    says("different");
}

#[test]
fn a_replica_whose_primary_fails_is_a_problem_and_a_primary_that_was_only_compared_is_none() {
    let sandbox = Sandbox::after(&[
        "accession --registry us.db ingest US --create --at 2024-01-01 --id A -q",
        "accession --registry us.db ingest US --at 2024-02-01 --id C -q 2> /dev/null",
        "accession ingest OWN --create --id A --id B -q",
    ]);
    let serving = Serving::of(&mut Serving::command(&sandbox.path().join("us.db"), &[])).unwrap();
    let address = format!("http://{}/datasets/US/", serving.address);
    let import = format!("accession import US {address} --create");
    assert!(sandbox.run(&import).contains("2 added, holds 2"));
    // A difference from a primary that is only compared is no problem.
    sandbox.run(&format!("accession mirror compare OWN {address} > /dev/null 2>&1"));
    let status = sandbox.run("accession status");
    assert!(status.ends_with("2 datasets: all well\n"), "{status}");
    sandbox.run("accession --registry us.db dataset correct US --after 2024-01-15 -q");
    let imported = sandbox.run(&import);
    assert!(imported.contains(" is stale: its log ends before"), "{imported}");
    let status = sandbox.run("accession status");
    assert!(status.contains("\nUS: names not compared · "), "{status}");
    assert!(status.ends_with("2 datasets: 1 with problems\n? 1\n"), "{status}");
    let replica = json(&sandbox, "status US");
    let problem = replica["problems"][0].as_str().unwrap();
    assert!(problem.contains(&address) && problem.contains("an older state"), "{problem}");
    // A correction removes the additional change, and the replica follows its primary again.
    sandbox.run("accession dataset correct US --after 2024-01-15 -q");
    sandbox.run(&import);
    assert!(sandbox.run("accession status").ends_with("2 datasets: all well\n"));
    drop(serving);
    sandbox.run(&format!("{import} 2> /dev/null"));
    let status = sandbox.run("accession status");
    assert!(status.contains("\nUS: names not compared · "), "{status}");
    assert!(status.ends_with("2 datasets: 1 with problems\n? 1\n"), "{status}");
}

/// The number of good and of missing files, according to `mirror compare`.
fn counted(sandbox: &Sandbox, options: &str) -> [Option<u64>; 2] {
    let compared = json(sandbox, &format!("mirror compare US {options}"));
    ["good", "missing"].map(|count| compared["facts"]["files"][count].as_u64())
}

#[test]
fn good_files_are_those_that_the_dataset_holds_and_each_counts_once_for_all_directories() {
    let sandbox = Sandbox::after(&[
        "mkdir d; for f in A B C D E; do echo $f > d/$f.nc; done",
        "accession --registry us.db ingest US d --checksums --create -q",
        "accession mirror pull US us.db --create -q; rm d/D.nc d/E.nc",
    ]);
    assert_eq!(counted(&sandbox, "--files d"), [Some(3), Some(2)]);
    sandbox.run("accession --registry us.db delete US --id D.nc --id E.nc -q");
    sandbox.run("accession mirror pull US -q");
    // The number of files of the deleted granules is not looked up.
    assert_eq!(counted(&sandbox, ""), [None, None]);
    sandbox.run("mv d d2");
    assert_eq!(counted(&sandbox, "--files d2"), [Some(3), None]);
    let compared = sandbox.run("accession mirror compare US");
    assert!(compared.contains(", 3 good\nidentical: 3 granules\n"), "{compared}");
    sandbox.run("rm d2/A.nc");
    assert_eq!(counted(&sandbox, "--files d2"), [Some(2), Some(1)]);
    // A file that belongs to no granule is not a file of the dataset.
    sandbox.run("echo A > d2/A.nc; echo x > d2/X.nc");
    sandbox.run("accession fixity check US --root d2 --unexpected > /dev/null 2>&1");
    assert_eq!(counted(&sandbox, "")[0], Some(3));
}

#[test]
fn the_number_of_good_files_is_not_printed_if_it_does_not_follow_from_the_changes_since() {
    let sandbox = Sandbox::after(&[
        "mkdir d; for f in A B; do echo $f > d/$f.nc; echo $f > d/$f.xml; done",
        "accession --registry us.db ingest US d --granule stem --checksums --create -q",
        "accession mirror pull US us.db --create -q",
    ]);
    assert_eq!(counted(&sandbox, "--files d"), [Some(4), None]);
    // The new granule has no file that was good before.
    sandbox.run("accession --registry us.db ingest US --id C -q; accession mirror pull US -q");
    assert_eq!(counted(&sandbox, ""), [Some(4), None]);
    sandbox.run("accession --registry us.db delete US --id A -q; accession mirror pull US -q");
    assert_eq!(counted(&sandbox, ""), [None, None]);
    let compared = sandbox.run("accession mirror compare US 2> /dev/null");
    assert!(compared.contains(", 1 changed since\n") && !compared.contains("good"), "{compared}");
}

#[test]
fn a_log_that_ends_before_the_last_change_is_stale_wherever_it_is_read() {
    let sandbox = Sandbox::after(&[
        "accession --registry us.db ingest US --create --at 2024-01-01 --id A -q",
        "accession --registry us.db ingest US --at 2024-02-01 --id C -q 2> /dev/null",
        "accession --registry us.db publish site -q; accession import US site --create -q",
    ]);
    sandbox.run("accession --registry us.db dataset correct US --after 2024-01-15 -q");
    sandbox.run("accession --registry us.db publish site -q");
    sandbox.run("accession --registry us.db dataset export US --output us.jsonl -q");
    for log in ["site/datasets/US", "site", "us.jsonl"] {
        let imported = sandbox.run(&format!("accession import US {log}"));
        let stale = "is stale: its log ends before the last change of US, at 2024-02-01T00:00:00Z";
        assert!(imported.contains(&format!("warning: {log} {stale}\n")), "{imported}");
        assert!(imported.contains("no changes: "), "{imported}");
    }
    // The primary's next change does not continue this history.
    for (next, error) in [("D", "results in"), ("C", "has been held since")] {
        let sandbox = Sandbox::after(&[
            "accession --registry us.db ingest US --create --at 2024-01-01 --id A -q",
            "accession --registry us.db ingest US --at 2024-02-01 --id C -q 2> /dev/null",
            "accession --registry us.db publish site -q; accession import US site --create -q",
            "accession --registry us.db dataset correct US --after 2024-01-15 -q",
            &format!("accession --registry us.db ingest US --at 2024-03-01 --id {next} -q 2>&1"),
            "accession --registry us.db publish site -q",
        ]);
        let refused = sandbox.run("accession import US site");
        assert!(refused.contains(error) && refused.ends_with("\n? 2\n"), "{refused}");
        let (_, correct) = refused.split_once(", `").unwrap();
        let (correct, _) = correct.split_once('`').unwrap();
        assert_eq!(correct, "accession dataset correct US --after 2024-01-01T00:00:00Z");
        sandbox.run(correct);
        let imported = sandbox.run("accession import US site");
        assert!(imported.contains("1 added, holds 2") && !imported.contains("stale"), "{imported}");
        let held = |registry: &str| sandbox.run(&format!("accession {registry} granules US"));
        assert_eq!(held(""), held("--registry us.db"));
    }
}

#[test]
fn what_was_known_to_be_the_same_is_not_counted_as_not_compared() {
    let sandbox = Sandbox::after(&[
        "mkdir d; for f in A B C; do echo $f > d/$f.nc; done",
        "accession --registry us.db sync US d --checksums --create -q 2> /dev/null",
        "accession mirror pull US us.db --create -q; echo again > d/B.nc",
        "accession --registry us.db dataset edit US --max-replace 1 -q",
        "accession --registry us.db sync US d --checksums --note again -q 2> /dev/null",
    ]);
    let compared = sandbox.run("accession mirror compare US 2> /dev/null");
    assert!(compared.contains("checksums different for 1 granule"), "{compared}");
    assert!(!compared.contains("bytes compared"), "{compared}");
    let compared = json(&sandbox, "mirror compare US");
    assert!(compared["facts"]["checksums"]["compared"].is_null(), "{compared}");
    // If nothing was read before, all granules are compared.
    sandbox.run("accession ingest OWN d --checksums --create -q 2> /dev/null");
    sandbox.run(
        "echo other > d/C.nc; accession --registry own.db ingest OWN d --checksums --create -q",
    );
    let compared = sandbox.run("accession mirror compare OWN own.db 2> /dev/null");
    assert!(compared.contains("\nnames equal; bytes compared for 3 of 3\n"), "{compared}");
}

#[test]
fn the_help_of_max_age_says_which_commands_accept_it_for_a_file() {
    let sandbox = Sandbox::after(&[
        "accession --registry us.db ingest US --create --id A -q",
        "accession --registry us.db dataset export US --output us.jsonl -q",
        "accession mirror pull US us.jsonl --create --max-age 1d -q",
        "accession mirror compare US us.jsonl --max-age 1d 2> /dev/null",
    ]);
    let refused = sandbox.run("accession import US us.jsonl --max-age 1d");
    assert!(refused.contains("is not an address"), "{refused}");
    let help = sandbox.run("accession import --help");
    let (_, max_age) = help.split_once("--max-age <AGE>").unwrap();
    let max_age = max_age.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(max_age.contains("`mirror` also accepts it for a manifest"), "{max_age}");
}

#[test]
fn the_hint_to_name_a_primary_repeats_the_command() {
    let sandbox = Sandbox::with_a_dataset();
    for command in ["compare", "pull"] {
        let refused = sandbox.run(&format!("accession mirror {command} DATASET"));
        let hint = format!("hint: name it: `accession mirror {command} DATASET PRIMARY`\n");
        assert!(refused.contains(&hint), "{refused}");
    }
}
