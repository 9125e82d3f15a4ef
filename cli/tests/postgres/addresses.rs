//! Addresses, passwords, and databases that are not registries.

use accession::{DatasetFilter, Registry};
use harness::values::clock;

use crate::scene::{Scene, command};

#[test]
fn no_message_shows_a_password() {
    for registry in [
        "postgres://me:verysecret@127.0.0.1:0/archive",
        "postgres://me@127.0.0.1:0/archive?password=verysecret",
        "postgres://me:very?secret@127.0.0.1:0/archive",
        "postgres://me:verysecret@127.0.0.1:port/archive",
        "postgres://me:verysecret@127.0.0.1:0/archive?sslmode=never",
        "POSTGRES://me:verysecret@127.0.0.1:0/archive",
        "PostgreSQL://me:verysecret@127.0.0.1:port/archive",
        "postgresql+psycopg://me:verysecret@127.0.0.1:0/archive",
        "mysql://me:verysecret@127.0.0.1:0/archive",
        "host=127.0.0.1 port=0 user=archive password=verysecret",
        "password = 'verysecret' host=127.0.0.1 port=0",
        "host=127.0.0.1 PASSWORD=verysecret",
        // The password is in ~/.pgpass, or in the service file.
        "host=db user=archive dbname=archive",
        "service=prod",
        "postgres:/archive:verysecret@h/x",
        "postgresql:archive:verysecret@h/x",
    ] {
        let directory = harness::directory();
        drop(Registry::create(directory.path().join("accession.db"), clock()).unwrap());
        for arguments in [
            &["verify"][..],
            &["ingest", "D", "--create", "--id", "A"],
            &["--json", "dataset", "list"],
            &["registry", "backup", "/nonexistent/copy.db"],
            &["registry", "restore", "/dev/null"],
            &["registry", "copy", registry, registry],
            &["registry", "copy", "accession.db", registry],
            &["--registry", registry, "serve", "--listen", "127.0.0.1:0"],
            &["--registry", "accession.db", "backup", registry],
            &["--registry", "accession.db", "restore", registry],
            &["--registry", "accession.db", "mirror", "compare", "D", registry],
            &["dataset", "create", "D"],
        ] {
            let mut command = command(registry, arguments);
            let output = command.current_dir(directory.path()).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{arguments:?}");
            let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(!printed.contains("secret"), "{arguments:?}: {printed}");
            // No file with this name is created either.
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "{arguments:?}");
        }
    }
}

#[test]
fn a_database_that_has_no_registry_or_another_schema_is_refused_and_left_as_it_is() {
    let Some(scene) = Scene::new() else { return };
    let kind = |url: &str| {
        let opened = Registry::open(url, clock());
        opened.err().map(|error| error.kind().as_str())
    };
    let empty = scene.server.new_database();
    assert_eq!(kind(&empty), Some("registry-missing"));
    // A rejected command creates nothing in the database.
    let refused =
        command(&empty, &["ingest", "D", "--create", "--at", "noon", "--id", "A"]).output();
    assert_eq!(refused.unwrap().status.code(), Some(2));
    let refused =
        command(&empty, &["ingest", "D", "--create", "--id", "A", "--id", "A"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(kind(&empty), Some("registry-missing"));

    let mut client = scene.client();
    client.batch_execute("UPDATE accession.registry SET version = 99").unwrap();
    assert_eq!(kind(&scene.url), Some("other-schema"));
    client.batch_execute("ALTER TABLE accession.registry DISABLE TRIGGER ALL").unwrap();
    client.batch_execute("DELETE FROM accession.registry").unwrap();
    assert_eq!(kind(&scene.url), Some("not-a-registry"));
    assert_eq!(kind("postgres://nobody@127.0.0.1:0/x"), Some("unreachable"));
}

#[test]
fn eight_processes_that_create_one_registry_make_one_with_all_their_changes() {
    let Some(scene) = Scene::new() else { return };
    let url = scene.server.new_database();
    let children: Vec<_> = (0..8)
        .map(|number| {
            let granule_id = format!("G{number}");
            let dataset = format!("D{}", number % 3);
            command(&url, &["ingest", &dataset, "--create", "--quiet", "--id", &granule_id])
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let registry = Registry::open(&url, clock()).unwrap();
    for number in 0..8 {
        assert_eq!(crate::scene::periods_of(&registry, &format!("G{number}")), 1);
    }
    assert_eq!(registry.verify_all(&DatasetFilter::All).unwrap().finish().unwrap().findings, 0);
}
