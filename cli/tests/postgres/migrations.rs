//! Registries with other schemas, and those that lack migrations.

use accession::Registry;
use harness::values::clock;

use crate::scene::{Scene, command, succeed};

#[test]
fn a_registry_of_another_version_is_refused_with_a_sentence_and_not_changed() {
    for (sql, what) in [
        ("UPDATE accession.registry SET version = 6", "it is schema 6, not 1"),
        ("UPDATE accession.registry SET schema_check = 0", "created by another version"),
        // A testing version did not have this column.
        ("ALTER TABLE accession.registry DROP COLUMN schema_check", "schema_check"),
    ] {
        let Some(scene) = Scene::new() else { return };
        scene.client().batch_execute(sql).unwrap();
        let error = Registry::open(scene.path(), clock()).err().unwrap();
        assert_eq!(error.kind().as_str(), "other-schema", "{sql}");
        let text = error.to_string();
        assert!(text.contains("as those of testing versions have"), "{text}");
        assert!(text.contains(what), "{text}");
        // No other registry is created instead.
        let refused =
            command(&scene.url, &["ingest", "D", "--create", "--id", "A"]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
    }
}

/// A registry of schema 0. It has only the table with the version, as if every migration were missing.
fn without_migrations() -> Option<Scene> {
    let scene = Scene::new()?;
    let mut client = scene.client();
    let tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'accession'";
    for row in client.query(tables, &[]).unwrap() {
        let table: &str = row.get(0);
        if table != "registry" {
            client.batch_execute(&format!("DROP TABLE accession.{table} CASCADE")).unwrap();
        }
    }
    let state = "
        DROP FUNCTION
            accession.refuse, accession.refuse_but_deletion, accession.refuse_but_signatures,
            accession.refuse_but_unused;
        ALTER TABLE accession.registry DROP CONSTRAINT registry_version_check;
        UPDATE accession.registry SET version = 0";
    client.batch_execute(state).unwrap();
    Some(scene)
}

/// The recorded version of the schema, and whether a table for datasets exists.
fn schema_of(scene: &Scene) -> (i32, bool) {
    let sql =
        "SELECT version, to_regclass('accession.dataset') IS NOT NULL FROM accession.registry";
    let row = scene.client().query_one(sql, &[]).unwrap();
    (row.get(0), row.get(1))
}

#[test]
fn a_registry_gets_the_migrations_that_it_lacks_once_however_many_write_to_it() {
    let Some(scene) = without_migrations() else { return };
    let open = || Registry::open(scene.path(), clock()).unwrap();
    let refused = open().snapshot().err().unwrap();
    assert_eq!(refused.kind().as_str(), "other-schema");
    assert_eq!(schema_of(&scene), (0, false));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| open().check_writable().unwrap());
        }
    });
    assert_eq!(schema_of(&scene), (1, true));
    scene.client().batch_execute("INSERT INTO accession.writer (dataset_id) VALUES (0)").unwrap();
    succeed(&scene.url, &["ingest", "D", "--create", "--id", "A"]);
    succeed(&scene.url, &["verify"]);
    let of_one = succeed(&scene.url, &["verify", "D"]);
    let left_out = "not checked: the other datasets, payment ids and statements\n";
    assert!(of_one.contains(left_out), "{of_one}");
}

#[test]
fn a_failed_migration_changes_nothing() {
    let Some(scene) = without_migrations() else { return };
    // The last table of the migration already exists.
    scene.client().batch_execute("CREATE TABLE accession.payment_taken (x integer)").unwrap();
    for _ in 0..2 {
        let registry = Registry::open(scene.path(), clock()).unwrap();
        registry.check_writable().unwrap_err();
        assert_eq!(schema_of(&scene), (0, false));
    }
    scene.client().batch_execute("DROP TABLE accession.payment_taken").unwrap();
    Registry::open(scene.path(), clock()).unwrap().check_writable().unwrap();
    assert_eq!(schema_of(&scene), (1, true));
}
