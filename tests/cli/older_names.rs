//! A registry with a dataset whose name is not valid is refused, and the name is printed.

use crate::harness::console::Sandbox;

/// A registry with a dataset whose name contains a slash, as a testing version permitted it.
fn registry_with_an_older_name() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run("accession ingest NEW --create --at 2001-01-02 A");
    let registry = rusqlite::Connection::open(sandbox.path().join("accession.db")).unwrap();
    registry.execute("UPDATE dataset SET name = '10.5067/ABC'", []).unwrap();
    crate::harness::seal::seal_rows(&registry);
    sandbox
}

#[test]
fn a_registry_with_an_older_name_is_refused_and_the_name_is_printed() {
    let sandbox = registry_with_an_older_name();
    for command in ["accession dataset list", "accession find A", "accession publish site"] {
        let printed = sandbox.run(command);
        assert!(printed.starts_with("error: "), "{command}: {printed}");
        assert!(printed.contains("\"10.5067/ABC\""), "{command}: {printed}");
        assert!(printed.ends_with("? 2\n"), "{command}: {printed}");
    }
}

#[test]
fn verify_finds_an_older_name() {
    let printed = registry_with_an_older_name().run("accession verify");
    assert!(printed.contains("\"10.5067/ABC\", which is not a valid dataset name"), "{printed}");
    assert!(printed.ends_with("? 1\n"), "{printed}");
}

#[test]
fn no_command_takes_an_older_name() {
    let sandbox = registry_with_an_older_name();
    for command in ["dataset add 10.5067/DEF", "dataset show 10.5067/ABC", "lookup 10.5067/ABC"] {
        let printed = sandbox.run(&format!("accession {command}"));
        assert!(printed.contains("error:") && printed.ends_with("? 2\n"), "{printed}");
        let is_refused = printed.contains("has only letters, digits and . _ - :");
        // What looks like a DOI is taken for one, where a dataset that exists is named.
        assert!(is_refused || printed.contains("has the DOI 10.5067/ABC"), "{printed}");
    }
}

#[test]
fn restoring_a_copy_that_is_missing_does_not_advise_to_create_a_registry() {
    let printed = registry_with_an_older_name().run("accession restore missing.db");
    assert!(printed.starts_with("error: cannot read \"missing.db\""), "{printed}");
    assert!(!printed.contains("dataset add"), "{printed}");
}
