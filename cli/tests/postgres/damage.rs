//! If a value changes in the database and the checksum of its row does not, `verify` finds it, in a file and on
//! a server alike.

use harness::values::{AtTime, clock};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use accession::dataset::SharedDoi;
use accession::file::Checksum;
use accession::ids::payment::{PaymentId, Scheme};
use accession::{
    Change, Clock, DatasetFilter, GranuleId, IfMissing, ListingBuilder, ListingEntry, Registry,
    SubsetMembers,
};
use postgres::Client;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::scene::{Scene, name, second, stating, succeed, with_file};
use harness::every_field::every_field;
use harness::seal::seal_rows;
use harness::server::client;

/// A registry file in which every column of every table has a value.
fn filled(directory: &Path) -> PathBuf {
    let path = directory.join("first.db");
    let registry = Registry::create(&path, clock()).unwrap();
    let id = |number: usize| format!("granule.{number:05}").parse::<GranuleId>().unwrap();
    for dataset in ["ONE", "TWO"] {
        for (step, numbers) in [0..3_000, 3_000..3_010].into_iter().enumerate() {
            let mut change = Change::new();
            change.options = change.options.if_missing(IfMissing::Create);
            for number in numbers {
                let producer_granule = (number == 7).then(|| "by.the.producer".parse().unwrap());
                change.ingest(ListingEntry { producer_granule, ..id(number).into() }).unwrap();
            }
            if step == 1 {
                change.delete(id(5)).unwrap();
            }
            change.options = change.options.note(format!("step {step}"));
            registry
                .with_clock(Clock::fixed(second(9)))
                .recorded_by("Somebody".parse().unwrap())
                .change(&name(dataset), &change.at(second(step as i64)))
                .unwrap();
        }
    }
    let edit = every_field("ONE");
    let by = registry.with_clock(clock().confirmed()).recorded_by("Somebody".parse().unwrap());
    by.edit_dataset_with(&name("ONE"), SharedDoi::Refused, edit).unwrap();
    let mut named = ListingBuilder::new();
    [3, 4].into_iter().for_each(|number| named.add(id(number)).unwrap());
    let named = named.finish();
    let patterns = SubsetMembers::Patterns(vec!["*1*".parse().unwrap()]);
    for wanted in [patterns, SubsetMembers::Listed(named)] {
        registry
            .with_clock(Clock::fixed(second(10)))
            .cite_subset(&name("ONE"), None, &wanted)
            .unwrap();
    }
    let sm3 = Checksum::parse("sm3".parse().unwrap(), "Größe").unwrap();
    let file = with_file(id(1).as_str(), "data/1", Some(7), Some(sm3));
    by.change(&name("ONE"), &stating([file])).unwrap();
    let scheme = Scheme::default();
    let worker = scheme.worker(5).unwrap();
    let now = || second(26 * 365 * 86_400);
    let lease = registry.with_clock(Clock::new(now)).lease_payment_ids(scheme, worker, 2).unwrap();
    let taken: Vec<PaymentId> = lease.ids.into_iter().map(|decoded| decoded.id).collect();
    registry.reserve_payment_ids(&taken).unwrap();
    drop(registry);
    let file = |file: &str| directory.join(file).to_str().unwrap().to_owned();
    let (log, key) = (file("one.jsonl"), file("key"));
    for arguments in [
        &["dataset", "export", "ONE", "--output", &log][..],
        &["mirror", "pull", "MIRROR", &log, "--create", "--primary-dataset", "ONE"],
        &["dataset", "rename", "TWO", "THREE"],
        &["dataset", "withdraw", "THREE", "--note", "wrong"],
        &["proof", "keygen", "us.example.org/statements", "--output", &key],
        &["proof", "sign", "--key", &key],
    ] {
        succeed(path.to_str().unwrap(), arguments);
    }
    // Values that only a primary at an address or an import leaves.
    let connection = Connection::open(&path).unwrap();
    let fail = "UPDATE mirror_source SET failed = read, failure = 'no response', imported = read";
    connection.execute(fail, []).unwrap();
    let said =
        "INSERT INTO annotation
        SELECT dataset_id, timestamp, 1, 'Größe', 1, recorded, 'Somebody', 0
        FROM instance;
        INSERT INTO confirmation SELECT id, 1, 'Somebody', 3000, 0 FROM dataset;
        INSERT INTO refusal SELECT id, 1, 'cut', 0 FROM dataset;
        INSERT INTO fixity_root
        SELECT dataset_id, 'host:/data', 'A', recorded, recorded, '0123456789abcdef', recorded, 1, 7, 0
        FROM instance
        WHERE ingested = 3000 AND dataset_id = 1;
        INSERT INTO fixity_finding
            (dataset_id, root, granule_id, path, status, expected, found, first_seen, row_check)
        SELECT dataset_id, root, 'granule.00001', 'data/1', 'checksum', '01', '02', full_since, 0
        FROM fixity_root";
    connection.execute_batch(said).unwrap();
    seal_rows(&connection);
    path
}

