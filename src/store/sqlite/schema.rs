//! The schema: the migrations that create it, and the check that a file has it.
//!
//! `application_id` and `user_version` are eight bytes that anyone can write. A table with the right name may
//! have generated columns, no key, or none of the constraints. So the SQL text of each object that SQLite
//! stores (`sqlite_schema.sql`, as it was typed) must be the text of the migration.
//!
//! Objects that others have added are ignored: tables, views, and indexes on their own tables. Triggers are
//! ignored too, even on tables of the schema: they are disabled and never run. Three kinds of objects are
//! rejected:
//!
//! - An index *on a table of the schema*: SQLite may read the index instead of the table, so the index would
//!   decide which granules are held. It may also be over an expression, or forbid a row.
//! - A virtual table: SQLite runs the code of its module on the content of the file.
//! - An object with the name of a table function, such as `rarray`: SQLite reads a table of the file instead of
//!   the function. Names in SQL ignore letter case, so any letter case is rejected.

use rusqlite::{Connection, TransactionBehavior};

use super::{Result, connection};
use crate::store::Error;

/// `application_id` of a registry: the letters `accs`, as file(1) shows them.
pub(super) const APPLICATION_ID: u32 = u32::from_be_bytes(*b"accs");

/// The SQL that migrates a file from schema `n` to `n + 1`, by `n`.
///
/// Until the first release, the only migration is edited in place. A released migration is never edited.
pub(super) const MIGRATIONS: &[&str] =
    &[include_str!("../../../migrations/sqlite/V1__registry.sql")];

/// The schema of this version.
pub const SCHEMA: u32 = MIGRATIONS.len() as u32;

/// Reads the schema version that a file states.
///
/// # Errors
///
/// [`ErrorKind::NotARegistry`], and the errors of reading the first page.
pub(super) fn version(connection: &Connection) -> Result<u32> {
    if pragma(connection, "PRAGMA application_id")? != APPLICATION_ID {
        return Err(Error::not_a_registry("the file is an SQLite database of another application"));
    }
    match pragma(connection, "PRAGMA user_version")? {
        // A registry has a version since it was created.
        0 => Err(Error::not_a_registry("the file is marked as a registry, but has no schema")),
        found => Ok(found),
    }
}

/// Rejects a file that states another schema version.
///
/// # Errors
///
/// The errors of [`version`]; [`ErrorKind::OtherSchema`].
pub(super) fn check_version(connection: &Connection) -> Result<()> {
    match version(connection)? {
        SCHEMA => Ok(()),
        found => Err(Error::other_version(found, SCHEMA)),
    }
}

/// Checks that a file has the schema of this version. Everything is read from one state of the file, since
/// another process may be migrating it.
///
/// # Errors
///
/// The errors of [`check_version`]; [`ErrorKind::OtherSchema`], which names the object that differs;
/// [`ErrorKind::Damaged`]: the text of the file is not in UTF-8.
pub(super) fn check(connection: &Connection) -> Result<()> {
    let transaction = connection.unchecked_transaction()?;
    check_version(&transaction)?;
    check_encoding(&transaction)?;
    check_objects(&transaction, MIGRATIONS)?;
    Ok(transaction.commit()?)
}

/// Reads a pragma that SQLite stores as a signed 32-bit number. As an unsigned number, a negative version is
/// greater than any known version. The statement is cached, since every read begins with it.
pub(super) fn pragma(connection: &Connection, sql: &str) -> Result<u32> {
    let value: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(value as u32)
}

/// Checks that the file stores its text in UTF-8. In another encoding SQLite compares other bytes to order ids,
/// so every identifier would be wrong.
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

/// Checks that the schema has the objects that migrations create.
///
/// # Errors
///
/// [`ErrorKind::OtherSchema`], which names an object that differs or is not allowed. [`ErrorKind::Damaged`]:
/// SQLite cannot have written the type, the name or the text of an object.
fn check_objects(connection: &Connection, migrations: &[&'static str]) -> Result<()> {
    const OBJECTS: &str = "
        SELECT type, tbl_name, name, sql
        FROM sqlite_schema";
    let ours: Vec<&str> = made_by(migrations).collect();
    let is_ours = |table: &str| {
        ours.iter().copied().map(named_by).any(|(kind, name)| {
            kind.eq_ignore_ascii_case("table") && name.eq_ignore_ascii_case(table)
        })
    };
    let mut missing = ours.clone();
    let mut others = Vec::new();
    let mut statement = connection.prepare(OBJECTS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, table, name): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let sql: Option<String> = row.get(3)?;
        // SQLite ignores the case of this word but writes it in lower case, so the check needs no other
        // spelling.
        if !["table", "index", "view", "trigger"].contains(&kind.as_str()) {
            let what = format!("the type of {name:?} in its schema is {kind:?}");
            return Err(Error::damaged(what));
        }
        // SQLite reads a name only up to this character. It would read another name than the check below
        // compares.
        if [&table, &name].iter().any(|name| name.contains('\0')) {
            let what = format!("the name of {name:?} in its schema has a NUL character");
            return Err(Error::damaged(what));
        }
        let Some(sql) = sql else { continue };
        if let Some(found) = missing.iter().position(|ours| *ours == sql) {
            missing.remove(found);
        } else if kind == "index" && is_ours(&table) {
            let what = format!(
                "SQLite could read the added index {name:?} instead of the table {table} (DROP INDEX removes it)"
            );
            return Err(Error::added_object(what));
        } else {
            others.push((kind, name, sql));
        }
    }
    check_others(&others)?;
    check_references(connection, &others, is_ours)?;
    match missing.first().copied().map(named_by) {
        None => Ok(()),
        Some((kind, name)) => {
            let kind = kind.to_ascii_lowercase();
            Err(Error::other_schema(format!("its {kind} {name} is missing, or differs")))
        }
    }
}

