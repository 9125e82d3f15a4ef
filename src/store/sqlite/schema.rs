//! The schema: the migrations that create it, and the check that a file has it.
//!
//! `application_id` and `user_version` are eight bytes that anyone can write. A table with the
//! right name may have generated columns, no key, or none of the constraints. So the SQL text that
//! SQLite keeps of each object (`sqlite_schema.sql`, as it was typed) must be that of the
//! migration.
//!
//! Objects that others have added are ignored: tables, views, and indexes on their own tables. So
//! are triggers, even on tables of the schema: they are disabled and never run. An index that
//! others have added *to a table of the schema* is refused: SQLite may read it instead of the
//! table, and then the index decides which granules are held; it may also be over an expression, or
//! forbid a row.

use std::borrow::Cow;

use rusqlite::{Connection, TransactionBehavior};

use super::Result;
use crate::store::Error;

/// `application_id` of a registry: the letters `accs`, as file(1) shows them.
pub(super) const APPLICATION_ID: u32 = u32::from_be_bytes(*b"accs");

/// The SQL that brings a file from schema `n` to `n + 1`, by `n`. A released one is never edited.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/sqlite/V1__register.sql"),
    include_str!("../../../migrations/sqlite/V2__readable_views.sql"),
    include_str!("../../../migrations/sqlite/V3__payment_workers.sql"),
    include_str!("../../../migrations/sqlite/V4__citations.sql"),
    include_str!("../../../migrations/sqlite/V5__second_copies.sql"),
    include_str!("../../../migrations/sqlite/V6__record_versions.sql"),
    include_str!("../../../migrations/sqlite/V7__mirror_memory.sql"),
];

/// The schema of this version.
pub const SCHEMA: u32 = MIGRATIONS.len() as u32;

/// The age of a registry's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Age {
    /// It is the schema of this version.
    Current,
    /// It is this older schema.
    Older(u32),
}

/// Reads the schema version that a file states.
///
/// # Errors
///
/// [`ErrorKind::NotARegistry`], [`ErrorKind::Newer`], and the errors of reading the first page.
pub(super) fn age(connection: &Connection) -> Result<Age> {
    if pragma(connection, "application_id")? != APPLICATION_ID {
        return Err(Error::not_a_registry("the file is an SQLite database of another application"));
    }
    match pragma(connection, "user_version")? {
        found if found > SCHEMA => Err(Error::newer(found, SCHEMA)),
        // A registry has a version from the moment it is created.
        0 => Err(Error::not_a_registry("the file is marked as a registry, but has no schema")),
        SCHEMA => Ok(Age::Current),
        found => Ok(Age::Older(found)),
    }
}

/// Reads the schema version that a file states, and checks that it has that schema. Both are read
/// from one state of the file, since another process may be migrating it.
///
/// # Errors
///
/// Those of [`age`]; [`ErrorKind::Damaged`], which names the object that differs, or the encoding.
pub(super) fn check(connection: &Connection) -> Result<Age> {
    let transaction = connection.unchecked_transaction()?;
    let age = age(&transaction)?;
    check_encoding(&transaction)?;
    let version = match age {
        Age::Current => SCHEMA,
        Age::Older(found) => found,
    };
    check_objects(&transaction, version)?;
    transaction.commit()?;
    Ok(age)
}

/// Reads a pragma that SQLite stores as a signed 32-bit number. As an unsigned number, a negative
/// version is greater than any known one.
pub(super) fn pragma(connection: &Connection, name: &str) -> Result<u32> {
    let value: i64 = connection.pragma_query_value(None, name, |row| row.get(0))?;
    Ok(value as u32)
}

/// Checks that the file keeps its text in UTF-8. In another encoding SQLite orders ids by other
/// bytes, so every identifier that depends on their order would be wrong.
///
/// # Errors
///
/// [`ErrorKind::Damaged`].
fn check_encoding(connection: &Connection) -> Result<()> {
    let encoding: String = connection.pragma_query_value(None, "encoding", |row| row.get(0))?;
    if encoding == "UTF-8" {
        return Ok(());
    }
    let what = format!(
        "its text is stored in {encoding}, not in UTF-8, so its granules are in another order and its identifiers would be wrong"
    );
    Err(Error::damaged(what))
}

