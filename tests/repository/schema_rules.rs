//! Checks the rules for every table, and that every statement finds its rows by a key.

use accession::Registry;
use harness::values::clock;
use rusqlite::Connection;

use crate::rust_files;

/// A new registry, opened the way the sqlite3 shell opens it.
fn schema() -> (tempfile::TempDir, Connection) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("accession.db");
    drop(Registry::create(&path, clock()).unwrap());
    let connection = Connection::open(path).unwrap();
    (directory, connection)
}

fn strings(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn every_table_is_strict_and_has_a_key() {
    let (_directory, connection) = schema();
    let tables = strings(&connection, "SELECT sql FROM sqlite_schema WHERE type = 'table'");
    assert!(tables.len() >= 4);
    for sql in tables {
        assert!(
            sql.trim_end().ends_with("STRICT") || sql.contains("STRICT, WITHOUT ROWID"),
            "{sql}"
        );
        assert!(sql.contains("PRIMARY KEY"), "{sql}");
    }
}

#[test]
fn there_are_no_triggers_and_no_virtual_tables() {
    let (_directory, connection) = schema();
    let hidden = "
        SELECT name FROM sqlite_schema WHERE type = 'trigger' OR sql LIKE 'CREATE VIRTUAL%'";
    assert!(strings(&connection, hidden).is_empty());
}

/// The statements of the store as SQLite gets them: the string of each `const` that contains SQL, and the first
/// string of each `Sql`.
fn statements() -> Vec<String> {
    let mut statements = Vec::new();
    for (path, text) in rust_files(&["src"]) {
        let text = text.split("#[cfg(test)]").next().unwrap();
        if path.starts_with("src/store/sqlite") {
            let strings = text.split("const ").skip(1).map(strings_of);
            let consts = strings.filter_map(|strings| strings.first().copied());
            statements.extend(consts.map(str::to_owned));
        } else if path.starts_with("src/store/table") {
            // The texts that the macros `select_…!` insert at the beginning of a query, and the texts of macros
            // without an argument.
            let inserted: Vec<(&str, Vec<&str>)> = text
                .split("macro_rules! ")
                .skip(1)
                .filter_map(|text| {
                    let strings = strings_of(&text[..text.find("\n}\n").unwrap()]);
                    let begin = strings.iter().position(|text| text.starts_with("SELECT"))?;
                    Some((text.split(' ').next().unwrap(), strings[begin..].to_vec()))
                })
                .collect();
            for text in text.replace("\nstatic ", "\n static ").split(" static ").skip(1) {
                let text = text.split(';').next().unwrap();
                let strings = strings_of(text);
                let called = |(name, _): &&(&str, Vec<&str>)| text.contains(&format!("{name}!("));
                let begin =
                    inserted.iter().find(|macros| macros.0 != "key_of_name" && called(macros));
                let begin = begin.map_or(String::new(), |(_, parts)| {
                    // The dataset of the inner queries is the second argument.
                    parts.join(strings.get(1).copied().unwrap_or("?1"))
                });
                let key =
                    inserted.iter().find(|macros| macros.0 == "key_of_name" && called(macros));
                let mut sql = begin + strings.first().copied().unwrap_or_default();
                if let Some((_, key)) = key {
                    sql += &(key.concat() + strings.get(1).copied().unwrap_or_default());
                }
                statements.push(sql.replace(['{', '}'], ""));
            }
        }
    }
    statements.retain(|sql| {
        ["SELECT", "INSERT", "UPDATE", "DELETE"]
            .iter()
            .any(|verb| sql.trim_start().starts_with(verb))
    });
    statements
}

/// The strings in a text without escaped quotation marks.
fn strings_of(text: &str) -> Vec<&str> {
    text.split('"').skip(1).step_by(2).collect()
}

#[test]
fn every_statement_of_the_store_uses_a_key() {
    let (_directory, connection) = schema();
    // As in the store: `rarray` is a parameter that contains a list of ids.
    rusqlite::vtab::array::load_module(&connection).unwrap();
    let statements = statements();
    assert!(statements.len() > 20, "{}", statements.len());
    for sql in &statements {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let plan: Vec<String> =
            statement.raw_query().mapped(|row| row.get(3)).map(Result::unwrap).collect();
        // There are few datasets, and all are listed. Each id in a list parameter is looked up by key.
        let is_co_routine = |step: &str| {
            let name = step.trim_start_matches("SCAN ").split(' ').next().unwrap();
            ["CO-ROUTINE", "MATERIALIZE"]
                .iter()
                .any(|kind| plan.contains(&format!("{kind} {name}")))
        };
        let scans = plan.iter().find(|step| {
            step.contains("SCAN")
                // A bounded number of rows, found by the key.
                && !is_co_routine(step)
                && ![
                    "SCAN dataset",
                    "SCAN payment_worker",
                    "SCAN CONSTANT ROW",
                    "SCAN sqlite_schema",
                    "SCAN wanted VIRTUAL TABLE",
                    "SCAN rarray VIRTUAL TABLE",
                    "SCAN taken VIRTUAL TABLE",
                    // The columns and the references of one table.
                    "SCAN pragma_table_xinfo VIRTUAL TABLE",
                    "SCAN pragma_foreign_key_list VIRTUAL TABLE",
                ]
                .iter()
                .any(|fine| step.starts_with(fine))
        });
        assert_eq!(scans, None, "{sql}: {plan:?}");
        // These sort few rows. Granules and their contents are never sorted here, because SQLite sorts in
        // memory during a change.
        let sorts = plan.iter().any(|step| step.contains("TEMP B-TREE"));
        let may_sort = [
            "ORDER BY dataset.name",
            "WHERE instance.identifier = ?",
            "ORDER BY dataset_name.renamed",
            "UNION ALL",
            "GROUP BY (timestamp - ?4) / ?5",
            "ORDER BY ingested + deleted DESC",
            // Sorts only changes that were recorded in the same microsecond.
            "ORDER BY instance.recorded DESC",
        ]
        .iter()
        .any(|fine| sql.contains(fine));
        assert!(!sorts || may_sort, "{sql}: {plan:?}");
    }
}
