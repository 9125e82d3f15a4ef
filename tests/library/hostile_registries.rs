//! Untrusted registry files: a file that is marked as a registry must have the schema of one.

use std::path::{Path, PathBuf};

use accession::{Access, Registry, Stamp};
use rusqlite::Connection;

use crate::harness::history::{change, name, now, second};

/// The SQL of the migrations, in their order.
fn migrations() -> Vec<String> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    let version = |path: &PathBuf| -> u32 {
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        stem[1..stem.find('_').unwrap()].parse().unwrap()
    };
    files.sort_by_key(version);
    files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// A registry of an older schema, or of this one, with a dataset that has a history of one change.
fn registry_of(version: usize, path: &Path) {
    registry_in("UTF-8", version, path);
}

/// The same in an encoding, which SQLite takes over when it writes the first page.
fn registry_in(encoding: &str, version: usize, path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "encoding", encoding).unwrap();
    for migration in &migrations()[..version] {
        connection.execute_batch(migration).unwrap();
    }
    let mark = u32::from_be_bytes(*b"accs");
    connection.pragma_update(None, "application_id", mark).unwrap();
    connection.pragma_update(None, "user_version", version as u32).unwrap();
    let at = second(0).as_micros();
    let rows = format!(
        "INSERT INTO dataset (id, name) VALUES (1, 'dataset');
         INSERT INTO instance
             (dataset_id, timestamp, identifier, granules, ingested, deleted, recorded)
         VALUES (1, {at}, unhex('bf072e9119077b4e76437a93986787ef'), 1, 1, 0, {at});
         INSERT INTO granule (dataset_id, granule_id, ingested) VALUES (1, 'A', {at});"
    );
    connection.execute_batch(&rows).unwrap();
}

/// A registry of every schema so far, altered with SQL as the sqlite3 shell could.
fn altered(sql: &str) -> Vec<(tempfile::TempDir, PathBuf)> {
    let versions = 1..=migrations().len();
    let sandboxes = versions.filter_map(|version| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("accession.db");
        registry_of(version, &path);
        // An object that a later schema adds cannot be altered in an earlier one.
        let is_altered = Connection::open(&path).unwrap().execute_batch(sql).is_ok();
        is_altered.then_some((directory, path))
    });
    sandboxes.collect()
}

#[test]
fn a_registry_of_every_schema_opens_and_verifies() {
    let sandboxes = altered("");
    assert_eq!(sandboxes.len(), migrations().len());
    for (_directory, path) in sandboxes {
        let registry = Registry::open(&path, Access::Read).unwrap();
        assert_eq!(registry.check_file().unwrap(), []);
        assert!(registry.verify(&name("dataset")).unwrap().ok);
    }
}

#[test]
fn other_objects_in_the_file_are_not_evaluated_by_verify() {
    let sandboxes = altered(
        "CREATE TABLE numbers (n CHECK (length(zeroblob(1000000000)) > n));
         PRAGMA ignore_check_constraints = ON;
         WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted LIMIT 5000)
         INSERT INTO numbers SELECT n FROM counted;
         CREATE INDEX slow ON numbers (length(replace(hex(zeroblob(2000 + n)), '0', '1')))",
    );
    assert_eq!(sandboxes.len(), migrations().len());
    for (directory, path) in sandboxes {
        let registry = Registry::open(&path, Access::Read).unwrap();
        assert_eq!(registry.check_file().unwrap(), []);
        assert!(registry.verify(&name("dataset")).unwrap().ok);
        registry.back_up(&directory.path().join("copy.db")).unwrap();
    }
}