/// Findings: the dataset, and the code.
type Found = BTreeSet<(Option<String>, String)>;

/// The findings of `verify`. Findings about the file itself count only if there are no others: SQLite has more
/// indexes than a server has checksums.
fn found(registry: &Path) -> Found {
    let mut found = Found::new();
    let verified = Registry::open(registry, clock()).and_then(|registry| {
        registry.verify_all(&DatasetFilter::All)?.try_for_each(|verification| {
            let verification = verification?;
            let dataset = verification.dataset.map(|dataset| dataset.to_string());
            for finding in verification.mismatches {
                found.insert((dataset.clone(), format!("{:?}", finding.code)));
            }
            Ok(())
        })
    });
    if let Err(error) = verified {
        found.insert((None, error.kind().to_string()));
    }
    if found.iter().any(|(dataset, _)| dataset.is_some()) {
        found.retain(|(dataset, _)| dataset.is_some());
    }
    found
}

/// A value with one bit or one character changed.
fn flipped(value: &Value) -> Value {
    match value {
        Value::Integer(number) => Value::Integer(number ^ 64),
        Value::Text(text) => {
            let mut bytes = text.clone().into_bytes();
            // Not a bracket or a quotation mark of JSON.
            let at = 2.min(bytes.len() - 1);
            bytes[at] ^= 1;
            Value::Text(String::from_utf8(bytes).unwrap())
        }
        Value::Blob(bytes) => {
            let mut bytes = bytes.clone();
            *bytes.last_mut().unwrap() ^= 1;
            Value::Blob(bytes)
        }
        Value::Null | Value::Real(_) => unreachable!("no column of the registry"),
    }
}

/// Replaces a value in the pages of a table, but not in those of its indexes.
fn flip_in_file(original: &Path, copy: &Path, table: &str, column: &str, values: [&Value; 2]) {
    let sql = format!("UPDATE {table} SET {column} = ?1 WHERE {column} = ?2");
    alter_pages(original, copy, table, (&sql, &[values[0], values[1]]));
}

/// Runs a statement, and keeps only its effect on the pages of a table.
fn alter_pages(
    original: &Path,
    copy: &Path,
    table: &str,
    (sql, values): (&str, &[&dyn rusqlite::ToSql]),
) {
    let other = copy.with_extension("other");
    std::fs::copy(original, &other).unwrap();
    let connection = Connection::open(&other).unwrap();
    connection
        .execute_batch("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
        .unwrap();
    let mut statement =
        connection.prepare("SELECT pageno FROM dbstat WHERE name = ?1 AND pageno > 1").unwrap();
    let pages: Vec<i64> =
        statement.query_map([table], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    drop(statement);
    assert!(connection.execute(sql, values).unwrap() > 0, "{sql}");
    connection.close().unwrap();
    let (changed, mut bytes) = (std::fs::read(&other).unwrap(), std::fs::read(original).unwrap());
    for page in pages.into_iter().map(|page| page as usize) {
        let page = (page - 1) * 4_096..page * 4_096;
        bytes[page.clone()].copy_from_slice(&changed[page]);
    }
    std::fs::write(copy, bytes).unwrap();
    std::fs::remove_file(other).unwrap();
}

/// A value as an SQL literal of a server.
fn literal(value: &Value) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Blob(blob) => format!("'\\x{}'::bytea", hex::encode(blob)),
        Value::Null | Value::Real(_) => unreachable!("no column of the registry"),
    }
}

/// Allows rows to change as on a failing disk: nothing rejects the change, and the checksums stay.
fn let_rows_change(owner: &mut Client) {
    const STATEMENTS: &str = "
        SELECT format('ALTER TABLE %s ALTER COLUMN checksum DROP EXPRESSION', attrelid::regclass)
        FROM pg_attribute
        JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = 'accession'::regnamespace AND attgenerated = 's'
        UNION ALL
        SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname)
        FROM pg_constraint
        WHERE connamespace = 'accession'::regnamespace AND contype IN ('c', 'f')
        UNION ALL
        SELECT DISTINCT format('ALTER TABLE %s DISABLE TRIGGER USER', tgrelid::regclass)
        FROM pg_trigger
        JOIN pg_class ON pg_class.oid = tgrelid
        WHERE relnamespace = 'accession'::regnamespace AND NOT tgisinternal";
    for row in owner.query(STATEMENTS, &[]).unwrap() {
        owner.batch_execute(row.get(0)).unwrap();
    }
}

