//! Untrusted registry files: a file that is marked as a registry must have the schema of a registry.

use harness::values::clock;
use std::path::{Path, PathBuf};

use accession::{HistoryOptions, Registry};
use rusqlite::Connection;

use harness::history::{name, second, step};
use harness::oracle::naive_digest;

/// A registry with a dataset that has a history of one change.
fn registry_at(path: &Path) {
    registry_in("UTF-8", path);
}

/// The same registry in another encoding, which SQLite adopts when it writes the first page.
fn registry_in(encoding: &str, path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "encoding", encoding).unwrap();
    let schema = include_str!("../../migrations/sqlite/V1__registry.sql");
    connection.execute_batch(schema).unwrap();
    let mark = u32::from_be_bytes(*b"accs");
    connection.pragma_update(None, "application_id", mark).unwrap();
    connection.pragma_update(None, "user_version", 1).unwrap();
    let at = second(0).as_micros();
    let digest = hex::encode(naive_digest(["A"]).as_bytes());
    let rows = format!(
        "INSERT INTO dataset (id, name, record, row_check)
         VALUES (1, 'dataset', '{{\"name\":\"dataset\"}}', 0);
         INSERT INTO instance
             (dataset_id, timestamp, identifier, digest, granules, ingested, deleted, described,
              replaced, recorded, row_check)
         VALUES (1, {at}, unhex('bf072e9119077b4e76437a93986787ef'), unhex('{digest}'), 1, 1, 0, 0,
              0, {at}, 0);
         INSERT INTO granule (dataset_id, granule_id, ingested) VALUES (1, 'A', {at});"
    );
    connection.execute_batch(&rows).unwrap();
    harness::seal::seal_rows(&connection);
}

/// A registry, altered with SQL as with the sqlite3 shell.
fn altered(sql: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = harness::directory();
    let path = directory.path().join("accession.db");
    registry_at(&path);
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    (directory, path)
}

/// Asserts that the file is rejected and unchanged, and returns the error.
fn refused(path: &Path, kind: &str) -> String {
    let bytes = std::fs::read(path).unwrap();
    let error = Registry::open(path, clock()).err().unwrap();
    assert_eq!(error.kind().as_str(), kind, "{error}");
    assert_eq!(std::fs::read(path).unwrap(), bytes, "{error}");
    error.to_string()
}

#[test]
fn a_registry_of_another_version_is_refused_with_a_sentence_and_not_changed() {
    // The last testing version wrote schema 10. The first one used the number 1 for other tables.
    for (sql, what) in [
        ("PRAGMA user_version = 10", "it is schema 10, not 1"),
        ("ALTER TABLE instance DROP COLUMN recorded_by", "table instance is missing, or differs"),
    ] {
        let (_directory, path) = altered(sql);
        let text = refused(&path, "other-schema");
        assert!(text.contains("as those of testing versions have"), "{text}");
        assert!(text.contains(what), "{text}");
    }
}

#[test]
fn other_objects_in_the_file_are_not_evaluated_by_verify() {
    let (directory, path) = altered(
        "CREATE TABLE numbers (n CHECK (length(zeroblob(1000000000)) > n));
         PRAGMA ignore_check_constraints = ON;
         WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted LIMIT 5000)
         INSERT INTO numbers SELECT n FROM counted;
         CREATE INDEX slow ON numbers (length(replace(hex(zeroblob(2000 + n)), '0', '1')))",
    );
    let registry = Registry::open(&path, clock()).unwrap();
    assert_eq!(registry.check_file().unwrap(), []);
    assert!(registry.verify(&name("dataset")).unwrap().ok);
    registry.back_up(&directory.path().join("copy.db")).unwrap();
}

#[test]
fn a_schema_that_the_migrations_do_not_create_is_refused_and_not_changed() {
    let cases = [
        ("ALTER TABLE granule ADD COLUMN more TEXT", "table granule is missing, or differs"),
        ("ALTER TABLE instance RENAME COLUMN deleted TO taken", "table instance is missing, or differs"),
        ("DROP TABLE checkpoint", "table checkpoint is missing, or differs"),
        (
            "CREATE TABLE more (a REFERENCES dataset (name) ON UPDATE CASCADE)",
            "the added table \"more\" follows changes of the table dataset",
        ),
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
            "view \"DatasetInstances\" is missing, or differs",
        ),
        (
            "DROP TABLE checkpoint; CREATE VIRTUAL TABLE checkpoint USING fts5 (dataset_id, granule_id, chain)",
            "the added virtual table \"checkpoint\" runs code",
        ),
        ("DROP INDEX instance_by_identifier", "index instance_by_identifier is missing, or differs"),
        (
            "DROP INDEX instance_by_identifier;
             CREATE UNIQUE INDEX instance_by_identifier ON instance (identifier)",
            "added index \"instance_by_identifier\" instead of the table instance",
        ),
        ("DROP VIEW Granules", "view \"Granules\" is missing, or differs"),
        (
            "CREATE INDEX mine ON granule (dataset_id, deleted, granule_id, ingested)",
            "added index \"mine\" instead of the table granule",
        ),
        ("CREATE INDEX mine ON Instance (hex(note))", "added index \"mine\" instead of the table instance"),
        ("DROP TABLE payment_taken", "table payment_taken is missing, or differs"),
    ];
    for (sql, what) in cases {
        let (_directory, path) = altered(sql);
        let text = refused(&path, "other-schema");
        assert!(text.to_lowercase().contains(&what.to_lowercase()), "{sql}: {text}");
    }
}

