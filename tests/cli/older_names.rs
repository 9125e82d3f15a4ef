//! Datasets whose names only older versions permitted are found by every command that takes a dataset.

use crate::harness::console::Sandbox;

/// A registry with a dataset whose name contains a slash.
fn older_registry() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run("accession ingest NEW --create --at 2001-01-02 A");
    let registry = rusqlite::Connection::open(sandbox.path().join("accession.db")).unwrap();
    registry.execute("UPDATE dataset SET name = '10.5067/ABC'", []).unwrap();
    sandbox
}

#[test]
fn the_record_of_a_dataset_with_an_older_name_is_shown_and_changed() {
    let sandbox = older_registry();
    for command in [
        "accession dataset show 10.5067/ABC",
        "accession dataset edit 10.5067/ABC --title FOO",
        "accession dataset withdraw 10.5067/ABC --note WHY",
        "accession dataset reinstate 10.5067/ABC",
        "accession dataset rename 10.5067/ABC ABC",
    ] {
        let printed = sandbox.run(command);
        assert!(!printed.contains("error:"), "{command}: {printed}");
        assert!(printed.contains("ABC  bf072e9119077b4e76437a93986787ef"), "{command}: {printed}");
    }
}

#[test]
fn a_dataset_with_an_older_name_is_verified() {
    let printed = older_registry().run("accession verify 10.5067/ABC");
    assert!(printed.contains("1 dataset, 1 identifier"), "{printed}");
}

#[test]
fn a_new_dataset_cannot_have_an_older_name() {
    let printed = older_registry().run("accession dataset add 10.5067/DEF");
    assert!(printed.contains("error:") && printed.ends_with("? 2\n"), "{printed}");
}

#[test]
fn restoring_a_copy_that_is_missing_does_not_advise_to_create_a_registry() {
    let printed = older_registry().run("accession restore missing.db");
    assert!(printed.starts_with("error: cannot read \"missing.db\""), "{printed}");
    assert!(!printed.contains("dataset add"), "{printed}");
}