#[test]
fn a_schema_that_the_migrations_do_not_create_is_refused_and_not_changed() {
    let cases = [
        ("ALTER TABLE granule ADD COLUMN more TEXT", "table granule is missing, or differs"),
        ("ALTER TABLE instance RENAME COLUMN deleted TO taken", "table instance is missing, or differs"),
        ("DROP TABLE checkpoint", "table checkpoint is missing, or differs"),
        (
            "DROP TABLE checkpoint;
             CREATE VIEW checkpoint AS SELECT dataset_id, granule_id, zeroblob(16) AS chain FROM granule",
            "table checkpoint is missing, or differs",
        ),
        (
            "ALTER TABLE dataset RENAME TO real_dataset;
             CREATE TABLE dataset (
                 id INTEGER PRIMARY KEY, name TEXT, doi TEXT,
                 title TEXT AS (hex(zeroblob(100000000))), creators TEXT, publisher TEXT,
                 version TEXT, year INTEGER, url TEXT, archive TEXT)",
            "table dataset is missing, or differs",
        ),
        (
            "DROP TABLE checkpoint; CREATE VIRTUAL TABLE checkpoint USING fts5 (dataset_id, granule_id, chain)",
            "table checkpoint is missing, or differs",
        ),
        ("DROP INDEX instance_by_identifier", "index instance_by_identifier is missing, or differs"),
        (
            "DROP INDEX instance_by_identifier;
             CREATE UNIQUE INDEX instance_by_identifier ON instance (identifier)",
            "index \"instance_by_identifier\" on instance is not part of",
        ),
        ("DROP VIEW Granules", "view \"Granules\" is missing, or differs"),
        (
            "CREATE INDEX mine ON granule (dataset_id, deleted, granule_id, ingested)",
            "index \"mine\" on granule is not part of",
        ),
        ("CREATE INDEX mine ON Instance (hex(note))", "\"mine\" on instance is not part of"),
        ("DROP TABLE payment_taken", "table payment_taken is missing, or differs"),
    ];
    for (sql, what) in cases {
        let sandboxes = altered(sql);
        assert!(!sandboxes.is_empty(), "{sql}");
        for (_directory, path) in sandboxes {
            let bytes = std::fs::read(&path).unwrap();
            for access in [Access::Read, Access::Write] {
                let error = Registry::open(&path, access).err().unwrap();
                assert_eq!(error.kind().as_str(), "damaged", "{sql}");
                let text = error.to_string();
                assert!(text.to_lowercase().contains(&what.to_lowercase()), "{text}");
                assert_eq!(std::fs::read(&path).unwrap(), bytes, "{sql}");
            }
        }
    }
}

/// SQLite decides by the SQL text of an object what it is, and reads the index here as one of the
/// table of granules, although its pages are those of another table.
#[test]
fn an_index_whose_kind_or_table_is_misstated_is_refused() {
    let indexes = "
        CREATE TABLE granule2 (dataset_id INTEGER NOT NULL, granule_id TEXT NOT NULL, ingested INTEGER NOT NULL, deleted INTEGER) STRICT;
        INSERT INTO granule2 VALUES (1, 'BOGUS', 0, NULL);
        CREATE INDEX evil ON granule (dataset_id, granule_id, deleted, ingested);
        CREATE INDEX evil2 ON granule2 (dataset_id, granule_id, deleted, ingested);
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema
        SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'evil2'), STATED
        WHERE name = 'evil';
        DELETE FROM sqlite_schema WHERE name IN ('evil2', 'granule2')";
    for (stated, what) in [
        ("type = 'INDEX'", "the type of \"evil\" in its schema is \"INDEX\""),
        ("type = 'Index'", "the type of \"evil\" in its schema is \"Index\""),
        // SQLite itself refuses these.
        ("type = 'table', tbl_name = 'evil'", "malformed database schema (evil)"),
        ("tbl_name = 'theirs'", "malformed database schema (evil)"),
    ] {
        let sandboxes = altered(&indexes.replace("STATED", stated));
        assert_eq!(sandboxes.len(), migrations().len());
        for (_directory, path) in sandboxes {
            for access in [Access::Read, Access::Write] {
                let error = Registry::open(&path, access).err().unwrap();
                assert_eq!(error.kind().as_str(), "damaged", "{stated}");
                let text = error.to_string();
                assert!(text.contains(what), "{stated}: {text}");
            }
        }
    }
}

/// In UTF-16, SQLite orders \u{10000} before \u{ffff}, so the identifiers would be wrong.
#[test]
fn a_registry_in_utf_16_is_refused_as_a_registry_and_as_a_copy_of_one() {
    for encoding in ["UTF-16le", "UTF-16be"] {
        for version in 1..=migrations().len() {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("accession.db");
            registry_in(encoding, version, &path);
            let bytes = std::fs::read(&path).unwrap();
            for access in [Access::Read, Access::Write] {
                let error = Registry::open(&path, access).err().unwrap();
                assert_eq!(error.kind().as_str(), "damaged");
                let text = error.to_string();
                assert!(text.contains(encoding), "{text}");
            }
            let target = directory.path().join("restored.db");
            let refused = accession::registry::restore(&path, &target, now(), None).unwrap_err();
            assert_eq!(refused.kind().as_str(), "damaged");
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
            assert!(!target.exists());
        }
    }
}

