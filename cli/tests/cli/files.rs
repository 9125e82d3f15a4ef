//! How commands change the registry file and the files beside it.

use rusqlite::Connection;

use crate::running::console::{Sandbox, assert_refused, stderr};
use crate::running::nobody::{as_nobody, set_mode};

#[test]
fn a_command_that_reads_leaves_no_file_behind() {
    let sandbox = Sandbox::with_a_dataset();
    let bytes = std::fs::read(sandbox.path().join("accession.db")).unwrap();
    for arguments in ["history DATASET", "show DATASET", "granules DATASET", "verify"] {
        assert!(sandbox.command(arguments).output().unwrap().status.success());
        assert_eq!(sandbox.files(), [".bin", "accession.db", "fixtures"]);
        assert_eq!(std::fs::read(sandbox.path().join("accession.db")).unwrap(), bytes);
    }
}

#[test]
fn a_file_that_is_not_a_registry_is_refused_and_not_changed() {
    let sandbox = Sandbox::with_a_dataset();
    let path = |name: &str| sandbox.path().join(name);
    std::fs::write(path("text.db"), "Just a text file that somebody pointed at.\n").unwrap();
    Connection::open(path("other.db")).unwrap().execute("CREATE TABLE t (x)", []).unwrap();
    std::fs::copy(path("accession.db"), path("newer.db")).unwrap();
    Connection::open(path("newer.db")).unwrap().pragma_update(None, "user_version", 999).unwrap();
    let whole = std::fs::read(path("accession.db")).unwrap();
    std::fs::write(path("cut.db"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(path("stub.db"), &whole[..50]).unwrap();
    for (file, kind) in [
        ("text.db", "not-a-registry"),
        ("other.db", "not-a-registry"),
        ("newer.db", "other-schema"),
        ("cut.db", "damaged"),
        ("stub.db", "damaged"),
    ] {
        for command in [
            "verify",
            "ingest DATASET --id C",
            "ingest DATASET --create --id C",
            "dataset create D",
        ] {
            sandbox.refused(&format!("--registry {file} {command}"), kind);
        }
    }
}

#[test]
fn an_export_overwrites_a_manifest_and_nothing_else() {
    let sandbox = Sandbox::with_a_dataset();
    let bytes = || std::fs::read(sandbox.path().join("accession.db")).unwrap();
    let before = bytes();
    std::fs::write(sandbox.path().join("notes.txt"), "mine").unwrap();
    std::os::unix::fs::symlink("accession.db", sandbox.path().join("link")).unwrap();
    std::os::unix::fs::symlink("latest.jsonl", sandbox.path().join("manifest")).unwrap();
    for target in ["accession.db", "notes.txt", "link", ".", "nowhere/x", "manifest"] {
        let refused = sandbox.run(&format!("accession dataset export DATASET --output {target}"));
        assert!(refused.ends_with("? 2\n"), "{target}: {refused}");
        assert!(!refused.contains(".tmp"), "{refused}");
    }
    assert!(bytes() == before);
    assert_eq!(std::fs::read(sandbox.path().join("notes.txt")).unwrap(), b"mine");

    std::fs::write(sandbox.path().join("latest.jsonl"), "").unwrap();
    for _ in 0..2 {
        assert_eq!(sandbox.run("accession dataset export DATASET --output manifest"), "");
    }
    let printed = sandbox.run("accession dataset export DATASET");
    assert_eq!(std::fs::read_to_string(sandbox.path().join("latest.jsonl")).unwrap(), printed);
    assert_eq!(sandbox.run("accession dataset export DATASET --output - | cat"), printed);
    let expected =
        [".bin", "accession.db", "fixtures", "latest.jsonl", "link", "manifest", "notes.txt"];
    assert_eq!(sandbox.files(), expected);
}

#[test]
fn a_registry_that_cannot_be_written_can_be_read() {
    let sandbox = Sandbox::with_a_dataset();
    let registry = sandbox.path().join("accession.db");
    std::fs::write(sandbox.path().join("one.txt"), "A\n").unwrap();
    std::fs::write(sandbox.path().join("both.txt"), "A\nB\n").unwrap();
    set_mode(&registry, 0o444);
    let bytes = std::fs::read(&registry).unwrap();
    for directory_mode in [0o555, 0o777] {
        for arguments in ["show DATASET", "granules DATASET@2001-01-02", "verify"] {
            let output = as_nobody(&sandbox, directory_mode, arguments);
            assert!(output.status.success(), "{arguments}: {}", stderr(&output));
        }
        for arguments in ["ingest DATASET --id C", "sync DATASET one.txt", "sync DATASET both.txt"]
        {
            let output = as_nobody(&sandbox, directory_mode, &format!("--json {arguments}"));
            assert_refused(&output, "denied", arguments);
        }
        assert_eq!(std::fs::read(&registry).unwrap(), bytes);
        let left = sandbox.files();
        assert!(!left.iter().any(|name| name.starts_with("accession.db-")), "{left:?}");
    }
}

#[test]
fn a_backup_that_cannot_be_read_is_named_and_not_the_registry() {
    let sandbox = Sandbox::with_a_dataset();
    sandbox.run("accession registry backup copy.db");
    set_mode(&sandbox.path().join("copy.db"), 0o000);
    let output = as_nobody(&sandbox, 0o777, "registry restore copy.db");
    assert!(stderr(&output).contains("registry \"copy.db\""), "{}", stderr(&output));
}

#[test]
fn changes_that_are_still_in_the_wal_file_are_read() {
    let sandbox = Sandbox::with_a_dataset();
    let registry = sandbox.path().join("accession.db");
    let elsewhere = sandbox.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink("../accession.db", elsewhere.join("link.db")).unwrap();
    let writer = Connection::open(&registry).unwrap();
    let title = "UPDATE dataset SET record = json_set(record, '$.title', 'Only in the -wal file')";
    writer.execute(title, []).unwrap();
    harness::seal::seal_rows(&writer);
    set_mode(&registry, 0o444);
    for (directory_mode, path) in
        [(0o555, "accession.db"), (0o777, "accession.db"), (0o777, "elsewhere/link.db")]
    {
        let show = format!("--registry {path} show DATASET");
        let output = as_nobody(&sandbox, directory_mode, &show);
        assert!(output.status.success(), "{}", stderr(&output));
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains("Only in the -wal file"), "{printed}");
    }
    // Here a -wal file from a crash is unreadable, and the result would be wrong without it.
    let wal = sandbox.path().join("accession.db-wal");
    let bytes = std::fs::read(&wal).unwrap();
    set_mode(&registry, 0o644);
    drop(writer);
    set_mode(&registry, 0o444);
    std::fs::write(&wal, bytes).unwrap();
    let output = as_nobody(&sandbox, 0o555, "--json show DATASET");
    assert_refused(&output, "denied", "a -wal file after a crash");
}

#[test]
fn no_registry_is_created_beside_the_wal_file_of_a_lost_one() {
    for ending in ["-wal", "-journal"] {
        let sandbox = Sandbox::with_a_dataset();
        let left = sandbox.path().join(format!("new.db{ending}"));
        std::fs::write(&left, "changes of another").unwrap();
        for arguments in [
            "--registry new.db ingest DATASET --create --id A",
            "--registry new.db dataset create DATASET",
            "registry backup new.db",
        ] {
            sandbox.refused(arguments, "misplaced");
        }
        assert_eq!(std::fs::read(&left).unwrap(), b"changes of another");
        // An empty file contains nothing that could be lost.
        std::fs::write(&left, "").unwrap();
        sandbox.run("accession registry backup new.db");
    }
}

#[test]
fn a_registry_that_cannot_be_read_has_its_own_error_kind() {
    let sandbox = Sandbox::with_a_dataset();
    set_mode(&sandbox.path().join("accession.db"), 0o000);
    let output = as_nobody(&sandbox, 0o755, "--json show DATASET");
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(error.contains("\"kind\":\"denied\"") || error.contains("\"kind\":\"io\""), "{error}");
}

#[test]
fn a_mirror_reads_its_primary_while_the_owner_writes() {
    let sandbox = Sandbox::with_a_dataset();
    let owner: Vec<_> = (0..20)
        .map(|n| sandbox.command(&format!("ingest DATASET --at now --id owner.{n}")))
        .collect();
    let owner = std::thread::spawn(move || {
        for mut command in owner {
            assert!(command.output().unwrap().status.success());
        }
    });
    let mirror = "--registry mirror.db mirror pull DATASET accession.db";
    let first = sandbox.command(&format!("{mirror} --create")).output().unwrap();
    assert!(first.status.success(), "{}", stderr(&first));
    for _ in 0..10 {
        let output = sandbox.command(mirror).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    owner.join().unwrap();
    assert!(sandbox.command(mirror).output().unwrap().status.success());
    let compared =
        sandbox.run("accession --registry mirror.db mirror compare DATASET accession.db");
    assert!(compared.contains("\nidentical: 22 granules"), "{compared}");
}