/// Checks that the schema has the objects that the migrations up to a version create.
///
/// # Errors
///
/// [`ErrorKind::Damaged`], which names the object that differs.
pub(super) fn check_objects(connection: &Connection, version: u32) -> Result<()> {
    const OBJECTS: &str = "
        SELECT type, tbl_name, name, sql
        FROM sqlite_schema";
    let ours = made_by(version)?;
    let is_ours = |table: &str| {
        ours.iter().map(|sql| named_by(sql)).any(|(kind, name)| {
            kind.eq_ignore_ascii_case("table") && name.eq_ignore_ascii_case(table)
        })
    };
    let mut missing: Vec<&str> = ours.iter().map(AsRef::as_ref).collect();
    let mut statement = connection.prepare(OBJECTS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, table, name): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let sql: Option<String> = row.get(3)?;
        // SQLite ignores the case of this word but writes it in lower case, so that nothing here
        // needs to know another spelling.
        if !["table", "index", "view", "trigger"].contains(&kind.as_str()) {
            let what = format!("the type of {name:?} in its schema is {kind:?}");
            return Err(Error::damaged(what));
        }
        let Some(sql) = sql else { continue };
        if let Some(found) = missing.iter().position(|ours| *ours == sql) {
            missing.remove(found);
        } else if kind == "index" && is_ours(&table) {
            let what = format!(
                "the index {name:?} on {table} is not part of the schema, and could be read instead of the table (DROP INDEX removes it)"
            );
            return Err(Error::damaged(what));
        }
    }
    match missing.first().map(|sql| named_by(sql)) {
        None => Ok(()),
        Some((kind, name)) => {
            let kind = kind.to_ascii_lowercase();
            let what =
                format!("its {kind} {name} is missing, or differs from what this program creates");
            Err(Error::damaged(what))
        }
    }
}

/// The names of the tables of the schema.
pub(in crate::store) fn tables() -> Result<Vec<String>> {
    let made = made_by(SCHEMA)?;
    let named = made.iter().map(|sql| named_by(sql)).filter(|(kind, _)| *kind == "TABLE");
    Ok(named.map(|(_, name)| name.to_owned()).collect())
}

/// Whether a file with the current schema also has other tables or indexes.
pub(in crate::store) fn has_others(connection: &Connection) -> Result<bool> {
    const TABLES_AND_INDEXES: &str = "
        SELECT sql
        FROM sqlite_schema
        WHERE type IN ('table', 'index') AND sql IS NOT NULL";
    let ours = made_by(SCHEMA)?;
    let mut statement = connection.prepare(TABLES_AND_INDEXES)?;
    let texts = statement.query_map([], |row| row.get::<_, String>(0))?;
    let texts = texts.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(texts.iter().any(|sql| ours.iter().all(|ours| ours != sql)))
}

/// The SQL text of each object that the migrations up to a version create, as SQLite keeps it.
///
/// If the migrations only create objects and add columns, the text is taken from them. That takes
/// 10 µs; running them takes 650 µs, more than the rest of opening a registry. Other migrations are
/// run in memory.
fn made_by(version: u32) -> Result<Vec<Cow<'static, str>>> {
    let migrations = MIGRATIONS.get(..version as usize).unwrap_or(MIGRATIONS);
    let mut made = Vec::new();
    for migration in migrations {
        let statements = statements(migration);
        if statements.is_none_or(|statements| !make(&statements, &mut made)) {
            return made_by_running(migrations);
        }
    }
    Ok(made)
}