/// The columns of a file's tables that have a value, each with one of its values.
fn values_of(file: &Path) -> Vec<(String, String, Value)> {
    let connection = Connection::open(file).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT tables.name, columns.name
             FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
             WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite%'
             ORDER BY 1, columns.cid",
        )
        .unwrap();
    let columns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let columns: Vec<(String, String)> = columns.map(Result::unwrap).collect();
    columns
        .into_iter()
        .map(|(table, column)| {
            let sql = format!(
                "SELECT {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY 1 DESC LIMIT 1"
            );
            let value = connection.query_row(&sql, [], |row| row.get(0));
            assert!(value.is_ok(), "{table}.{column}: {value:?}");
            (table, column, value.unwrap())
        })
        .collect()
}

#[test]
fn a_value_that_changes_below_the_store_is_found_in_both_stores_alike() {
    let Some(scene) = Scene::new() else { return };
    let directory = harness::directory();
    let first = filled(directory.path());
    // Each is copied from the other, so their rows have the same numbers.
    let server = PathBuf::from(scene.server.new_database());
    let file = directory.path().join("file.db");
    let first = Registry::open(&first, clock()).unwrap();
    first.copy_with_payment_ids_to(&server).unwrap();
    let copied = Registry::open(&server, clock()).unwrap();
    copied.copy_with_payment_ids_to(&file).unwrap();
    drop((first, copied));
    assert_eq!((found(&file), found(&server)), (Found::new(), Found::new()));

    let mut owner = client(server.to_str().unwrap());
    let_rows_change(&mut owner);
    let damaged = directory.path().join("damaged.db");
    let mut differing = Vec::new();
    let values = values_of(&file);
    assert!(values.len() > 60, "{}", values.len());
    for (table, column, value) in values {
        let flipped = flipped(&value);
        flip_in_file(&file, &damaged, &table, &column, [&flipped, &value]);
        let mut update = |[to, from]: [&Value; 2]| {
            let (to, from) = (literal(to), literal(from));
            let sql =
                format!("UPDATE accession.{table} SET {column} = {to} WHERE {column} = {from}");
            assert!(owner.execute(&sql, &[]).unwrap() > 0, "{table}.{column}");
        };
        update([&flipped, &value]);
        let both = [found(&damaged), found(&server)];
        assert!(both.iter().all(|found| !found.is_empty()), "{table}.{column}: {both:?}");
        if both[0] != both[1] {
            differing.push(format!("{table}.{column}"));
        }
        update([&value, &flipped]);
    }
    assert_eq!(found(&server), Found::new());
    // SQLite reads these from an index, which still has the original value.
    assert_eq!(
        differing,
        [
            "annotation.number",
            "dataset.id",
            "dataset.name",
            "subset.patterns",
            "subset.identifier",
            "subset.digest"
        ]
    );
}

#[test]
fn a_row_that_is_lost_from_a_file_is_found() {
    let directory = harness::directory();
    let file = filled(directory.path());
    let connection = Connection::open(&file).unwrap();
    let mut statement =
        connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables = statement.query_map([], |row| row.get(0)).unwrap();
    let tables: Vec<String> = tables.map(Result::unwrap).collect();
    drop(statement);
    connection.close().unwrap();
    assert_eq!(found(&file), Found::new());
    let damaged = directory.path().join("damaged.db");
    for table in tables.iter().filter(|table| !table.starts_with("sqlite")) {
        let first: String = {
            let connection = Connection::open(&file).unwrap();
            let key = "SELECT group_concat(name, ', ') FROM pragma_table_info(?1) WHERE pk > 0";
            connection.query_row(key, [table], |row| row.get(0)).unwrap()
        };
        let lost = format!(
            "DELETE FROM {table} WHERE ({first}) = (SELECT {first} FROM {table} ORDER BY {first} LIMIT 1)"
        );
        alter_pages(&file, &damaged, table, (&lost, &[]));
        assert_ne!(found(&damaged), Found::new(), "a row of {table}");
    }
}