/// SQLite infers the kind and table of an object from its SQL text. Here it reads the index as one of the table
/// of granules, although its pages belong to another table.
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
        // SQLite itself rejects these.
        ("type = 'table', tbl_name = 'evil'", "malformed database schema (evil)"),
        ("tbl_name = 'theirs'", "malformed database schema (evil)"),
    ] {
        let (_directory, path) = altered(&indexes.replace("STATED", stated));
        let text = refused(&path, "damaged");
        assert!(text.contains(what), "{stated}: {text}");
    }
}

/// Asserts that the file is rejected as a registry, as a backup to restore and as a primary. Returns the error.
fn refused_everywhere(path: &Path, kind: &str) -> String {
    let text = refused(path, kind);
    let target = path.with_file_name("restored.db");
    let restored = accession::Registry::restore(path, &target, clock(), &accession::Watcher::new())
        .unwrap_err();
    assert_eq!(restored.kind().as_str(), kind);
    assert!(!target.exists());
    text
}

/// A table of the file hides a table function of the same name. With `rarray`, `verify` found nothing, and
/// a change recorded a granule twice.
#[test]
fn a_file_whose_objects_replace_a_table_function_is_refused() {
    for (sql, what) in [
        (
            "CREATE VIRTUAL TABLE rarray USING fts4 (value)",
            "the added virtual table \"rarray\" runs code",
        ),
        (
            "CREATE TABLE RArray (value, pointer)",
            "the added table \"RArray\" instead of its table function",
        ),
        ("CREATE VIEW rarray AS SELECT 'A' AS value", "the added view \"rarray\" instead of"),
        (
            "CREATE TABLE t (x); CREATE INDEX RARRAY ON t (x)",
            "the added index \"RARRAY\" instead of",
        ),
        ("CREATE TABLE json_Each (value)", "the added table \"json_Each\" instead of"),
        ("CREATE TABLE pragma_table_info (name)", "\"pragma_table_info\" instead of"),
    ] {
        let (_directory, path) = altered(sql);
        let text = refused_everywhere(&path, "other-schema");
        assert!(text.contains(what), "{sql}: {text}");
    }
}

#[test]
fn a_file_with_a_virtual_table_is_refused_whatever_its_name_is() {
    for module in ["fts3 (x)", "fts4 (x)", "fts5 (x)", "rtree (id, a, b)"] {
        let (_directory, path) = altered(&format!("CREATE VIRTUAL TABLE theirs USING {module}"));
        let text = refused_everywhere(&path, "other-schema");
        assert!(text.contains("the added virtual table \"theirs\" runs code"), "{module}: {text}");
    }
    // SQLite accepts the text of an object in any letter case and with comments. It writes only one form.
    for text in ["create virtual table", "CREATE/**/VIRTUAL TABLE", "CREATE  VIRTUAL TABLE"] {
        let (_directory, path) = altered(&format!(
            "CREATE VIRTUAL TABLE theirs USING fts4 (x);
             PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = '{text} theirs USING fts4 (x)' WHERE name = 'theirs'"
        ));
        let refusal = refused_everywhere(&path, "damaged");
        assert!(refusal.contains("the text of \"theirs\" in its schema"), "{text}: {refusal}");
    }
}

/// SQLite compares a name with the text of the object only up to the first NUL character.
#[test]
fn a_name_with_a_nul_character_does_not_hide_an_object() {
    for (sql, changed) in [
        (
            "CREATE INDEX mine ON granule (dataset_id, deleted, granule_id, ingested)",
            "tbl_name = 'granule' || char(0) || 'x' WHERE name = 'mine'",
        ),
        ("CREATE TABLE rarray (value)", "name = 'rarray' || char(0) || 'x' WHERE name = 'rarray'"),
    ] {
        let (_directory, path) = altered(&format!(
            "{sql}; PRAGMA writable_schema = ON; UPDATE sqlite_schema SET {changed}"
        ));
        let text = refused_everywhere(&path, "damaged");
        assert!(text.contains("NUL character"), "{sql}: {text}");
    }
}

