//! Runs the tests of the library again in other processes, on PostgreSQL and on Citus. PostgreSQL is a server
//! that is started for them, and Citus the cluster of `ACCESSION_TEST_CITUS`.

use harness::values::clock;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use accession::Registry;

use harness::given_server::VARIABLE;
use harness::server::{Server, client};
use harness::store::{ON_CLUSTER, TEMPLATE, is_on_server};

/// Tests that are not run there, each with the reason.
const OF_SQLITE: [(&str, &str); 19] = [
    ("on_postgres::", "this test itself"),
    ("backup::", "copies of files"),
    ("restore::", "replaces a file"),
    ("replaced::", "moves a file away"),
    ("hostile_registries::", "files that others have written"),
    ("new_ids::one_from_before", "plants ids by SQLite's shell"),
    ("lost_rows::", "erases rows by SQLite's shell"),
    ("statements::a_registry_that_does_not", "copies of files"),
    ("statements::statements_that_are_lost", "erases rows by SQLite's shell"),
    ("pages::no_read_transaction", "looks at the log of SQLite"),
    ("records_of_others::", "writes records by SQLite's shell"),
    ("fuzz_corpus::", "the readers of input, which have no registry"),
    ("recognise::", "citations, which have no registry"),
    (
        "all_small_histories::every_small_history",
        "thousands of registries; random_histories samples them",
    ),
    ("observer::", "counts SQLite's interruptions"),
    ("fixity", "files, which are in no registry"),
    ("mirror_http", "registries in memory"),
    ("publish::", "registries in memory"),
    ("views::", "the views of a file"),
];

#[test]
fn the_tests_of_the_library_pass_on_postgresql_as_well() {
    if is_on_server() {
        return;
    }
    let settings = ["shared_buffers=256MB"];
    let Some(server) = Server::find(&settings) else { return };
    let url = server.new_database();
    drop(Registry::create(Path::new(&url), clock()).unwrap());
    let template = url.rsplit('/').next().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(VARIABLE, server.url()).env(TEMPLATE, template);
    run_all(&mut command, "8", "PostgreSQL");
    let databases = "SELECT count(*) FROM pg_database WHERE datname LIKE 'accession_%'";
    let created: i64 = client(&url).query_one(databases, &[]).unwrap().get(0);
    assert!(created > 100, "{created} databases: the tests used another store");
}

#[test]
fn the_tests_of_the_library_pass_on_citus_as_well() {
    if is_on_server() || Server::of_cluster().is_none() {
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    run_all(command.env(ON_CLUSTER, "1"), "2", "Citus");
}

/// Runs this program again, without the tests that are only about SQLite. Properties are tried with this number
/// of cases.
fn run_all(command: &mut Command, cases: &str, store: &str) {
    if std::env::var_os("PROPTEST_CASES").is_none() {
        command.env("PROPTEST_CASES", cases);
    }
    let listed = Command::new(std::env::current_exe().unwrap()).arg("--list").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let tests = || listed.lines().filter_map(|line| line.strip_suffix(": test"));
    for (name, _) in OF_SQLITE {
        assert!(tests().any(|test| test.contains(name)), "no test is named {name}");
        command.args(["--skip", name]);
    }
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let is_of_sqlite = |test: &str| OF_SQLITE.iter().any(|(name, _)| test.contains(name));
    let expected: BTreeSet<&str> = tests().filter(|test| !is_of_sqlite(test)).collect();
    let results = printed.lines().filter_map(|line| line.strip_prefix("test "));
    let passed: BTreeSet<&str> = results.filter_map(|line| line.strip_suffix(" ... ok")).collect();
    println!("{} tests passed on {store}", passed.len());
    assert_eq!(passed, expected);
}
