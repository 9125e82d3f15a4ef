//! Checks the rules for every table, and that every statement finds its rows by a key.

use accession::{Registry, Timestamp};
use rusqlite::Connection;

use crate::{root, rust_files};

/// A new registry, opened in the way in which the sqlite3 shell opens it.
fn schema() -> (tempfile::TempDir, Connection) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("accession.db");
    drop(Registry::create(&path).unwrap());
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

#[test]
fn every_migration_begins_with_its_reason() {
    let mut paths = vec![root().join("migrations")];
    let mut migrations = 0;
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let sql = std::fs::read_to_string(&path).unwrap();
            assert!(sql.starts_with("-- "), "{}", path.display());
            migrations += 1;
        }
    }
    assert!(migrations >= 2, "one for each store: {migrations}");
}

/// The statements of the store as it gives them to SQLite: the string of each `const` that holds SQL,
/// and the first string of each `Sql`.
fn statements() -> Vec<String> {
    let mut statements = Vec::new();
    for (path, text) in rust_files(&["src"]) {
        let text = text.split("#[cfg(test)]").next().unwrap();
        if path.starts_with("src/store/sqlite") {
            let consts = text.split("const ").skip(1).filter_map(first_string);
            statements.extend(consts.map(str::to_owned));
        } else if path.starts_with("src/store/table") {
            let text = without_annotations(text);
            // The texts that the macros `select_…!` insert at the beginning of a query, and those of
            // macros without an argument.
            let inserted: Vec<(&str, &str, &str)> = text
                .split("macro_rules! ")
                .skip(1)
                .filter_map(|text| {
                    let strings = strings_of(&text[..text.find("\n}\n").unwrap()]);
                    let begin = strings.iter().position(|text| text.starts_with("SELECT"))?;
                    let middle = strings.get(begin + 1).copied().unwrap_or_default();
                    Some((text.split(' ').next().unwrap(), strings[begin], middle))
                })
                .collect();
            for text in text.split(" static ").skip(1) {
                let text = text.split(';').next().unwrap();
                let mut sql = String::new();
                let strings = strings_of(text);
                let called = |name: &str| text.contains(&format!("{name}!("));
                let of = |name: &str| inserted.iter().find(|(called, ..)| *called == name);
                match inserted.iter().find(|(name, ..)| name.starts_with("select_") && called(name))
                {
                    // The dataset of the inner query is the second argument.
                    Some((_, begin, middle)) if text.contains("select_instance") => {
                        let dataset = strings.get(1).copied().unwrap_or("?1");
                        sql = format!("{begin}{dataset}{middle}{}", strings[0]);
                    }
                    Some((_, begin, _)) => {
                        sql.push_str(begin);
                        sql.push_str(strings[0]);
                        if called("key_of_name") {
                            sql.push_str(of("key_of_name").unwrap().1);
                            sql.push_str(strings[1]);
                        }
                    }
                    None if called("key_of_name") => sql = of("key_of_name").unwrap().1.to_owned(),
                    None if text.contains("Insert::new") => {
                        let columns = text.rsplit('"').next().unwrap();
                        let is_other = |character: char| !character.is_ascii_digit();
                        let last: usize = columns.trim_matches(is_other).parse().unwrap();
                        let first = 1 + strings[0].matches('[').count();
                        let values: Vec<String> = (first..=last).map(|n| format!("?{n}")).collect();
                        sql = format!("{} VALUES ({})", strings[0], values.join(", "));
                    }
                    None => sql.push_str(strings[0]),
                }
                statements.push(rendered(&sql));
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

/// A source file in which the strings before and after each use of the macro `annotations!` are one.
/// What it inserts is a statement of its own, with two parameters.
fn without_annotations(text: &str) -> String {
    let mut parts = text.split("annotations!(");
    let mut joined = parts.next().unwrap().to_owned();
    for part in parts {
        joined.truncate(joined.rfind('"').unwrap());
        let after = part.split_once("),").unwrap().1;
        joined.push_str("NULL");
        joined.push_str(after.split_once('"').unwrap().1);
    }
    let Some((_, own)) = text.split_once("macro_rules! annotations ") else { return joined };
    let own = strings_of(own);
    joined + &format!(" static X: Sql = Sql::new(\"SELECT {}?1{}?2)\");", own[0], own[1])
}

/// A text without what is for a server only, and without the braces around the names of tables.
fn rendered(sql: &str) -> String {
    let mut parts = sql.split('[');
    let mut rendered = parts.next().unwrap().to_owned();
    parts.for_each(|part| rendered.push_str(part.split_once(']').unwrap().1));
    rendered.replace(['{', '}'], "")
}

fn first_string(text: &str) -> Option<&str> {
    strings_of(text).first().copied()
}

/// The strings of a text, none of which has an escaped quotation mark.
fn strings_of(text: &str) -> Vec<&str> {
    text.split('"').skip(1).step_by(2).collect()
}

#[test]
fn every_statement_of_the_store_uses_a_key() {
    let (_directory, connection) = schema();
    // As in the store: `rarray` is a parameter that holds a list of ids.
    rusqlite::vtab::array::load_module(&connection).unwrap();
    let statements = statements();
    assert!(statements.len() > 20, "{}", statements.len());
    for sql in &statements {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let plan: Vec<String> =
            statement.raw_query().mapped(|row| row.get(3)).map(Result::unwrap).collect();
        // An archive has few datasets and a schema few objects, and all of them are listed.
        // Each id in a list parameter is looked up by key.
        let scans = plan.iter().find(|step| {
            step.contains("SCAN")
                && ![
                    "SCAN dataset",
                    "SCAN payment_worker",
                    "SCAN CONSTANT ROW",
                    "SCAN sqlite_schema",
                    // Ends at the first version that is new enough to show that a clock is right.
                    "SCAN record_version USING COVERING INDEX",
                    "SCAN wanted VIRTUAL TABLE",
                    "SCAN rarray VIRTUAL TABLE",
                    "SCAN taken VIRTUAL TABLE",
                    // Has one row, which is looked up.
                    "SCAN latest",
                    // A bounded number of rows, which were found by the key.
                    "SCAN last",
                    "SCAN first",
                ]
                .iter()
                .any(|fine| step.starts_with(fine))
        });
        assert_eq!(scans, None, "{sql}: {plan:?}");
        // The few intervals of an identifier are sorted by dataset name or time, the few former
        // names of a dataset by time, and the periods of a batch of ids by id. Other granules are
        // sorted only for an export, which is in order of time. The changes of a dataset are sorted for a
        // plot by their spans, and the few largest of them by size.
        let sorts = plan.iter().any(|step| step.contains("TEMP B-TREE"));
        let may_sort = [
            "ORDER BY dataset.name",
            "WHERE instance.identifier = ?",
            "ORDER BY former.renamed",
            "ORDER BY dataset_name.renamed",
            "FROM rarray(",
            "string_agg(former.name",
            "string_agg(
                    annotation.",
            "UNION ALL",
            "GROUP BY (timestamp - ?4) / ?5",
            "ORDER BY ingested + deleted DESC",
        ]
        .iter()
        .any(|fine| sql.contains(fine));
        assert!(!sorts || may_sort, "{sql}: {plan:?}");
    }
}

#[test]
fn the_views_show_instants_that_the_program_can_read() {
    let (_directory, connection) = schema();
    connection.execute("INSERT INTO dataset (id, name) VALUES (1, 'D')", []).unwrap();
    let instants = [
        "0000-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999999Z",
        "2001-01-02T00:00:00Z",
        "2001-01-02T00:00:00.500Z",
        "2001-01-02T00:00:00.000001Z",
        "9999-12-31T23:59:59.999999Z",
    ];
    for (n, text) in instants.iter().enumerate() {
        let timestamp: Timestamp = text.parse().unwrap();
        let insert = "INSERT INTO granule (dataset_id, granule_id, ingested) VALUES (1, ?1, ?2)";
        connection.execute(insert, (n.to_string(), timestamp.as_micros())).unwrap();
    }
    let shown = strings(&connection, "SELECT Ingested FROM Granules ORDER BY LocalgranuleID");
    let read = |shown: &[String]| -> Vec<Timestamp> {
        shown.iter().map(|text| text.parse().unwrap()).collect()
    };
    assert_eq!(read(&shown), read(&instants.map(str::to_owned)));
    assert_eq!(shown[2], instants[2], "no needless fraction");
}