/// Rejects added objects that would replace a table function, and virtual tables.
fn check_others(others: &[(String, String, String)]) -> Result<()> {
    /// The beginnings of the text of an object that is not a virtual table, as SQLite writes them.
    const BEGINNINGS: [&str; 5] = [
        "CREATE TABLE ",
        "CREATE VIEW ",
        "CREATE INDEX ",
        "CREATE UNIQUE INDEX ",
        "CREATE TRIGGER ",
    ];
    if others.is_empty() {
        return Ok(());
    }
    let empty = connection::open_in_memory()?;
    for (kind, name, sql) in others {
        if sql.starts_with("CREATE VIRTUAL TABLE ") {
            let what = format!(
                "the added virtual table {name:?} runs code of SQLite on the content of the file (DROP TABLE removes it)"
            );
            return Err(Error::added_object(what));
        }
        if !BEGINNINGS.iter().any(|beginning| sql.starts_with(beginning)) {
            let what = format!("the text of {name:?} in its schema was not written by SQLite");
            return Err(Error::damaged(what));
        }
        if is_built_in(&empty, name)? {
            let what = format!(
                "SQLite could read the added {kind} {name:?} instead of its table function (DROP {} removes it)",
                kind.to_ascii_uppercase()
            );
            return Err(Error::added_object(what));
        }
    }
    Ok(())
}

/// Rejects added tables whose foreign keys follow changes of a table of the schema: SQLite would evaluate their
/// defaults, and change their rows.
fn check_references(
    connection: &Connection,
    others: &[(String, String, String)],
    is_ours: impl Fn(&str) -> bool,
) -> Result<()> {
    const REFERENCES: &str = "
        SELECT [table]
        FROM pragma_foreign_key_list(?1)
        WHERE on_update <> 'NO ACTION' OR on_delete <> 'NO ACTION'";
    for (_, name, _) in others.iter().filter(|(kind, name, _)| kind == "table" && !is_ours(name)) {
        let mut statement = connection.prepare_cached(REFERENCES)?;
        let mut rows = statement.query([name])?;
        while let Some(row) = rows.next()? {
            let table: String = row.get(0)?;
            if is_ours(&table) {
                let what = format!(
                    "the added table {name:?} follows changes of the table {table} (DROP TABLE removes it)"
                );
                return Err(Error::added_object(what));
            }
        }
    }
    Ok(())
}

/// Whether every connection has a table or a table function with this name. `empty` is a database without
/// objects, so it has only the built-in ones. The query is by name, because SQLite creates some functions only
/// when a statement names them.
fn is_built_in(empty: &Connection, name: &str) -> Result<bool> {
    const COLUMNS: &str = "SELECT count(*) FROM pragma_table_xinfo(?1)";
    let columns: u32 = empty.prepare_cached(COLUMNS)?.query_row([name], |row| row.get(0))?;
    Ok(columns > 0)
}

/// The names of the tables of the schema.
pub(in crate::store) fn tables() -> impl Iterator<Item = &'static str> {
    made_by(MIGRATIONS).map(named_by).filter(|(kind, _)| *kind == "TABLE").map(|(_, name)| name)
}

/// Whether a file with the current schema also has other tables or indexes.
pub(in crate::store) fn has_others(connection: &Connection) -> Result<bool> {
    const TABLES_AND_INDEXES: &str = "
        SELECT sql
        FROM sqlite_schema
        WHERE type IN ('table', 'index') AND sql IS NOT NULL";
    let ours: Vec<&str> = made_by(MIGRATIONS).collect();
    let mut statement = connection.prepare(TABLES_AND_INDEXES)?;
    let texts = statement.query_map([], |row| row.get::<_, String>(0))?;
    let texts = texts.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(texts.iter().any(|sql| !ours.contains(&sql.as_str())))
}

