//! Bringing a file to the schema of this version.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::backup::copy_beside;
use super::open::{Draft, configure};
use super::{Error, Result, schema};

/// `application_id` of a registry: the letters `accs`, as file(1) shows them.
const APPLICATION_ID: u32 = u32::from_be_bytes(*b"accs");

/// What brings a file from one schema to the next.
#[derive(Clone, Copy)]
pub(super) struct Migration {
    pub(super) sql: &'static str,
    /// Whether it changes rows that are there. Then a copy of the file is kept, since a mistake in
    /// it could not be undone.
    rewrites_rows: bool,
}

/// What brings a file from schema `n` to `n + 1`, by `n`. A released one is never edited.
pub(super) const MIGRATIONS: &[Migration] = &[
    Migration { sql: include_str!("../../migrations/V1__register.sql"), rewrites_rows: false },
    Migration {
        sql: include_str!("../../migrations/V2__readable_views.sql"),
        rewrites_rows: false,
    },
    Migration {
        sql: include_str!("../../migrations/V3__payment_workers.sql"),
        rewrites_rows: false,
    },
    Migration { sql: include_str!("../../migrations/V4__citations.sql"), rewrites_rows: false },
    Migration { sql: include_str!("../../migrations/V5__second_copies.sql"), rewrites_rows: false },
];

/// The schema of this version.
pub(super) const SCHEMA: u32 = MIGRATIONS.len() as u32;

/// What a file says that it is.
#[derive(Clone, Copy)]
pub(super) enum Stamp {
    /// A registry of the schema of this version.
    Current,
    /// A registry of an older schema.
    Older(u32),
}

/// Reads what a file says that it is.
///
/// # Errors
///
/// [`Error::NotARegistry`], [`Error::Newer`], and what reading the first page may give.
pub(super) fn stamp(connection: &Connection) -> Result<Stamp> {
    let application_id: u32 = pragma(connection, "application_id")?;
    if application_id != APPLICATION_ID {
        return Err(Error::NotARegistry {
            what: "the file is an SQLite database of something else".to_owned(),
        });
    }
    match pragma(connection, "user_version")? {
        found if found > SCHEMA => Err(Error::Newer { found, known: SCHEMA }),
        // What is made here has its version from its first moment on.
        0 => Err(Error::NotARegistry { what: "it has the mark of one, and no schema".to_owned() }),
        SCHEMA => Ok(Stamp::Current),
        found => Ok(Stamp::Older(found)),
    }
}

/// Runs the migrations that the file has not had, all or none.
///
/// The version is read under the write lock, so of two processes that migrate one file the second
/// finds nothing left to do. (The crates for this read it before they lock, and fail that race.)
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    run(connection, MIGRATIONS)
}

fn run(connection: &mut Connection, migrations: &[Migration]) -> Result<()> {
    let path = connection.path().map(PathBuf::from).unwrap_or_default();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: u32 = pragma(&transaction, "user_version")?;
    schema::check_objects(&transaction, found)?;
    let missing = migrations.get(found as usize..).unwrap_or_default();
    if found > 0 && missing.iter().any(|migration| migration.rewrites_rows) {
        keep_copy(&path, found)?;
    }
    for migration in missing {
        transaction.execute_batch(migration.sql)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", migrations.len() as u32)?;
    Ok(transaction.commit()?)
}

/// Keeps a copy of a file of an older schema beside it, `NAME.schema-N`: made while the write lock is
/// held, by a connection of its own, so of the last state before the migration. One that stands
/// there is left: it is of an earlier try.
fn keep_copy(path: &Path, schema: u32) -> Result<()> {
    let mut kept = path.as_os_str().to_owned();
    kept.push(format!(".schema-{schema}"));
    let source = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    configure(&source)?;
    match copy_beside(&source, Path::new(&kept), |_, _| {}).and_then(Draft::publish_closed) {
        Err(Error::Exists) => Ok(()),
        result => result,
    }
}

fn pragma(connection: &Connection, name: &str) -> Result<u32> {
    let value: i64 = connection.pragma_query_value(None, name, |row| row.get(0))?;
    // SQLite keeps both as signed 32 bits; a negative version is one we do not know either.
    Ok(value as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REWRITES: Migration =
        Migration { sql: "UPDATE dataset SET name = name || '.NEW'", rewrites_rows: true };
    const FAILS: Migration =
        Migration { sql: "DELETE FROM dataset; SELECT * FROM nowhere", rewrites_rows: true };

    /// A registry of schema 1 with one dataset.
    fn old(folder: &Path) -> (PathBuf, Connection) {
        let path = folder.join("accession.db");
        let mut connection = Connection::open(&path).unwrap();
        configure(&connection).unwrap();
        run(&mut connection, &MIGRATIONS[..1]).unwrap();
        connection.execute("INSERT INTO dataset (name) VALUES ('A')", []).unwrap();
        (path, connection)
    }

    fn names(connection: &Connection) -> (u32, String) {
        let name = connection.query_row("SELECT name FROM dataset", [], |row| row.get(0)).unwrap();
        (pragma(connection, "user_version").unwrap(), name)
    }

    #[test]
    fn a_migration_that_rewrites_rows_leaves_a_copy_of_what_was() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut connection) = old(folder.path());
        run(&mut connection, &[MIGRATIONS[0], REWRITES]).unwrap();
        assert_eq!(names(&connection), (2, "A.NEW".to_owned()));
        let copy = Connection::open(path.with_extension("db.schema-1")).unwrap();
        assert_eq!(names(&copy), (1, "A".to_owned()));
    }

    #[test]
    fn a_migration_that_fails_leaves_all_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (_, mut connection) = old(folder.path());
        for _ in 0..2 {
            run(&mut connection, &[MIGRATIONS[0], FAILS]).unwrap_err();
            assert_eq!(names(&connection), (1, "A".to_owned()));
        }
    }

    #[test]
    fn of_a_file_that_was_empty_there_is_nothing_to_keep() {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = Connection::open(folder.path().join("accession.db")).unwrap();
        run(&mut connection, &[MIGRATIONS[0], REWRITES]).unwrap();
        drop(connection);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_migration_that_adds_leaves_no_copy() {
        let folder = tempfile::tempdir().unwrap();
        let (_, mut connection) = old(folder.path());
        migrate(&mut connection).unwrap();
        assert_eq!(names(&connection), (SCHEMA, "A".to_owned()));
        drop(connection);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