#[test]
fn a_mark_without_a_schema_is_not_a_registry() {
    for (_directory, path) in altered("PRAGMA user_version = 0") {
        let error = Registry::open(&path, Access::Write).err().unwrap();
        assert_eq!(error.kind().as_str(), "not-a-registry");
    }
}

#[test]
fn other_objects_in_the_file_are_not_changed_and_never_run() {
    let sql = "
        CREATE TABLE theirs (a TEXT UNIQUE, b AS (upper(a)), dataset_id REFERENCES dataset (id));
        CREATE INDEX theirs_by_b ON theirs (b);
        CREATE VIEW their_view AS SELECT hex(zeroblob(100000000)) FROM granule;
        CREATE TRIGGER their_trigger BEFORE INSERT ON granule
        BEGIN SELECT raise(ABORT, 'the trigger ran'); END;
        CREATE TRIGGER their_other BEFORE UPDATE ON granule
        BEGIN SELECT raise(ABORT, 'the trigger ran'); END;
        INSERT INTO theirs (a) VALUES ('x');
        ANALYZE";
    for (_directory, path) in altered(sql) {
        let registry = Registry::open(&path, Access::Write).unwrap();
        let stamp = Stamp::at(second(1), now());
        registry.change(&name("dataset"), &change(["B"], ["A"]), &stamp).unwrap();
        assert_eq!(registry.check_file().unwrap(), []);
        assert!(registry.verify(&name("dataset")).unwrap().ok);
        drop(registry);
        let connection = Connection::open(&path).unwrap();
        let theirs = "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%their%' AND sql <> ''";
        let count: u32 = connection.query_row(theirs, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 5);
    }
}

#[test]
fn a_string_longer_than_a_mebibyte_is_neither_read_nor_written() {
    let long = "UPDATE instance SET note = printf('%.*c', 1048577, 'x')";
    for (_directory, path) in altered(long) {
        // An older file cannot be migrated with it.
        let error = match Registry::open(&path, Access::Write) {
            Ok(registry) => registry.snapshot().unwrap().history(&name("dataset")).err().unwrap(),
            Err(error) => error,
        };
        assert_eq!(error.kind().as_str(), "too-long");
    }
    for (_directory, path) in altered("") {
        let registry = Registry::open(&path, Access::Write).unwrap();
        let stamp = Stamp::at(second(1), now());
        let with_note = |characters| {
            let mut change = change(["B"], []);
            change.options.note = Some("ü".repeat(characters));
            change
        };
        let too_long = registry.change(&name("dataset"), &with_note(4_097), &stamp).unwrap_err();
        assert_eq!(too_long.kind().as_str(), "too-long");
        registry.change(&name("dataset"), &with_note(4_096), &stamp).unwrap();
        let listed = registry.snapshot().unwrap().dataset(&name("dataset")).unwrap();
        assert!(listed.latest.unwrap().note.is_some());
    }
}

#[test]
fn an_index_that_disagrees_with_its_table_is_found_by_the_check_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("accession.db");
    registry_of(migrations().len(), &path);
    // The index is hidden while a row is added, and then restored.
    let hidden = |sql: &str| {
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&format!("PRAGMA writable_schema = ON; {sql}")).unwrap();
    };
    hidden(
        "CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'instance_by_identifier';
         DELETE FROM sqlite_schema WHERE name = 'instance_by_identifier'",
    );
    let row = "INSERT INTO instance
        (dataset_id, timestamp, identifier, granules, ingested, deleted, recorded)
        SELECT dataset_id, timestamp + 1, zeroblob(16), 1, 1, 0, recorded FROM instance";
    Connection::open(&path).unwrap().execute_batch(row).unwrap();
    hidden("INSERT INTO sqlite_schema SELECT * FROM kept; DROP TABLE kept");
    let registry = Registry::open(&path, Access::Read).unwrap();
    let findings = registry.check_file().unwrap();
    assert!(
        findings.iter().any(|it| it.text.contains("missing from index instance_by_identifier")),
        "{findings:?}"
    );
}