/// The SQL text of each object that migrations create, as SQLite stores it: without the comments before it and
/// the semicolon after it.
fn made_by(migrations: &[&'static str]) -> impl Iterator<Item = &'static str> {
    migrations.iter().flat_map(|migration| migration.split(";\n")).filter_map(|statement| {
        let mut text = statement.trim_start();
        while text.starts_with("--") {
            text = text.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
        }
        (!text.is_empty()).then_some(text)
    })
}

/// The kind and the name of the object that a CREATE statement creates.
fn named_by(sql: &str) -> (&str, &str) {
    let mut words = sql.split([' ', '\n', '(']).skip(1);
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

/// Runs the migrations that have not been applied to the file: all of them, or none.
///
/// The version is read under the write lock, so if two processes migrate one file, the second has nothing to
/// do. (The crates for migrations read it before they lock, and fail in that race.) The result is compared with
/// the schema that the migrations create. The file may have had another schema than it stated, because nothing
/// was checked before.
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    run(connection, MIGRATIONS)
}

fn run(connection: &mut Connection, migrations: &[&'static str]) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = pragma(&transaction, "PRAGMA user_version")?;
    for migration in migrations.get(found as usize..).unwrap_or_default() {
        transaction.execute_batch(migration)?;
    }
    if (found as usize) < migrations.len() {
        check_objects(&transaction, migrations)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", migrations.len() as u32)?;
    }
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ErrorKind;
    use crate::store::sqlite::connection::open_in_memory;
    use crate::store::statement::TABLES;

    #[test]
    fn the_texts_of_the_migrations_are_those_that_sqlite_keeps() {
        const KEPT: &str = "
            SELECT sql
            FROM sqlite_schema
            WHERE sql IS NOT NULL
            ORDER BY rowid";
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&MIGRATIONS.concat()).unwrap();
        let mut statement = connection.prepare(KEPT).unwrap();
        let kept = statement.query_map([], |row| row.get(0)).unwrap();
        let kept: Vec<String> = kept.collect::<rusqlite::Result<_>>().unwrap();
        assert_eq!(made_by(MIGRATIONS).collect::<Vec<_>>(), kept);
    }

    #[test]
    fn every_table_has_the_columns_that_are_read_and_written_in_their_order() {
        const COLUMNS: &str = "SELECT group_concat(name, ' ') FROM pragma_table_info(?1)";
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&MIGRATIONS.concat()).unwrap();
        for table in TABLES {
            let kept: String =
                connection.query_row(COLUMNS, [table.name], |row| row.get(0)).unwrap();
            assert_eq!(kept, table.all_columns().collect::<Vec<_>>().join(" "), "{}", table.name);
        }
        assert_eq!(tables().count(), TABLES.len());
    }

    /// The migrations of a later version.
    fn later(migration: &'static str) -> Vec<&'static str> {
        [MIGRATIONS, &[migration]].concat()
    }

    const ADDS: &str = "-- A table.\nCREATE TABLE added (x INTEGER) STRICT;\n";

    const FAILS: &str = "DELETE FROM dataset; SELECT * FROM nowhere";

    /// A registry of this version with one dataset.
    fn with_dataset() -> Connection {
        let mut connection = open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        connection
            .execute("INSERT INTO dataset (name, record, row_check) VALUES ('A', '{}', 0)", [])
            .unwrap();
        connection
    }

    fn state(connection: &Connection) -> (u32, String) {
        let name = connection.query_row("SELECT name FROM dataset", [], |row| row.get(0)).unwrap();
        (pragma(connection, "PRAGMA user_version").unwrap(), name)
    }

    #[test]
    fn a_failed_migration_changes_nothing() {
        let mut connection = with_dataset();
        for _ in 0..2 {
            run(&mut connection, &later(FAILS)).unwrap_err();
            assert_eq!(state(&connection), (SCHEMA, "A".to_owned()));
        }
    }

    #[test]
    fn a_registry_gets_the_migrations_that_it_lacks_and_no_others() {
        let mut connection = with_dataset();
        for _ in 0..2 {
            run(&mut connection, &later(ADDS)).unwrap();
            assert_eq!(state(&connection), (SCHEMA + 1, "A".to_owned()));
        }
        let refused = check(&connection).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::OtherSchema);
        migrate(&mut connection).unwrap();
        assert_eq!(state(&connection), (SCHEMA + 1, "A".to_owned()));
    }

    #[test]
    fn a_registry_that_does_not_have_the_schema_that_it_states_is_not_migrated() {
        let mut connection = with_dataset();
        connection.execute_batch("DROP INDEX instance_by_identifier").unwrap();
        let refused = run(&mut connection, &later(ADDS)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::OtherSchema);
        assert_eq!(state(&connection), (SCHEMA, "A".to_owned()));
    }
}
