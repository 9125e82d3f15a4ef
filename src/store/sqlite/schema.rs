//! What stands in a file's schema under our names: it must be what the migrations make.
//!
//! A mark and a version are eight bytes that anyone can write. A table of the same name may have
//! columns that are computed, no key, or no rule of ours; so SQLite's own text of each object
//! (`sqlite_schema.sql`, kept as it was typed) must be that of the migration.
//!
//! What others add is left alone: tables, views, indexes on their own tables. Triggers are, too,
//! even on our tables: they are switched off and never run. An index of theirs *on our tables* is
//! refused: SQLite may read from it instead of the table, and then it is the index that says which
//! granules are held; it may also be over an expression, or forbid a row.

use std::borrow::Cow;

use rusqlite::Connection;

use super::migrate::{self, MIGRATIONS, Migration, SCHEMA, Stamp};
use crate::store::{Error, Result};

/// Reads what a file says that it is, and checks that it is; both of one state of the file, which
/// another process may be migrating.
///
/// # Errors
///
/// As [`migrate::stamp`]; [`Error::Damaged`], naming the object.
pub(super) fn check(connection: &Connection) -> Result<Stamp> {
    let transaction = connection.unchecked_transaction()?;
    let stamp = migrate::stamp(&transaction)?;
    let version = match stamp {
        Stamp::Current => SCHEMA,
        Stamp::Older(found) => found,
    };
    check_objects(&transaction, version)?;
    transaction.commit()?;
    Ok(stamp)
}

/// Checks that the schema holds what the migrations up to a version make.
///
/// # Errors
///
/// [`Error::Damaged`], naming the object.
pub(super) fn check_objects(connection: &Connection, version: u32) -> Result<()> {
    const OBJECTS: &str = "
        SELECT type, tbl_name, name, sql
        FROM sqlite_schema
        WHERE sql IS NOT NULL";
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
        let (kind, table, sql): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(3)?);
        if let Some(found) = missing.iter().position(|ours| *ours == sql) {
            missing.remove(found);
        } else if kind == "index" && is_ours(&table) {
            let name: String = row.get(2)?;
            let what = format!(
                "the index {name:?} on {table} is not ours, and could be read instead of the table (DROP INDEX takes it away)"
            );
            return Err(Error::Damaged { what });
        }
    }
    match missing.first().map(|sql| named_by(sql)) {
        None => Ok(()),
        Some((kind, name)) => {
            let kind = kind.to_ascii_lowercase();
            let what = format!("its {kind} {name} is missing, or not as this program makes it");
            Err(Error::Damaged { what })
        }
    }
}

/// The names of our tables.
pub(super) fn tables() -> Result<Vec<String>> {
    let made = made_by(SCHEMA)?;
    let named = made.iter().map(|sql| named_by(sql)).filter(|(kind, _)| *kind == "TABLE");
    Ok(named.map(|(_, name)| name.to_owned()).collect())
}

/// Whether a file of the current version has tables or indexes that are not ours.
pub(super) fn has_others(connection: &Connection) -> Result<bool> {
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

/// SQLite's texts of the objects that the migrations up to a version make.
///
/// Where these only create, and add columns, the texts are their own: 10 µs to find, where running
/// them takes 650 µs, more than all else of an open. Other migrations are run, in memory.
fn made_by(version: u32) -> Result<Vec<Cow<'static, str>>> {
    let migrations = MIGRATIONS.get(..version as usize).unwrap_or(MIGRATIONS);
    let mut made = Vec::new();
    for migration in migrations {
        let statements = statements(migration.sql);
        if statements.is_none_or(|statements| !make(&statements, &mut made)) {
            return made_by_running(migrations);
        }
    }
    Ok(made)
}

/// Does to the texts what the statements do to the schema; whether that is known of all of them.
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
        // SQLite puts the column behind the last one, before what closes them.
        let closes = text.as_ref().and_then(|text| text.rfind(')'));
        let (Some(text), Some(closes)) = (text, closes) else { return false };
        text.to_mut().insert_str(closes, &format!(", {column}"));
        true
    })
}

fn made_by_running(migrations: &[Migration]) -> Result<Vec<Cow<'static, str>>> {
    const TEXTS: &str = "
        SELECT sql
        FROM sqlite_schema
        WHERE sql IS NOT NULL";
    let connection = Connection::open_in_memory()?;
    migrations.iter().try_for_each(|migration| connection.execute_batch(migration.sql))?;
    let mut statement = connection.prepare(TEXTS)?;
    let texts = statement.query_map([], |row| Ok(Cow::Owned(row.get(0)?)))?;
    Ok(texts.collect::<rusqlite::Result<_>>()?)
}

/// The statements of a migration as SQLite keeps them: each from its first to its last character,
/// comments inside it included. None: one has no end.
fn statements(migration: &'static str) -> Option<Vec<&'static str>> {
    let (mut statements, mut start, mut end, mut at) = (Vec::new(), None, 0, 0);
    while let Some(character) = migration[at..].chars().next() {
        let rest = &migration[at..];
        let length = match character {
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '\'' | '"' => rest[1..].find(character)? + 2,
            _ => character.len_utf8(),
        };
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

/// The kind and the name of what a CREATE statement makes.
fn named_by(sql: &str) -> (&str, &str) {
    let mut words = sql.split([' ', '\n', '(']).skip(1);
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_migration_is_parted_where_its_statements_end() {
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
    fn what_is_not_known_of_a_statement_is_asked_of_sqlite() {
        let made = |statements: &[&'static str]| {
            let mut made = Vec::new();
            make(statements, &mut made).then_some(made)
        };
        let create = "CREATE TABLE t (x (1)\n) STRICT";
        let added = made(&[create, "ALTER TABLE t ADD COLUMN y TEXT"]).unwrap();
        assert_eq!(added, ["CREATE TABLE t (x (1)\n, y TEXT) STRICT"]);
        assert_eq!(made(&[create, "ALTER TABLE u ADD COLUMN y TEXT"]), None);
        assert_eq!(made(&[create, "DROP TABLE t"]), None);
    }
}
