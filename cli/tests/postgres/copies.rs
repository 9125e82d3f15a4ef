//! Copies from a file to a server and back are identical to the byte, and can be repeated after a kill.

use harness::values::clock;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use accession::Registry;
use accession::dataset::Withdrawn;

use crate::scene::{Scene, command, dice, refused, rounds, succeed};
use harness::at_advance::AtAdvance;

/// A file with everything that a registry can contain.
pub fn filled(directory: &Path) -> String {
    let path = directory.join("source.db").to_str().unwrap().to_owned();
    let many: String = (0..20_000).map(|number| format!("granule.{number:06}\n")).collect();
    std::fs::write(directory.join("many.txt"), many).unwrap();
    let many = directory.join("many.txt");
    for arguments in [
        &["dataset", "create", "US", "--doi", "10.9999/US", "--creator", "NASA"][..],
        &["dataset", "edit", "US", "--title", "it's \\ é"],
        &[
            "ingest",
            "US",
            "--at",
            "2001-01-02",
            "--note",
            "first\nnote",
            "--id",
            "A",
            "--id",
            "a",
            "--id",
            "é",
            "--id",
            "Z",
        ],
        &["delete", "US", "--at", "2001-01-03", "--id", "a"],
        &["ingest", "US", "--at", "2001-01-04", "--id", "a", "--id", "値"],
        &["cite", "US", "--select", "A*"],
        &["cite", "US@2001-01-02", "--select", "*a*"],
        &["dataset", "edit", "US", "--title", "other"],
        &["dataset", "rename", "US", "OURS"],
        &["ingest", "LARGE", "--create", "--at", "2002-01-02", many.to_str().unwrap()],
        &["ingest", "THIRD", "--create", "--at", "2002-01-02", "--id", "A"],
        &["dataset", "withdraw", "THIRD", "--note", "wrong"],
        &["dataset", "create", "EMPTY"],
        &["ids", "payment", "--worker", "3"],
        &["proof", "keygen", "us.example.org/statements", "--output", "us.key"],
        &["proof", "sign", "--key", "us.key"],
        &["publish", "www"],
        &["mirror", "pull", "MIRROR", "www/datasets/OURS", "--create"],
    ] {
        let output = command(&path, arguments).current_dir(directory).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
    path
}

/// Everything that a registry reports, except payment ids.
pub fn reports(registry: &str) -> Vec<String> {
    let mut reports = vec![
        succeed(registry, &["dataset", "list", "--all", "--json"]),
        succeed(registry, &["verify", "--json"]),
        succeed(registry, &["find", "A", "--json"]),
        succeed(registry, &["proof", "create", "OURS"]),
        succeed(registry, &["status", "MIRROR", "--json"]),
    ];
    for name in ["US", "OURS", "LARGE", "THIRD", "EMPTY", "MIRROR"] {
        for arguments in [
            &["dataset", "export", name][..],
            &["history", name, "--json"],
            &["show", name, "--versions", "--json"],
            &["show", name, "--json"],
        ] {
            let output = command(registry, arguments).output().unwrap();
            reports.push(String::from_utf8([output.stdout, output.stderr].concat()).unwrap());
        }
    }
    reports
}

/// The reports with `R` for the name of the registry.
pub fn masked(reports: Vec<String>, registry: &str) -> Vec<String> {
    let shown = accession::Location::from(registry).full_name();
    reports.iter().map(|text| text.replace(shown.to_str().unwrap(), "R")).collect()
}

#[test]
fn a_copy_to_a_server_and_back_says_the_same_to_the_byte() {
    let Some(scene) = Scene::new() else { return };
    let directory = harness::directory();
    let source = filled(directory.path());
    let server = scene.server.new_database();
    let back = directory.path().join("back.db").to_str().unwrap().to_owned();
    succeed("unused", &["registry", "copy", &source, &server]);
    succeed("unused", &["registry", "copy", &server, &back]);
    let expected = reports(&source);
    let expected = masked(expected, &source);
    assert_eq!(masked(reports(&server), &server), expected);
    assert_eq!(masked(reports(&back), &back), expected);

    // The target of a copy must be empty.
    refused("unused", &["registry", "copy", &source, &server], "already-exists");

    // A backup contains the payment workers, also on a server. A copy contains them only if requested.
    let backed_up = scene.server.new_database();
    succeed(&source, &["registry", "backup", &backed_up]);
    assert_eq!(masked(reports(&backed_up), &backed_up), expected);
    assert_eq!(workers_at(&backed_up), [3]);
    let backup = directory.path().join("backup.db").to_str().unwrap().to_owned();
    succeed(&server, &["ids", "payment", "--worker", "5"]);
    succeed(&server, &["registry", "backup", &backup]);
    assert_eq!(masked(reports(&backup), &backup), expected);
    let workers = rusqlite::Connection::open(&backup)
        .unwrap()
        .query_row("SELECT group_concat(worker) FROM payment_worker", [], |row| {
            row.get::<_, String>(0)
        })
        .unwrap();
    assert_eq!(workers, "5");
    let other = scene.server.new_database();
    succeed("unused", &["registry", "copy", &source, &other, "--payment-ids"]);
    assert_eq!(workers_at(&other), [3]);
    refused(&server, &["registry", "restore", &backup], "unsupported");
}

/// The workers that issue payment ids from a registry on a server.
fn workers_at(url: &str) -> Vec<i64> {
    let rows = harness::server::client(url)
        .query("SELECT worker FROM accession.payment_worker", &[])
        .unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[test]
fn nothing_remains_of_a_copy_that_is_killed_and_it_can_be_made_again() {
    let Some(scene) = Scene::new() else { return };
    let directory = harness::directory();
    let source = filled(directory.path());
    let verified = |registry: &str| succeed(registry, &["verify", "--json"]);
    let expected = verified(&source);
    let mut unfinished = 0;
    for round in 0..rounds(6, 100) {
        let server = scene.server.new_database();
        let mut copy =
            command("unused", &["registry", "copy", "--quiet", &source, &server]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(dice(round, 700)));
        copy.kill().unwrap();
        copy.wait().unwrap();
        // The server may still be committing the last message of the client.
        let again =
            command("unused", &["registry", "copy", "--json", &source, &server]).output().unwrap();
        match again.status.success() {
            true => unfinished += 1,
            false => {
                let printed = String::from_utf8_lossy(&again.stderr);
                assert!(printed.contains("already-exists"), "{printed}");
            }
        }
        assert_eq!(verified(&server), expected);
    }
    println!("{unfinished} copies were killed before they were complete");
}

/// Commands that change a registry in every way.
const CHANGES: [&[&str]; 8] = [
    &["delete", "LARGE", "--id", "granule.000000", "--id", "granule.019999", "--at", "now"],
    &["ingest", "LARGE", "--id", "granule.0000001", "--id", "granule.9"],
    &["ingest", "OURS", "--id", "later", "--at", "now"],
    &["dataset", "edit", "OURS", "--title", "later"],
    &["dataset", "rename", "OURS", "LATER"],
    &["dataset", "rename", "THIRD", "FOURTH"],
    &["cite", "LATER", "--select", "*a*"],
    &["dataset", "create", "NEW"],
];

#[test]
fn a_copy_is_of_one_moment_although_others_change_the_registry_meanwhile() {
    let Some(scene) = Scene::new() else { return };
    let directory = harness::directory();
    let file = PathBuf::from(filled(directory.path()));
    let server = PathBuf::from(scene.server.new_database());
    Registry::open(&file, clock()).unwrap().copy_with_payment_ids_to(&server).unwrap();
    let expected = masked(reports(file.to_str().unwrap()), file.to_str().unwrap());
    let changed = |source: &Path, target: &Path| {
        let (path, is_done) = (source.to_str().unwrap().to_owned(), Arc::<AtomicBool>::default());
        let is_changed = Arc::clone(&is_done);
        // At the first moment of the copy.
        let observer = AtAdvance(move |_| {
            if !is_changed.swap(true, Ordering::SeqCst) {
                for arguments in CHANGES {
                    succeed(&path, arguments);
                }
            }
        });
        let registry = Registry::open(source, clock()).unwrap();
        registry.observed_by(Arc::new(observer)).copy_with_payment_ids_to(target).unwrap();
        assert!(is_done.load(Ordering::SeqCst));
        let target = target.to_str().unwrap();
        assert_eq!(masked(reports(target), target), expected);
    };
    changed(&server, &directory.path().join("backup.db"));
    changed(&file, Path::new(&scene.server.new_database()));
}

#[test]
fn a_backup_in_a_directory_is_named_after_the_database() {
    let Some(scene) = Scene::new() else { return };
    let directory = harness::directory();
    let nightly = directory.path().join("nightly");
    std::fs::create_dir(&nightly).unwrap();
    succeed(&scene.url, &["dataset", "create", "US"]);
    let database = scene.url.rsplit('/').next().unwrap();
    for number in 1..=2 {
        let arguments = ["registry", "backup", nightly.to_str().unwrap(), "--json"];
        let printed = succeed(&scene.url, &arguments);
        let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
        let path = printed["path"].as_str().unwrap();
        let file = Path::new(path).file_name().unwrap().to_str().unwrap();
        assert!(file.starts_with(&format!("{database}-20")) && file.ends_with(".db"), "{path}");
        assert_eq!(std::fs::read_dir(&nightly).unwrap().count(), number);
        let copy = Registry::open(Path::new(path), clock()).unwrap();
        assert_eq!(copy.snapshot().unwrap().all_datasets(Withdrawn::Listed).unwrap().len(), 1);
    }
}