/// Applies the statements to the SQL texts as SQLite applies them to the schema. Returns `false` if
/// one is of an unknown kind.
fn make(statements: &[&'static str], made: &mut Vec<Cow<'static, str>>) -> bool {
    const PLAIN: [&str; 3] = ["CREATE TABLE ", "CREATE INDEX ", "CREATE VIEW "];
    statements.iter().all(|statement| {
        if PLAIN.iter().any(|plain| statement.starts_with(plain)) {
            made.push(Cow::from(*statement));
            return true;
        }
        let added = statement.strip_prefix("ALTER TABLE ");
        let Some((table, column)) = added.and_then(|added| added.split_once(" ADD COLUMN ")) else {
            return false;
        };
        let text = made.iter_mut().find(|text| named_by(text) == ("TABLE", table));
        let end = text.as_ref().and_then(|text| end_of_columns(text));
        let (Some(text), Some(end)) = (text, end) else { return false };
        text.to_mut().insert_str(end, &format!(", {column}"));
        true
    })
}

fn made_by_running(migrations: &[&str]) -> Result<Vec<Cow<'static, str>>> {
    const TEXTS: &str = "
        SELECT sql
        FROM sqlite_schema
        WHERE sql IS NOT NULL";
    let connection = Connection::open_in_memory()?;
    migrations.iter().try_for_each(|migration| connection.execute_batch(migration))?;
    let mut statement = connection.prepare(TEXTS)?;
    let texts = statement.query_map([], |row| Ok(Cow::Owned(row.get(0)?)))?;
    Ok(texts.collect::<rusqlite::Result<_>>()?)
}

/// The statements of a migration as SQLite keeps them: each from its first to its last character,
/// including the comments inside it. `None` means that one is incomplete.
fn statements(migration: &'static str) -> Option<Vec<&'static str>> {
    let (mut statements, mut start, mut end, mut at) = (Vec::new(), None, 0, 0);
    while let Some(character) = migration[at..].chars().next() {
        let rest = &migration[at..];
        let length = token_bytes(rest)?;
        if character == ';' {
            statements.push(&migration[start.take()?..end]);
        } else if !character.is_whitespace() && !rest.starts_with("--") {
            start.get_or_insert(at);
            end = at + length;
        }
        at += length;
    }
    start.is_none().then_some(statements)
}

/// The position at which SQLite adds a column to a CREATE TABLE statement: after the last column,
/// before the comma that separates it from the table constraints, or before the closing
/// parenthesis.
fn end_of_columns(sql: &str) -> Option<usize> {
    const CONSTRAINTS: [&str; 5] = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];
    let (mut at, mut depth, mut comma) = (0, 0, None);
    while let Some(character) = sql[at..].chars().next() {
        let rest = &sql[at..];
        match character {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(at),
            ')' => depth -= 1,
            ',' if depth == 1 => comma = Some(at),
            _ if character.is_whitespace() || rest.starts_with("--") => {}
            // The first token after a comma.
            _ => {
                let end = comma.take();
                if end.is_some() && CONSTRAINTS.iter().any(|word| rest.starts_with(word)) {
                    return end;
                }
            }
        }
        at += token_bytes(rest)?;
    }
    None
}

/// The length of the first token of a text: a comment, a quoted name or string, or one character.
/// `None` means that the token does not end.
fn token_bytes(text: &str) -> Option<usize> {
    match text.chars().next()? {
        '-' if text.starts_with("--") => Some(text.find('\n').unwrap_or(text.len())),
        quote @ ('\'' | '"') => Some(text[1..].find(quote)? + 2),
        character => Some(character.len_utf8()),
    }
}

/// The kind and the name of the object that a CREATE statement creates.
fn named_by(sql: &str) -> (&str, &str) {
    let mut words = sql.split([' ', '\n', '(']).skip(1);
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

/// Runs the migrations that have not been applied to the file: all of them, or none.
///
/// The version is read under the write lock, so if two processes migrate one file, the second has
/// nothing to do. (The crates for migrations read it before they lock, and fail in that race.)
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    run(connection, MIGRATIONS)
}

