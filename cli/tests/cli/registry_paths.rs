//! The path of a registry: what it refers to, what it must not refer to, and the effect of moving or replacing
//! the file.

use std::process::Stdio;

use rusqlite::Connection;

use crate::file_checks::wait_until_open;
use crate::running::console::{Sandbox, assert_refused};

/// Once, SQLite interpreted the path as a URI. Acknowledged granules were in another file than the one that the
/// program checked, or only in memory.
#[test]
fn a_path_that_looks_like_a_uri_is_a_path() {
    for name in ["file:reg.db", ":memory:", "file:x?mode=memory", "file::memory:"] {
        let sandbox = Sandbox::new();
        let run = |arguments: &[&str]| {
            let mut command = sandbox.command("");
            command.args(["--registry", name]).args(arguments).output().unwrap()
        };
        assert!(run(&["ingest", "DATASET", "--create", "--id", "A"]).status.success(), "{name}");
        assert!(run(&["ingest", "DATASET", "--id", "B"]).status.success(), "{name}");
        let connection = Connection::open(sandbox.path().join(name)).unwrap();
        let count = "SELECT count(*) FROM granule";
        let granules: u32 = connection.query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(granules, 2, "{name}");
        drop(connection);
        assert!(run(&["verify"]).status.success(), "{name}");
        assert_eq!(sandbox.files().len(), [".bin", "fixtures", name].len(), "{name}");
    }
    // With a scheme, it is an address, and only addresses of servers are known.
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path().join("file:")).unwrap();
    let printed = sandbox.refused("--registry file:///x.db ingest D --create --id A", "address");
    assert!(printed.contains("registry \\\"file://\\\": "), "{printed}");
    assert!(printed.contains("a file is named by its path, without file://"), "{printed}");
    // The text after the scheme can contain a password.
    let printed = sandbox.run("accession --registry mysql://me:secret@db/archive dataset list");
    assert!(printed.contains("registry \"mysql://\": "), "{printed}");
    assert!(!printed.contains("secret"), "{printed}");
}

/// Once, the error was that SQLite could not open the file.
#[test]
fn a_path_too_long_for_sqlite_is_refused_with_its_length() {
    let sandbox = Sandbox::with_a_dataset();
    let directory = ["d".repeat(250), "e".repeat(250)].join("/");
    std::fs::create_dir_all(sandbox.path().join(&directory)).unwrap();
    let registry = format!("{directory}/accession.db");
    sandbox
        .refused(&format!("--registry {registry} ingest DATASET --create --id A"), "invalid-path");
    std::fs::copy(sandbox.path().join("accession.db"), sandbox.path().join(&registry)).unwrap();
    sandbox.refused(&format!("--registry {registry} show DATASET"), "invalid-path");
}

/// Once, the backup was reported as successful, and the next command deleted it.
#[test]
fn a_name_that_belongs_to_a_registry_beside_it_is_refused() {
    let sandbox = Sandbox::with_a_dataset();
    for name in ["accession.db-journal", "accession.db-wal", "accession.db-shm", "other.db-wal"] {
        for command in
            [format!("registry backup {name}"), format!("--registry {name} dataset create D")]
        {
            sandbox.refused(&command, "invalid-path");
        }
    }
}

/// Once, a dash created a file of that name. It means stdout if a pipe is possible, and is rejected otherwise.
#[test]
fn a_dash_never_becomes_a_file() {
    let sandbox = Sandbox::with_a_dataset();
    let printed = sandbox.command("dataset export DATASET").output().unwrap();
    let dashed = sandbox.command("dataset export DATASET --output -").output().unwrap();
    assert!(printed.status.success() && !printed.stdout.is_empty());
    assert_eq!((dashed.status, &dashed.stdout), (printed.status, &printed.stdout));
    for command in [
        "registry backup -",
        "registry restore -",
        "registry copy accession.db -",
        "registry copy - other.db",
        "publish -",
        "--registry - dataset create D",
    ] {
        assert!(sandbox.refused(command, "usage").contains("./-"), "{command}");
    }
}

/// Once, the command succeeded, but its change was in a file that was no longer at the path.
#[cfg(target_os = "linux")]
#[test]
fn a_change_to_a_registry_that_was_moved_or_replaced_is_refused() {
    for is_replaced in [false, true] {
        let sandbox = Sandbox::with_a_dataset();
        let path = sandbox.path().canonicalize().unwrap().join("accession.db");
        std::fs::copy(&path, path.with_extension("copy")).unwrap();
        let lock = Connection::open(&path).unwrap();
        lock.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut command = sandbox.command("--json ingest DATASET --id C");
        let writer = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until_open(&writer, &path);
        for ending in ["", "-wal", "-shm"] {
            let moved = sandbox.path().join(format!("moved.db{ending}"));
            std::fs::rename(sandbox.path().join(format!("accession.db{ending}")), moved).unwrap();
        }
        if is_replaced {
            std::fs::rename(path.with_extension("copy"), &path).unwrap();
        }
        lock.execute_batch("ROLLBACK").unwrap();
        assert_refused(&writer.wait_with_output().unwrap(), "replaced", "ingest");
        drop(lock);
        let granules = sandbox.run("accession --registry moved.db granules DATASET");
        assert_eq!(granules, "A\nB\n");
        if is_replaced {
            assert_eq!(sandbox.run("accession granules DATASET"), "A\nB\n");
        }
    }
}