/// SQLite finds its own schema by this name, unless a table has the same name.
#[test]
fn a_table_that_poses_as_the_schema_is_refused() {
    let (_directory, path) = altered(
        "CREATE TABLE posing AS SELECT * FROM sqlite_schema;
         CREATE VIRTUAL TABLE rarray USING fts4 (value);
         PRAGMA writable_schema = ON;
         UPDATE sqlite_schema
         SET name = 'sqlite_schema', tbl_name = 'sqlite_schema',
             sql = 'CREATE TABLE sqlite_schema (type, name, tbl_name, rootpage, sql)'
         WHERE name = 'posing'",
    );
    let text = refused_everywhere(&path, "damaged");
    assert!(text.contains("malformed database schema"), "{text}");
}

/// In UTF-16, SQLite orders \u{10000} before \u{ffff}, so the identifiers would be wrong.
#[test]
fn a_registry_in_utf_16_is_refused_as_a_registry_and_as_a_copy_of_one() {
    for encoding in ["UTF-16le", "UTF-16be"] {
        let directory = harness::directory();
        let path = directory.path().join("accession.db");
        registry_in(encoding, &path);
        let text = refused(&path, "damaged");
        assert!(text.contains(encoding), "{text}");
        let bytes = std::fs::read(&path).unwrap();
        let target = directory.path().join("restored.db");
        let error =
            accession::Registry::restore(&path, &target, clock(), &accession::Watcher::new())
                .unwrap_err();
        assert_eq!(error.kind().as_str(), "damaged");
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        assert!(!target.exists());
    }
}

/// A published identifier resolves even if a field of its dataset's record is unreadable.
#[test]
fn identifiers_resolve_whatever_the_record_of_their_dataset_is() {
    let (_directory, path) =
        altered("UPDATE dataset SET record = json_set(record, '$.doi', 'not a doi')");
    let registry = Registry::open(&path, clock()).unwrap();
    let snapshot = registry.snapshot().unwrap();
    assert_eq!(snapshot.dataset(&name("dataset")).unwrap_err().kind().as_str(), "damaged");
    let identifier = "bf072e9119077b4e76437a93986787ef".parse().unwrap();
    for dataset in [None, Some(&name("dataset"))] {
        assert_eq!(snapshot.periods(identifier, dataset, None).unwrap().rows.len(), 1);
    }
    let selection = accession::Selection::Dataset { name: name("dataset"), at: None };
    let set = snapshot.select(&selection).unwrap().set;
    drop(snapshot);
    assert_eq!(registry.granules(&set).count(), 1);
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
    let (_directory, path) = altered(sql);
    let registry = Registry::open(&path, clock().confirmed()).unwrap();
    step(&registry, "dataset", 1, ["B"], ["A"]);
    assert_eq!(registry.check_file().unwrap(), []);
    assert!(registry.verify(&name("dataset")).unwrap().ok);
    drop(registry);
    let connection = Connection::open(&path).unwrap();
    let theirs = "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%their%' AND sql <> ''";
    let count: u32 = connection.query_row(theirs, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 5);
}

#[test]
fn a_string_longer_than_what_is_known_of_files_is_not_read() {
    let long = "UPDATE instance SET note = printf('%.*c', 2200000, 'x')";
    let (_directory, path) = altered(long);
    // If the file has an older schema, already its migration fails.
    let error = match Registry::open(&path, clock()) {
        Ok(registry) => {
            let mut history = registry.history(&name("dataset"), &HistoryOptions::new());
            history.next().unwrap().unwrap_err()
        }
        Err(error) => error,
    };
    assert_eq!(error.kind().as_str(), "too-long");
}

#[test]
fn an_index_that_disagrees_with_its_table_is_found_by_the_check_of_the_file() {
    let directory = harness::directory();
    let path = directory.path().join("accession.db");
    registry_at(&path);
    // Hides the index while a row is added, and then restores it.
    let hidden = |sql: &str| {
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&format!("PRAGMA writable_schema = ON; {sql}")).unwrap();
    };
    hidden(
        "CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'instance_by_identifier';
         DELETE FROM sqlite_schema WHERE name = 'instance_by_identifier'",
    );
    let row = "INSERT INTO instance
        (dataset_id, timestamp, identifier, digest, granules, ingested, deleted, described, replaced,
         recorded, row_check)
        SELECT dataset_id, timestamp + 1, zeroblob(16), digest, 1, 1, 0, 0, 0, recorded, row_check
        FROM instance";
    Connection::open(&path).unwrap().execute_batch(row).unwrap();
    hidden("INSERT INTO sqlite_schema SELECT * FROM kept; DROP TABLE kept");
    let registry = Registry::open(&path, clock()).unwrap();
    let findings = registry.check_file().unwrap();
    assert!(
        findings.iter().any(|it| it.text.contains("missing from index instance_by_identifier")),
        "{findings:?}"
    );
}