fn run(connection: &mut Connection, migrations: &[&str]) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = pragma(&transaction, "user_version")?;
    check_objects(&transaction, found)?;
    for migration in migrations.get(found as usize..).unwrap_or_default() {
        transaction.execute_batch(migration)?;
    }
    if (found as usize) < migrations.len() {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", migrations.len() as u32)?;
    }
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::connection::open_in_memory;

    #[test]
    fn the_texts_of_the_migrations_are_those_that_sqlite_keeps() {
        for version in 0..=MIGRATIONS.len() {
            let mut made = made_by(version as u32).unwrap();
            let mut run = made_by_running(&MIGRATIONS[..version]).unwrap();
            made.sort();
            run.sort();
            assert_eq!(made, run, "{version}");
        }
    }

    #[test]
    fn a_migration_is_split_where_its_statements_end() {
        let text = "-- why; it's so\nCREATE TABLE \"a;\" (\n  x -- one; two's\n) STRICT ;\nCREATE INDEX i ON t (y - 1);\n-- end";
        let parts =
            ["CREATE TABLE \"a;\" (\n  x -- one; two's\n) STRICT", "CREATE INDEX i ON t (y - 1)"];
        assert_eq!(statements(text).unwrap(), parts);
        assert_eq!(named_by(parts[1]), ("INDEX", "i"));
        assert_eq!(statements("").unwrap(), [""; 0]);
        for other in ["CREATE TABLE t (x)", ";", "CREATE TABLE t (x DEFAULT ');"] {
            assert_eq!(statements(other), None, "{other}");
        }
    }

    #[test]
    fn a_statement_of_another_kind_is_left_to_sqlite() {
        let made = |statements: &[&'static str]| {
            let mut made = Vec::new();
            make(statements, &mut made).then_some(made)
        };
        let create = "CREATE TABLE t (x (1)\n) STRICT";
        let added = made(&[create, "ALTER TABLE t ADD COLUMN y TEXT"]).unwrap();
        assert_eq!(added, ["CREATE TABLE t (x (1)\n, y TEXT) STRICT"]);
        assert_eq!(made(&[create, "ALTER TABLE u ADD COLUMN y TEXT"]), None);
        assert_eq!(made(&[create, "DROP TABLE t"]), None);
        let create = "CREATE TABLE t (x (1), -- PRIMARY, KEY\n y,  -- last\n PRIMARY KEY (x, y)\n)";
        let added = made(&[create, "ALTER TABLE t ADD COLUMN z"]).unwrap();
        let expected =
            "CREATE TABLE t (x (1), -- PRIMARY, KEY\n y, z,  -- last\n PRIMARY KEY (x, y)\n)";
        assert_eq!(added, [expected]);
    }

    const FAILS: &str = "DELETE FROM dataset; SELECT * FROM nowhere";

    /// A registry of schema 1 with one dataset.
    fn old() -> Connection {
        let mut connection = open_in_memory().unwrap();
        run(&mut connection, &MIGRATIONS[..1]).unwrap();
        connection.execute("INSERT INTO dataset (name) VALUES ('A')", []).unwrap();
        connection
    }

    fn names(connection: &Connection) -> (u32, String) {
        let name = connection.query_row("SELECT name FROM dataset", [], |row| row.get(0)).unwrap();
        (pragma(connection, "user_version").unwrap(), name)
    }

    #[test]
    fn a_failed_migration_changes_nothing() {
        let mut connection = old();
        for _ in 0..2 {
            run(&mut connection, &[MIGRATIONS[0], FAILS]).unwrap_err();
            assert_eq!(names(&connection), (1, "A".to_owned()));
        }
    }

    #[test]
    fn an_older_registry_gets_the_migrations_that_it_lacks_and_no_others() {
        let mut connection = old();
        for _ in 0..2 {
            migrate(&mut connection).unwrap();
            assert_eq!(names(&connection), (SCHEMA, "A".to_owned()));
        }
    }
}
