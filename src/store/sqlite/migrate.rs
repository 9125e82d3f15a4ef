//! Migrates a file to the schema of this version.

use rusqlite::{Connection, TransactionBehavior};

use super::Result;
use super::schema::{self, APPLICATION_ID, MIGRATIONS, pragma};

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
    schema::check_objects(&transaction, found)?;
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
    use crate::store::sqlite::schema::SCHEMA;

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
